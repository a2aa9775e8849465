//! Loops that ended while an attempt of another one ran: what git-ralph itself removes of them is no loss.

use std::path::PathBuf;

use super::Loop;
use crate::names::Change;
use crate::protect::{RefChanges, UserRefs};
use crate::state::{Ending, State, Store, changes};

/// The beginning of the names of the loops' branches.
const BRANCHES: &str = "refs/heads/ralph/";

/// Returns whether another loop, which left no branch and no work tree, was closed since the attempt began, or is being closed.
fn is_ended(open: &Loop<'_>, other: &State) -> bool {
    let is_removed = matches!(other.here.closed, Some(Ending::Abort | Ending::Cleanup));
    let is_since = other
        .here
        .closed_at
        .is_some_and(|at| at >= open.state.work_began());
    other.intent.is_some() || is_removed && is_since
}

fn state_of(open: &Loop<'_>, other: &Change) -> Option<State> {
    let state = Store::new(&open.repo().common_dir, other).load();
    state.ok().flatten().filter(|state| is_ended(open, state))
}

/// Leaves out that the branches of such loops are gone, which are not among the refs `now`.
pub(crate) fn leave_branches_out(open: &Loop<'_>, changes: &mut RefChanges, now: &UserRefs) {
    changes.leave_refs_out(|name| {
        let change = name.strip_prefix(BRANCHES).map(Change::new);
        now.at(name).is_none()
            && change.is_some_and(|change| change.is_ok_and(|change| state_of(open, &change).is_some()))
    });
}

/// Reports the linked work trees that are gone and were not those of such loops.
pub(crate) fn tell_lost_work_trees(open: &Loop<'_>, mut gone: Vec<PathBuf>) {
    if gone.is_empty() {
        return;
    }
    for other in changes(&open.repo().common_dir).unwrap_or_default() {
        let own = state_of(open, &other).and_then(|state| state.own_work_tree());
        gone.retain(|dir| own.as_ref() != Some(dir));
    }
    for dir in gone {
        open.tell(format!(
            "the linked work tree {} was removed during the attempt, with what was not committed in it",
            dir.display()
        ));
    }
}
