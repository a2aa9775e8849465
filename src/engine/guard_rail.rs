//! The guard around the agent's git during an attempt: set up, taken away, and what it saw as events.

use super::Loop;
use crate::error::Error;
use crate::events::What;
use crate::guard::{self, GitSettings, Rail};

/// How many moves of refs become events of an attempt; the number of further ones is reported.
const MAX_EVENTS: usize = 500;

/// Who runs in the guard in an attempt.
pub(crate) const AGENT: &str = "the agent";

/// Makes the guard's hooks, if they are wanted; returns the settings that lead the agent's git to them. A guard that
/// cannot be made is reported, and the attempt goes on without it.
pub(super) async fn set_up(open: &mut Loop<'_>, is_wanted: bool) -> GitSettings {
    if !is_wanted {
        guard::remove_files(open.site().dir);
        return Vec::new();
    }
    match make(open).await {
        Ok(settings) => settings,
        Err(error) => {
            open.tell(format!("this attempt has no guard: {error}"));
            Vec::new()
        }
    }
}

async fn make(open: &Loop<'_>) -> Result<GitSettings, Error> {
    let repo = &open.context.repo;
    let refs = open.user_refs().await?;
    let stashes = if refs.has_stash() {
        repo.git.stash_entries().await?
    } else {
        Vec::new()
    };
    let branches: Vec<&str> = refs.branches().collect();
    let rail = Rail {
        dir: open.site().dir,
        git_dir: &repo.git_dir,
        checkpoint: &open.state.checkpoint,
        branches: &branches,
        stashes: &stashes,
    };
    Ok(guard::set_up(&repo.git, rail).await?)
}

/// Takes the guard away after an attempt, or whatever else ran in it, of which no process is alive, and records the
/// moves of refs that it saw. `about` is the story and the attempt.
pub(crate) fn take_away(open: &mut Loop<'_>, about: Option<(&str, u32)>, who: &str) {
    let seen = guard::take_away(open.site().dir);
    let untold = seen.moves.len().saturating_sub(MAX_EVENTS);
    for moved in seen.moves.into_iter().take(MAX_EVENTS) {
        let Some((story, attempt)) = about else {
            // What became of the others is reported when the refs are compared.
            if moved.refused {
                let did = if moved.new.is_some() { "move" } else { "delete" };
                open.tell(format!("refused: {who} tried to {did} {}", moved.name));
            }
            continue;
        };
        open.emit(What::RefMoved {
            story: story.to_owned(),
            attempt,
            name: moved.name,
            old: moved.old.map(target),
            new: moved.new.map(target),
            refused: moved.refused,
        });
    }
    if untold > 0 && about.is_some() {
        open.tell(format!("the attempt moved refs {untold} more times"));
    }
    if seen.pushes > 0 {
        open.tell(format!("refused: {who} tried to push"));
    }
}

/// Returns what a ref points to: an object, or the name of another ref.
fn target(value: String) -> String {
    match value.strip_prefix("ref:") {
        Some(name) => name.to_owned(),
        None => value,
    }
}
