//! Runs the agent's process: its environment, its listener, and its end.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::pin::pin;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::agent_process::AgentProcess;
use super::facts::Facts;
use super::learnings;
use super::verdict::{Judgement, judge};
use crate::agent::Agent;
use crate::agent::decode::{Decoder, Report};
use crate::agent::job::Job;
use crate::agent::process::{Ended, Ending};
use crate::agent::promise::{Heard, may_be_blocked};
use crate::engine::boxed::Confinement;
use crate::engine::lifecycle_hooks::About;
use crate::engine::output_tail::printed;
use crate::engine::run_command::{plain_job, variable};
use crate::engine::{Loop, guard_rail, numbers};
use crate::error::Error;
use crate::events::{Attempt, Stretch, seconds_between};
use crate::fs::Durability;
use crate::guard::GitSettings;
use crate::processes;
use crate::prompt::neutral;
use crate::protect::RepoLink;
use crate::settings::{Settings, to_std};
use crate::state::Verdict;
use crate::stories::Story;

/// Runs the agent on a story to its end; returns the outcome.
pub(crate) async fn run_agent(
    open: &Loop<'_>,
    agent: &Agent,
    story: &Story,
    text: &str,
    settings: &Settings,
    begun: &Begun,
    confined: &Confinement,
) -> Result<Outcome, Error> {
    let prompt_file = open.site().file("prompt.md");
    let door = open.store.door();
    door.write_private(&prompt_file, text)?;
    // For those who look: the one above is the next attempt's soon.
    door.write_private(&open.store.attempt_prompt(&story.id, begun.number), text)?;
    let guard = guard_rail::set_up(open, settings.guard).await;
    let job = job(open, story, begun, guard);
    let job = Job {
        timeout: settings.timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        ..agent_job(job, agent, &prompt_file, text, confined)
    };
    let installed = agent.command.installed_version(&open.context.repo.top);
    let mut decoder = Decoder::new(agent.format, text).likely(agent.likely);
    let (ended, tail) = run_job(open, job, &begun.log, &mut decoder).await?;
    let at = Timestamp::now();
    let mut report = decoder.finish();
    report.version = report.version.or(installed);
    learnings::learn(open, &story.id, begun.number, &report.learnings);
    let judgement = judge(&ended.ending, &report, agent.name.as_deref());
    if ended.left_running > 0 {
        open.tell(match ended.left_running {
            1 => "the agent left a process running; it was ended".to_owned(),
            many => format!("the agent left {many} processes running; they were ended"),
        });
    }
    Ok(Outcome {
        judgement,
        ended: at,
        exit_code: match ended.ending {
            Ending::Exited(code) => Some(code),
            _ => None,
        },
        report: Some(report),
        agent: Some(agent.label()),
        confined: confined.clone(),
        tail,
        output: printed(&begun.log, Some(0)),
        litter: agent.litter,
        review: None,
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

/// Returns the job of a process of an attempt; `settings` are for its git, in addition to those that every attempt has.
pub(super) fn job(open: &Loop<'_>, story: &Story, begun: &Begun, settings: GitSettings) -> Job {
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
    let link = RepoLink::of(&open.context.repo)?;
    let (starts, started) = oneshot::channel();
    let agent = AgentProcess {
        change: open.change().to_string(),
        job,
        log,
        decoder,
        observer: open.context.observer,
    };
    let mut running = pin!(agent.run(open.context.stop.clone(), starts));
    let (ended, tail) = tokio::select! {
        biased;
        Ok(pid) = started => {
            note_process(open, pid);
            running.await
        }
        ended = &mut running => ended,
    }?;
    let site = open.site();
    link.restore(site, open)?;
    Ok((ended, tail))
}

/// Notes the agent's process in the state. Even if this fails, the mark in the environment finds the process; after a power
/// cut there is none.
fn note_process(open: &Loop<'_>, pid: i32) {
    open.state.note_running(|running| {
        running.pid = Some(pid);
        running.started = processes::started_at(pid);
    });
    if let Err(error) = open.save_for(Durability::Atomic) {
        tracing::warn!("cannot record the agent's process: {error}");
    }
}

/// Returns an amount of dollars, rounded to millionths.
fn rounded(cost: f64) -> f64 {
    (cost * 1e6).round() / 1e6
}

/// The use that the reviews of an attempt made of their service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spent {
    /// The reviewer's name, or that of its program.
    pub reviewer: String,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

impl Spent {
    /// Adds what one more review has used.
    pub fn add(&mut self, report: &Report) {
        let sum = |known: Option<u64>, more: Option<u64>| match (known, more) {
            (Some(known), Some(more)) => Some(known.saturating_add(more)),
            (known, more) => known.or(more),
        };
        if let Some(cost) = report.cost_usd {
            self.cost_usd = Some(rounded(self.cost_usd.unwrap_or(0.0) + cost));
        }
        self.input_tokens = sum(self.input_tokens, report.input_tokens);
        self.output_tokens = sum(self.output_tokens, report.output_tokens);
    }
}

/// An attempt that has begun.
pub(crate) struct Begun {
    pub number: u32,
    pub since: Timestamp,
    pub log: File,
    pub run: String,
    /// The facts about it that this process holds.
    pub facts: Facts,
}

impl Begun {
    /// Returns the description of it for a hook.
    pub(in crate::engine) fn about<'a>(&'a self, story: &'a Story) -> About<'a> {
        About {
            story,
            attempt: self.number,
            log: &self.log,
        }
    }

    /// Returns the record of its end.
    pub fn ended(&self, story: &Story, outcome: &Outcome) -> Attempt {
        let report = outcome.report.as_ref();
        let review = outcome.review.as_ref();
        Attempt {
            story: story.id.clone(),
            attempt: self.number,
            verdict: outcome.judgement.verdict,
            reason: outcome.judgement.reason.clone(),
            started: self.since,
            duration: seconds_between(self.since, outcome.ended),
            exit_code: outcome.exit_code,
            cost_usd: outcome.cost(),
            input_tokens: report.and_then(|report| report.input_tokens),
            cache_read_tokens: report.and_then(|report| report.cache_read_tokens),
            cache_write_tokens: report.and_then(|report| report.cache_write_tokens),
            output_tokens: report.and_then(|report| report.output_tokens),
            model: report.and_then(|report| report.model.clone()),
            agent_version: report.and_then(|report| report.version.clone()),
            turns: report.and_then(|report| report.turns),
            files: None,
            insertions: None,
            deletions: None,
            rests_on: Vec::new(),
            boxed: outcome.confined.words(),
            reviewer: review.map(|review| review.reviewer.clone()),
            review_cost_usd: review.and_then(|review| review.cost_usd),
            review_input_tokens: review.and_then(|review| review.input_tokens),
            review_output_tokens: review.and_then(|review| review.output_tokens),
            output: outcome.output,
        }
    }
}

/// The outcome of the agent's run, before gates and git are considered.
pub(crate) struct Outcome {
    pub judgement: Judgement,
    /// Time of the agent's end; the gates after it do not count as its time.
    ended: Timestamp,
    exit_code: Option<i32>,
    report: Option<Report>,
    /// The agent's name for people.
    pub agent: Option<String>,
    /// The box in which it ran.
    pub confined: Confinement,
    /// The last lines of the agent's output.
    pub tail: String,
    /// The part of the log with that output.
    output: Option<Stretch>,
    /// The prefix of files that the agent leaves for its own use in the top directory.
    pub litter: Option<&'static str>,
    /// The use that the review made of its service, if there was one.
    pub review: Option<Spent>,
}

impl Outcome {
    /// Returns the tools that the agent was not allowed to use.
    pub fn denied(&self) -> &[String] {
        self.report.as_ref().map_or(&[], |report| &report.denied)
    }

    /// Returns whether an agent reported it, and not the user.
    pub fn is_of_agent(&self) -> bool {
        self.report.is_some()
    }

    /// Returns whether an agent exited with success, and its words leave open whether the story is done: it made no
    /// promise in whatever form, does not say that it is blocked, and no tool was denied to it.
    pub fn is_left_unsaid(&self) -> bool {
        let says_nothing = |report: &Report| {
            let is_in_peace = report.suspected.is_none() && report.denied.is_empty();
            report.heard == Heard::Nothing && is_in_peace && !may_be_blocked(&report.message.text)
        };
        self.judgement.verdict == Verdict::NoSignal
            && self.exit_code == Some(0)
            && self.report.as_ref().is_some_and(says_nothing)
    }

    /// Returns the cost of the attempt as the agent reports it, in dollars, rounded to millionths.
    pub fn cost(&self) -> Option<f64> {
        self.report.as_ref()?.cost_usd.map(rounded)
    }

    /// Returns whether the agent's service was never asked for anything, as far as is known.
    pub fn never_began(&self) -> bool {
        matches!(self.judgement.verdict, Verdict::NotStarted | Verdict::Auth)
    }

    /// Returns the outcome reported by an agent whose process is not git-ralph's; the attempt's log has its message.
    pub fn said(judgement: Judgement, report: Report, tail: String, begun: &Begun) -> Self {
        Self {
            report: Some(report),
            tail,
            output: printed(&begun.log, Some(0)),
            ..Self::by_hand(judgement)
        }
    }

    /// Returns the outcome declared by the user.
    pub fn by_hand(judgement: Judgement) -> Self {
        Self {
            judgement,
            ended: Timestamp::now(),
            exit_code: None,
            report: None,
            agent: None,
            confined: Confinement::default(),
            tail: String::new(),
            output: None,
            litter: None,
            review: None,
        }
    }
}
