//! The loop's own work tree is left, and another one gets the work.

use super::original::REPLACED;
use super::way::{Left, Way};
use crate::engine::Loop;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::transition::other_work_tree::{lock, target_index, work_tree_at};
use crate::error::Error;
use crate::git::{GitError, Head, Repo};
use crate::names::Oid;
use crate::protect::{Site, keep_before_switch};
use crate::state::IntoPlan;

/// Leaves the loop's own work tree, which is removed later. `target` is the work tree that gets the work, if the caller
/// has found and locked it.
pub(super) async fn leave(
    open: &mut Loop<'_>,
    way: &Way<'_>,
    into: Option<IntoPlan>,
    finished: &Oid,
    target: Option<Repo>,
) -> Result<Left, Error> {
    let left = match &into {
        Some(into) => {
            bring(open, into, target).await?;
            Left {
                branch: into.branch.clone(),
                work_tree: Some(into.worktree.to_string()),
                ..Left::default()
            }
        }
        None => Left {
            work_tree: Some(open.state.here.worktree.to_string()),
            ..Left::default()
        },
    };
    let head = Head {
        branch: None,
        oid: Some(finished.clone()),
    };
    // After the files of the other work tree: they may have moved.
    let position = open.position().await?;
    open.move_refs(&way.refs.updates, &position.head, &head, way.why)
        .await?;
    let (repo, work) = (&open.context.repo, open.site().work_index());
    repo.private_index(&repo.index(), &work, Some(finished)).await?;
    let reset = ["--reset", finished.as_str()];
    repo.git.cmd("read-tree", reset).index(&work).done().await?;
    repo.refresh(&work).await?;
    repo.install_index(&work).await?;
    repo.discard_index(&work)?;
    if let Some(linked) = &mut open.state.here.linked {
        linked.leaving = true;
    }
    Ok(left)
}

/// Gives the files of another work tree the work of the loop.
async fn bring(open: &Loop<'_>, into: &IntoPlan, target: Option<Repo>) -> Result<(), Error> {
    if let Some(target) = target {
        return write_files(open, into, &target).await;
    }
    let target = work_tree_at(open, into.worktree.as_path()).await?;
    let _alone = lock(open, &target)?;
    write_files(open, into, &target).await
}

/// Gives the files of the target the merged content. A file that is neither as in its HEAD nor as merged already stops
/// this; it is not overwritten.
async fn write_files(open: &Loop<'_>, into: &IntoPlan, target: &Repo) -> Result<(), Error> {
    let index = target_index(open);
    let made = target
        .private_index(&target.index(), &index, Some(&into.from))
        .await?;
    target.show_paths(&index, &made.entries.hidden()).await?;
    let changes = target.git.diff_trees(&into.from, &into.merged).await?;
    let paths: Vec<Vec<u8>> = changes.into_iter().map(|(_, path)| path).collect();
    let mut written = target.update_index(&index, &["--add", "--remove"], &paths).await;
    if written.is_ok() {
        let trees = [&into.from, &into.merged];
        let site = open.site();
        let (there, trash) = (Site { repo: target, ..site }, site.trash().join(REPLACED));
        keep_before_switch(there, &index, trees, &trash, open).await?;
        written = target.switch_work_tree(&index, &into.from, &into.merged).await;
    }
    target.discard_index(&index)?;
    match written {
        Err(GitError::Failed { words, .. }) => Err(FinishRefusal::NotWritten {
            change: open.change().to_string(),
            path: target.top.clone(),
            words,
        }
        .into()),
        other => Ok(other?),
    }
}
