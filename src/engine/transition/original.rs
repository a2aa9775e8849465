//! The original branch, and the user's index from before the loop.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::engine::Loop;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::error::{Error, refuse};
use crate::fs::{may_exist, target_of};
use crate::git::{Git, RefFile, RefInfo, Repo, last_logged};
use crate::names::Oid;
use crate::state::{State, Store};
use std::io::Write;

/// The user's index file as it was before the loop, in the loop's directory.
pub(crate) const ORIGINAL_INDEX: &str = "original.index";

/// Returns the tip of the original branch; `None` if it has no commit yet.
pub(crate) async fn original_now(repo: &Repo, state: &State) -> Result<Option<Oid>, Error> {
    let Some(branch) = &state.common.original_branch else {
        return Ok(state.common.original_head.clone());
    };
    let name = format!("refs/heads/{branch}");
    // Only another work tree can have it checked out; without other work trees, its ref file is enough.
    if state.common.original_head.is_some()
        && !may_exist(&repo.common_dir.join("worktrees"))
        && let Some(oid) = repo.layout().loose(&name)
    {
        return Ok(Some(oid));
    }
    let refs = repo.git.refs(&[&name]).await?;
    let found = refs.into_iter().find(|found| found.name == name);
    let file = repo.common_dir.join(&name);
    match (found, &state.common.original_head) {
        (Some(found), _) if is_elsewhere(&found, repo) => refuse(FinishRefusal::OriginalElsewhere {
            branch: branch.clone(),
            path: found.checked_out.unwrap_or_default(),
        }),
        (Some(_), None) => refuse(FinishRefusal::OriginalBorn {
            change: state.change.to_string(),
            branch: branch.clone(),
        }),
        (Some(found), Some(_)) => Ok(Some(found.oid)),
        (None, None) => Ok(None),
        (None, Some(was)) if RefFile::read(&file) == RefFile::Damaged => {
            refuse(FinishRefusal::OriginalDamaged {
                branch: branch.clone(),
                oid: last_logged(&repo.common_dir.join("logs").join(&name))
                    .unwrap_or_else(|| was.clone())
                    .to_string(),
                file,
            })
        }
        (None, Some(was)) => refuse(FinishRefusal::OriginalGone {
            branch: branch.clone(),
            oid: was.to_string(),
        }),
    }
}

/// Returns whether a branch is checked out in another work tree.
fn is_elsewhere(branch: &RefInfo, repo: &Repo) -> bool {
    let place = branch.checked_out.as_ref();
    place.is_some_and(|place| Path::new(place) != repo.top)
}

/// Restores the user's index byte for byte from the commit that keeps it.
pub(crate) async fn restore_original_index(
    git: &Git,
    anchor: Option<&Oid>,
    store: &Store,
) -> Result<(), Error> {
    let Some(anchor) = anchor else { return Ok(()) };
    // The repository had no index.
    if let Some(bytes) = git.file_of(anchor, "index").await? {
        let path = store.file(ORIGINAL_INDEX);
        // With an old timestamp, git reads the content of every file in it.
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        store.door().replace(&path, |file| {
            file.write_all(&bytes)?;
            file.set_modified(old)
        })?;
    }
    Ok(())
}

/// Installs the user's index, byte for byte.
pub(crate) async fn install_original_index(open: &Loop<'_>) -> Result<(), Error> {
    let copy = open.file(ORIGINAL_INDEX);
    open.site().forget_users_index()?;
    let repo = &open.repo().with_users_index();
    if target_of(&copy)?.is_none() && open.state.here.before.index {
        restore_original_index(&repo.git, open.state.here.before.anchor.as_ref(), &open.store).await?;
    }
    if target_of(&copy)?.is_some() {
        return Ok(repo.install_index(&copy).await?);
    }
    if open.state.here.before.index {
        // The loop's directory was lost, but the snapshot still has the staged content.
        let staged = format!("{}^2", open.state.here.before.snapshot);
        let work = open.site().work_index();
        repo.discard_index(&work)?;
        repo.git.cmd("read-tree", [staged]).index(&work).done().await?;
        repo.install_index(&work).await?;
        return Ok(repo.discard_index(&work)?);
    }
    Ok(repo.door(&repo.index()).remove_file(&repo.index())?)
}
