//! Keeps content that is only staged: a step resets the index to the checkpoint, and the work tree has another version.

use std::path::Path;

use super::Loop;
use crate::error::Error;
use crate::fs::{kind_of, path_below};
use crate::git::Repo;
use crate::git::index_file::{Entry, GITLINK, touched};
use crate::names::{Oid, typed};
use crate::paths::first_few;
use crate::refs::KeptRef;

/// Keeps by a ref the content that the user staged since the last checkpoint and has edited or removed since, or that
/// git ignored when the loop began. Called before a step; one `lstat` for each staged file.
pub(super) async fn keep(open: &Loop<'_>) -> Result<(), Error> {
    let (state, repo) = (&open.state, open.repo());
    let head = open.view.head().unwrap_or_else(|| open.context.head.clone());
    let is_on_branch = state.has_branch() && head.branch == state.loop_head().branch;
    // Content that an agent's own session stages belongs to its attempt.
    let session = state.here.session.as_ref();
    let is_sessions = session.is_some_and(|session| session.is_heard_at_work(open.settings().idle_timeout));
    if !state.is_live() || !is_on_branch || is_sessions {
        return Ok(());
    }
    keep_of(open, repo, &open.checkpoint().index(), "HEAD").await
}

/// Keeps in the same way what is only staged in the index of `repo`, before git-ralph replaces it: a person may have staged
/// it after a kill. `was` is the index that the steps so far have left.
pub(super) async fn keep_before_reset(open: &Loop<'_>, repo: &Repo, was: &Path) -> Result<(), Error> {
    keep_of(open, repo, was, open.state.checkpoint().as_str()).await
}

async fn keep_of(open: &Loop<'_>, repo: &Repo, was: &Path, base: &str) -> Result<(), Error> {
    let was = repo.read_index_or_none(was)?;
    let now = repo.read_index_or_none(&repo.index())?;
    // Without the index of the checkpoint, the staged changes are unknown.
    let (Some(was), Some(now)) = (was.index(), now.index()) else {
        return Ok(());
    };
    let is_staged = |entry: &Entry<'_>| {
        let before = was.find(entry.path).map(|before| (before.mode, before.oid));
        before != Some((entry.mode, entry.oid)) && !entry.intended && entry.mode != GITLINK
    };
    let (mut staged, mut only_staged) = (Vec::new(), Vec::new());
    for entry in now.entries().filter(is_staged) {
        let file = kind_of(&path_below(&repo.top, entry.path))?;
        if file.is_none_or(|file| touched(&file) != entry.touched) {
            only_staged.push(entry.path.to_vec());
        } else {
            staged.push(entry.path.to_vec());
        }
    }
    // No checkpoint contains these files.
    only_staged.extend(open.site().ignored_at_start(staged.iter())?);
    let has_conflict = now.entries().any(|entry| entry.stage > 0);
    if only_staged.is_empty() || has_conflict {
        return Ok(());
    }
    // The user may have committed it.
    let args = ["--cached", "--name-only", "-z", base, "--"];
    let uncommitted = repo.git.cmd("diff-index", args).fields().await?;
    only_staged.retain(|path| uncommitted.contains(path));
    if only_staged.is_empty() {
        return Ok(());
    }
    let work = open.site().file("staged.index");
    repo.copy_index(&repo.index(), &work)?;
    let tree = repo.git.write_tree(&work).await?;
    repo.discard_index(&work)?;
    if is_kept(open, &tree).await? {
        return Ok(());
    }
    let message = "what was staged between two attempts";
    let oid = open.commit_on_checkpoint(&tree, message).await?;
    let name = open.change().ralph_ref("replaced/1");
    let kept = open
        .keep_refs(&[KeptRef { name, oid }], "ralph: staged content")
        .await?;
    let kept = kept.first().map_or("", |kept| kept.name.as_str());
    open.tell(format!(
        "what is staged is in no checkpoint, and is kept: {}; to see it: git show {}",
        first_few(&only_staged).join(", "),
        typed(kept)
    ));
    Ok(())
}

/// Returns whether one of the refs that keep replaced content has this tree.
async fn is_kept(open: &Loop<'_>, tree: &Oid) -> Result<bool, Error> {
    let pattern = open.change().ralph_ref("replaced/");
    let args = ["--format=%(tree)", pattern.as_str()];
    let kept = open.git().cmd("for-each-ref", args).text().await?;
    Ok(kept.lines().any(|kept| kept == tree.as_str()))
}
