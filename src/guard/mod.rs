//! The guard: hooks around the agent's git during an attempt, set up by settings in the agent's environment alone.
//!
//! - `scripts`: the hooks, and the settings that lead git to them;
//! - `rules`: which move of a ref is refused, and with which words; decides by what it is given;
//! - `answer`: runs when git calls a hook, in a process of its own; `users_hook` finds the user's own hook;
//! - `log`: the moves of refs, written by the hooks and read after the attempt.
//!
//! A rail, not a wall: whatever is broken here lets git go on, and nothing relies on it. What counts is the comparison
//! after the attempt. Knows neither the loop's state nor the engine.

mod answer;
mod log;
pub(crate) mod rules;
pub(crate) mod scripts;
mod users_hook;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::error::Advise;
use crate::fs::{FileError, file_error, remove, write_private};
use crate::git::{Git, GitError};
use crate::names::Oid;

pub use answer::{Answer, HookCall, answer};
pub use log::{SeenMove, SeenMoves};

/// The directory of the hooks, in the loop's directory; it is there only during an attempt.
const HOOKS: &str = "hooks";

/// Settings for somebody else's git.
pub type GitSettings = Vec<(&'static str, OsString)>;

/// What the guard has to know about the moment when an attempt begins.
#[derive(Clone, Copy, Debug)]
pub struct Rail<'a> {
    /// The loop's own directory.
    pub dir: &'a Path,
    /// The git directory of the loop's work tree.
    pub git_dir: &'a Path,
    /// The checkpoint that the loop's branch has to keep.
    pub checkpoint: &'a Oid,
    /// The full names of the branches that are there.
    pub branches: &'a [&'a str],
    /// The entries of the stash.
    pub stashes: &'a [Oid],
}

/// Why a guard could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// A file of it.
    #[error(transparent)]
    File(#[from] FileError),
    /// Git could not report its version.
    #[error(transparent)]
    Git(#[from] GitError),
}

// The attempt goes on without it.
impl Advise for GuardError {}

/// Makes the hooks for an attempt; returns the settings that lead the agent's git to them.
///
/// # Errors
/// When a file cannot be written, or git cannot be run. The attempt can go on without a guard.
pub async fn set_up(git: &Git, rail: Rail<'_>) -> Result<GitSettings, GuardError> {
    remove_files(rail.dir);
    let hooks = rail.dir.join(HOOKS);
    let make = async {
        write_private(&rail.dir.join(rules::FILE), &rules::written(&rail))?;
        let program = env::current_exe();
        let made = program.and_then(|program| scripts::write(&hooks, &program, rail.dir));
        made.map_err(|source| file_error("make", &hooks, source))
    };
    // Git starts while the files are made.
    let (version, made) = tokio::join!(git.version(), make);
    made?;
    Ok(scripts::settings(version?, &hooks))
}

/// Takes the guard away after an attempt, of which no process is alive; returns the moves of refs that it saw.
#[must_use]
pub fn take_away(dir: &Path) -> SeenMoves {
    let seen = log::read(&dir.join(log::FILE));
    remove_files(dir);
    seen
}

/// Removes what a guard left; one that stays would be overwritten by the next attempt.
pub fn remove_files(dir: &Path) {
    for file in [rules::FILE, log::FILE] {
        let _ = fs::remove_file(dir.join(file));
    }
    let hooks = dir.join(HOOKS);
    if let Ok(metadata) = hooks.symlink_metadata() {
        let _ = remove(&hooks, metadata.is_dir());
    }
}
