//! The phase that changes the files, including data that git does not store.

use std::collections::HashSet;

use super::final_state::work_tree_now;
use super::known::Known;
use crate::engine::position::Position;
use crate::engine::{Loop, submodules};
use crate::error::Error;
use crate::events::Notices;
use crate::fs::may_exist;
use crate::git::{GitError, added_in, clear_operations};
use crate::names::Oid;
use crate::refs::KeptRef;

/// Name of the directory in the trash for files that `abort` moves away.
pub(in crate::engine) const ABORT_TRASH: &str = "abort";

/// Name of the directory in the trash for files that a pull moves away.
pub(in crate::engine) const PULL_TRASH: &str = "pull";

/// Name of the directory in the trash for bytes that a merge replaces.
pub(super) const REPLACED: &str = "finish";

/// The files that the work tree gets. Removed files go to the directory `trash` of the loop.
pub(super) enum Files {
    /// The files and index of the checkpoint; submodules are kept under the name `kept`.
    Checkpoint { trash: String, kept: String },
    /// The same for a pulled checkpoint: its submodules replace those of the tree `from`.
    Pulled { from: Oid, trash: String, kept: String },
    /// The files of the checkpoint, after an attempt: also undoes its changes outside the work tree.
    BeforeAttempt {
        trash: String,
        kept: String,
        /// The tree that the attempt left.
        from: Option<Oid>,
    },
    /// The files from before the loop.
    Start,
    /// The files of a tree, including those in the directory `trash`; the index stays.
    Attempt { tree: Oid, trash: String },
    /// The files of a tree merged with the work of the loop.
    Merged(Oid),
}

/// The remains of a step.
#[derive(Default)]
pub(super) struct Left {
    /// The names under which commits are kept.
    pub kept: Vec<KeptRef>,
    /// Untracked paths that could not be restored.
    pub lost: Vec<Vec<u8>>,
    /// True if a change of an attempt was undone.
    pub changed: bool,
    /// The refusal of git that ended the step.
    pub refused: Option<GitError>,
}

/// Gives the work tree its files. `at` is the position of HEAD and the tip before.
pub(super) async fn reach(
    open: &Loop<'_>,
    files: Files,
    at: &Position,
    known: Known,
    left: &mut Left,
) -> Result<(), Error> {
    match files {
        Files::Checkpoint { trash, kept } => go_to_checkpoint(open, known, &trash, &kept).await?,
        Files::Pulled { from, trash, kept } => {
            submodules::pull(open, &from, open.state.checkpoint_tree()).await?;
            go_to_checkpoint(open, known, &trash, &kept).await?;
        }
        Files::BeforeAttempt { trash, kept, from } => {
            if let Some(from) = from.filter(|_| !known.is_fresh) {
                put_hidden_away(open, &from, &trash).await?;
            }
            before_attempt(open, &trash, kept, at, known, left).await?;
        }
        Files::Start => go_to_start(open, known).await?,
        Files::Attempt { tree, trash } => {
            let now = open.read_work_tree().await?.tree;
            left.refused = switch(open, [&now, &tree], &trash).await?;
            return Ok(());
        }
        Files::Merged(merged) => merge(open, &merged, known.tree).await?,
    }
    open.view.drop_all();
    Ok(())
}

async fn go_to_checkpoint(open: &Loop<'_>, known: Known, trash: &str, kept: &str) -> Result<(), Error> {
    let trash = open.site().trash().join(trash);
    open.checkpoint().follow_checkpoint().await?;
    open.checkpoint().go_to(known.reading, &trash, kept).await?;
    Ok(())
}

/// Moves files to the trash that ignore rules of an attempt hid, and that became visible when an earlier try restored
/// the rules. No ref keeps them. Scans the work tree once.
async fn put_hidden_away(open: &Loop<'_>, from: &Oid, trash: &str) -> Result<(), Error> {
    let (git, now) = (open.git(), open.read_work_tree().await?.tree);
    let since = git.diff_trees(from, &now).await?;
    let new = git.diff_trees(open.state.checkpoint_tree(), &now).await?;
    let new: HashSet<&Vec<u8>> = added_in(&new).collect();
    let hidden = added_in(&since).filter(|path| new.contains(path));
    let hidden: Vec<Vec<u8>> = hidden.cloned().collect();
    let site = open.site();
    Ok(open
        .checkpoint()
        .put_new_away(&hidden, &site.trash().join(trash))?)
}

/// Goes back to the checkpoint after an attempt.
async fn before_attempt(
    open: &Loop<'_>,
    trash: &str,
    kept: String,
    at: &Position,
    known: Known,
    left: &mut Left,
) -> Result<(), Error> {
    let checkpoint = open.checkpoint();
    let kept = left.kept.first().map_or(kept, |kept| kept.name.clone());
    let (site, state) = (open.site(), &open.state);
    let trash = site.trash().join(trash);
    site.put_patches_away(&trash)?;
    clear_operations(open.repo()).await?;
    let source = (state.source(), !open.is_recovering);
    let went = checkpoint.on_return(known.reading, (&trash, &kept), source);
    let went = went.await?;
    let moved = at.tip.as_ref() != Some(&checkpoint.commit) || at.head.oid != state.loop_head().oid;
    left.changed =
        !known.is_fresh || moved || !went.touched.is_empty() || left.kept.len() > 1 || may_exist(&trash);
    left.lost = went.lost;
    Ok(())
}

/// Goes to the savepoint from before the loop.
async fn go_to_start(open: &Loop<'_>, known: Known) -> Result<(), Error> {
    let initial = open.state.initial().clone();
    let tree = open.git().tree_of(&initial).await?;
    let start = open.checkpoint().of_start(tree, initial);
    let kept = open.change().ralph_ref("finished");
    let site = open.site();
    let trash = site.trash().join(ABORT_TRASH);
    start.go_to(known.reading, &trash, &kept).await?;
    let what = format!("files that only gates made are in {}", trash.display());
    open.tell_few(&what, start.gate_files.keys());
    Ok(())
}

/// Gives the work tree the files of this tree while an attempt at it runs, and checks out its submodules; index and
/// HEAD stay. Scans the work tree once. Returns why a submodule stays unchanged, if one does.
pub(crate) async fn place(open: &Loop<'_>, tree: &Oid) -> Result<Option<String>, Error> {
    let was = open.read_work_tree().await?.tree;
    if let Some(refused) = switch(open, [&was, tree], "").await? {
        return Err(refused.into());
    }
    let stays = submodules::follow(open, &was, tree).await;
    open.view.drop_all();
    stays
}

/// Changes the files from the tree `now` to the tree of an attempt. Returns git's refusal, which changes nothing.
async fn switch(open: &Loop<'_>, [now, tree]: [&Oid; 2], trash: &str) -> Result<Option<GitError>, Error> {
    let site = open.site();
    let work = site.work_index();
    // Git checks every file before it writes the first.
    let switched = site.repo.switch_work_tree(&work, now, tree).await;
    if switched.is_ok() {
        site.after_switch([now, tree]).await?;
        // The permissions of the checkpoint are known after a kill, too.
        site.give_recorded_modes([open.state.checkpoint_tree(), tree])
            .await?;
    }
    site.repo.discard_index(&work)?;
    if let Err(refused) = switched {
        return Ok(Some(refused));
    }
    if !trash.is_empty() {
        site.restore_from_trash(&site.trash().join(trash))?;
    }
    Ok(None)
}

/// Gives the work tree the merged files, which the working index then describes. `now` is the present tree, if the
/// working index was just read from it.
async fn merge(open: &Loop<'_>, merged: &Oid, now: Option<Oid>) -> Result<(), Error> {
    let now = match now {
        Some(now) => now,
        None => work_tree_now(open).await?,
    };
    let site = open.site();
    let (work, trash) = (site.work_index(), site.trash().join(REPLACED));
    let switched = site.switch_users_files(&work, [&now, merged], site.repo, &trash);
    Ok(switched.await??)
}
