//! HEAD is at the original branch; the files stay, or are merged with what came there.

use std::path::Path;

use super::way::{Left, Way};
use crate::engine::Loop;
use crate::engine::transition::final_state::work_tree_now;
use crate::engine::transition::original::ORIGINAL_INDEX;
use crate::error::Error;
use crate::git::{Git, GitError, Head, Repo, StagedEntry};
use crate::names::Oid;
use crate::protect::{hide_again, keep_before_switch};

/// Name of the directory in the trash for bytes that a merge replaces.
pub(super) const REPLACED: &str = "finish";

/// Moves HEAD to `head`; the files get the tree `merged`, and the index the tree `staged`, if there are such. `tree` is
/// the work tree, if the working index was just read from it.
pub(super) async fn go_to(
    open: &Loop<'_>,
    way: &Way<'_>,
    head: Option<Oid>,
    [merged, staged]: [Option<Oid>; 2],
    tree: Option<Oid>,
) -> Result<Left, Error> {
    let mut place = open.state.original_place();
    place.oid.clone_from(&head);
    let content = staged.as_ref().or(head.as_ref());
    match &merged {
        Some(merged) => merge(open, way, &place, [Some(merged), content], tree).await?,
        None => go_back(open, way, &place, content).await?,
    }
    to_original_index(open, staged.is_some()).await?;
    Ok(Left {
        branch: open.state.common.original_branch.clone(),
        ..Left::default()
    })
}

/// Returns whether HEAD is at its place already.
fn is_there(way: &Way<'_>, place: &Head) -> bool {
    place.branch.is_some() && way.position.head.branch == place.branch
}

/// Moves HEAD to its place; touches no file. The working index gets `content`.
async fn go_back(open: &Loop<'_>, way: &Way<'_>, place: &Head, content: Option<&Oid>) -> Result<(), Error> {
    if is_there(way, place) {
        open.context
            .repo
            .git
            .update_refs(&way.refs.updates, way.why)
            .await?;
    } else {
        open.move_refs(&way.refs.updates, &way.position.head, place, way.why)
            .await?;
    }
    let (repo, work) = (&open.context.repo, open.site().work_index());
    repo.private_index(&repo.index(), &work, place.oid.as_ref())
        .await?;
    let entries = match repo.held_tree(&work) {
        Some(held) => entries_of(&repo.git, &held, content).await?,
        None => None,
    };
    Ok(fill(repo, &work, entries, content).await?)
}

/// Gives the files the merged content, and moves HEAD to its place; the working index gets `content`. `tree` is the work
/// tree, if the working index was just read from it.
async fn merge(
    open: &Loop<'_>,
    way: &Way<'_>,
    place: &Head,
    [merged, content]: [Option<&Oid>; 2],
    tree: Option<Oid>,
) -> Result<(), Error> {
    let Some(merged) = merged else { return Ok(()) };
    let git = &open.context.repo.git;
    let (kept, entries) = tokio::join!(
        git.update_refs(&way.refs.updates, way.why),
        entries_of(git, merged, content)
    );
    kept?;
    let entries = entries?;
    let now = match tree {
        Some(tree) => tree,
        None => work_tree_now(open).await?,
    };
    let site = open.site();
    let (work, trash) = (site.work_index(), site.trash().join(REPLACED));
    keep_before_switch(site, &work, [&now, merged], &trash, open).await?;
    let repo = &open.context.repo;
    repo.switch_work_tree(&work, &now, merged).await?;
    let to_place = async {
        if is_there(way, place) {
            Ok(())
        } else {
            repo.set_head(place, way.why).await
        }
    };
    let (moved, filled) = tokio::join!(to_place, fill(repo, &work, entries, content));
    moved?;
    Ok(filled?)
}

/// Installs the working index in the place of the user's, with the flags that the user's had; `has_staged` if what was
/// staged before the loop is in it.
async fn to_original_index(open: &Loop<'_>, has_staged: bool) -> Result<(), Error> {
    open.view.drop_all();
    let (repo, work) = (&open.context.repo, open.site().work_index());
    if has_staged {
        repo.intend_to_add(&work, &intended_at_start(open)).await?;
    }
    hide_again(open.site(), &work).await?;
    repo.install_index(&work).await?;
    Ok(repo.discard_index(&work)?)
}

/// Lists the paths that were staged only as an intent to add before the loop.
fn intended_at_start(open: &Loop<'_>) -> Vec<Vec<u8>> {
    let index = open.context.repo.read_index(&open.file(ORIGINAL_INDEX));
    let index = index.unwrap_or_default();
    let intended = index.entries().filter(|entry| entry.intended);
    intended.map(|entry| entry.path.to_vec()).collect()
}

/// Returns the entries of an index with `content` that differ from the tree `held`: a tree of many files takes a long
/// time to read.
async fn entries_of(
    git: &Git,
    held: &Oid,
    content: Option<&Oid>,
) -> Result<Option<Vec<StagedEntry>>, GitError> {
    Ok(match content {
        Some(content) => Some(git.staged_between(held, content).await?),
        None => None,
    })
}

/// Makes an index hold `content`; `entries` are the differences, if they are known.
async fn fill(
    repo: &Repo,
    index: &Path,
    entries: Option<Vec<StagedEntry>>,
    content: Option<&Oid>,
) -> Result<(), GitError> {
    let content = match (entries, content) {
        (Some(entries), _) => return repo.set_entries(index, &entries).await,
        (None, Some(content)) => content.as_str(),
        (None, None) => return repo.git.cmd("read-tree", ["--empty"]).index(index).done().await,
    };
    let args = ["--no-sparse-checkout", "--reset", content];
    repo.git.cmd("read-tree", args).index(index).done().await
}
