//! Runs one hook: finds it, calls it through git, and returns its answer.

use std::ffi::OsString;
use std::fs::File;

use jiff::Timestamp;

use super::{Hook, origin};
use crate::agent::job::Job;
use crate::agent::process::ProcessError;
use crate::engine::Loop;
use crate::engine::boxed::{self, Inside};
use crate::engine::context::HookRun;
use crate::engine::output_tail::OutputTail;
use crate::engine::run_command::{Passed, plain_job, run_command, run_name};
use crate::engine::watch::{self, Who};
use crate::error::Error;
use crate::events::{Event, What};
use crate::fs::{FileError, is_there};
use crate::settings::{Configuration, to_std};
use crate::state::Running;

/// File in the slot with the event that a hook is called about.
const EVENT_FILE: &str = "event.json";
/// File in the loop's directory with the output of the latest hook that is not about an attempt.
pub(super) const LOG: &str = "hook.log";

/// The parameters of a hook call.
pub(super) struct Call<'a> {
    pub hook: Hook,
    pub title: Option<&'a str>,
    pub event: Event,
    pub log: Option<&'a File>,
}

/// The result of a hook.
pub(super) enum HookResult {
    /// There is no such hook.
    Nothing,
    /// The hook succeeded.
    Yes,
    /// The hook refused: the reason in words, and the end of its output.
    No(String, OutputTail),
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
}

/// Returns whether git may find this hook; reads the configuration again if something may have changed it.
pub(super) async fn may_be(open: &Loop<'_>, hook: Hook) -> Result<bool, Error> {
    // The loop of the change runs the other hooks when it takes in the work of a side.
    if hook != Hook::PreAttempt && open.change().side_of().is_some() {
        return Ok(false);
    }
    let known = &open.context.configuration.hooks;
    if known.borrow().is_none() {
        let read = Configuration::read(open.git()).await?;
        known.replace(read.hooks.into_inner());
    }
    Ok(known
        .borrow()
        .as_ref()
        .is_some_and(|hooks| hooks.may_be(open.repo(), hook.name())))
}

/// Returns the form of `git hook run`; git is asked only once, and only if a hook may exist.
async fn hook_run(open: &Loop<'_>) -> Result<HookRun, Error> {
    if let Some(known) = open.context.hook_run.get() {
        return Ok(known);
    }
    let usage = open.git().cmd("hook", ["run", "-h"]).any_exit().await?;
    let text = [usage.stdout, usage.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let run = if text.contains("allow-unknown-hook-name") {
        HookRun::Configured
    } else if text.contains("git hook run") {
        HookRun::Files
    } else {
        HookRun::Missing
    };
    open.context.hook_run.set(Some(run));
    Ok(run)
}

/// Returns whether the only hook is a configured one, which this git is too old to run.
fn is_for_newer_git(open: &Loop<'_>, hook: Hook) -> Result<bool, FileError> {
    let is_there = origin::file_of(open, hook)
        .map(|file| is_there(&file))
        .transpose()?;
    Ok(is_there == Some(false))
}

/// Runs a hook to its end.
pub(super) async fn call(open: &Loop<'_>, call: Call<'_>) -> Result<HookResult, Error> {
    let hook = call.hook;
    if !may_be(open, hook).await? {
        return Ok(HookResult::Nothing);
    }
    if let Some(why) = origin::refusal(open, hook).await? {
        open.tell(format!("warning: {why}"));
        return Ok(HookResult::Nothing);
    }
    let options: &[&str] = match hook_run(open).await? {
        HookRun::Configured => &["--allow-unknown-hook-name", "--ignore-missing"],
        HookRun::Files if is_for_newer_git(open, hook)? => {
            open.tell(format!(
                "warning: {} is a hook of the configuration, which needs git 2.54",
                hook.name()
            ));
            return Ok(HookResult::Nothing);
        }
        HookRun::Files => &["--ignore-missing"],
        HookRun::Missing => {
            let why = "git hook run needs git 2.36 or later".to_owned();
            return Ok(HookResult::No(why, OutputTail::default()));
        }
    };
    open.tell(format!("hook: {}", hook.name()));
    open.store
        .door()
        .write_private(&open.site().file(EVENT_FILE), &call.event.line())?;
    let log = match call.log {
        Some(log) => log.try_clone().map_err(ProcessError::Log)?,
        None => open.store.door().begin_file(&open.file(LOG))?,
    };
    let alone = !open.state.is_running() && open.state.is_live();
    let run = open.state.run_mark();
    let run = run.unwrap_or_else(|| run_name(Timestamp::now()));
    let mut job = hook_job(open, &call, options, &run);
    let settings = open.context.configuration.settings.clone();
    if settings.boxing.is_for_commands() {
        job.walls = boxed::of_loop(open, &settings, Inside::Commands).await?.walls;
    }
    if alone {
        // If this process dies, the next command ends the processes that the hook has started.
        open.state.begin_running(Running::gates(&run));
        open.save()?;
    }
    let watch = watch::begin(open, Who::Hook).await?;
    let said = run_hook(open, job, log).await;
    watch::end(open, watch).await?;
    let said = said?;
    if alone {
        open.state.end_running();
        open.save()?;
    }
    Ok(said)
}

fn hook_job(open: &Loop<'_>, call: &Call<'_>, options: &[&str], run: &str) -> Job {
    let mut job = plain_job(open, run, Vec::new());
    // The user's own settings apply, including those of `git -c`, as in git's own hooks.
    job.env_remove.retain(|name| *name != "GIT_CONFIG_PARAMETERS");
    job.env
        .retain(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_"));
    let (story, number) = subject(&call.event.what);
    let number = number.map(|number| number.to_string());
    let variables = [
        ("RALPH_STORY", story),
        ("RALPH_STORY_TITLE", call.title),
        ("RALPH_ATTEMPT", number.as_deref()),
    ];
    for (name, value) in variables {
        let value = value.map(OsString::from);
        job.env.extend(value.map(|value| (name.into(), value)));
    }
    let event = open.site().file(EVENT_FILE).into_os_string();
    job.env.push(("RALPH_EVENT_FILE".into(), event));
    let words = ["git", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];
    let words = words
        .into_iter()
        .chain(["hook", "run"])
        .chain(options.iter().copied());
    let args = [call.hook.name(), "--", open.change().as_str()].into_iter();
    job.argv = words.chain(args).chain(story).map(OsString::from).collect();
    job.timeout = Some(to_std(open.context.configuration.settings.command_timeout));
    job
}

/// Returns the story and the number of the attempt that an event is about.
fn subject(what: &What) -> (Option<&str>, Option<u32>) {
    match what {
        What::AttemptStarted(begun) => (Some(&begun.story), Some(begun.attempt)),
        What::AttemptEnded(attempt) => (Some(&attempt.story), Some(attempt.attempt)),
        What::Checkpoint { story, attempt, .. } | What::Reverted { story, attempt, .. } => {
            (story.as_deref(), *attempt)
        }
        _ => (None, None),
    }
}

async fn run_hook(open: &Loop<'_>, job: Job, log: File) -> Result<HookResult, Error> {
    // The signal that stopped the attempt must not stop its hooks; only a further signal does.
    let stop = open.context.stop.renewed();
    let passed = run_command(open, job, &log, stop).await?;
    open.context.configuration.hooks.replace(None);
    if !matches!(passed, Passed::Yes) {
        open.site().remove_stale_locks(&open.state.change).await?;
    }
    Ok(match passed {
        Passed::Yes => HookResult::Yes,
        Passed::No(failure) => HookResult::No(failure.why, failure.tail),
        Passed::Interrupted(signal) => HookResult::Interrupted(signal),
    })
}
