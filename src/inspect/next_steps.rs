//! The two or three commands to type next, shown by `status` and at the end of a step.

use super::status::{Status, Traces};
use crate::names::{NO_CHANGE, typed, typed_path};
use crate::state::Phase;

/// A command that can be typed next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// The whole command.
    pub command: String,
    /// Its purpose.
    pub purpose: &'static str,
    /// True if the command only shows something.
    pub only_shows: bool,
}

/// The driver of the loop: the user, who types the steps, or `git ralph run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// One step at a time.
    Steps,
    /// All of them.
    Run,
}

/// Returns a shell command.
fn types(command: &str, purpose: &'static str) -> NextStep {
    NextStep {
        command: command.to_owned(),
        purpose,
        only_shows: false,
    }
}

/// Returns a command of git-ralph.
fn does(line: &str, purpose: &'static str) -> NextStep {
    types(&format!("git ralph {line}"), purpose)
}

/// Returns a command of git-ralph that only shows something.
fn shows(line: &str, purpose: &'static str) -> NextStep {
    NextStep {
        only_shows: true,
        ..does(line, purpose)
    }
}

impl Status {
    /// Returns the commands that can be typed next, most likely first.
    pub fn next_steps(&self, driver: Driver) -> Vec<NextStep> {
        if let Some(of) = &self.side_of {
            let line = format!("status {}", typed(of));
            return vec![shows(&line, "to see the loop that takes in what is made here")];
        }
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
        if self.operation.is_some() {
            return vec![types("git status", "to see how to end it")];
        }
        if let Some((command, purpose)) = &self.way_back
            && self.running.is_none()
        {
            let back = types(command, purpose);
            let keep = does(&format!("finish --keep {change}"), "to close the loop as it is");
            // Without its own work tree, the loop cannot be closed either.
            return match self.worktree {
                Some(_) if self.work_tree_is_gone => vec![back],
                _ if self.is_closing || self.strategy.leaves_head() => vec![back],
                _ => vec![back, keep],
            };
        }
        if (self.restored.is_some() || self.unreviewed.is_some()) && self.is_at_rest() {
            let accept = "to accept the work in the work tree as the story";
            let by_hand = [
                does(&format!("complete {change}"), accept),
                does(&format!("revert {change}"), "to undo it"),
            ];
            let again = self.unreviewed.is_some().then(|| {
                let step = if self.phase == Phase::Failed {
                    "retry"
                } else {
                    "next"
                };
                does(&self.step(step, driver), "to have it judged again")
            });
            return again.into_iter().chain(by_hand).collect();
        }
        if self.gate.is_some() {
            return Vec::new();
        }
        if self.waiting.is_some() {
            // The other process holds the loop.
            return vec![self.log()];
        }
        if !self.beside.is_empty() && self.phase != Phase::Finished {
            let purpose = "to take in what was made side by side";
            return self.takes_in.iter().map(|run| does(run, purpose)).collect();
        }
        if let Some(held) = &self.held_there
            && self.running.is_none()
            && !matches!(self.phase, Phase::Complete | Phase::Finished)
        {
            let queue = format!("queue --remote {}", typed(&held.remote));
            return vec![shows(&queue, "to see how far it is there")];
        }
        match self.phase {
            Phase::Ready if self.problem.is_some() => {
                let list = does(&format!("stories {change}"), "to see the list");
                let skipped = self.skipped.first().map(|id| {
                    let again = format!("skip --undo {change} {}", typed(self.names.of(id)));
                    [
                        does(&again, "to take up a skipped story again"),
                        does(&format!("finish {change}"), "to close the loop"),
                    ]
                });
                [list].into_iter().chain(skipped.into_iter().flatten()).collect()
            }
            Phase::Ready => self.steps_when_ready(driver),
            // Another process works on it.
            Phase::Running if self.running.is_some() => Vec::new(),
            Phase::Running => vec![does(&self.step("next", driver), "to continue")],
            Phase::Failed => {
                let retry = does(&self.step("retry", driver), "to try again");
                let steps = self.there().into_iter().chain([retry]);
                steps.chain(self.with_leave(driver)).chain(self.diff()).collect()
            }
            Phase::Exhausted => self.steps_when_exhausted(driver),
            Phase::Complete => self.steps_when_complete(),
            Phase::Finished => {
                let over = self.over.as_ref();
                let commits = over.and_then(|over| over.commits.as_ref());
                let commits = commits.map(|commits| NextStep {
                    only_shows: true,
                    ..types(commits, "to see its commits")
                });
                let again = over.and_then(|over| over.again.as_ref());
                let again = again.map(|again| types(again, "to begin again"));
                commits.into_iter().chain(again).collect()
            }
        }
    }

    fn steps_when_ready(&self, driver: Driver) -> Vec<NextStep> {
        let is_given = self.is_given();
        let purpose = match driver {
            _ if is_given => "if the agent's session is gone",
            _ if self.raised_by.is_some() => "to continue with a higher limit",
            Driver::Steps => "to have the agent attempt it",
            Driver::Run => "to continue",
        };
        let here = does(&self.step("next", driver), purpose);
        let mut steps: Vec<NextStep> = self.there().into_iter().chain([here]).collect();
        if self.stopped.is_some() && driver == Driver::Steps && !is_given && self.raised_by.is_none() {
            let all = "to have it attempt all that are left";
            steps.push(does(&format!("run {}", typed(&self.change)), all));
        }
        if self.stopped.is_some() {
            steps.push(self.log());
        }
        steps
    }

    fn steps_when_exhausted(&self, driver: Driver) -> Vec<NextStep> {
        let change = &typed(&self.change);
        let more = self.current.as_ref().map_or(0, |current| current.retries) + 1;
        let more = more.max(self.max_retries.saturating_add(1));
        let retry = format!("{} --max-retries {more}", self.step("retry", driver));
        let is_spent = self.current.as_ref().is_some_and(|current| current.is_spent);
        let retry = (!is_spent).then(|| does(&retry, "to try again"));
        let steps = [
            does(&format!("skip {change}"), "to skip the story"),
            does(&format!("finish {change}"), "to close the loop"),
        ];
        let others = (driver == Driver::Run && self.has_others()).then(|| {
            let line = format!("run {change} --on-failure later");
            does(&line, "to try it again after the others")
        });
        let reason = self
            .current
            .as_ref()
            .and_then(|current| current.reason.as_deref());
        let is_unseen = reason.is_some_and(|reason| reason.contains(NO_CHANGE));
        let accept = is_unseen.then(|| {
            let line = format!("complete {change}");
            does(&line, "to accept the story without a change, if it is done")
        });
        let first = self.diff().into_iter().chain(others).chain(accept);
        let again = self.with_leave(driver).into_iter().chain(retry);
        first.chain(again).chain(steps).collect()
    }

    /// Returns the command that tries the story again and lets it change tests, if it may need to.
    fn with_leave(&self, driver: Driver) -> Option<NextStep> {
        self.current.as_ref().filter(|current| current.needs_leave)?;
        let retry = format!("{} --allow-test-changes", self.step("retry", driver));
        Some(does(&retry, "to let the story change tests, if that is right"))
    }

    /// Returns whether another story can be tried before the current one, and none was put off.
    fn has_others(&self) -> bool {
        let done = self.stories_done.unwrap_or(0) + self.skipped.len() + 1;
        let current = self.current.as_ref().map(|story| &story.id);
        let may_wait = current.is_none_or(|id| !self.not_put_off.contains(id));
        self.put_off.is_empty() && may_wait && self.stories_total.is_some_and(|total| total > done)
    }

    fn steps_when_complete(&self) -> Vec<NextStep> {
        let change = &typed(&self.change);
        let (cleanup, keep) = match self.worktree {
            _ if self.strategy.leaves_head() => (
                "to close the loop; all changes stay, uncommitted",
                "to close the loop and keep the stash entries of stories that failed",
            ),
            Some(_) => (
                "to bring all changes, uncommitted, to where it began",
                "to close the loop; its branch and its work tree stay",
            ),
            None => (
                "to return to the original branch with all changes uncommitted",
                "to stay on the loop's branch with its commits",
            ),
        };
        let mut steps = vec![
            does(&format!("finish --cleanup {change}"), cleanup),
            does(&format!("finish --keep {change}"), keep),
        ];
        if self.strategy.leaves_head() && !self.has_stash_entries {
            // It would do the same.
            steps.pop();
        }
        if !self.put_off.is_empty() {
            steps.insert(
                0,
                does(&format!("run {change}"), "to try the failed stories again"),
            );
        }
        steps
    }

    /// Returns the command that continues a loop on its remote, and updates it there.
    fn there(&self) -> Option<NextStep> {
        let remote = self.shared_on.as_ref()?;
        let line = format!("run {} --remote {}", typed(&self.change), typed(remote));
        let is_free = !self.is_given() && self.raised_by.is_none();
        is_free.then(|| does(&line, "to continue it here and on the remote"))
    }

    /// Returns the command that continues the loop, without `git ralph`.
    fn step(&self, verb: &str, driver: Driver) -> String {
        let verb = match driver {
            Driver::Steps if self.raised_by.is_none() => verb,
            _ => "run",
        };
        let force = self.is_given().then_some("--force");
        let options = [force, self.raised_by.as_deref()].into_iter().flatten();
        options.fold(format!("{verb} {}", typed(&self.change)), |line, option| {
            format!("{line} {option}")
        })
    }

    /// Returns the command that shows the latest attempt, if it changed anything.
    fn diff(&self) -> Option<NextStep> {
        let current = self.current.as_ref()?;
        let is_failed = matches!(self.phase, Phase::Failed | Phase::Exhausted);
        let is_over = current.reason.is_some() || is_failed;
        let attempt = current.attempt.filter(|_| is_over)?;
        let attempt = typed(format!("{}@{attempt}", self.names.of(&current.id)));
        let (verb, purpose) = match self.traces {
            Traces::Work => ("diff", "to see what was tried"),
            Traces::Output => ("log", "to see what the agent printed"),
            Traces::None => return None,
        };
        let line = format!("{verb} {} {attempt}", typed(&self.change));
        Some(shows(&line, purpose))
    }

    fn log(&self) -> NextStep {
        shows(
            &format!("log {}", typed(&self.change)),
            "to see what the attempts did",
        )
    }

    /// Returns whether an agent's session has the story.
    fn is_given(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.at_work)
    }

    fn is_at_rest(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Failed | Phase::Exhausted)
    }
}
