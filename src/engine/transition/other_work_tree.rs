//! Another work tree of the repository than the loop's own, which gets the work of the loop.

use std::path::{Path, PathBuf};

use super::files::REPLACED;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{Loop, describe};
use crate::error::{Error, refuse};
use crate::git::{GitError, Repo, discover};
use crate::state::IntoPlan;

/// Opens another work tree of the repository.
pub(crate) async fn work_tree_at(open: &Loop<'_>, dir: &Path) -> Result<Repo, Error> {
    let refused = || FinishRefusal::NotAWorkTree(dir.to_owned());
    let Ok((mut repo, _)) = discover(dir).await else {
        return Err(refused().into());
    };
    let own = open.repo();
    if !repo.layout().shares(&own.common_dir) || repo.top == own.top {
        return Err(refused().into());
    }
    describe(&open.context.configuration, &mut repo);
    Ok(repo)
}

/// Returns the private index with which the target's files are compared and changed. Its own index stays as it is.
pub(crate) fn target_index(open: &Loop<'_>) -> PathBuf {
    open.site().file("into.index")
}

/// Gives the files of another work tree the work of the loop; `target` is that, if the command has found and locked it.
pub(super) async fn bring(open: &Loop<'_>, into: &IntoPlan, target: Option<&Repo>) -> Result<(), Error> {
    if let Some(target) = target {
        return write_files(open, into, target).await;
    }
    let target = work_tree_at(open, into.worktree.as_path()).await?;
    let _alone = open.store.lock_work_tree(&target.git_dir)?;
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
        let (there, trash) = (site.with_repo(target), site.trash().join(REPLACED));
        there.keep_before_switch(&index, trees, &trash).await?;
        written = target.switch_work_tree(&index, &into.from, &into.merged).await;
    }
    target.discard_index(&index)?;
    match written {
        Err(GitError::Failed { words, .. }) => refuse(FinishRefusal::NotWritten {
            change: open.change().to_string(),
            path: target.top.clone(),
            words,
        }),
        other => Ok(other?),
    }
}
