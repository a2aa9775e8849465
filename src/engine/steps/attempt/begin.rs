//! Begins an attempt: its story, the record of all that it can change, its number and its log.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::agent::Agent;
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::facts::Facts;
use crate::engine::attempt::{learnings, review};
use crate::engine::run_command::run_name;
use crate::engine::steps::save;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, Step, list_growth, numbers, shared_stash, stories, unmarked_stories};
use crate::error::Error;
use crate::events::{AttemptStarted, InForce, News, What};
use crate::fs::Durability;
use crate::settings::Settings;
use crate::state::{Current, Intent, Phase, Running};
use crate::stories::{Listing, Story};

/// Records everything that an attempt at a story can change; returns the part to keep in memory. One scan of the work
/// tree.
pub(crate) async fn take_record(
    open: &mut Loop<'_>,
    story: &str,
    settings: &Settings,
) -> Result<Facts, Error> {
    if let Some(plan) = save::plan(open, story).await? {
        transition::take(open, Intent::Save(plan), Known::fresh()).await?;
    }
    if !settings.tests.pathspecs.is_empty() {
        open.site().record_excludes().await?;
    }
    let stash = shared_stash::record(open).await?;
    let (site, state) = (open.site(), &open.state);
    let list = if state.source().is_by_command() {
        None
    } else {
        site.read_story_list(state.source())?
    };
    open.view.note_at_checkpoint(false);
    let known = open.view.refs();
    let (held, refs) = open.attempt_record().before_attempt(known).await?;
    open.view.note_refs(refs.clone());
    Ok(Facts {
        held: Some(held),
        refs: Some(refs),
        stash: Some(stash),
        list,
        ..Facts::default()
    })
}

/// Reads the list and finds the story of this step. Completed stories must be marked as complete first; nothing else is
/// saved yet.
pub(crate) async fn choose_story(
    open: &mut Loop<'_>,
    step: Step,
    settings: &Settings,
) -> Result<(Listing, Story), Error> {
    let listing = unmarked_stories::require_marks(open, settings).await?;
    // The phase may forbid the step. A complete loop may have got a new story in its list.
    if open.state.phase() != Phase::Complete {
        open.advance(|progress| progress.may_begin(step))?;
    }
    list_growth::note_between(&mut open.state, &mut open.open_stories, &listing);
    open.context.observer.hear(News::Names(&listing.short_names()));
    let story = stories::story_to_do(&open.state, &listing)?;
    if let Err(refusal) = list_growth::refuse_grown_list(&mut open.state, &listing, &story) {
        open.save()?;
        return Err(refusal.into());
    }
    let (progress, id) = (open.state.progress(), &story.id);
    let is_spent = |one: &Current| one.id == *id && one.failures > progress.max_retries;
    if step != Step::Manual && progress.beside.iter().any(is_spent) {
        open.advance(|progress| progress.turn_to(id))?;
        open.save()?;
        open.advance(|progress| progress.may_begin(step))?;
    }
    Ok((listing, story))
}

/// Begins the attempt: number, log, mark; the state is `running` from here on.
pub(crate) fn begin(
    open: &mut Loop<'_>,
    step: Step,
    chosen: (Listing, Story),
    agent: Option<&Agent>,
    settings: &Settings,
) -> Result<Begun, Error> {
    open.state.leave_session();
    if step != Step::Manual {
        open.state.show_messages(&chosen.1.id);
    }
    let slot = open.change().side_of().map(|(_, place)| place);
    begin_at(open, (Timestamp::now(), slot), step, chosen, agent, settings)
}

/// Begins an attempt that has been running since `started`, in this slot if it runs beside others.
pub(crate) fn begin_at(
    open: &mut Loop<'_>,
    (since, slot): (Timestamp, Option<u16>),
    step: Step,
    chosen: (Listing, Story),
    agent: Option<&Agent>,
    settings: &Settings,
) -> Result<Begun, Error> {
    let (before, story) = chosen;
    open.remember_tally();
    let number = numbers::next_number(open, &story.id)?;
    let (log, log_name) = numbers::make_log(open, &story.id, number)?;
    let run = run_name(Timestamp::now());
    learnings::remember(open);
    open.advance(|progress| progress.begin(step, &story.id, &story.title, number))?;
    open.state.end_wait();
    open.state.here.stopped = None;
    open.state.here.noted = None;
    open.state.begin_running(Running {
        run: run.clone(),
        since,
        by_hand: step == Step::Manual,
        side: slot,
        ..Running::default()
    });
    // A statement of the user is only recorded with its effect; an earlier crash must be noticed all the same.
    open.save_for(match step {
        Step::Manual => Durability::Atomic,
        Step::Next | Step::Retry => Durability::Synced,
    })?;
    let failures = open.state.failures_of(&story.id);
    let (done, total) = stories::progress_of(&before);
    open.emit(What::AttemptStarted(AttemptStarted {
        story: story.id.clone(),
        title: story.title.clone(),
        attempt: number,
        retries: failures,
        max_retries: open.state.progress().max_retries,
        done,
        total,
        agent: agent.map(Agent::label),
        format: agent.map(|agent| agent.format.to_string()),
        log: log_name,
        slot,
        settings: Some(Box::new(in_force(settings, &open.repo().top))),
    }));
    Ok(Begun {
        story,
        before,
        settings: settings.clone(),
        slot,
        number,
        since,
        log,
        run,
        facts: Facts::default(),
    })
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
