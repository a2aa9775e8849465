//! Git hooks around the agent's git during an attempt, enabled only by settings in the agent's environment.
//!
//! - `scripts`: the hooks; `configuration`: the settings that make git use them, in this repository alone;
//! - `rules`: decides which ref moves are refused, and with which message; does no I/O on the repository;
//! - `answer`: runs in a process of its own when git calls a hook, and has what `repository_hooks` shares with it;
//!   `users_hook` finds the user's own hook;
//! - `log`: the ref moves, written by the hooks and read after the attempt.
//!
//! No protection relies on the guard: the comparison after the attempt decides. Hooks start the program that made them,
//! although its file was replaced meanwhile; if there is none, git continues, but for a push, which nothing undoes. An answer
//! that is none refuses. A question without an answer is noted, and reported after the attempt. This module knows neither
//! the loop's state nor the engine.

pub(crate) mod answer;
pub(crate) mod configuration;
mod log;
mod rail;
pub(crate) mod rules;
pub(crate) mod scripts;
mod users_hook;

use std::path::Path;

use crate::error::advice::Advise;
use crate::fs::{FileError, file_error, may_be_there};
use crate::git::{Git, GitError};
use crate::slot::Slot;
use configuration::can_name;
use rail::HOOKS;
use scripts::{Places, Program};

pub use answer::{Answer, HookCall, answer};
pub use configuration::GitSettings;
pub use log::{SeenMove, SeenMoves};
pub use rail::Rail;

/// The reason why a guard could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Git could not report its version.
    #[error(transparent)]
    Git(#[from] GitError),
}

// The attempt continues without a guard.
impl Advise for GuardError {}

/// Creates the hooks for an attempt; returns the settings that make the agent's git use them.
pub async fn set_up(git: &Git, rail: Rail<'_>) -> Result<GitSettings, GuardError> {
    remove_files(rail.slot);
    let hooks = rail.slot.file(HOOKS);
    let program = Program::find().map_err(|source| file_error("find", Path::new("this program"), source))?;
    let places = Places {
        program: &program,
        rail: Rail {
            // If the settings cannot name the repository, each hook has to look whose it is.
            users_hooks: rail
                .users_hooks
                .filter(|users| can_name(rail.common_dir) && can_name(users)),
            ..rail
        },
    };
    let door = rail.slot.door();
    let make = async {
        door.write_private(&rail.slot.file(log::FILE), "")?;
        scripts::write(&hooks, places)?;
        // Last: the scripts take what is newer for a change.
        door.write_private(&rail.slot.file(rules::FILE), &rules::written(&rail))
    };
    // Git starts while the files are made.
    let (version, made) = tokio::join!(git.version(), make);
    made?;
    Ok(configuration::write(version?, &hooks, places)?)
}

/// Removes the guard after an attempt whose processes have all ended; returns the ref moves that it saw.
pub fn take_away(slot: &Slot) -> SeenMoves {
    let mut seen = log::read(&slot.file(log::FILE));
    let is_there = |file: &str| may_be_there(&slot.file(file));
    seen.was_removed = is_there(rules::FILE) && !is_there(&format!("{HOOKS}/{}", scripts::REFS));
    remove_files(slot);
    seen
}

/// Removes the guard's files; a file that remains is overwritten by the next attempt.
pub fn remove_files(slot: &Slot) {
    let door = slot.door();
    for file in [
        rules::FILE,
        log::FILE,
        answer::TIP,
        configuration::FILE,
        scripts::USERS,
    ] {
        let _ = door.remove_file(&slot.file(file));
    }
    let _ = door.remove(&slot.file(HOOKS));
}
