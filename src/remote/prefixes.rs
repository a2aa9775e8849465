//! The prefixes of the refs of loops on a remote (`ralph.remoteRefs`). The setting is per clone, so another clone may keep
//! the same loops below another prefix.

use super::lease::Refs;
use super::refusal::RemoteRefusal;
use crate::names::Change;

/// The default prefix.
const REFS: &str = "refs/ralph/";
/// The prefix for hosts that allow only branches.
pub(super) const BRANCHES: &str = "refs/heads/ralph-state/";

/// Returns the patterns of git-ls-remote(1) for the states of all loops, below this prefix or another.
pub(super) fn patterns_of_states(prefix: &str) -> Vec<String> {
    let all = [Some(prefix), other(prefix)];
    let all = all.iter().flatten();
    all.map(|prefix| format!("{prefix}*/state")).collect()
}

/// Returns the prefix below which other clones may keep the same loops. A name that the user chose keeps loops apart.
fn other(prefix: &str) -> Option<&'static str> {
    match prefix {
        REFS => Some(BRANCHES),
        BRANCHES => Some(REFS),
        _ => None,
    }
}

/// Refuses a remote that keeps its loops only below another prefix than `here`.
pub(super) fn require_only(remote: &str, here: &str, refs: &Refs) -> Result<(), RemoteRefusal> {
    let has = |prefix: &str| refs.iter().any(|(name, _)| name.starts_with(prefix));
    match other(here).filter(|other| !has(here) && has(other)) {
        None => Ok(()),
        Some(there) => Err(RemoteRefusal::OtherRefs {
            remote: remote.to_owned(),
            here: here.to_owned(),
            there: there.to_owned(),
        }),
    }
}

/// Refuses a loop that the remote has below another prefix than `here`: a second one would repeat its work.
pub(super) fn require_alone(
    remote: &str,
    here: &str,
    change: &Change,
    refs: &Refs,
) -> Result<(), RemoteRefusal> {
    let is_there = |other: &&str| {
        let state = format!("{other}{change}/state");
        refs.iter().any(|(name, _)| *name == state)
    };
    match other(here).filter(is_there) {
        None => Ok(()),
        Some(there) => Err(RemoteRefusal::LoopBelowOtherRefs {
            change: change.to_string(),
            remote: remote.to_owned(),
            here: here.to_owned(),
            there: there.to_owned(),
        }),
    }
}
