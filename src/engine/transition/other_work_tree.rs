//! A work tree of the repository other than the loop's own, which gets the work of the loop.

use std::path::{Path, PathBuf};

use super::files::REPLACED;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{Loop, describe, submodules};
use crate::error::{Error, refuse};
use crate::events::Notices;
use crate::fs::{Links, may_exist, path_below, read_regular, seen_itself};
use crate::git::{GitError, Repo, discover};
use crate::paths::first_few;
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

/// Opens the work tree that gets the work. Disables filters that an attempt may have added to its submodules.
pub(crate) async fn target_at(open: &Loop<'_>, dir: &Path) -> Result<Repo, Error> {
    let repo = work_tree_at(open, dir).await?;
    let off = open.site().with_repo(&repo).switched_off_filters().await?;
    repo.git.change_settings([repo.git.settings(), off].concat());
    Ok(repo)
}

/// Returns the private index with which the target's files are compared and changed. Its own index stays as it is.
pub(crate) fn target_index(open: &Loop<'_>) -> PathBuf {
    open.site().file("into.index")
}

/// Writes the work of the loop into another work tree; `target` is that tree, if the command has found and locked it.
pub(super) async fn bring(open: &Loop<'_>, into: &IntoPlan, target: Option<&Repo>) -> Result<(), Error> {
    if let Some(target) = target {
        return write_files(open, into, target).await;
    }
    let target = target_at(open, into.worktree.as_path()).await?;
    let _alone = open.store.lock_work_tree(&target.git_dir)?;
    write_files(open, into, &target).await
}

/// Writes the merged content to the files of the target. Stops at a file that matches neither its HEAD nor the merge,
/// and does not overwrite it, unless an earlier git, ended by a full disk or a kill, wrote only the beginning of it.
async fn write_files(open: &Loop<'_>, into: &IntoPlan, target: &Repo) -> Result<(), Error> {
    let changes = target.git.diff_trees(&into.from, &into.merged).await?;
    let Err(words) = write_but(open, into, target, &changes, &[]).await? else {
        return submodules::bring(open, target, &into.from, &into.merged).await;
    };
    let half_written = put_half_written_away(open, into, target, &changes).await?;
    if !half_written.is_empty()
        && write_but(open, into, target, &changes, &half_written)
            .await?
            .is_ok()
    {
        let names = first_few(&half_written).join(", ");
        open.tell(format!("only half written, and written again: {names}"));
        return submodules::bring(open, target, &into.from, &into.merged).await;
    }
    refuse(FinishRefusal::NotWritten {
        change: open.change().to_string(),
        path: target.top.clone(),
        words,
    })
}

/// Makes one try; returns git's words if it refuses. Writes the `missing` paths although their files are gone.
async fn write_but(
    open: &Loop<'_>,
    into: &IntoPlan,
    target: &Repo,
    changes: &[(u8, Vec<u8>)],
    missing: &[Vec<u8>],
) -> Result<Result<(), String>, Error> {
    let index = target_index(open);
    let made = target.private_index(&index, Some(&into.from)).await?;
    // A sparse checkout omits these: they match the index.
    let mut sparse = made.entries.sparse.clone();
    sparse.retain(|path| changes.iter().any(|(_, changed)| changed == path));
    let hidden = [made.entries.hidden(), sparse.clone()].concat();
    target.show_paths(&index, &hidden).await?;
    let paths = changes.iter().map(|(_, path)| path);
    let paths = paths.filter(|path| !sparse.contains(path));
    // The index has the files of a directory that replaced a file, not the directory.
    let is_dir =
        |path: &[u8]| seen_itself(&path_below(&target.top, path)).is_some_and(|found| found.is_dir());
    let paths = paths.filter(|path| !missing.contains(path) && !is_dir(path));
    let paths: Vec<Vec<u8>> = paths.cloned().collect();
    let mut written = target.update_index(&index, &["--add", "--remove"], &paths).await;
    if written.is_ok() {
        let trees = [&into.from, &into.merged];
        let site = open.site();
        let (there, trash) = (site.with_repo(target), site.trash().join(REPLACED));
        written = there.switch_users_files(&index, trees, site.repo, &trash).await?;
    }
    target.discard_index(&index)?;
    if written.is_ok() {
        let unseen = hidden
            .iter()
            .filter(|path| changes.iter().any(|(_, changed)| changed == *path));
        open.tell_few(
            "git status may not show what the loop changed in these files, because git's index hides them (git update-index \
             --no-skip-worktree, or --no-assume-unchanged)",
            unseen,
        );
    }
    match written {
        Err(GitError::Failed { words, .. }) => Ok(Err(words)),
        other => Ok(Ok(other?)),
    }
}

/// Moves the files of the target that have only the beginning of their new content to the trash; returns their paths,
/// and those of missing files. Moves nothing if there are none, or if another file is in the way.
async fn put_half_written_away(
    open: &Loop<'_>,
    into: &IntoPlan,
    target: &Repo,
    changes: &[(u8, Vec<u8>)],
) -> Result<Vec<Vec<u8>>, Error> {
    let (mut half, mut missing) = (Vec::new(), Vec::new());
    for (status, path) in changes.iter().filter(|(status, _)| *status != b'D') {
        let file = path_below(&target.top, path);
        if !may_exist(&file) {
            if *status != b'A' {
                missing.push(path.clone());
            }
            continue;
        }
        let name = String::from_utf8_lossy(path);
        let there = read_regular(&file, Links::Refused, u64::MAX).ok();
        let merged = target.git.file_of(&into.merged, &name).await?;
        let is_old = *status != b'A' && there == target.git.file_of(&into.from, &name).await?;
        if is_old || there == merged {
            continue;
        }
        match (there, merged) {
            (Some(there), Some(merged)) if merged.starts_with(&there) => half.push(path.clone()),
            _ => return Ok(Vec::new()),
        }
    }
    if half.is_empty() {
        return Ok(half);
    }
    let site = open.site().with_repo(target);
    for path in &half {
        site.put_beginning_away(path)?;
    }
    half.extend(missing);
    half.sort();
    Ok(half)
}
