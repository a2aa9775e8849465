//! Edits that were made to files after a step was cut off while it wrote them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;

use crate::engine::Loop;
use crate::error::Error;
use crate::fs::seen_itself;
use crate::names::{Oid, typed};
use crate::paths::first_few;
use crate::refs::KeptRef;
use crate::state::{EndStep, Intent, RevertPlan, State};

/// Edits that the rest of a step would overwrite.
pub(crate) struct Edits {
    tree: Oid,
    /// The first few files, as a text.
    pub names: String,
}

/// Finds the files that are neither as before a step that was cut off, nor as after it. One scan of the work tree.
pub(crate) async fn since_cut_off(open: &Loop<'_>, intent: &Intent) -> Result<Option<Edits>, Error> {
    let Some([from, to]) = trees(&open.state, intent) else {
        return Ok(None);
    };
    let now = open.read_work_tree().await?.tree;
    let git = &open.context.repo.git;
    let (before, after) = (git.diff_trees(from, &now).await?, git.diff_trees(to, &now).await?);
    let before: HashSet<Vec<u8>> = before.into_iter().map(|(_, path)| path).collect();
    let mut edited: Vec<Vec<u8>> = after
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| before.contains(path))
        .collect();
    if let Intent::Revert(RevertPlan {
        since: Some(since), ..
    }) = intent
    {
        // A rule of the attempt's hid files that it made.
        edited.retain(|path| has_changed(&open.context.repo.top.join(OsStr::from_bytes(path)), *since));
    }
    if edited.is_empty() {
        return Ok(None);
    }
    Ok(Some(Edits {
        tree: now,
        names: first_few(&edited).join(", "),
    }))
}

/// Returns whether a file is there and has changed since.
fn has_changed(path: &Path, since: Timestamp) -> bool {
    seen_itself(path).is_some_and(|found| {
        let seconds = since.as_second();
        (found.ctime(), found.ctime_nsec()) > (seconds, i64::from(since.subsec_nanosecond()))
    })
}

/// Keeps edits by a ref, and names them.
pub(crate) async fn keep(open: &Loop<'_>, edits: Edits) -> Result<(), Error> {
    let message = "files as they were when a step that was cut off was completed";
    let repo = &open.context.repo;
    let oid = repo
        .commit_tree(&edits.tree, &[open.state.checkpoint()], message)
        .await?;
    let name = open.change().ralph_ref("replaced/1");
    let kept = open
        .keep_refs(&[KeptRef { name, oid }], "ralph: edits since a cut-off step")
        .await?;
    let kept = kept.first().map_or("", |kept| kept.name.as_str());
    open.tell(format!(
        "files were neither as before nor as after a step that was cut off; they are kept: {}; to see them: git show {}",
        edits.names,
        typed(kept)
    ));
    Ok(())
}

/// Returns the trees of the work tree before and after a step, or commits that have them; `None` if it changes no file,
/// keeps what is there itself, or refuses to overwrite it.
fn trees<'t>(state: &'t State, intent: &'t Intent) -> Option<[&'t Oid; 2]> {
    match intent {
        Intent::End(plan) if plan.step == EndStep::Abort => Some([&plan.finished, state.initial()]),
        Intent::End(plan) => Some([&plan.finished, plan.merged.as_ref()?]),
        Intent::Restore(plan) => Some([state.checkpoint_tree(), &plan.tree]),
        Intent::Revert(plan) => {
            // Plans of earlier versions name it only among what they keep.
            let kept = || plan.kept.first().map(|kept| &kept.oid);
            Some([plan.from.as_ref().or_else(kept)?, state.checkpoint_tree()])
        }
        Intent::Adopt(plan) => Some([&plan.from, state.checkpoint_tree()]),
        Intent::Start(_) | Intent::Checkpoint(_) | Intent::Save(_) => None,
    }
}
