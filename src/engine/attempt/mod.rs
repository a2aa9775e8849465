//! One attempt at a story, from the checks before it to its end.
//!
//! - `agent_run` makes the job of an agent, and `agent_process` runs it and listens to it, without the loop.
//! - `prompting` and `learnings` build its prompt.
//! - `verdict` judges the agent's report (pure); `accept` leads from there to a checkpoint, after `gates`, or back.
//! - `proof` asks the gates, and `held` asks them again with tests as they were.
//! - `unpromised` lets gates judge an attempt without a promise.
//! - `review` asks another agent for its verdict about work whose gates passed.
//! - `neighbours` undoes what other loops did to the branch meanwhile.
//! - `list` holds the story list to what it was.
//! - `refused_complete` ends a `complete` that was refused; `lost_work` finds out that an attempt discarded what was uncommitted.
//! - `limits` and `backoff` decide whether and when there is another.

mod accept;
mod agent_process;
pub(crate) mod agent_run;
mod backoff;
mod conclude;
pub(crate) mod facts;
pub(crate) mod gates;
pub(crate) mod held;
pub(crate) mod learnings;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod list_growth;
mod lost_work;
mod message;
mod neighbours;
mod prompting;
mod proof;
pub(crate) mod refusal;
mod refused_complete;
pub(crate) mod review;
pub(crate) mod unpromised;
pub(crate) mod verdict;

use std::ffi::OsString;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use self::agent_run::Begun;
use self::backoff::{Backoff, Waited};
use self::facts::Facts;
use super::boxed::{self, Inside};
use super::lifecycle_hooks;
use super::run_command::run_name;
use super::steps::manual_edits::commit_manual_edits;
use super::steps::save::save;
use super::story_source::boxing;
use super::{Loop, Step, numbers, refuse_inside_attempt, shared_stash, stories, unmarked_stories};
use crate::agent::Agent;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::error::Error;
use crate::events::{InForce, News, Watching, What};
use crate::fs::{Durability, file_error};
use crate::paths::first_few;
use crate::protect::{StoryList, record_excludes};
use crate::settings::{Settings, to_std};
use crate::signal;
use crate::state::{Phase, Running, State};
use crate::stories::{Listing, Story};

pub use conclude::StepEnd;
pub(crate) use conclude::{Concluded, conclude, revert_own_refs};
pub use prompting::{first_prompt, note_prompted, prompt_text};

/// Options of a step on the command line.
#[derive(Clone, Debug, Default)]
pub struct AttemptOptions {
    /// The agent given after `--`.
    pub agent: Vec<OsString>,
    /// The settings for this step.
    pub settings: Settings,
    /// Number of attempts that this command has begun before.
    pub started: u32,
    /// True to go on although an agent's own session works on the loop.
    pub force: bool,
}

/// Makes one attempt at the next story (`next`), or one more at the story that failed (`retry`). Attempts that the
/// agent's service did not answer are repeated.
///
/// # Errors
/// If the loop's state does not allow it (exit 3, 4 or 5), the user is needed (exit 7), the agent cannot work at all,
/// or git fails. After an error the work tree is at a checkpoint, or the next command brings it there.
pub async fn attempt(open: &mut Loop<'_>, step: Step, options: &AttemptOptions) -> Result<StepEnd, Error> {
    refuse_inside_attempt()?;
    refuse_beside_session(open, options)?;
    gates::require_proven(open, &options.settings)?;
    if options.started == 0 {
        for message in open.context.configuration.weaker(&open.state.common.settings) {
            open.tell(message);
        }
    }
    // What was typed holds for the hooks of this step as well, and for the commands of a tracker.
    open.context.configuration.settings.boxing.mode = options.settings.boxing.mode;
    if let Some(commands) = &mut open.state.common.source.commands {
        commands.boxing = boxing(&options.settings);
    }
    if options.started == 0 {
        unpromised::require_judge(&options.settings)?;
        held::require_pathspecs(&open.context.repo.git, &options.settings).await?;
        tell_own_output(open)?;
    }
    open.advance(|progress| progress.limit(options.settings.max_retries))?;
    open.context.observer.hear(News::Limits(Watching {
        top: open.context.repo.top.clone(),
        idle: options.settings.idle_timeout.map(to_std),
        max_cost: options.settings.max_cost,
    }));
    let end = Box::pin(attempt_until_answered(open, step, options)).await;
    note_stopped(open, stopped_by(&end));
    end
}

/// Names the files of the work tree that git-ralph's own output goes to. One that is tracked is work all the same.
fn tell_own_output(open: &Loop<'_>) -> Result<(), Error> {
    let repo = &open.context.repo;
    let index = repo.read_index_or_none(&open.checkpoint().index(open.site()))?;
    let is_tracked = |path: &&Vec<u8>| index.index().is_some_and(|index| index.find(path).is_some());
    let (tracked, left): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = open.own_output.iter().partition(is_tracked);
    let (tracked, left) = (first_few(tracked).join(", "), first_few(left).join(", "));
    if !left.is_empty() {
        open.tell(format!(
            "{left} gets this output, and is left out of checkpoints and undoing"
        ));
    }
    if !tracked.is_empty() {
        open.tell(format!(
            "warning: {tracked} gets this output and is tracked: a failed attempt undoes it; write the output elsewhere"
        ));
    }
    Ok(())
}

async fn attempt_until_answered(
    open: &mut Loop<'_>,
    step: Step,
    options: &AttemptOptions,
) -> Result<StepEnd, Error> {
    let mut backoff = Backoff::default();
    let mut which = Which::Usual;
    let mut was_broken = false;
    loop {
        let has_fallback = which == Which::Usual && options.settings.fallback_agent.is_some();
        let unavailable = match Box::pin(attempt_once(open, step, options, which)).await {
            Ok(Concluded::End(end)) => return Ok(end),
            Ok(Concluded::Broken(refusal)) if was_broken => return Err(refusal.into()),
            Ok(Concluded::Broken(refusal)) => {
                open.tell(format!(
                    "{refusal}; the attempt does not count, and is made again"
                ));
                was_broken = true;
                continue;
            }
            Ok(Concluded::Unavailable(unavailable)) if has_fallback => {
                tell_fallback(open, &unavailable.reason);
                which = Which::Fallback;
                continue;
            }
            Ok(Concluded::Unavailable(unavailable)) => unavailable,
            Err(Error::Attempt(refusal)) if has_fallback && refusal.is_about_agent() => {
                tell_fallback(open, &refusal.to_string());
                which = Which::Fallback;
                continue;
            }
            Err(error) => return Err(error),
        };
        // The next one may be the usual agent's again.
        which = Which::Usual;
        match backoff::wait_for_service(open, &mut backoff, &unavailable, &options.settings).await {
            Waited::Over => {}
            Waited::TooLong(why) => return Ok(StepEnd::Limited(why)),
            Waited::Asked => return Ok(StepEnd::Asked),
            Waited::Interrupted(signal) => return Ok(StepEnd::Interrupted(signal)),
        }
    }
}

/// The agent of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// That of the settings or of the command line, for a first attempt or a retry.
    Usual,
    /// That of `ralph.fallbackAgent`.
    Fallback,
}

fn tell_fallback(open: &Loop<'_>, why: &str) {
    open.tell(format!("{why}; ralph.fallbackAgent takes the attempt"));
}

/// Returns the reason why a step ended before its time, in words; `None` if its story is the reason.
fn stopped_by(end: &Result<StepEnd, Error>) -> Option<String> {
    match end {
        Ok(StepEnd::Limited(limit)) => Some(at_limit(limit)),
        Ok(StepEnd::Interrupted(signal)) => Some(by_signal(*signal)),
        Ok(StepEnd::Asked) => Some(BY_REQUEST.to_owned()),
        Err(
            error @ Error::Attempt(
                AttemptRefusal::AgentUnable { .. }
                | AttemptRefusal::NothingChanged { .. }
                | AttemptRefusal::NoVerdict { .. },
            ),
        ) => Some(error.to_string()),
        Ok(_) | Err(_) => None,
    }
}

/// Returns the words about a step that a limit ended.
pub fn at_limit(limit: &str) -> String {
    format!("stopped at a limit: {limit}")
}

/// The words about a run that `git ralph stop` ended.
pub const BY_REQUEST: &str = "stopped by git ralph stop";

/// Returns the words about a step that a signal ended.
pub fn by_signal(signal: i32) -> String {
    format!("stopped by {}", signal::name(signal))
}

/// Notes the reason why a step or a run ended before its time, for `git ralph status`.
pub(crate) fn note_stopped(open: &mut Loop<'_>, why: Option<String>) {
    if why.is_none() {
        return;
    }
    open.state.here.stopped = why;
    open.state.end_wait();
    if let Err(error) = open.save() {
        open.tell(format!("cannot note why it stopped: {error}"));
    }
}

/// Refuses an attempt while an agent's own session works on the loop: two writers in one work tree spoil each other's
/// work.
fn refuse_beside_session(open: &Loop<'_>, options: &AttemptOptions) -> Result<(), Error> {
    let session = open.state.here.session.as_ref();
    let Some(session) = session.filter(|session| session.is_heard_at_work(options.settings.idle_timeout))
    else {
        return Ok(());
    };
    if options.force {
        return Ok(());
    }
    Err(AttemptRefusal::SessionAtWork {
        change: open.change().to_string(),
        story: session.given.as_ref().map(|given| given.story.clone()),
        silent: SignedDuration::from_secs(Timestamp::now().duration_since(session.seen).as_secs().max(0)),
    }
    .into())
}

/// Chooses the agent of a step or of a new loop: the given command, else the agent of the settings.
pub fn agent_of(given: &[OsString], settings: &Settings, top: &Path) -> Option<Agent> {
    Agent::choose(given, settings.agent.as_deref(), &settings.agents, top)
}

/// Chooses the agent that stands in for one that cannot work, if the settings name one.
pub(crate) fn stand_in(settings: &Settings, top: &Path) -> Option<Agent> {
    let name = settings.fallback_agent.as_deref()?;
    Agent::choose(&[], Some(name), &settings.agents, top)
}

async fn attempt_once(
    open: &mut Loop<'_>,
    step: Step,
    options: &AttemptOptions,
    which: Which,
) -> Result<Concluded, Error> {
    let settings = &options.settings;
    // A user who has just typed the command stands for what the work tree holds.
    let (is_typed, before) = (open.open_stories.is_none(), open.state.checkpoint().clone());
    let (mut listing, mut story) = choose_story(open, step, settings).await?;
    if let Some(limit) = limits::limit_reached(open, settings, options.started)? {
        return Ok(Concluded::End(StepEnd::Limited(limit)));
    }
    let agent = require_agent(open, step, &story, options, which)?;
    limits::tell_unknown_cost(open, settings, options.started, agent.format.tells_no_cost());
    match lifecycle_hooks::before_attempt(open, &story, &listing).await? {
        Err(signal) => return Ok(Concluded::End(StepEnd::Interrupted(signal))),
        Ok(true) => (listing, story) = choose_story(open, step, settings).await?,
        Ok(false) => {}
    }
    for warning in stories::unknown_dependencies(&listing, &story) {
        open.tell(format!("warning: {warning}"));
    }
    commit_manual_edits(open, &story.id).await?;
    if is_typed {
        open.stand_for(before);
    }
    if lifecycle_hooks::tell_hooks(open, None).await? {
        // Changes by such a hook are not the attempt's work either; no hook runs for that checkpoint.
        commit_manual_edits(open, &story.id).await?;
        open.due.borrow_mut().clear();
    }
    // All that can fail comes before the attempt is recorded as running.
    let confined = boxed::of_loop(open, settings, Inside::Agent(&agent)).await?;
    let text = prompt_text(open, &listing, &story, settings)?;
    review::require_usable(open, &story, settings)?;
    take_record(open, &story.id, settings).await?;
    let begun = begin(open, step, &story, &listing, Some(&agent), settings)?;
    let outcome = agent_run::run_agent(open, &agent, &story, &text, settings, &begun, &confined).await?;
    if !outcome.never_began() && !agent.format.tells_no_cost() {
        limits::tell_unknown_cost(open, settings, options.started, outcome.cost().is_none());
    }
    conclude(open, &story, &listing, outcome, settings, begun).await
}

/// Records what an attempt at a story that begins now can touch. One scan of the work tree.
pub(crate) async fn take_record(open: &mut Loop<'_>, story: &str, settings: &Settings) -> Result<(), Error> {
    save(open, story).await?;
    if !settings.tests.pathspecs.is_empty() {
        record_excludes(open.site()).await?;
    }
    open.facts = Facts::default();
    let stash = shared_stash::record(open).await?;
    let (site, state) = (open.site(), &open.state);
    let list = if state.source().is_by_command() {
        None
    } else {
        StoryList::read(site, state.source())?
    };
    open.view.note_at_checkpoint(false);
    let known = open.view.refs();
    let record = open.attempt_record();
    let (held, refs) = record.take(known).await?;
    open.view.note_refs(refs.clone());
    open.facts = Facts {
        held: Some(held),
        refs: Some(refs),
        stash: Some(stash),
        list,
        ..Facts::default()
    };
    Ok(())
}

/// Reads the list and finds the story of this step. Completed stories must be marked as complete first; apart from
/// that, nothing is saved yet.
pub(crate) async fn choose_story(
    open: &mut Loop<'_>,
    step: Step,
    settings: &Settings,
) -> Result<(Listing, Story), Error> {
    let listing = stories::read_list(open).await?;
    let listing = unmarked_stories::require_marks(open, listing, settings).await?;
    // Before anything else: the phase may not allow the step at all. A story may have been added to the list since.
    if open.state.phase() != Phase::Complete {
        open.advance(|progress| progress.may_begin(step))?;
    }
    list_growth::note_between(open, &listing);
    let story = stories::story_to_do(&open.state, &listing)?;
    list_growth::refuse(open, &listing, &story, settings)?;
    Ok((listing, story))
}

/// Chooses the agent of the next attempt at a story: a retry can have one of its own.
pub fn usual_agent(
    state: &State,
    story: &Story,
    given: &[OsString],
    settings: &Settings,
    top: &Path,
) -> Option<Agent> {
    let has_failed = state.failures_of(&story.id) > 0;
    match &settings.retry_agent {
        Some(name) if has_failed && given.is_empty() => Agent::choose(&[], Some(name), &settings.agents, top),
        _ => agent_of(given, settings, top),
    }
}

fn require_agent(
    open: &Loop<'_>,
    step: Step,
    story: &Story,
    options: &AttemptOptions,
    which: Which,
) -> Result<Agent, Error> {
    let command = if step == Step::Retry { "retry" } else { "next" };
    let (top, settings) = (&open.context.repo.top, &options.settings);
    let agent = match which {
        Which::Fallback => stand_in(settings, top),
        Which::Usual => usual_agent(&open.state, story, &options.agent, settings, top),
    };
    let agent = agent.ok_or_else(|| AttemptRefusal::NoAgent(command.to_owned()))?;
    match AttemptRefusal::of_missing(&agent.command, top) {
        Some(missing) => Err(missing.into()),
        None => Ok(agent),
    }
}

/// Begins the attempt: number, log, mark; the state says `running` from here on.
pub(crate) fn begin(
    open: &mut Loop<'_>,
    step: Step,
    story: &Story,
    listing: &Listing,
    agent: Option<&Agent>,
    settings: &Settings,
) -> Result<Begun, Error> {
    open.state.leave_session();
    begin_at(open, Timestamp::now(), step, story, listing, agent, settings)
}

/// Begins an attempt that has been running since that time.
pub(crate) fn begin_at(
    open: &mut Loop<'_>,
    since: Timestamp,
    step: Step,
    story: &Story,
    listing: &Listing,
    agent: Option<&Agent>,
    settings: &Settings,
) -> Result<Begun, Error> {
    let number = numbers::next_number(open, &story.id)?;
    let log_path = numbers::log_of(open, &story.id, number);
    let door = open.store.door();
    let log = door
        .make_file(&log_path, 0o600)
        .map_err(|error| file_error("make", &log_path, error))?;
    let begun = Begun {
        number,
        since,
        log,
        run: run_name(Timestamp::now()),
    };
    open.advance(|progress| progress.begin(step, &story.id, &story.title, number))?;
    open.state.end_wait();
    open.state.here.stopped = None;
    open.state.here.noted = None;
    open.state.begin_running(Running {
        run: begun.run.clone(),
        since,
        by_hand: step == Step::Manual,
        ..Running::default()
    });
    // What the user says is only recorded together with its effect; a crash before that must be noticed all the same.
    open.save_for(match step {
        Step::Manual => Durability::Atomic,
        Step::Next | Step::Retry => Durability::Synced,
    })?;
    let failures = open.state.failures_of(&story.id);
    let (done, total) = stories::progress_of(listing);
    open.emit(What::AttemptStarted {
        story: story.id.clone(),
        title: story.title.clone(),
        attempt: number,
        retries: failures,
        max_retries: open.state.progress().max_retries,
        done,
        total,
        agent: agent.map(Agent::label),
        format: agent.map(|agent| agent.format.to_string()),
        log: log_path
            .file_name()
            .map(|name| format!("attempts/{}", name.to_string_lossy())),
        settings: Some(Box::new(in_force(settings, &open.context.repo.top))),
    });
    Ok(begun)
}

fn in_force(settings: &Settings, top: &Path) -> InForce {
    let seconds = |limit: Option<SignedDuration>| limit.map(|limit| limit.as_secs_f64());
    InForce {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        gates: settings.verify.clone(),
        review: review::name(settings, top),
        timeout: seconds(settings.timeout),
        idle_timeout: seconds(settings.idle_timeout),
        verify_timeout: seconds(settings.verify_timeout),
        max_wait: seconds(settings.max_wait),
        max_duration: seconds(settings.max_duration),
        max_attempts: settings.max_attempts,
        max_cost: settings.max_cost,
    }
}
