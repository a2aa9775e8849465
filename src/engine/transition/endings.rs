//! The ends of a loop: `finish` and `abort`.

use super::files::Files;
use super::index::Index;
use super::phases::Transition;
use jiff::Timestamp;

use crate::engine::Loop;
use crate::engine::position::Position;
use crate::engine::work_tree_removal::{TRASH, emptied_into};
use crate::engine::{messages, stash};
use crate::error::Error;
use crate::events::What;
use crate::git::Head;
use crate::names::{short_branch, typed};
use crate::paths::WorkTreePath;
use crate::refs::Update;
use crate::state::{EndPlan, EndStep, Ending, Progress};

/// Maximum number of files that a command in a message names.
const MOST_NAMED: usize = 5;

/// Returns the phases of an end.
pub(super) fn phases(open: &Loop<'_>, plan: &EndPlan, position: &Position) -> Transition {
    let verb = match plan.how() {
        Ending::Cleanup => "finish",
        Ending::Keep => "finish --keep",
        Ending::Abort => "abort",
        Ending::Aside => "run --any",
    };
    let keep = Update::set(open.change().ralph_ref("finished"), plan.finished.clone());
    let mut made = Transition {
        why: format!("ralph: {verb} {}", open.change()),
        updates: vec![keep],
        ..Transition::default()
    };
    let original = open.state.original_place();
    match plan.step {
        // No operation between these can fail.
        EndStep::Keep | EndStep::Close => made.updates.extend(deletion(open, plan, position)),
        EndStep::Cleanup => {
            let head = Some(Head {
                oid: plan.original.clone(),
                ..original
            });
            match &plan.merged {
                Some(merged) => (made.files, made.head_last) = (Some(Files::Merged(merged.clone())), head),
                None => made.head = head,
            }
            made.index = Some(Index::Original(Box::new(plan.clone())));
        }
        EndStep::Abort => {
            made.files = Some(Files::Start);
            made.head_last = Some(original);
            made.index = Some(Index::Start);
        }
        EndStep::Leave => {
            made.into.clone_from(&plan.into);
            made.head = Some(Head::new(None, Some(plan.finished.clone())));
            made.index = Some(Index::Final(plan.finished.clone()));
        }
    }
    made
}

/// Returns the deletion of the loop's tip, if the plan requires it and the tip still exists.
fn deletion(open: &Loop<'_>, plan: &EndPlan, position: &Position) -> Option<Update> {
    let tip = match plan.step {
        EndStep::Close => Some(&plan.finished),
        _ => plan.tip.as_ref(),
    };
    let old = tip.filter(|tip| position.tip.as_ref() == Some(*tip))?.clone();
    let name = open.state.tip_ref();
    Some(Update::Delete { name, old })
}

/// Closes the loop. Its stash entries, and its tip, go last.
pub(super) async fn close(
    open: &mut Loop<'_>,
    plan: &EndPlan,
    position: &Position,
    why: &str,
) -> Result<What, Error> {
    open.view.drop_all();
    let how = plan.how();
    let original = open.state.common.original_branch.clone();
    let here = open.state.here.worktree.to_string();
    let (branch, work_tree) = match (plan.step, &plan.into) {
        (EndStep::Keep | EndStep::Close, _) => {
            let own = open.state.own_work_tree();
            if let Some(own) = &own {
                open.git().unlock_work_tree(own).await?;
            }
            let on = position.head.branch.as_deref();
            let own = own.map(|own| WorkTreePath::new(&own).to_string());
            (on.map(|branch| short_branch(branch).to_owned()), own)
        }
        (EndStep::Cleanup | EndStep::Abort, _) => (original, None),
        (EndStep::Leave, Some(into)) => (into.branch.clone(), Some(into.worktree.to_string())),
        (EndStep::Leave, None) => (None, Some(here)),
    };
    if !matches!(how, Ending::Keep | Ending::Aside) {
        open.state.here.save_points = stash::drop_of(open, None).await?;
    }
    if !matches!(plan.step, EndStep::Keep | EndStep::Close)
        && let Some(delete) = deletion(open, plan, position)
    {
        open.git().update_refs(&[delete], why).await?;
    }
    let trash = open.site().trash().join(TRASH);
    if let Some(linked) = open
        .state
        .here
        .linked
        .as_mut()
        .filter(|_| plan.step == EndStep::Leave)
    {
        linked.leaving = true;
        linked.emptied_before = emptied_into(&trash)?.len();
    }
    messages::take(open, None)?;
    messages::tell_unshown(open);
    open.store.forget_skips()?;
    open.state.here.closed = Some(how);
    open.state.here.closed_at = Some(Timestamp::now());
    open.advance(Progress::close)?;
    Ok(What::Finished {
        how: how.to_string(),
        branch,
        kept: open.change().ralph_ref("finished"),
        worktree: work_tree,
    })
}

/// Returns advice about files that were uncommitted before the loop: `start` has committed them on the loop's branch,
/// and a checkout of the original branch removes them.
pub(super) async fn advice(open: &Loop<'_>, plan: &EndPlan, head: &Head) -> Result<Option<What>, Error> {
    let (git, state) = (open.git(), &open.state);
    if plan.step != EndStep::Keep {
        return Ok(None);
    }
    let was = state.common.original_head.as_ref();
    let (was, initial) = (
        open.repo().tree_at(was).await?,
        git.tree_of(state.initial()).await?,
    );
    let changed = git.diff_trees(&was, &initial).await?;
    if changed.is_empty() {
        return Ok(None);
    }
    let original = state.original_name();
    let checkout = match head.branch.as_deref().map(short_branch) {
        Some(on) if on == original => String::new(),
        _ if state.common.original_head.is_none() => format!("git switch --orphan {} && ", typed(&original)),
        _ => format!("git checkout {} && ", typed(&original)),
    };
    let paths = match changed.len() {
        ..=MOST_NAMED => changed
            .iter()
            .map(|(_, path)| typed(format!(":/{}", String::from_utf8_lossy(path))))
            .collect(),
        _ => vec![":/".to_owned()],
    };
    let message = format!(
        "files that you had not committed before the loop are now in commits on {}; to restore them on {original}: \
         {checkout}git restore --source={} {}",
        state.common.branch,
        state.change.ralph_ref("start"),
        paths.join(" ")
    );
    Ok(Some(What::Notice { message }))
}
