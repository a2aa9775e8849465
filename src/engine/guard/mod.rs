//! The guard (contract section 8, hazards section 5): hooks that stand around the agent's git for the time of
//! an attempt, by settings in the agent's environment alone.
//!
//! - `entries`: the hooks, and the settings that lead git to them;
//! - `rules`: which move of a ref is refused, and with which words; decides by what it is given;
//! - `asked`: what runs when git asks a hook, in a process of its own;
//! - `place`: which repository that is, what its refs are, where the user's own hooks are;
//! - `record`: the moves of refs, written by the hooks and read after the attempt.
//!
//! A rail, not a wall: whatever is broken here lets git go on, and nothing relies on it. What counts is what
//! is compared after the attempt.

mod asked;
pub(super) mod entries;
pub(super) mod place;
mod record;
pub(super) mod rules;

use std::ffi::OsString;
use std::fs;

use super::Session;
use super::files::{file_error, write_private};
use super::rights::remove;
use crate::error::Error;
use crate::events::What;
use crate::settings::Settings;

pub use asked::{Answer, Asked, answer};

/// The directory of the hooks, in the loop's directory; it is there only while an attempt is.
const HOOKS: &str = "hooks";

/// How many moves of refs become events of an attempt; how many more there were is told.
const MAX_EVENTS: usize = 500;

/// Settings for somebody else's git.
pub(super) type GitSettings = Vec<(&'static str, OsString)>;

/// Who runs in the guard in an attempt.
pub(super) const AGENT: &str = "the agent";

impl Session<'_> {
    /// Makes the hooks for an attempt; gives the settings that lead the agent's git to them. A guard that
    /// cannot be made is told, and the attempt goes on without it.
    pub(super) async fn set_up_guard(&mut self, settings: &Settings) -> GitSettings {
        self.forget_guard();
        if !settings.guard {
            return Vec::new();
        }
        match self.make_guard().await {
            Ok(settings) => settings,
            Err(error) => {
                self.tell(format!("this attempt has no guard: {error}"));
                Vec::new()
            }
        }
    }

    async fn make_guard(&self) -> Result<GitSettings, Error> {
        let git = &self.engine.repo.git;
        let others = self.other_refs_now().await?;
        let stashes = if others.holds("refs/stash") {
            git.stash_entries().await?
        } else {
            Vec::new()
        };
        let rules = rules::written(
            &self.state.checkpoint,
            &self.engine.repo.git_dir,
            others.branches(),
            &stashes,
        );
        let hooks = self.file(HOOKS);
        let make = async {
            write_private(&self.file(rules::FILE), &rules)?;
            let program = std::env::current_exe();
            let made = program.and_then(|program| entries::write(&hooks, &program, &self.store.dir()));
            made.map_err(|source| file_error("make", &hooks, source))
        };
        // Git starts while the files are made.
        let (version, made) = tokio::join!(git.version(), make);
        made?;
        Ok(entries::settings(version?, &hooks))
    }

    /// After an attempt, or what else ran in the guard, nothing of which is alive: records the moves of refs
    /// that the guard saw, and takes the guard away.
    pub(super) fn take_guard_away(&mut self, about: Option<(&str, u32)>, who: &str) {
        let seen = record::read(&self.file(record::FILE));
        let untold = seen.moves.len().saturating_sub(MAX_EVENTS);
        for moved in seen.moves.into_iter().take(MAX_EVENTS) {
            let Some((story, attempt)) = about else {
                // What has come of the others is told when the refs are compared.
                if moved.refused {
                    let did = if moved.new.is_some() { "move" } else { "delete" };
                    self.tell(format!("refused: {who} tried to {did} {}", moved.name));
                }
                continue;
            };
            self.emit(What::RefMoved {
                story: story.to_owned(),
                attempt,
                name: moved.name,
                old: moved.old.map(target),
                new: moved.new.map(target),
                refused: moved.refused,
            });
        }
        if untold > 0 && about.is_some() {
            self.tell(format!("the attempt moved refs {untold} more times"));
        }
        if seen.pushes > 0 {
            self.tell(format!("refused: {who} tried to push"));
        }
        self.forget_guard();
    }

    fn forget_guard(&self) {
        // What stays would be written over by the next attempt.
        for file in [rules::FILE, record::FILE] {
            let _ = fs::remove_file(self.file(file));
        }
        let hooks = self.file(HOOKS);
        if let Ok(metadata) = hooks.symlink_metadata() {
            let _ = remove(&hooks, metadata.is_dir());
        }
    }
}

/// What a ref points to: an object, or the name of another ref.
fn target(value: String) -> String {
    match value.strip_prefix("ref:") {
        Some(name) => name.to_owned(),
        None => value,
    }
}
