//! The status of a loop according to its work tree, and the branch that is checked out there.

use super::gone::{operation_in, work_gone};
use super::status::Status;
use crate::engine::go_to_own_refused;
use crate::engine::position::branch_gone;
use crate::error::Error;
use crate::error::advice::Advise;
use crate::git::{Head, Repo, discover};
use crate::names::typed;
use crate::state::{Ending, Intent, State, Store};

impl Status {
    /// Returns the status of a loop according to HEAD and the files of its work tree.
    pub(super) async fn where_it_is(repo: &Repo, head: &Head, state: &State) -> Result<Self, Error> {
        let top = &repo.top;
        if state.work_tree() != top.as_path() {
            let place = state.work_tree();
            let status = match go_to_own_refused(repo, state)? {
                Some(refusal) => Self {
                    work_tree_is_gone: true,
                    way_back: refusal.advice().hint.map(|command| (command, "to make it again")),
                    ..Self::from_listing(state, None, Some(refusal.to_string()))
                },
                None => match (Self::in_cut_off_end(repo, state), discover(place).await) {
                    (Some(status), _) => status,
                    (None, Ok((there, head))) if there.top == place => {
                        Box::pin(Self::where_it_is(&there, &head, state)).await?
                    }
                    (None, _) => Self::of(state, place).await,
                },
            };
            // Every command finds the loop's own work tree.
            let work_tree = (!state.has_own_work_tree()).then(|| place.to_owned());
            return Ok(Self { work_tree, ..status });
        }
        if let Some(status) = Self::in_cut_off_end(repo, state) {
            return Ok(status);
        }
        let is_there = |head: &Head| state.is_branch_of(head);
        if let Some(operation) = operation_in(repo, state).await {
            let status = if is_there(head) {
                Self::of(state, top).await
            } else {
                Self::from_listing(state, None, None)
            };
            return Ok(Self {
                problem: Some(operation.clone()),
                operation: Some(operation),
                ..status
            });
        }
        if is_there(head)
            && let Some((problem, way_back)) = work_gone(repo, head, state).await
        {
            let status = Self::of(state, top).await;
            return Ok(Self {
                problem: Some(problem),
                way_back,
                ..status
            });
        }
        // HEAD may have moved back since the command began.
        if !state.is_live() || is_there(head) || is_there(&repo.head().await?) {
            return Ok(Self::of(state, top).await);
        }
        let name = state.loop_head().branch.unwrap_or_default();
        let (problem, way_back) = if name.is_empty() || repo.git.oid_at(&name).await?.is_some() {
            let place = state.loop_place();
            let checkout = format!("git checkout {}", typed(&place));
            (format!("{place} is not checked out"), Some(checkout))
        } else {
            let gone = branch_gone(state);
            (gone.to_string(), gone.hint())
        };
        Ok(Self {
            way_back: way_back.map(|command| (command, "to go on")),
            ..Self::from_listing(state, None, Some(problem))
        })
    }

    /// Returns the status of a loop whose `finish` or `abort` was interrupted: the same command completes it. HEAD, the
    /// branch and the list may already be in the final state.
    fn in_cut_off_end(repo: &Repo, state: &State) -> Option<Self> {
        let Some(Intent::End(plan)) = &state.intent else {
            return None;
        };
        let how = plan.how();
        let is_held = || Store::new(&repo.common_dir, &state.change).is_held();
        if how == Ending::Aside || is_held() {
            return None;
        }
        let problem = match how {
            Ending::Abort => "abort was cut off",
            _ => "finish was cut off",
        };
        let command = format!("{} {}", how.command(), typed(&state.change));
        Some(Self {
            way_back: Some((command, "to complete it")),
            is_closing: true,
            ..Self::from_listing(state, None, Some(problem.to_owned()))
        })
    }
}
