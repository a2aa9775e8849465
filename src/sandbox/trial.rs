//! Finds out whether a box works on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::walls::Walls;
use crate::async_cmd::{self, Command};
use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::fs::seen_text;

/// The switch by which Debian's kernels forbid user namespaces.
const SWITCH: &str = "/proc/sys/kernel/unprivileged_userns_clone";
/// The longest time that the trial may take.
const LIMIT: Duration = Duration::from_secs(20);

refusals! {
/// The reason why a box cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The program that makes it is not there.
    #[error("bubblewrap (bwrap) is not installed")]
    NotInstalled
        => {
            if cfg!(target_os = "linux") {
                hint("install it, such as: sudo apt-get install bubblewrap")
            } else {
                hint("it works on Linux only; use a container there: docs/sandbox.md")
            }
        };
    /// A process in the box could replace a program that makes it.
    #[error("a process in it could write {}, which makes it", .0.display())]
    CanWrite(PathBuf)
        => "use one that is outside of the work tree and of what ralph.boxAllow lets be written";
    /// The program that makes it fails.
    #[error("bwrap cannot make it: {0}")]
    Refused(String)
        => |(words)| hint(what_helps(words));
    /// The program that makes it fails where Debian's switch forbids user namespaces.
    #[error("bwrap cannot make it: {0}")]
    SwitchedOff(String)
        => "let it make user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1";
    /// The work tree, which can be written, holds the home directory.
    #[error("the work tree holds the home directory {}", .0.display())]
    HoldsHome(PathBuf)
        => "use a repository below it, or go on without: git config ralph.box off";
}
}

/// Returns what helps where bwrap fails with these words.
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

/// The programs that were tried, and what came of it: what was proved is what runs.
static TRIED: Mutex<Vec<(PathBuf, Result<(), Trouble>)>> = Mutex::new(Vec::new());

/// Starts a program that does nothing in a box, once for each program that makes boxes.
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
