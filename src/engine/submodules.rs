//! Submodules of a loop with a work tree of its own. What is committed in one is copied to the repository that all work trees
//! share before a commit of the loop names it, and brought to the work tree that gets the work.

use std::path::{Path, PathBuf};

use super::{Context, Loop};
use crate::error::Error;
use crate::fs::{may_exist, path_below};
use crate::git::{
    Git, PathChange, Repo, RepoLayout, StagedEntry, check_out_submodules, copy_all_commits, copy_commit,
    shared_submodule,
};
use crate::names::{Change, Oid};
use crate::paths::shown;

/// Checks out the submodules of a new work tree that are checked out where the command was typed.
pub(super) async fn check_out(context: &Context<'_>, change: &Change, made: &Repo) -> Result<(), Error> {
    if !may_exist(&made.top.join(".gitmodules")) {
        return Ok(());
    }
    for (path, words) in check_out_submodules(&context.repo.top, &made.top).await? {
        let path = shown(&path);
        context.tell(
            change,
            format!("the submodule {path} cannot be checked out in the loop's work tree: {words}"),
        );
    }
    Ok(())
}

/// Copies the commits of submodules that a tree of the loop has, and the tree `from` does not, to where they stay when the
/// loop's work tree is gone. Loops without a work tree of their own, and without submodules, cost nothing.
pub(super) async fn share(open: &Loop<'_>, from: &Oid, tree: &Oid) -> Result<(), Error> {
    let repo = open.repo();
    if !open.state.has_own_work_tree() || !may_exist(&repo.top.join(".gitmodules")) {
        return Ok(());
    }
    for moved in moved(&repo.git, from, tree).await? {
        let own = RepoLayout::of_work_tree(&path_below(&repo.top, &moved.path));
        let shared = own.as_ref().and_then(|own| shared_with(open, own, &moved.path));
        copy(open, &moved, own.as_ref(), shared.as_deref()).await;
    }
    Ok(())
}

/// Returns the repository that a submodule of the loop's work tree has in common with other work trees.
fn shared_with(open: &Loop<'_>, own: &RepoLayout, path: &[u8]) -> Option<PathBuf> {
    let from = open.state.here.linked.as_ref()?.from.as_path();
    let dirs = [open.repo().git_dir.as_path(), open.repo().common_dir.as_path()];
    shared_submodule(&own.common_dir, dirs, &path_below(from, path))
}

/// Copies all that the submodules of the loop's work tree have to where it stays. Returns false if that of one could not be
/// copied.
pub(super) async fn share_all(open: &Loop<'_>) -> Result<bool, Error> {
    let top = &open.repo().top;
    let prefix = open.change().ralph_ref("modules/");
    let mut levels = vec![Vec::new()];
    while let Some(level) = levels.pop() {
        for path in Git::at_top(&path_below(top, &level)).submodules(None).await? {
            let path = [level.as_slice(), &path].concat();
            let Some(own) = RepoLayout::of_work_tree(&path_below(top, &path)) else {
                continue;
            };
            let Some(shared) = shared_with(open, &own, &path) else {
                return Ok(false);
            };
            if copy_all_commits(&own.common_dir, &shared, &prefix).await.is_err() {
                return Ok(false);
            }
            levels.push([&path[..], b"/"].concat());
        }
    }
    Ok(true)
}

/// Copies the commit of one, or says that it is only in the loop's work tree.
async fn copy(open: &Loop<'_>, moved: &Moved, own: Option<&RepoLayout>, to: Option<&Path>) {
    let name = open.change().ralph_ref(&format!("modules/{}", moved.to));
    let (path, at) = (shown(&moved.path), moved.to.short());
    let words = match (own, to) {
        (Some(own), Some(to)) => {
            let copied = copy_commit(&own.common_dir, to, &moved.to, moved.from.as_ref(), &name).await;
            copied.err().map(|error| format!(" ({error})"))
        }
        _ => Some(String::new()),
    };
    if let Some(words) = words {
        open.tell(format!(
            "the commit {at} of the submodule {path} is in no other repository than the loop's{words}; to keep it, push it \
             from there"
        ));
    }
}

/// Brings the commits of submodules that the work has to the work tree that gets it.
pub(super) async fn bring(open: &Loop<'_>, target: &Repo, from: &Oid, merged: &Oid) -> Result<(), Error> {
    let own = open.repo();
    if !may_exist(&own.top.join(".gitmodules")) {
        return Ok(());
    }
    let there = open.site().with_repo(target);
    for moved in moved(&own.git, from, merged).await? {
        let [own, to] =
            [own, target].map(|repo| RepoLayout::of_work_tree(&path_below(&repo.top, &moved.path)));
        if let Some(to) = &to {
            copy(open, &moved, own.as_ref(), Some(&to.common_dir)).await;
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

/// A submodule that has another commit than before.
struct Moved {
    /// Its path from the top directory.
    path: Vec<u8>,
    /// Its commit before, if it was there.
    from: Option<Oid>,
    /// Its commit now.
    to: Oid,
}

/// Lists the submodules in which two trees differ, those inside of submodules too, the outer ones first.
async fn moved(git: &Git, from: &Oid, to: &Oid) -> Result<Vec<Moved>, Error> {
    let mut found: Vec<Moved> = changed_links(git.changes_among(from, to, &[]).await?, b"");
    let mut seen = 0;
    while let Some(outer) = found.get(seen) {
        seen += 1;
        let dir = path_below(git.top(), &outer.path);
        if let Some(was) = &outer.from
            && RepoLayout::of_work_tree(&dir).is_some()
        {
            let prefix = [&outer.path[..], b"/"].concat();
            let inner = Git::at_top(&dir).changes_among(was, &outer.to, &[]).await?;
            found.extend(changed_links(inner, &prefix));
        }
    }
    Ok(found)
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
