//! Submodules of a loop with its own work tree. Commits in a submodule are copied to the repository that all work trees
//! share before a commit of the loop names them, and checked out in the work tree that gets the work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Loop;
use super::repository_refusal::RepositoryRefusal;
use super::work_tree_place::OwnTree;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::error::{Error, refuse};
use crate::events::Notices;
use crate::fs::{may_exist, path_below};
use crate::git::{
    Git, PathChange, Repo, RepoLayout, StagedEntry, Uncloned, check_out_submodules, copy_all_commits,
    copy_commit, shared_submodule, submodule_repositories,
};
use crate::names::Oid;
use crate::paths::shown;

/// Checks out in a new work tree the submodules that are checked out in the user's work tree.
///
/// # Errors
/// If git cannot: an agent would mistake the repository around an empty submodule for it.
pub(super) async fn check_out(own: OwnTree<'_>, made: &Repo) -> Result<(), Error> {
    if !may_exist(&made.top.join(".gitmodules")) {
        return Ok(());
    }
    for (path, why) in check_out_submodules(&own.context.repo.top, &made.top).await? {
        let path = shown(&path);
        match why {
            Uncloned::Unnamed(words) => own.tell(format!(
                "the submodule {path} cannot be checked out in the loop's work tree: {words}"
            )),
            Uncloned::Failed(error) => {
                let words = error.to_string();
                return refuse(StartRefusal::SubmoduleNotCloned { path, words });
            }
        }
    }
    Ok(())
}

/// Copies the commits of submodules that `tree` has, and the tree `from` does not, to the repository that outlives the
/// loop's work tree. Starts no process in a loop without its own work tree, or without submodules.
pub(super) async fn share(open: &Loop<'_>, from: &Oid, tree: &Oid) -> Result<(), Error> {
    let repo = open.repo();
    if !open.state.has_own_work_tree() || !has_submodules(repo) {
        return Ok(());
    }
    let changes = repo.git.changes_among(from, tree, &[]).await?;
    for moved in all_moved(&repo.git, changes).await? {
        let own = repository_at(&path_below(&repo.top, &moved.path));
        let shared = own.as_deref().and_then(|own| shared_with(open, own, &moved.path));
        copy(open, &moved, own.as_deref(), shared.as_deref()).await;
    }
    Ok(())
}

/// Returns whether a work tree has or had submodules.
pub(super) fn has_submodules(repo: &Repo) -> bool {
    may_exist(&repo.top.join(".gitmodules")) || may_exist(&repo.git_dir.join("modules"))
}

/// Returns the repository of the submodule in this directory, if it is checked out.
fn repository_at(dir: &Path) -> Option<PathBuf> {
    // Git writes a relative path with `..` to it.
    RepoLayout::of_work_tree(dir)?.common_dir.canonicalize().ok()
}

/// Returns the repository that a submodule of the loop's work tree has in common with other work trees.
fn shared_with(open: &Loop<'_>, own: &Path, path: &[u8]) -> Option<PathBuf> {
    let from = open.state.here.linked.as_ref()?.from.as_path();
    let dirs = [open.repo().git_dir.as_path(), open.repo().common_dir.as_path()];
    shared_submodule(own, dirs, Some(&path_below(from, path)))
}

/// Copies all commits of the submodules of the loop's work tree to the shared repository. Returns false if one
/// submodule could not be copied.
pub(super) async fn share_all(open: &Loop<'_>) -> Result<bool, Error> {
    let top = &open.repo().top;
    let prefix = prefix_of(open);
    let mut places = BTreeMap::new();
    let dirs = [open.repo().git_dir.as_path(), open.repo().common_dir.as_path()];
    for own in submodule_repositories(dirs[0])? {
        // Includes submodules that the loop has removed.
        let shared = shared_submodule(&own, dirs, None);
        places.insert(own, shared);
    }
    let mut levels = vec![Vec::new()];
    while let Some(level) = levels.pop() {
        for path in Git::at_top(&path_below(top, &level)).submodules(None).await? {
            let path = [level.as_slice(), &path].concat();
            if let Some(own) = repository_at(&path_below(top, &path)) {
                let shared = shared_with(open, &own, &path);
                places.insert(own, shared);
                levels.push([&path[..], b"/"].concat());
            }
        }
    }
    for (own, shared) in &places {
        let Some(shared) = shared else { return Ok(false) };
        if copy_all_commits(own, shared, &prefix).await.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies the commit of one submodule, or reports that only the loop's work tree has it.
async fn copy(open: &Loop<'_>, moved: &Moved, own: Option<&Path>, to: Option<&Path>) {
    let name = name_of(open, moved);
    let (path, at) = (shown(&moved.path), moved.to.short());
    let words = match (own, to) {
        (Some(own), Some(to)) => {
            let copied = copy_commit(own, to, &moved.to, moved.from.as_ref(), &name).await;
            copied.err().map(|error| format!(" ({error})"))
        }
        _ => Some(String::new()),
    };
    if let Some(words) = words {
        open.tell(format!(
            "the commit {at} of the submodule {path} is not copied to another repository than the loop's{words}; to keep it, \
             push it from there"
        ));
    }
}

/// Checks out the commits of submodules that the work has in the work tree that gets the work.
pub(super) async fn bring(open: &Loop<'_>, target: &Repo, from: &Oid, merged: &Oid) -> Result<(), Error> {
    let own = open.repo();
    if !has_submodules(own) {
        return Ok(());
    }
    let there = open.site().with_repo(target);
    let changes = own.git.changes_among(from, merged, &[]).await?;
    let gone = changes
        .iter()
        .filter(|change| change.is.is_none() && change.is_of_submodule());
    for path in gone.map(|change| shown(&change.path)) {
        open.tell(format!(
            "the loop has removed the submodule {path}, whose files stay here"
        ));
    }
    for moved in all_moved(&own.git, changes).await? {
        let [own, to] = [own, target].map(|repo| repository_at(&path_below(&repo.top, &moved.path)));
        if let Some(to) = &to {
            copy(open, &moved, own.as_deref(), Some(to)).await;
        }
        let stays = there
            .move_submodule(&moved.path, moved.from.as_ref(), &moved.to)
            .await?;
        let (path, at) = (shown(&moved.path), moved.to.short());
        open.tell(match stays {
            None => format!("the submodule {path} is at {at}, which the loop has made, with HEAD detached"),
            Some(why) => {
                format!("the submodule {path} stays as it is, because {why}; the loop has it at {at}")
            }
        });
    }
    Ok(())
}

/// Checks out in the loop's work tree the commits of submodules that the tree `to` has, and `from` does not; sides
/// copied them to the shared repository. Returns why a submodule stays unchanged, if one does.
pub(super) async fn follow(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<Option<String>, Error> {
    for moved in fetched(open, from, to).await? {
        let stays = open
            .site()
            .move_submodule(&moved.path, moved.from.as_ref(), &moved.to);
        if let Some(why) = stays.await? {
            let (path, at) = (shown(&moved.path), moved.to.short());
            return Ok(Some(format!("the submodule {path} is not at {at}: {why}")));
        }
    }
    Ok(None)
}

/// Refuses a checkout of the tree `to` in place of `from` if a submodule that is checked out cannot follow it: its commit
/// is in no repository here, or a submodule inside of it moves too. Changes nothing.
pub(super) async fn refuse_unmovable(repo: &Repo, from: &Oid, to: &Oid) -> Result<(), Error> {
    for moved in moved_here(repo, from, to).await? {
        let git = Git::at_top(&path_below(&repo.top, &moved.path)).offline();
        let path = shown(&moved.path);
        if git.existing_trees([&moved.to]).await.is_err() {
            let commit = moved.to.to_string();
            return refuse(RepositoryRefusal::SubmoduleCommitMissing { path, commit });
        }
        if !moved_in(&repo.git, &moved).await.is_empty() {
            return refuse(RepositoryRefusal::SubmoduleNested { path });
        }
    }
    Ok(())
}

/// Checks out in the loop's work tree the commits of submodules that the pulled tree `to` has in place of those of `from`,
/// and reports it. Can be repeated.
pub(super) async fn pull(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<(), Error> {
    for moved in moved_here(open.repo(), from, to).await? {
        let site = open.site();
        let stays = site.move_submodule(&moved.path, moved.from.as_ref(), &moved.to);
        let (path, at) = (shown(&moved.path), moved.to.short());
        open.tell(match stays.await? {
            None => format!("the submodule {path} is at {at}, as in the last checkpoint, with HEAD detached"),
            Some(why) => format!("the submodule {path} is not at {at}: {why}"),
        });
    }
    open.checkpoint().record_submodules().await?;
    Ok(())
}

/// Lists the submodules that are checked out, and have another commit in the tree `to` than in `from`.
async fn moved_here(repo: &Repo, from: &Oid, to: &Oid) -> Result<Vec<Moved>, Error> {
    if !has_submodules(repo) {
        return Ok(Vec::new());
    }
    let changes = repo.git.changes_among(from, to, &[]).await?;
    let mut moved = changed_links(changes, b"");
    moved.retain(|moved| repository_at(&path_below(&repo.top, &moved.path)).is_some());
    Ok(moved)
}

/// Returns the path of a nested submodule that is at another commit in the tree `to` than in `from`: git-ralph moves
/// only the outer submodule back.
pub(super) async fn nested_move(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<Option<String>, Error> {
    for moved in fetched(open, from, to).await? {
        if let Some(inner) = moved_in(&open.repo().git, &moved).await.first() {
            return Ok(Some(shown(&inner.path)));
        }
    }
    Ok(None)
}

/// Lists the submodules that have another commit in the tree `to` than in `from`, after fetching that commit into their
/// repositories in the loop's work tree.
async fn fetched(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<Vec<Moved>, Error> {
    let repo = open.repo();
    if !has_submodules(repo) {
        return Ok(Vec::new());
    }
    let changes = repo.git.changes_among(from, to, &[]).await?;
    let all = changed_links(changes, b"");
    for moved in &all {
        if let Some(own) = repository_at(&path_below(&repo.top, &moved.path)) {
            fetch(open, moved, &own).await?;
        }
    }
    Ok(all)
}

/// Copies the commit of a submodule to its repository in the loop's work tree, from the one that all work trees share.
async fn fetch(open: &Loop<'_>, moved: &Moved, own: &Path) -> Result<(), Error> {
    let dirs = [open.repo().git_dir.as_path(), open.repo().common_dir.as_path()];
    let shared = shared_submodule(own, dirs, None);
    let shared = shared.as_deref().unwrap_or(own);
    let name = name_of(open, moved);
    // If the copy fails, the checkout fails too, and reports it.
    let _ = copy_commit(shared, own, &moved.to, moved.from.as_ref(), &name).await;
    Ok(())
}

/// Returns the ref that keeps the commit of a submodule. Sides use the refs of their loop.
fn name_of(open: &Loop<'_>, moved: &Moved) -> String {
    prefix_of(open) + moved.to.as_str()
}

fn prefix_of(open: &Loop<'_>) -> String {
    open.change().worked_on().ralph_ref("modules/")
}

/// A submodule that has another commit than before.
struct Moved {
    /// Its path from the top directory.
    path: Vec<u8>,
    /// Its commit before, if it was there.
    from: Option<Oid>,
    /// Its commit now.
    to: Oid,
}

/// Lists the submodules among these changes of a tree, and the nested ones that changed with them, outer ones first.
async fn all_moved(git: &Git, changes: Vec<PathChange>) -> Result<Vec<Moved>, Error> {
    let mut found: Vec<Moved> = changed_links(changes, b"");
    let mut seen = 0;
    while let Some(outer) = found.get(seen) {
        seen += 1;
        let inner = moved_in(git, outer).await;
        found.extend(inner);
    }
    Ok(found)
}

/// Lists the submodules in this one that have another commit in its new commit.
async fn moved_in(git: &Git, outer: &Moved) -> Vec<Moved> {
    let dir = path_below(git.top(), &outer.path);
    let Some(was) = outer.from.as_ref().filter(|_| repository_at(&dir).is_some()) else {
        return Vec::new();
    };
    // The submodules of a missing commit cannot be copied.
    let changes = Git::at_top(&dir)
        .offline()
        .changes_among(was, &outer.to, &[])
        .await;
    changed_links(changes.unwrap_or_default(), &[&outer.path[..], b"/"].concat())
}

/// Returns the submodules among these changes, at paths with this beginning.
fn changed_links(changes: Vec<PathChange>, prefix: &[u8]) -> Vec<Moved> {
    let links = changes.into_iter().filter_map(|change| {
        let to = change.is.filter(StagedEntry::is_submodule)?;
        Some(Moved {
            path: [prefix, &change.path].concat(),
            from: change
                .was
                .filter(StagedEntry::is_submodule)
                .map(|entry| entry.oid),
            to: to.oid,
        })
    });
    links.collect()
}
