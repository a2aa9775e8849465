//! The two or three commands that come next: `status` and the end of a step show the same ones.

use super::status::Status;
use crate::names::{typed, typed_path};
use crate::settings::Strategy;
use crate::state::Phase;

/// A command that can be typed next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// The whole command.
    pub command: String,
    /// Its purpose.
    pub purpose: &'static str,
    /// True if it only shows something.
    pub only_shows: bool,
}

/// The driver of the loop: a person who types the steps, or `git ralph run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// One step at a time.
    Steps,
    /// All of them.
    Run,
}

impl Status {
    /// Returns the commands that can be typed next, most likely first.
    #[must_use]
    pub fn next_steps(&self, driver: Driver) -> Vec<NextStep> {
        let mut steps = self.steps_there(driver);
        if let Some(place) = &self.work_tree {
            let place = typed_path(place);
            for step in &mut steps {
                step.command = format!("cd {place} && {}", step.command);
            }
        }
        steps
    }

    /// Returns the commands to type in the loop's own work tree.
    fn steps_there(&self, driver: Driver) -> Vec<NextStep> {
        let change = &typed(&self.change);
        let on = |line: String, purpose| NextStep {
            command: format!("git ralph {line}"),
            purpose,
            only_shows: false,
        };
        let is_given = self.session.as_ref().is_some_and(|session| session.at_work);
        let force = if is_given { " --force" } else { "" };
        let step = |verb: &str| match driver {
            Driver::Steps => format!("{verb} {change}{force}"),
            Driver::Run => format!("run {change}{force}"),
        };
        let latest = self.current.as_ref().and_then(|current| {
            let attempt = current
                .attempt
                .filter(|_| current.reason.is_some() || self.is_failed())?;
            Some(typed(format!("{}@{attempt}", current.id)))
        });
        let diff = latest.map(|attempt| NextStep {
            only_shows: true,
            ..on(format!("diff {change} {attempt}"), "to see what was tried")
        });
        let mut steps = Vec::new();
        if let Some((command, purpose)) = &self.way_back
            && self.running.is_none()
        {
            let back = NextStep {
                command: command.clone(),
                ..on(String::new(), purpose)
            };
            let keep = on(format!("finish --keep {change}"), "to close the loop as it is");
            // Without its own work tree, the loop cannot be closed either.
            return match self.worktree {
                Some(_) if self.work_tree_is_gone => vec![back],
                _ => vec![back, keep],
            };
        }
        if self.restored.is_some() && self.is_at_rest() {
            return vec![
                on(
                    format!("complete {change}"),
                    "to accept the restored work as the story",
                ),
                on(format!("revert {change}"), "to undo it"),
            ];
        }
        let log = || NextStep {
            only_shows: true,
            ..on(format!("log {change}"), "to see what the attempts did")
        };
        if self.gate.is_some() {
            return Vec::new();
        }
        if self.waiting.is_some() {
            // That process holds the loop.
            return vec![log()];
        }
        match self.phase {
            Phase::Ready if self.problem.is_some() => {
                steps.push(on(format!("stories {change}"), "to see the list"));
            }
            Phase::Ready => {
                let purpose = match driver {
                    _ if is_given => "if the agent's session is gone",
                    Driver::Steps => "to have the agent attempt it",
                    Driver::Run => "to continue",
                };
                steps.push(on(step("next"), purpose));
                if self.stopped.is_some() && driver == Driver::Steps && !is_given {
                    steps.push(on(
                        format!("run {change}"),
                        "to have it attempt all that are left",
                    ));
                }
                if self.stopped.is_some() {
                    steps.push(log());
                }
            }
            // Another process works on it.
            Phase::Running if self.running.is_some() => {}
            Phase::Running => steps.push(on(step("next"), "to continue")),
            Phase::Failed => {
                steps.push(on(step("retry"), "to try again"));
                steps.extend(diff);
            }
            Phase::Exhausted => {
                steps.extend(diff);
                let more = self.current.as_ref().map_or(0, |current| current.retries) + 1;
                let more = more.max(self.max_retries.saturating_add(1));
                let retry = format!("{} --max-retries {more}", step("retry"));
                steps.push(on(retry, "to try again"));
                steps.push(on(format!("skip {change}"), "to skip the story"));
                steps.push(on(format!("finish {change}"), "to close the loop"));
            }
            Phase::Complete => {
                let (cleanup, keep) = match self.strategy {
                    Strategy::Branch if self.worktree.is_some() => (
                        "to bring all changes, uncommitted, to where it began",
                        "to close the loop; its branch and its work tree stay",
                    ),
                    Strategy::Branch => (
                        "to return to the original branch with all changes uncommitted",
                        "to stay on the loop's branch with its commits",
                    ),
                    Strategy::Stash => (
                        "to close the loop; all changes stay, uncommitted",
                        "to close the loop and keep its stash entries",
                    ),
                };
                steps.push(on(format!("finish --cleanup {change}"), cleanup));
                steps.push(on(format!("finish --keep {change}"), keep));
            }
            Phase::Finished => steps.push(on(format!("start {change}"), "to begin anew")),
        }
        steps
    }

    fn is_at_rest(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Failed | Phase::Exhausted)
    }

    fn is_failed(&self) -> bool {
        matches!(self.phase, Phase::Failed | Phase::Exhausted)
    }
}
