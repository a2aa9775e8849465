//! Processes of the loop: the environment of each, and the user's commands (gates, hooks), which run like the agent: in
//! the same directory, with the same process control.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Loop;
use super::output_tail::OutputTail;
use crate::agent::job::Job;
use crate::agent::process::{self, Ended, Ending, Listener, TREE_REMOVED};
use crate::error::Error;
use crate::events::{News, Observer, Stream};
use crate::git::REPOSITORY_VARIABLES;
use crate::guard::GitSettings;
use crate::protect::RepoLink;
use crate::signal::Stop;
use crate::slot;

/// Exit codes with which a shell reports that a command cannot be run, or is missing.
const NOT_RUN: [i32; 2] = [126, 127];

/// The result of a command.
pub(crate) enum Passed {
    /// It succeeded.
    Yes,
    /// It failed.
    No(Failure),
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
}

/// The failure of a command.
pub(crate) struct Failure {
    /// The reason, in words.
    pub why: String,
    /// True if a shell reports that the command is missing, or cannot be run.
    pub cannot_be_run: bool,
    /// True if the work is not the cause: an error of git-ralph ended the command, or its work tree was removed.
    pub is_faultless: bool,
    /// The end of its output.
    pub tail: OutputTail,
}

/// Git's words when another git has locked the configuration: several loops share the file.
const LOCKED: &str = "could not lock config file";

/// Returns whether a command failed only because another git had locked the configuration.
pub(super) fn met_a_lock(output: &OutputTail) -> bool {
    output.both_ends().contains(LOCKED)
}

/// Runs a command that changes nothing of the loop to its end; once more if the configuration was locked.
pub(crate) async fn run_gate_command(
    open: &Loop<'_>,
    job: Job,
    log: &File,
    stop: Stop,
) -> Result<Passed, Error> {
    match run_command(open, job.clone(), log, stop.clone()).await? {
        Passed::No(failure) if met_a_lock(&failure.tail) => run_command(open, job, log, stop).await,
        passed => Ok(passed),
    }
}

/// Runs a command to its end.
pub(crate) async fn run_command(
    open: &Loop<'_>,
    job: Job,
    log: &File,
    mut stop: Stop,
) -> Result<Passed, Error> {
    let link = open.site().repo_link()?;
    let mut listener = CommandListener {
        change: open.state.change.to_string(),
        observer: open.context.observer,
        tail: OutputTail::default(),
    };
    let ended = process::run(job, log, &mut stop, &mut listener).await?;
    let tail = listener.tail;
    let ended = restore_link(open, &link, ended)?;
    open.view.drop_all();
    let cannot_be_run = match ended.ending {
        Ending::Exited(code) => NOT_RUN.contains(&code),
        Ending::NotStarted(_) => true,
        _ => false,
    };
    let is_faultless = matches!(ended.ending, Ending::RunnerPanicked | Ending::WorkTreeRemoved(_));
    if let Ending::Interrupted(signal) = ended.ending {
        return Ok(Passed::Interrupted(signal));
    }
    let Some(why) = failure_of(ended.ending) else {
        return Ok(Passed::Yes);
    };
    Ok(Passed::No(Failure {
        why,
        cannot_be_run,
        is_faultless,
        tail,
    }))
}

/// Returns the reason why a command failed, in words; `None` if it succeeded.
pub(super) fn failure_of(ending: Ending) -> Option<String> {
    match ending {
        Ending::Exited(0) => None,
        Ending::Exited(code) => Some(format!("exit code {code}")),
        Ending::Killed(signal) | Ending::Interrupted(signal) => Some(format!("ended by signal {signal}")),
        Ending::TimedOut(why, _) => Some(why),
        Ending::NotStarted(error) => Some(error.to_string()),
        Ending::RunnerKilled(signal) => Some(format!("its runner was ended by signal {signal}")),
        Ending::RunnerPanicked => Some("its runner ended by an error of git-ralph".to_owned()),
        Ending::WorkTreeRemoved(_) => Some(TREE_REMOVED.to_owned()),
    }
}

/// Restores the link from the work tree to its repository after a process. If the work tree was removed meanwhile, the
/// success of the process does not count for the recreated tree.
pub(super) fn restore_link(open: &Loop<'_>, link: &RepoLink, ended: Ended) -> Result<Ended, Error> {
    let was_removed = !link.has_tree(open.site());
    link.restore(open.site())?;
    let ending = match ended.ending {
        Ending::Exited(code) if was_removed => Ending::WorkTreeRemoved(code),
        ending => ending,
    };
    Ok(Ended { ending, ..ended })
}

/// Returns the job of a process of the loop that is not about a story.
pub(super) fn plain_job(open: &Loop<'_>, run: &str, settings: GitSettings) -> Job {
    let path = |name: &str, file: PathBuf| (OsString::from(name), file.into_os_string());
    let mut env_remove = REPOSITORY_VARIABLES.to_vec();
    env_remove.push("GIT_CONFIG_PARAMETERS");
    // Git must not pack or prune the objects of an attempt while it is judged.
    let quiet = [variable("gc.auto", "0"), variable("maintenance.auto", "false")];
    Job {
        dir: open.repo().top.clone(),
        env: [
            variable("RALPH_CHANGE", open.change().worked_on().as_str()),
            variable("RALPH_BRANCH", &open.state.common.branch),
            variable(slot::SLOT, &slot::number()),
            path("RALPH_PROMPT_FILE", open.site().file("prompt.md")),
            path("RALPH_LEARNINGS", open.file("learnings.md")),
        ]
        .into_iter()
        .chain(git_settings(quiet.into_iter().chain(settings)))
        .collect(),
        env_remove,
        run: run.to_owned(),
        ..Job::default()
    }
}

/// Returns an environment variable.
pub(super) fn variable(name: &str, value: &str) -> (OsString, OsString) {
    (OsString::from(name), OsString::from(value))
}

/// Returns the variables of a command that prepares a work tree; the user typed the command in `from`.
pub(super) fn of_work_trees(prepared: &Path, from: &Path) -> [(OsString, OsString); 2] {
    [("RALPH_WORKTREE", prepared), ("RALPH_MAIN_WORKTREE", from)]
        .map(|(name, top)| (name.into(), top.as_os_str().to_owned()))
}

/// Returns the mark that identifies the processes of an attempt that begins now.
pub(super) fn run_name(now: Timestamp) -> String {
    format!("{}-{}", std::process::id(), now.as_nanosecond())
}

/// Returns settings of git as environment variables.
pub(super) fn git_settings(
    settings: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let mut variables = Vec::new();
    for (number, (key, value)) in settings.enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}").into(), key));
        variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value));
    }
    let count = (variables.len() / 2).to_string();
    variables.push(("GIT_CONFIG_COUNT".into(), count.into()));
    variables.into_iter()
}

/// Listens to a command.
pub(super) struct CommandListener<'a> {
    pub change: String,
    pub observer: &'a dyn Observer,
    pub tail: OutputTail,
}

impl Listener for CommandListener<'_> {
    fn started(&mut self, _pid: i32) {}

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.tail.push(bytes);
        self.observer.hear(News::Output {
            change: &self.change,
            stream,
            bytes,
        });
    }

    fn tick(&mut self) {
        self.observer.hear(News::Tick);
    }

    fn stopping(&mut self) {
        self.observer.hear(News::Stopping);
    }
}
