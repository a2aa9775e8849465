//! Edits that were made after a step was interrupted while it wrote files.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;

use crate::engine::Loop;
use crate::engine::position::Position;
use crate::error::Error;
use crate::fs::seen_itself;
use crate::git::{Git, GitError};
use crate::names::{Oid, typed};
use crate::paths::{first_few, path_of};
use crate::refs::KeptRef;
use crate::state::{EndStep, Intent, RevertPlan, State};

/// Edits and commits since an interrupted step that the rest of the step would lose.
pub(crate) struct Edits {
    /// The work tree, if files of it were edited.
    tree: Option<Oid>,
    /// Commits that no ref would keep.
    made: Vec<Oid>,
    /// A description of both, which calls the step "it".
    pub words: String,
}

/// Finds the files that match neither the state before an interrupted step nor the one after it, and the commits made
/// since. One scan of the work tree.
pub(crate) async fn since_cut_off(open: &Loop<'_>, intent: &Intent) -> Result<Option<Edits>, Error> {
    let made = made_since(open, intent).await?;
    let tree = edited_since(open, intent).await?;
    let commits = made
        .iter()
        .map(|oid| format!("the commit {} was made or checked out since", oid.short()));
    let files = tree.as_ref().map(|(_, files)| {
        let names = first_few(files).join(", ");
        format!("these files are neither as before it nor as after it: {names}")
    });
    let words: Vec<String> = commits.chain(files).collect();
    if words.is_empty() {
        return Ok(None);
    }
    Ok(Some(Edits {
        tree: tree.map(|(tree, _)| tree),
        made,
        words: words.join(", and "),
    }))
}

/// Returns the commits that were made or checked out since, on the loop's tip or on a detached HEAD, and that no ref
/// keeps once the step is completed.
async fn made_since(open: &Loop<'_>, intent: &Intent) -> Result<Vec<Oid>, Error> {
    let (moves_tip, own, kept) = match intent {
        Intent::Start(plan) => (true, [plan.tip.as_ref(), None], plan.kept.as_slice()),
        Intent::Checkpoint(plan) => (
            true,
            [plan.tip.as_ref(), Some(&plan.commit)],
            plan.kept.as_slice(),
        ),
        Intent::Revert(plan) => (true, [None, None], plan.kept.as_slice()),
        Intent::Redo(plan) => (true, [Some(&plan.from), None], plan.kept.as_slice()),
        // A tip that has moved stays.
        Intent::End(plan) => (false, [plan.original.as_ref(), Some(&plan.finished)], &[][..]),
        Intent::Adopt(_) | Intent::Restore(_) | Intent::Save(_) => return Ok(Vec::new()),
    };
    let Position { head, tip, .. } = open.position().await?;
    let detached = head.oid.filter(|_| head.branch.is_none());
    let mut found: Vec<Oid> = detached.into_iter().chain(tip.filter(|_| moves_tip)).collect();
    found.dedup();
    let state = &open.state;
    let known = [state.common.original_head.as_ref(), Some(state.checkpoint())];
    found.retain(|oid| !own.contains(&Some(oid)) && !known.contains(&Some(oid)));
    let mut made = Vec::new();
    for oid in found {
        if !is_kept(open, &oid, kept).await? {
            made.push(oid);
        }
    }
    Ok(made)
}

/// Returns whether a commit is in the history of one of these, or of a ref other than the loop's tip.
async fn is_kept(open: &Loop<'_>, oid: &Oid, kept: &[KeptRef]) -> Result<bool, Error> {
    for kept in kept {
        if kept.oid == *oid || open.git().is_ancestor(oid, &kept.oid).await? {
            return Ok(true);
        }
    }
    let args = ["--format=%(refname)", "--contains", oid.as_str()];
    let names = open.git().cmd("for-each-ref", args).text().await?;
    let tip = open.state.tip_ref();
    Ok(names.lines().any(|name| name != tip))
}

/// Returns the tree of the work tree and its files that were edited since.
async fn edited_since(open: &Loop<'_>, intent: &Intent) -> Result<Option<(Oid, Vec<Vec<u8>>)>, Error> {
    let Some([from, to]) = trees(&open.state, intent) else {
        return Ok(None);
    };
    let now = open.read_work_tree().await?.tree;
    let git = open.git();
    let (before, after) = (git.diff_trees(from, &now).await?, git.diff_trees(to, &now).await?);
    let before: HashMap<Vec<u8>, u8> = before.into_iter().map(|(status, path)| (path, status)).collect();
    let mut edited = Vec::new();
    for (status, path) in after {
        let is_edited = match before.get(&path) {
            None => false,
            Some(b'A') if status == b'M' => !is_begun(git, &path, &now, to).await?,
            Some(_) => true,
        };
        if is_edited {
            edited.push(path);
        }
    }
    if let Intent::Revert(RevertPlan {
        since: Some(since), ..
    }) = intent
    {
        // An ignore rule of the attempt hid files that it made.
        edited.retain(|path| has_changed(&open.repo().top.join(path_of(path)), *since));
    }
    if edited.is_empty() {
        return Ok(None);
    }
    Ok(Some((now, edited)))
}

/// Returns whether a file of a step has only the beginning of its new content, as a full disk leaves it.
async fn is_begun(git: &Git, path: &[u8], now: &Oid, to: &Oid) -> Result<bool, GitError> {
    let path = String::from_utf8_lossy(path);
    let (there, whole) = (git.file_of(now, &path).await?, git.file_of(to, &path).await?);
    let is_less = |there: &Vec<u8>| whole.is_some_and(|whole| whole.starts_with(there) && whole != *there);
    Ok(there.as_ref().is_some_and(is_less))
}

/// Returns whether a file exists and has changed since.
fn has_changed(path: &Path, since: Timestamp) -> bool {
    seen_itself(path).is_some_and(|found| {
        let seconds = since.as_second();
        (found.ctime(), found.ctime_nsec()) > (seconds, i64::from(since.subsec_nanosecond()))
    })
}

/// Keeps edits by refs, and names them.
pub(crate) async fn keep(open: &Loop<'_>, edits: Edits) -> Result<(), Error> {
    let message = "files as they were when a step that was cut off was completed";
    let mut commits = edits.made;
    if let Some(tree) = edits.tree {
        commits.push(open.commit_on_checkpoint(&tree, message).await?);
    }
    let name = open.change().ralph_ref("replaced/1");
    let wanted = commits.into_iter().map(|oid| KeptRef::new(name.clone(), oid));
    let wanted: Vec<KeptRef> = wanted.collect();
    let kept = open
        .keep_refs(&wanted, "ralph: edits since a cut-off step")
        .await?;
    let kept: Vec<String> = kept.iter().map(|kept| typed(&kept.name)).collect();
    open.tell(format!(
        "a step was cut off, and {}; that is kept; to see it: git show {}",
        edits.words,
        kept.join(" ")
    ));
    Ok(())
}

/// Returns the trees of the work tree before and after a step, or commits with these trees; `None` if the step changes
/// no file, keeps present files itself, or refuses to overwrite them.
fn trees<'t>(state: &'t State, intent: &'t Intent) -> Option<[&'t Oid; 2]> {
    match intent {
        Intent::End(plan) if plan.step == EndStep::Abort => Some([&plan.finished, state.initial()]),
        Intent::End(plan) => Some([&plan.finished, plan.merged.as_ref()?]),
        Intent::Restore(plan) => Some([state.checkpoint_tree(), &plan.tree]),
        Intent::Revert(plan) => {
            // Plans of earlier versions name it only in `kept`.
            let kept = || plan.kept.first().map(|kept| &kept.oid);
            Some([plan.from.as_ref().or_else(kept)?, state.checkpoint_tree()])
        }
        Intent::Adopt(plan) => Some([&plan.from, state.checkpoint_tree()]),
        Intent::Redo(plan) => Some([&plan.from, state.checkpoint_tree()]),
        Intent::Start(_) | Intent::Checkpoint(_) | Intent::Save(_) => None,
    }
}
