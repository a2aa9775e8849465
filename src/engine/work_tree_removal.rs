//! Removes work trees that loops made for themselves. Files of such a work tree are deleted only if a commit has them;
//! all others are moved to the trash first, or the work tree stays.

use std::path::{Path, PathBuf};

use super::work_tree_place::{configured, is_free};
use crate::error::Error;
use crate::fs::{
    Below, FileError, entries_of, file_error, is_there, may_be_there, may_exist, path_below,
    remove_named_dir, target_of,
};
use crate::git::{Git, GitError, Repo, RepoLayout, index};
use crate::names::Oid;
use crate::protect::{free_name, put_unkept_away};
use crate::settings::Settings;

/// Name of the directory in a loop's trash for files of its work tree that no commit has.
pub(super) const TRASH: &str = "worktree";

/// File in the work tree's git directory: the index of the files that git checks out there.
const SCRATCH: &str = "removal.index";

/// Returns the trash directories that got the files of work trees: `trash`, and those numbered after it.
pub(super) fn emptied_into(trash: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut found = Vec::new();
    let mut next = trash.to_owned();
    while is_there(&next)? {
        found.push(next);
        let mut name = trash.as_os_str().to_owned();
        name.push(format!(".{}", found.len() + 1));
        next = name.into();
    }
    Ok(found)
}

/// The result of removing a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// The work tree is removed. Files that no commit has are now in this directory, if there were any.
    Done(Option<PathBuf>),
    /// The work tree stays unchanged, for this reason.
    Stays(&'static str),
}

/// The contents of a work tree that is to be removed.
struct Contents {
    /// Files that a commit has.
    kept: Vec<Vec<u8>>,
    /// Paths that git ignores, directories with a final slash.
    ignored: Vec<Vec<u8>>,
    /// The submodules that are checked out, which are among the ignored paths.
    submodules: Vec<Vec<u8>>,
    /// True if the work tree has no other files, and none is missing.
    is_whole: bool,
}

/// Removes the work tree of a closed loop, in which `own` runs git. `outside` runs it in another directory. The work
/// tree stays if it was changed since the loop was closed, or if only its submodules have some of their commits
/// (`are_shared` is false). Repositories of submodules go to the trash with it; clean ones of a side are removed.
pub(super) async fn remove_final(
    outside: &Git,
    own: &Git,
    (are_shared, is_side): (bool, bool),
    trash: (&Below, &Path),
) -> Result<Removal, Error> {
    let (mut moved, mut has_submodules) = (None, false);
    let top = own.top();
    let stays = |why| stays(outside, top, why);
    if target_of(top)?.is_some() {
        let git_dir = RepoLayout::of_work_tree(top).map(|layout| layout.git_dir);
        let modules = git_dir.as_ref().map(|dir| dir.join("modules"));
        has_submodules =
            modules.is_some_and(|modules| may_exist(&modules)) || !own.submodules(None).await?.is_empty();
        if has_submodules && !are_shared {
            return stays("commits of its submodules are in no other repository").await;
        }
        let mut contents = look(own, None).await?;
        if !contents.is_whole {
            return stays("files in it are in no commit").await;
        }
        let are_clones_clean = is_side && drop_clean(own, &mut contents).await;
        moved = put_unkept_away(top, &contents.kept, &contents.ignored, trash)?;
        if has_submodules && !look(own, None).await?.is_whole {
            return stays("files in it are in no commit").await;
        }
        if let Some(git_dir) = git_dir.filter(|_| !are_clones_clean) {
            moved = put_modules_away(&git_dir, moved, trash)?;
        }
    }
    outside.unlock_work_tree(top).await?;
    // Git removes a work tree with submodules only with `-f`; its contents were just checked.
    let force = ["-f"];
    let force = force.get(..usize::from(has_submodules)).unwrap_or_default();
    if let Err(error) = outside.remove_work_tree(top, force).await
        && may_exist(top)
    {
        return Err(error.into());
    }
    Ok(Removal::Done(moved))
}

/// Leaves submodules in place that have nothing but their commit: git removes them with the work tree. Returns whether
/// all are left.
async fn drop_clean(own: &Git, contents: &mut Contents) -> bool {
    let mut clean = Vec::new();
    for path in &contents.submodules {
        if is_clean_clone(own, path).await.unwrap_or(false) {
            clean.push(path.clone());
        }
    }
    contents.ignored.retain(|path| !clean.contains(path));
    let are_all = clean.len() == contents.submodules.len();
    contents.kept.extend(clean);
    are_all
}

/// Returns whether a submodule has no changes, no files that git ignores, and no submodules of its own.
async fn is_clean_clone(own: &Git, path: &[u8]) -> Result<bool, GitError> {
    let dir = path_below(own.top(), path);
    if RepoLayout::of_work_tree(&dir).is_none() {
        return Ok(false);
    }
    let git = Git::at_top(&dir).with_settings(own.settings()).offline();
    let args = ["--porcelain", "--untracked-files=all", "--ignored=matching"];
    let found = git.cmd("status", args).bytes().await?;
    Ok(found.is_empty() && git.submodules(None).await?.is_empty())
}

/// Moves the repositories of the submodules of a work tree to the trash beside its files: they have more than commits.
fn put_modules_away(
    git_dir: &Path,
    moved: Option<PathBuf>,
    (door, trash): (&Below, &Path),
) -> Result<Option<PathBuf>, FileError> {
    let modules = git_dir.join("modules");
    if !may_exist(&modules) {
        return Ok(moved);
    }
    let place = match moved {
        Some(moved) => moved,
        None => free_name(trash)?,
    };
    let moved = Below::new(git_dir).move_to(&modules, door, &place.join(".git-modules"));
    moved.map_err(|error| file_error("move to the trash", &modules, error))?;
    Ok(Some(place))
}

async fn stays(outside: &Git, top: &Path, why: &'static str) -> Result<Removal, Error> {
    outside.unlock_work_tree(top).await?;
    Ok(Removal::Stays(why))
}

/// Removes a work tree in which no loop has begun, even if git had not written all of its files yet. Files that git did
/// not write are moved to `trash`. It stays if no ref keeps its commit, or git does not know it.
pub(super) async fn remove_unused(repo: &Repo, top: &Path, trash: &Path) -> Result<Removal, Error> {
    let git = &repo.git;
    let mut moved = None;
    match RepoLayout::of_work_tree(top).filter(|layout| layout.shares(&repo.common_dir)) {
        Some(layout) => {
            let own = Git::at_top(top);
            let head = own.cmd("rev-parse", ["-q", "--verify", "HEAD^{commit}"]);
            let head = head.any_exit().await?;
            match Oid::parse(String::from_utf8_lossy(&head.stdout).trim()) {
                Some(head) if is_kept(git, &head).await? => {
                    let dir = layout.git_dir.join("ralph");
                    Below::new(&layout.git_dir).make_dir(&dir, 0o700)?;
                    let contents = look(&own, Some(&dir.join(SCRATCH))).await?;
                    let trash = (&repo.door(trash), trash);
                    moved = put_unkept_away(top, &contents.kept, &contents.ignored, trash)?;
                    moved = put_modules_away(&layout.git_dir, moved, trash)?;
                }
                Some(_) => {
                    return Ok(Removal::Stays(
                        "no branch has the commit that is checked out in it",
                    ));
                }
                // Git writes HEAD before any file.
                None if has_only_link(top) => {}
                None => return Ok(Removal::Stays("git cannot read its HEAD")),
            }
        }
        // Git makes the directory before the link in it.
        None if is_free(top)? => {}
        None => return Ok(Removal::Stays("it does not belong to this repository")),
    }
    delete(git, top).await?;
    Ok(Removal::Done(moved))
}

/// Removes a work tree that this process has made, with all files: the commands that ran in it wrote the rest.
pub(super) async fn remove_new(repo: &Repo, top: &Path, settings: &Settings) -> Result<(), Error> {
    delete(&repo.git, top).await?;
    drop_empty_parent(repo.main_top().await?.as_deref(), top, settings);
    Ok(())
}

/// Removes a work tree. It stays locked until it is gone, so that after a kill it counts as half made. A git that was
/// killed at its start leaves an empty directory.
async fn delete(git: &Git, top: &Path) -> Result<(), GitError> {
    let removed = git.remove_work_tree(top, &["-f", "-f"]).await;
    let _ = remove_named_dir(top);
    match removed {
        Err(error) if may_be_there(top) => Err(error),
        _ => Ok(()),
    }
}

/// Removes the configured directory for work trees if it is empty; `main` is the main work tree.
pub(super) fn drop_empty_parent(main: Option<&Path>, top: &Path, settings: &Settings) {
    if let (Some(main), Some(parent)) = (main, top.parent())
        && parent == configured(main, settings)
    {
        let _ = remove_named_dir(parent);
    }
}

/// Returns whether a work tree has only its commit and ignored files; flags of its index hide no change.
pub(super) async fn is_as_committed(top: &Path) -> Result<bool, Error> {
    let Some(layout) = RepoLayout::of_work_tree(top) else {
        return Ok(false);
    };
    let git = Git::at_top(top);
    let staged = git
        .cmd("diff-index", ["--cached", "--quiet", "HEAD", "--"])
        .any_exit()
        .await?;
    let scratch = layout.git_dir.join(SCRATCH);
    Ok(staged.code == Some(0) && look(&git, Some(&scratch)).await?.is_whole)
}

/// Compares a work tree with its index, or with HEAD in a new index at `scratch`.
async fn look(git: &Git, scratch: Option<&Path>) -> Result<Contents, Error> {
    if let Some(scratch) = scratch {
        index::discard(&Below::of_loop(scratch), scratch)?;
        git.cmd("read-tree", ["HEAD"]).index(scratch).done().await?;
    }
    let args = [
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--ignored=matching",
        "--ignore-submodules=none",
        "--no-renames",
    ];
    let (status, files) = (git.cmd("status", args), git.cmd("ls-files", ["-z"]));
    let (status, files) = match scratch {
        Some(scratch) => (status.index(scratch), files.index(scratch)),
        None => (status, files),
    };
    let (listed, mut kept) = (status.fields().await?, files.fields().await?);
    let with = |mark: &[u8]| -> Vec<Vec<u8>> {
        let found = listed.iter().filter_map(|line| line.strip_prefix(mark));
        found.map(<[u8]>::to_vec).collect()
    };
    let mut ignored = with(b"!! ");
    let changed = [with(b" M "), with(b" T ")].concat();
    kept.retain(|path| !changed.contains(path));
    // Submodules are moved as a whole. A missing one was moved before.
    let mut submodules = git.submodules(scratch).await?;
    let gone = with(b" D ")
        .iter()
        .filter(|path| submodules.contains(path))
        .count();
    let is_whole = ignored.len() + gone == listed.len();
    kept.retain(|path| !submodules.contains(path));
    submodules.retain(|path| has_entries(&path_below(git.top(), path)));
    ignored.extend(submodules.iter().cloned());
    if let Some(scratch) = scratch {
        index::discard(&Below::of_loop(scratch), scratch)?;
    }
    Ok(Contents {
        kept,
        ignored,
        submodules,
        is_whole,
    })
}

/// Returns whether a ref contains a commit.
pub(super) async fn is_kept(git: &Git, commit: &Oid) -> Result<bool, GitError> {
    let args = ["--count=1", "--format=x", "--contains", commit.as_str()];
    Ok(!git.cmd("for-each-ref", args).bytes().await?.is_empty())
}

/// Returns whether a directory has entries; anything that is no directory counts, too.
fn has_entries(dir: &Path) -> bool {
    may_exist(dir) && entries_of(dir).map_or(true, |entries| !entries.is_empty())
}

/// Returns whether a work tree has nothing but the link to its repository.
fn has_only_link(top: &Path) -> bool {
    entries_of(top).is_ok_and(|entries| entries.iter().all(|entry| entry.file_name() == ".git"))
}
