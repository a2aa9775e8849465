//! Tests whether a sandbox works on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::walls::Walls;
use crate::async_cmd::{self, Command};
use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::fs::seen_text;

/// The setting by which Debian's kernels forbid user namespaces.
const SWITCH: &str = "/proc/sys/kernel/unprivileged_userns_clone";
/// Maximum duration of the test.
const LIMIT: Duration = Duration::from_secs(20);

refusals! {
/// The reason why a sandbox cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// bwrap is not installed.
    #[error("bubblewrap (bwrap) is not installed")]
    NotInstalled
        => {
            if cfg!(target_os = "linux") {
                hint("install it, such as: sudo apt-get install bubblewrap")
            } else {
                hint("it works on Linux only; use a container there: docs/sandbox.md")
            }
        };
    /// A process in the sandbox could replace bwrap.
    #[error("a process in it could write {}, which makes it", .0.display())]
    CanWrite(PathBuf)
        => "use one that is outside of the work tree and of what ralph.boxAllow lets be written";
    /// bwrap fails.
    #[error("bwrap cannot make it: {0}")]
    Refused(String)
        => |(words)| hint(what_helps(words));
    /// bwrap fails, and Debian's setting forbids user namespaces.
    #[error("bwrap cannot make it: {0}")]
    SwitchedOff(String)
        => "let it make user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1";
    /// The writable work tree contains the home directory.
    #[error("the work tree holds the home directory {}", .0.display())]
    HoldsHome(PathBuf)
        => "use a repository below it, or go on without: git config ralph.box off";
}
}

/// Returns advice for a failure of bwrap with these words.
fn what_helps(words: &str) -> &'static str {
    if words.contains("uid map") {
        "let it make user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if words.contains("max_*_namespaces") {
        "let it make user namespaces: sudo sysctl user.max_user_namespaces=10000"
    } else if words.contains("namespace") {
        "the kernel forbids it, or the container that this runs in, which is a box too; to go on without: git config ralph.box off"
    } else {
        "to see for yourself: bwrap --ro-bind / / --unshare-pid true"
    }
}

/// The tested programs, with the results: the tested program is the one that runs.
static TRIED: Mutex<Vec<(PathBuf, Result<(), Trouble>)>> = Mutex::new(Vec::new());

/// Starts a program without effect in a sandbox, once for each bwrap.
pub async fn attempt(walls: &Walls, dir: &Path) -> Result<(), Trouble> {
    let known = |tried: &[(PathBuf, Result<(), Trouble>)]| {
        let same = tried.iter().find(|(bwrap, _)| *bwrap == walls.bwrap);
        same.map(|(_, result)| result.clone())
    };
    if let Some(known) = known(&TRIED.lock().unwrap_or_else(PoisonError::into_inner)) {
        return known;
    }
    let result = started(walls, dir).await;
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    tried.push((walls.bwrap.clone(), result.clone()));
    result
}

async fn started(walls: &Walls, dir: &Path) -> Result<(), Trouble> {
    let words = walls.around(dir, &[OsString::from("true")]);
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let command = Command::new(program).args(words).dir(dir).limit(LIMIT);
    let output = async_cmd::run(command).await;
    let output = output.map_err(|error| Trouble::Refused(error.to_string()))?;
    if output.code == Some(0) {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let line = words.lines().find(|line| !line.trim().is_empty());
    let line = line.map(|line| line.trim_start_matches("bwrap: ").trim().to_owned());
    let line = line.unwrap_or_else(|| "it does not say why".to_owned());
    let switch = seen_text(Path::new(SWITCH)).unwrap_or_default();
    Err(if line.contains("namespace") && switch.trim() == "0" {
        Trouble::SwitchedOff(line)
    } else {
        Trouble::Refused(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_matches_the_message_of_bwrap() {
        for (words, wanted) in [
            (
                "setting up uid map: Permission denied",
                "apparmor_restrict_unprivileged_userns=0",
            ),
            (
                "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
                "user.max_user_namespaces=",
            ),
            ("No permissions to create new namespace", "the container"),
            ("Can't find source path /x", "bwrap --ro-bind"),
        ] {
            let hint = what_helps(words);
            assert!(hint.contains(wanted), "{words}: {hint}");
        }
    }
}
