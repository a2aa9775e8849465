//! Installs the guard around the agent's git for an attempt, removes it, and records its findings as events.

use super::{Loop, shared_stash};
use crate::error::Error;
use crate::events::{RefMoved, What};
use crate::guard::{self, GitSettings, Rail, SeenMove};
use crate::names::Oid;
use crate::protect::StashList;
use crate::refs::OwnMove;

/// Maximum number of ref moves that an attempt records as events; further moves are only counted.
const MAX_EVENTS: usize = 500;

/// Creates the guard's hooks, if `is_wanted`; returns the settings that make the agent's git use them. If the hooks
/// cannot be created, a warning is reported and the attempt runs without a guard. `before` is the stash that the guard
/// protects; `None` means the present one.
pub(super) async fn set_up(open: &Loop<'_>, is_wanted: bool, before: Option<&StashList>) -> GitSettings {
    if !is_wanted {
        guard::remove_files(open.site().slot);
        return Vec::new();
    }
    match make(open, before).await {
        Ok(settings) => settings,
        Err(error) => {
            open.tell(format!("this attempt has no guard: {error}"));
            Vec::new()
        }
    }
}

async fn make(open: &Loop<'_>, before: Option<&StashList>) -> Result<GitSettings, Error> {
    let refs = open.user_refs().await?;
    let repo = open.repo();
    let stashes: Vec<Oid> = match before {
        Some(before) => before.oids().cloned().collect(),
        None => refs.stash_list(repo).await?.oids().cloned().collect(),
    };
    let branches: Vec<&str> = refs.branches().collect();
    let users_hooks = {
        let hooks = open.context.configuration.hooks.borrow();
        hooks.as_ref().and_then(|hooks| hooks.dir(repo))
    };
    let rail = Rail {
        slot: open.site().slot,
        change: open.change(),
        git_dir: &repo.git_dir,
        common_dir: &repo.common_dir,
        users_hooks: users_hooks.as_deref(),
        checkpoint: open.state.checkpoint(),
        in_place: !open.state.has_branch(),
        shares_stash: !repo.layout().is_only_work_tree(),
        branches: &branches,
        stashes: &stashes,
    };
    Ok(guard::set_up(&repo.git, rail).await?)
}

/// Removes the guard after an attempt, once none of its processes is alive: records the ref moves that the guard saw,
/// and keeps the stash entries that it refused. Returns the moves that were made.
pub(crate) async fn end_attempt(open: &Loop<'_>, story: &str, attempt: u32) -> Result<Vec<OwnMove>, Error> {
    let moves = remove(open, Some((story, attempt)), "the agent");
    shared_stash::keep_refused(open, moves.refused_stash, story, attempt).await?;
    Ok(moves.made)
}

/// Removes the guard after other commands that ran in it.
pub(crate) fn take_away(open: &Loop<'_>, who: &str) {
    remove(open, None, who);
}

/// Removes the guard, and reports the ref moves that it saw. `about` is the story and the attempt.
fn remove(open: &Loop<'_>, about: Option<(&str, u32)>, who: &str) -> GuardedMoves {
    let seen = guard::take_away(open.site().slot);
    let moves = GuardedMoves::of(&seen.moves);
    let untold = seen.moves.len().saturating_sub(MAX_EVENTS);
    for moved in seen.moves.into_iter().take(MAX_EVENTS) {
        let Some((story, attempt)) = about else {
            // The other moves are reported when the refs are compared.
            if moved.refused {
                let did = if moved.new.is_some() { "move" } else { "delete" };
                open.tell(format!("refused: {who} tried to {did} {}", moved.name));
            }
            continue;
        };
        open.emit(What::RefMoved(RefMoved {
            story: story.to_owned(),
            attempt,
            name: moved.name,
            old: moved.old.map(target),
            new: moved.new.map(target),
            refused: moved.refused,
        }));
    }
    if untold > 0 && about.is_some() {
        open.tell(format!("the attempt moved refs {untold} more times"));
    }
    if seen.unasked > 0 || seen.was_removed {
        let how = if seen.was_removed {
            "was removed during it"
        } else {
            "could not be asked every time, because git-ralph's program could not be run"
        };
        open.tell(format!(
            "the guard around the git of {who} {how}: what it would have refused may have passed; refs and files are \
             compared all the same"
        ));
    }
    if seen.pushes > 0 {
        open.tell(format!("refused: {who} tried to push"));
    }
    moves
}

/// Moves of refs by an attempt, as the guard saw them.
#[derive(Default)]
struct GuardedMoves {
    /// The moves that the guard let through.
    made: Vec<OwnMove>,
    /// The stash entries that the guard refused.
    refused_stash: Vec<Oid>,
}

impl GuardedMoves {
    /// Sorts the moves that the guard recorded.
    fn of(moves: &[SeenMove]) -> Self {
        let target = |moved: &SeenMove| Oid::parse(moved.new.as_deref()?);
        let (refused, made): (Vec<_>, Vec<_>) = moves.iter().partition(|moved| moved.refused);
        Self {
            made: made
                .into_iter()
                .filter_map(|moved| Some((moved.name.clone(), target(moved)?)))
                .collect(),
            refused_stash: refused
                .into_iter()
                .filter(|moved| moved.name == "refs/stash")
                .filter_map(target)
                .collect(),
        }
    }
}

/// Returns the target of a ref: an object, or the name of another ref.
fn target(value: String) -> String {
    match value.strip_prefix("ref:") {
        Some(name) => name.to_owned(),
        None => value,
    }
}
