//! Runs one process of an attempt, an agent or a gate, from its start until nothing of it is alive.
//!
//! The process runs below a runner, in its own session, with `GIT_RALPH_RUN` in its environment. When it exits, or a
//! time limit or a signal requires it, the runner ends all its processes: TERM, a grace period, KILL. This module
//! decides when, and ends the remaining processes of a dead runner. It does not know stories or git.

use std::fs::File;
use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::job::Job;
use super::patience::{Patience, Spent};
use super::process_tree::{self, AttemptProcesses, Found};
use super::runner::{Lost, News, Printed, Runner};
use crate::error::refusals::refusals;
use crate::events::Stream;
use crate::names::counted;
use crate::signal::Stop;

/// The interval of a listener's ticks.
const SECOND: Duration = Duration::from_secs(1);
/// Maximum number of seconds that a runner needs to end all processes: more than all its grace periods.
const ENDING: u32 = 60;

/// The exit code that means the end by a signal, without the signal's number.
const SIGNALLED: i32 = 128;

/// The way in which a process ended.
#[derive(Debug)]
pub enum Ending {
    /// The process exited with this code.
    Exited(i32),
    /// A signal ended the process that git-ralph did not send.
    Killed(i32),
    /// The process reached this limit of its time, or of the time without progress; with the reason in words.
    TimedOut(String, Duration),
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
    /// The process could not be started.
    NotStarted(io::Error),
    /// This signal ended its runner. The process itself, a user or the system may have sent it.
    RunnerKilled(i32),
    /// An internal error of git-ralph ended its runner.
    RunnerPanicked,
    /// The process exited with this code, and its work tree was removed while it ran.
    WorkTreeRemoved(i32),
}

impl Ending {
    /// Returns the ending of a program from the exit code that a sandbox reports. Signals have the codes that shells
    /// report.
    fn out_of_box(self) -> Self {
        match self {
            Self::Exited(code) if Signal::try_from(code - SIGNALLED).is_ok() => {
                Self::Killed(code - SIGNALLED)
            }
            other => other,
        }
    }
}

/// The reason of a process whose work tree was removed.
pub const TREE_REMOVED: &str = "the work tree was removed or replaced meanwhile, by whom is not known";

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The way in which the process ended.
    pub ending: Ending,
    /// Number of background processes that were ended.
    pub left_running: usize,
}

refusals! {
/// A failure to end a process or to write its log.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// This number of processes survives SIGKILL.
    #[error("cannot end {} of the attempt", counted(*.0, "process", "processes"))]
    Immortal(usize)
        => "kill them, then run: git ralph status";
    /// The log cannot be written.
    #[error("cannot write the log of the attempt: {0}")]
    Log(io::Error)
        => "its processes were ended; to see what comes next: git ralph status";
}
}

/// Listens to a process while it runs.
pub trait Listener {
    /// The process was started; its process id is also its session.
    fn started(&mut self, pid: i32);
    /// The process printed these bytes.
    fn output(&mut self, stream: Stream, bytes: &[u8]);
    /// The process is asked to end, because git-ralph was asked to stop.
    fn stopping(&mut self);
    /// A second has passed.
    fn tick(&mut self) {}
    /// Returns true if the output since the last call shows progress.
    fn made_progress(&mut self) -> bool {
        true
    }
}

/// Runs a job until none of its processes is alive. All output goes to `log` and to `listener`.
///
/// # Errors
/// If the log cannot be written, or a process cannot be ended; the caller must not touch the work tree then. Even then,
/// every process that can be ended has ended.
pub async fn run(
    job: Job,
    log: &File,
    stop: &mut Stop,
    listener: &mut dyn Listener,
) -> Result<Ended, ProcessError> {
    let not_started = |error| Ended {
        ending: Ending::NotStarted(error),
        left_running: 0,
    };
    // Adopts the remaining processes of a dead runner.
    process_tree::adopt_orphans();
    let mut runner = match Runner::start(log) {
        Ok(runner) => runner,
        Err(error) => return Ok(not_started(error)),
    };
    let mut run = Run {
        // The runner is one of the others.
        processes: AttemptProcesses::started(None, job.run.clone(), process_tree::others()),
        late: None,
        listener,
    };
    let decided = match runner.run(&job).await {
        Ok(()) => run.watch(&mut runner, &job, stop).await,
        Err(error) => Ok(Some(Ending::NotStarted(error))),
    };
    if matches!(decided, Ok(Some(Ending::Interrupted(_)))) {
        run.listener.stopping();
    }
    let asked_to_end = !matches!(decided, Ok(Some(Ending::Exited(_) | Ending::Killed(_))));
    // No return before all processes have ended: a living one would continue without git-ralph.
    let found = match decided {
        Ok(None) => None,
        _ => run.end(&mut runner, stop, asked_to_end).await,
    };
    let lost = runner.wait().await;
    let (found, ending) = match (found, decided) {
        (Some(found), Ok(Some(ending))) => (found, Ok(ending)),
        (Some(found), Err(error)) => (found, Err(error)),
        (_, decided) => {
            let found = process_tree::end(&run.processes, impatience(stop, asked_to_end)).await;
            let ending = decided.map(|decided| without_runner(decided, lost, stop.signal()));
            (found, ending)
        }
    };
    if found.alive > 0 {
        return Err(ProcessError::Immortal(found.alive));
    }
    let ending = ending.map_err(ProcessError::Log)?;
    if let Some(error) = run.late {
        return Err(ProcessError::Log(error));
    }
    let is_boxed = job.walls.is_some();
    let is_shell = job.argv.first().is_some_and(|program| program == "sh");
    // A sandbox adds one process, its first, which ends after all others.
    let left_running = found.ended.saturating_sub(usize::from(is_boxed));
    Ok(Ended {
        ending: if is_boxed && !is_shell {
            ending.out_of_box()
        } else {
            ending
        },
        left_running: if asked_to_end { 0 } else { left_running },
    })
}

/// Returns the ending of a process whose runner ended before it reported the end of all processes.
fn without_runner(ending: Option<Ending>, lost: io::Result<Lost>, stopped: Option<i32>) -> Ending {
    match (ending, stopped) {
        (Some(decided @ (Ending::Interrupted(_) | Ending::TimedOut(..) | Ending::NotStarted(_))), _) => {
            decided
        }
        // The sender of the stop signal may have ended the runner, too.
        (_, Some(signal)) => Ending::Interrupted(signal),
        _ => match lost {
            Ok(Lost::Killed(signal)) => Ending::RunnerKilled(signal),
            Ok(Lost::Panicked) => Ending::RunnerPanicked,
            Ok(Lost::Refused) => Ending::NotStarted(io::Error::other(
                "git-ralph was replaced by another version while it ran; run the same command again",
            )),
            Err(error) => Ending::NotStarted(error),
        },
    }
}

/// Waits until the grace period must end: at the second stop request, or at the first if none was acted upon.
async fn impatience(stop: &Stop, asked_to_end: bool) {
    stop.clone().asked(if asked_to_end { 2 } else { 1 }).await;
}

/// A running job.
struct Run<'a> {
    /// The processes of the job, which are children of git-ralph only if the runner has ended.
    processes: AttemptProcesses,
    /// An error of writing the output.
    late: Option<io::Error>,
    listener: &'a mut dyn Listener,
}

impl Run<'_> {
    /// Waits until the process has exited or must be ended; returns `None` if the runner has ended.
    async fn watch(&mut self, runner: &mut Runner, job: &Job, stop: &mut Stop) -> io::Result<Option<Ending>> {
        let begun = Instant::now();
        let mut patience = Patience::begin(begun, job.timeout, job.idle_timeout);
        let mut seconds = interval_at(begun + SECOND, SECOND);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let now = Instant::now();
            patience.look(now);
            if let Some(Spent { why, limit }) = patience.spent(now) {
                return Ok(Some(Ending::TimedOut(why, limit)));
            }
            tokio::select! {
                // Signals first: they take precedence over output at the same moment.
                biased;
                signal = stop.asked(1) => return Ok(Some(Ending::Interrupted(signal))),
                printed = runner.next() => match printed {
                    None | Some(Printed::News(News::Ended { .. })) => return Ok(None),
                    Some(Printed::Output(stream, bytes)) => {
                        self.listener.output(stream, &bytes);
                        let now = Instant::now();
                        patience.look(now);
                        let progress = self.listener.made_progress();
                        patience.heard(now, progress);
                    }
                    Some(Printed::News(News::Started(pid))) => self.start(pid),
                    Some(Printed::News(News::NotStarted(failure))) => {
                        return Ok(Some(Ending::NotStarted(failure.into())));
                    }
                    Some(Printed::News(News::Exited(code))) => return Ok(Some(Ending::Exited(code))),
                    Some(Printed::News(News::Killed(signal))) => return Ok(Some(Ending::Killed(signal))),
                    Some(Printed::News(News::LogFailed(failure))) => return Err(failure.into()),
                },
                // The next reading of the clock decides.
                () = at(patience.next()) => {}
                _ = seconds.tick() => {
                    // As process 1 of a container, git-ralph gets the orphans of others.
                    self.processes.reap_orphans();
                    runner.wake();
                    self.listener.tick();
                }
            }
        }
    }

    fn start(&mut self, pid: Option<i32>) {
        self.processes.begin(pid);
        if let Some(pid) = pid {
            self.listener.started(pid);
        }
    }

    /// Makes the runner end all processes, and reads their output; returns `None` if the runner has ended.
    async fn end(&mut self, runner: &mut Runner, stop: &Stop, asked_to_end: bool) -> Option<Found> {
        if asked_to_end {
            runner.end().await;
        }
        let mut hurry = Box::pin(impatience(stop, asked_to_end));
        let mut in_a_hurry = false;
        // Seconds in which git-ralph runs: while stopped by Ctrl-Z, it receives no message of the runner.
        let mut waited = 0;
        let mut seconds = interval_at(Instant::now() + SECOND, SECOND);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                // The runner's end before the clock: git-ralph may have been stopped in between.
                biased;
                () = &mut hurry, if !in_a_hurry => {
                    in_a_hurry = true;
                    runner.hurry().await;
                }
                printed = runner.next() => match printed? {
                    Printed::Output(stream, bytes) => self.listener.output(stream, &bytes),
                    Printed::News(News::Ended { alive, ended }) => return Some(Found { alive, ended }),
                    Printed::News(News::LogFailed(failure)) => self.late = Some(failure.into()),
                    Printed::News(News::Started(pid)) => self.start(pid),
                    Printed::News(_) => {}
                },
                _ = seconds.tick() => {
                    runner.wake();
                    waited += 1;
                    if waited > ENDING {
                        runner.kill();
                        return None;
                    }
                }
            }
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_runner_ends_the_attempt_unless_it_was_interrupted() {
        let ending = |ending, lost| format!("{:?}", without_runner(ending, Ok(lost), None));
        assert_eq!(ending(None, Lost::Killed(9)), "RunnerKilled(9)");
        assert_eq!(
            ending(Some(Ending::Exited(0)), Lost::Killed(15)),
            "RunnerKilled(15)"
        );
        assert_eq!(ending(None, Lost::Panicked), "RunnerPanicked");
        assert_eq!(
            ending(Some(Ending::Interrupted(2)), Lost::Killed(9)),
            "Interrupted(2)"
        );
        assert!(ending(None, Lost::Refused).starts_with("NotStarted"));
        let asked = without_runner(None, Ok(Lost::Killed(9)), Some(15));
        assert!(matches!(asked, Ending::Interrupted(15)));
    }
}
