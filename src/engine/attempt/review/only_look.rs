//! Watches a reviewer, which may only look: what it changes is put back to what is judged, and told.
//!
//! What git ignores stays as the reviewer left it, as after a gate.

use crate::engine::Loop;
use crate::engine::position::Position;
use crate::engine::watch::{self, Watch, Who};
use crate::error::Error;
use crate::git::{GitError, clear_operations, operations_in_progress};
use crate::names::{Oid, typed};
use crate::paths::first_few;
use crate::refs::{KeptRef, Update, free_names};

/// Number of times that the work tree may change while it is put back.
const TURNS: usize = 4;

/// The state of work tree, index, HEAD and refs before a reviewer runs.
pub(super) struct Before {
    /// The tree of the work tree.
    pub tree: Oid,
    position: Position,
    in_operation: bool,
    has_index: bool,
    watch: Option<Watch>,
}

/// Records the state before a reviewer runs. One scan of the work tree.
pub(super) async fn begin(open: &mut Loop<'_>) -> Result<Before, Error> {
    let tree = open.read_work_tree().await?.tree;
    let position = open.position().await?;
    let repo = &open.context.repo;
    let in_operation = !operations_in_progress(repo).await?.is_empty();
    let has_index = repo.copy_index(&repo.index(), &open.file("review.index"))?;
    Ok(Before {
        tree,
        position,
        in_operation,
        has_index,
        watch: watch::begin(open, Who::Reviewer).await?,
    })
}

/// Puts back what the reviewer changed, once none of its processes is alive; what it made is kept under names that begin
/// with `name`. Returns the reason if the files cannot be put back.
pub(super) async fn end(open: &mut Loop<'_>, before: Before, name: &str) -> Result<Option<String>, Error> {
    watch::end_kept(open, before.watch, name).await?;
    if !before.in_operation && !operations_in_progress(&open.context.repo).await?.is_empty() {
        clear_operations(&open.context.repo).await?;
        open.tell("the reviewer left a git operation unfinished; it is given up");
    }
    open.view.drop_refs();
    put_position_back(open, &before.position, name).await?;
    // Before the files: it says which of them are tracked, and the others may be ignored.
    let scratch = open.file("review.index");
    if before.has_index {
        open.context.repo.install_index(&scratch).await?;
    }
    open.context.repo.discard_index(&scratch)?;
    put_files_back(open, &before.tree, name).await
}

/// Compares the state after a reviewer that looked at what is a person's: nothing of that is put back, because a person may
/// have changed it meanwhile, but it is told.
pub(super) async fn end_beside_person(open: &mut Loop<'_>, before: Before, name: &str) -> Result<(), Error> {
    watch::end_kept(open, before.watch, name).await?;
    open.context.repo.discard_index(&open.file("review.index"))?;
    if open.position().await? != before.position {
        open.tell("HEAD was moved during the review; nothing is put back");
    }
    if let Some(names) = watch::changed_since(open, &before.tree).await? {
        open.tell(format!(
            "files were changed during the review, by the reviewer or by somebody else: {names}; to compare with what was there before: git diff {}",
            before.tree
        ));
    }
    Ok(())
}

/// Moves HEAD and the loop's branch back, and keeps the commits that were made.
async fn put_position_back(open: &mut Loop<'_>, was: &Position, name: &str) -> Result<(), Error> {
    let now = open.position().await?;
    if now == *was {
        return Ok(());
    }
    let mut wanted = Vec::new();
    for oid in [&now.tip, &now.head.oid].into_iter().flatten() {
        let mut known = false;
        for old in [&was.tip, &was.head.oid].into_iter().flatten() {
            known |= oid == old || open.context.repo.git.is_ancestor(oid, old).await?;
        }
        if !known {
            wanted.push(kept(name, oid));
        }
    }
    wanted.dedup();
    let refs = open.read_user_refs().await?;
    let (mut updates, found) = free_names(&wanted, |name| refs.at(name));
    if let Some(tip) = was.tip.clone().filter(|_| now.tip != was.tip) {
        updates.push(Update::Move {
            name: open.state.tip_ref(),
            new: tip,
            old: now.tip.clone(),
        });
    }
    let why = "ralph: a reviewer may only look";
    open.move_refs(&updates, &now.head, &was.head, why).await?;
    let kept = found.first().map_or_else(String::new, |kept| {
        format!("; its commits are kept: git log {}", typed(&kept.name))
    });
    open.tell(format!(
        "the reviewer moved HEAD or the loop's branch, which is put back{kept}"
    ));
    Ok(())
}

/// Gives the files the tree that is judged, and keeps what they were before that. Returns the reason if that cannot be done.
async fn put_files_back(open: &mut Loop<'_>, tree: &Oid, name: &str) -> Result<Option<String>, Error> {
    let mut left = String::new();
    for turn in 0..TURNS {
        let now = open.read_work_tree().await?.tree;
        let changes = open.context.repo.git.diff_trees(tree, &now).await?;
        if changes.is_empty() {
            return Ok(None);
        }
        left = first_few(changes.iter().map(|(_, path)| path)).join(", ");
        if turn == 0 {
            keep_and_tell(open, tree, &now, name, &left).await?;
        }
        // Which files are read depends on the rules, so these are put back first.
        let rules: Vec<(u8, Vec<u8>)> = changes.into_iter().filter(|(_, path)| is_rules(path)).collect();
        let (repo, work) = (&open.context.repo, open.site().work_index());
        let done: Result<(), GitError> = if rules.is_empty() {
            repo.switch_work_tree(&work, &now, tree).await
        } else {
            let scratch = open.file("rules.index");
            let done = repo.restore_files(&scratch, tree, &rules).await;
            repo.discard_index(&scratch)?;
            done
        };
        repo.discard_index(&work)?;
        if let Err(error) = done {
            left = error.to_string();
        }
    }
    Ok(Some(format!(
        "what the reviewer changed cannot be put back: {left}"
    )))
}

async fn keep_and_tell(
    open: &mut Loop<'_>,
    tree: &Oid,
    now: &Oid,
    name: &str,
    files: &str,
) -> Result<(), Error> {
    let repo = &open.context.repo;
    let message = "what a reviewer left, which may only look";
    let commit = repo.commit_tree(now, &[&open.state.checkpoint], message).await?;
    let refs = open.read_user_refs().await?;
    let (updates, found) = free_names(&[kept(name, &commit)], |name| refs.at(name));
    repo.git
        .update_refs(&updates, "ralph: what a reviewer left")
        .await?;
    open.view.refs = None;
    let at = found
        .first()
        .map_or_else(|| commit.to_string(), |kept| kept.name.clone());
    open.tell(format!(
        "the reviewer changed files, which are put back to what is judged: {files}; to see what it did: git diff {tree} {}",
        typed(at)
    ));
    Ok(())
}

fn kept(name: &str, oid: &Oid) -> KeptRef {
    KeptRef {
        name: format!("{name}-{}", oid.short()),
        oid: oid.clone(),
    }
}

fn is_rules(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name == b".gitignore" || name == b".gitattributes"
}
