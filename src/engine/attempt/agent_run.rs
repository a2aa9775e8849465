//! Runs the agent's process: its environment, its listener, and its end.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::pin::pin;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::agent_process::AgentListener;
use super::begun::Begun;
use super::learnings;
use super::outcome::Outcome;
use super::verdict::judge;
use crate::agent::Agent;
use crate::agent::decode::Decoder;
use crate::agent::job::Job;
use crate::agent::process::{self, Ended, Ending};
use crate::engine::boxed::Confinement;
use crate::engine::output_tail::{OutputTail, printed};
use crate::engine::run_command::{plain_job, restore_link, variable};
use crate::engine::{Loop, guard_rail, numbers};
use crate::error::Error;
use crate::fs::Durability;
use crate::guard::GitSettings;
use crate::processes;
use crate::prompt::neutral;
use crate::settings::to_std;

/// Runs the agent of an attempt to its end; returns the outcome.
pub(crate) async fn run_agent(
    open: &Loop<'_>,
    agent: &Agent,
    begun: &Begun,
    text: &str,
    confined: &Confinement,
) -> Result<Outcome, Error> {
    let prompt_file = open.site().file("prompt.md");
    let door = open.store.door();
    door.write_private(&prompt_file, text)?;
    // A copy for the user: the next attempt overwrites the prompt file above.
    door.write_private(&open.store.attempt_prompt(&begun.story.id, begun.number), text)?;
    let guard = guard_rail::set_up(open, begun.settings.guard, begun.facts.stash.as_ref()).await;
    let job = job(open, begun, guard);
    let job = Job {
        timeout: begun.settings.timeout.map(to_std),
        idle_timeout: begun.settings.idle_timeout.map(to_std),
        ..agent_job(job, agent, &prompt_file, text, confined)
    };
    let installed = agent.command.installed_version(&open.repo().top);
    let mut decoder = Decoder::new(agent.format, text).likely(agent.likely);
    let (ended, tail) = run_job(open, job, &begun.log, &mut decoder).await?;
    let at = Timestamp::now();
    let mut report = decoder.finish();
    report.version = report.version.or(installed);
    learnings::claim(open, &begun.story.id, begun.number);
    learnings::learn(open, &begun.story.id, begun.number, &report.learnings);
    let judgement = judge(&ended.ending, &report, agent.name.as_deref());
    if ended.left_running > 0 {
        open.tell(match ended.left_running {
            1 => "the agent left a process running; it was ended".to_owned(),
            many => format!("the agent left {many} processes running; they were ended"),
        });
    }
    Ok(Outcome {
        ended: at,
        exit_code: match ended.ending {
            Ending::Exited(code) | Ending::WorkTreeRemoved(code) => Some(code),
            _ => None,
        },
        report: Some(report),
        agent: Some(agent.label()),
        confined: confined.clone(),
        tail,
        output: printed(&begun.log, Some(0)),
        litter: agent.litter,
        ..Outcome::by_hand(judgement)
    })
}

/// Returns the job of an agent with this prompt.
pub(super) fn agent_job(
    mut job: Job,
    agent: &Agent,
    prompt_file: &Path,
    text: &str,
    confined: &Confinement,
) -> Job {
    let is_boxed = confined.walls.is_some();
    let command = match agent.belongings.own_sandbox.filter(|_| is_boxed) {
        Some((args, none)) => agent.command.without_sandbox(args, none),
        None => agent.command.clone(),
    };
    let (argv, from_file) = command.argv(prompt_file);
    let told = agent.belongings.told.iter().filter(|_| is_boxed);
    let variables = agent.env.iter().chain(told);
    job.env
        .extend(variables.map(|(name, value)| variable(name, value)));
    Job {
        argv,
        stdin: if from_file {
            Vec::new()
        } else {
            text.as_bytes().to_vec()
        },
        walls: confined.walls.clone(),
        ..job
    }
}

/// Returns the job of a process of an attempt; `settings` extend the git settings of every attempt.
pub(super) fn job(open: &Loop<'_>, begun: &Begun, settings: GitSettings) -> Job {
    let story = &begun.story;
    let mut job = plain_job(open, &begun.run, settings);
    job.env.extend([
        variable("RALPH_STORY", &story.id),
        variable("RALPH_STORY_TITLE", &neutral(&story.title)),
        variable("RALPH_ATTEMPT", &begun.number.to_string()),
    ]);
    if open.state.failures_of(&story.id) > 0 {
        // Attempts that do not count have numbers too.
        let earlier = (1..begun.number)
            .rev()
            .map(|number| numbers::left_by(open, &story.id, number));
        let last = earlier
            .into_iter()
            .find(|(kept, log)| kept.is_some() || log.is_some());
        let (kept, log) = last.unwrap_or_default();
        job.env
            .extend(kept.map(|kept| variable("RALPH_LAST_ATTEMPT", &kept)));
        job.env
            .extend(log.map(|log| (OsString::from("RALPH_LAST_LOG"), log.into_os_string())));
    }
    job
}

/// Runs an agent; returns its ending and the end of its output.
pub(super) async fn run_job(
    open: &Loop<'_>,
    job: Job,
    log: &File,
    decoder: &mut Decoder,
) -> Result<(Ended, String), Error> {
    open.view.drop_all();
    let link = open.site().repo_link()?;
    let (starts, started) = oneshot::channel();
    let mut listener = AgentListener {
        change: open.change().to_string(),
        observer: open.context.observer,
        decoder,
        tail: OutputTail::default(),
        started: Some(starts),
    };
    let mut stop = open.context.stop.clone();
    let ended = {
        let mut running = pin!(process::run(job, log, &mut stop, &mut listener));
        tokio::select! {
        biased;
        Ok(pid) = started => {
        note_process(open, pid);
        running.await
        }
        ended = &mut running => ended,
        }?
    };
    Ok((restore_link(open, &link, ended)?, listener.tail.text()))
}

/// Records the agent's process in the state. If this fails, the mark in the environment still identifies the process;
/// after a power cut the process is gone.
fn note_process(open: &Loop<'_>, pid: i32) {
    open.state.note_running(|running| {
        running.pid = Some(pid);
        running.started = processes::started_at(pid);
    });
    if let Err(error) = open.save_for(Durability::Atomic) {
        tracing::warn!("cannot record the agent's process: {error}");
    }
}
