//! One hook: whether it is there, how git is asked to run it, and what it said.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;

use super::Hook;
use crate::agent::process::{self, Ending, Job, ProcessError};
use crate::engine::Session;
use crate::engine::gate::GateEars;
use crate::engine::home::Home;
use crate::engine::others::Others;
use crate::engine::output_tail::OutputTail;
use crate::engine::run_agent::run_name;
use crate::error::Error;
use crate::events::Event;
use crate::fs::{FileError, file_error, write_private};
use crate::settings::{Configuration, to_std};
use crate::state::Running;

/// In the loop's directory: the event that a hook is told of.
const EVENT_FILE: &str = "event.json";
/// In the loop's directory: what the latest hook printed that is about no attempt.
pub(super) const LOG: &str = "hook.log";

/// How `git hook run` of this git is called: it is there since 2.36, and since 2.54, where configuration can
/// name hooks too, it wants to be told that a name unknown to git is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum HookRun {
    /// There is none.
    Missing,
    /// Git 2.36 to 2.53: runs any name, and only files.
    Files,
    /// Git 2.54 and later: `--allow-unknown-hook-name`, and configured hooks.
    Configured,
}

/// What a hook is told.
pub(super) struct Call<'a> {
    pub hook: Hook,
    pub story: Option<&'a str>,
    pub title: Option<&'a str>,
    pub attempt: Option<u32>,
    pub event: Event,
    pub log: Option<&'a File>,
}

/// What a hook said.
pub(super) enum Said {
    /// There is none.
    Nothing,
    /// Yes.
    Yes,
    /// No; why, in words, and the end of its output.
    No(String, OutputTail),
    /// We were asked to stop by this signal.
    Interrupted(i32),
}

impl Session<'_> {
    /// Whether git may find this hook; reads the configuration anew when something may have changed it.
    pub(super) async fn may_be(&mut self, hook: Hook) -> Result<bool, Error> {
        if self.engine.configuration.hooks.is_none() {
            let read = Configuration::read(&self.engine.repo.git).await?;
            self.engine.configuration.hooks = read.hooks;
        }
        let hooks = self.engine.configuration.hooks.as_ref();
        Ok(hooks.is_some_and(|hooks| hooks.may_be(&self.engine.repo, hook.name())))
    }

    /// How this git runs hooks; asked once, and only when a hook may be there.
    async fn hook_run(&mut self) -> Result<HookRun, Error> {
        if let Some(known) = self.engine.hook_run {
            return Ok(known);
        }
        let usage = self.engine.repo.git.cmd("hook", ["run", "-h"]).any_exit().await?;
        let text = [usage.stdout, usage.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let run = if text.contains("allow-unknown-hook-name") {
            HookRun::Configured
        } else if text.contains("git hook run") {
            HookRun::Files
        } else {
            HookRun::Missing
        };
        self.engine.hook_run = Some(run);
        Ok(run)
    }

    /// Whether there is nothing but a configured hook, which this git does not know of yet.
    fn is_for_newer_git(&self, hook: Hook) -> bool {
        let hooks = self.engine.configuration.hooks.as_ref();
        let file = hooks.and_then(|hooks| hooks.file(&self.engine.repo, hook.name()));
        file.is_some_and(|file| file.symlink_metadata().is_err())
    }

    /// Runs a hook to its end.
    pub(super) async fn call(&mut self, call: Call<'_>) -> Result<Said, Error> {
        let hook = call.hook;
        if !self.may_be(hook).await? {
            return Ok(Said::Nothing);
        }
        let options: &[&str] = match self.hook_run().await? {
            HookRun::Configured => &["--allow-unknown-hook-name", "--ignore-missing"],
            HookRun::Files if self.is_for_newer_git(hook) => {
                self.tell(format!(
                    "warning: {} is a hook of the configuration, which needs git 2.54",
                    hook.name()
                ));
                return Ok(Said::Nothing);
            }
            HookRun::Files => &["--ignore-missing"],
            HookRun::Missing => {
                let why = "git hook run needs git 2.36 or later".to_owned();
                return Ok(Said::No(why, OutputTail::default()));
            }
        };
        self.tell(format!("hook: {}", hook.name()));
        write_private(&self.file(EVENT_FILE), &call.event.line())?;
        let mut log = match call.log {
            Some(log) => log.try_clone().map_err(ProcessError::Log)?,
            None => private_log(&self.file(LOG))?,
        };
        let alone = self.state.running.is_none() && self.state.is_live();
        let running = self.state.running.as_ref().map(|running| running.run.clone());
        let run = running.unwrap_or_else(|| run_name(Timestamp::now()));
        let job = self.hook_job(&call, options, &run);
        if alone {
            // Should this process die, the next command ends what the hook has started.
            self.state.running = Some(Running::gates(&run));
            self.save()?;
        }
        // Of a loop that is closed there is nothing left to lose.
        let watched = if self.state.is_live() {
            Some(self.watch(Others::Hook).await?)
        } else {
            None
        };
        let said = self.run_hook(job, &mut log).await;
        if let Some(watched) = watched {
            self.end_watch(watched).await?;
        }
        let said = said?;
        if alone {
            self.state.running = None;
            self.save()?;
        }
        Ok(said)
    }

    fn hook_job(&self, call: &Call<'_>, options: &[&str], run: &str) -> Job {
        let mut job = self.plain_job(run, Vec::new());
        // The user's own settings hold, those of git -c included, as for the hooks of git itself.
        job.env_remove.retain(|name| *name != "GIT_CONFIG_PARAMETERS");
        job.env
            .retain(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_"));
        let number = call.attempt.map(|attempt| attempt.to_string());
        let variables = [
            ("RALPH_STORY", call.story),
            ("RALPH_STORY_TITLE", call.title),
            ("RALPH_ATTEMPT", number.as_deref()),
        ];
        for (name, value) in variables {
            let value = value.map(OsString::from);
            job.env.extend(value.map(|value| (name.into(), value)));
        }
        let event = self.file(EVENT_FILE).into_os_string();
        job.env.push(("RALPH_EVENT_FILE".into(), event));
        let words = ["git", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];
        let words = words
            .into_iter()
            .chain(["hook", "run"])
            .chain(options.iter().copied());
        let args = [call.hook.name(), "--", self.change().as_str()].into_iter();
        job.argv = words.chain(args).chain(call.story).map(OsString::from).collect();
        let frozen = &self.state.settings;
        let settings = self.engine.configuration.for_step(frozen);
        let limit = settings.map_or(frozen.command_timeout, |settings| settings.command_timeout);
        job.timeout = Some(to_std(limit));
        job
    }

    async fn run_hook(&mut self, job: Job, log: &mut File) -> Result<Said, Error> {
        let mut tail = OutputTail::default();
        // Who has asked the attempt to stop wants its hooks to run; who asks once more does not.
        let mut stop = self.engine.stop.from_now();
        let mut ears = GateEars {
            change: self.state.change.to_string(),
            observer: &mut *self.engine.observer,
            tail: &mut tail,
        };
        let home = Home::of(&self.engine.repo);
        let ended = process::run(job, log, &mut stop, &mut ears).await?;
        self.come_home(&home)?;
        self.settled = false;
        self.head_is_known = false;
        self.refs = None;
        self.engine.configuration.hooks = None;
        let why = match ended.ending {
            Ending::Exited(0) => return Ok(Said::Yes),
            Ending::Exited(code) => return Ok(Said::No(format!("exit code {code}"), tail)),
            Ending::Interrupted(signal) => {
                self.remove_stale_locks().await?;
                return Ok(Said::Interrupted(signal));
            }
            Ending::Killed(signal) => format!("ended by signal {signal}"),
            Ending::TimedOut(why) => why,
            Ending::NotStarted(error) => error.to_string(),
        };
        self.remove_stale_locks().await?;
        Ok(Said::No(why, tail))
    }
}

/// An empty log for the user alone.
fn private_log(path: &Path) -> Result<File, FileError> {
    let _ = fs::remove_file(path);
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| file_error("write", path, error))
}
