//! Another work tree of the repository than the loop's own, which gets the work of the loop.

use std::path::{Path, PathBuf};

use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{Loop, describe};
use crate::error::Error;
use crate::git::{Repo, discover};
use crate::state::Lock;

/// Opens another work tree of the repository.
pub(crate) async fn work_tree_at(open: &Loop<'_>, dir: &Path) -> Result<Repo, Error> {
    let refused = || FinishRefusal::NotAWorkTree(dir.to_owned());
    let Ok((mut repo, _)) = discover(dir).await else {
        return Err(refused().into());
    };
    let own = &open.context.repo;
    if !repo.layout().shares(&own.common_dir) || repo.top == own.top {
        return Err(refused().into());
    }
    describe(&open.context.configuration, &mut repo);
    Ok(repo)
}

/// Prevents a loop from beginning in that work tree, and others from bringing their work there, at the same time.
pub(crate) fn lock(open: &Loop<'_>, target: &Repo) -> Result<Lock, Error> {
    Ok(open.store.lock_work_tree(&target.git_dir)?)
}

/// Returns the private index with which the target's files are compared and changed. Its own index stays as it is.
pub(crate) fn target_index(open: &Loop<'_>) -> PathBuf {
    open.site().file("into.index")
}
