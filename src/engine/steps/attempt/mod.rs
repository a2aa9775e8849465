//! The steps `next` and `retry`: one attempt at a story, from the checks before it to its checkpoint, or back.
//!
//! - `agent` chooses the agent: the usual one, or the fallback.
//! - `begin` chooses the story, and records everything that the attempt can change.
//! - `run_rounds` runs its agent, in one round or more, with the same record.
//! - `repair` restores the repository after it, as after a kill.
//! - `accept` leads from a promise to a checkpoint, or back; `message` describes the basis of the checkpoint.
//! - `neighbours` undoes changes of other loops to the branch, and `list` changes to the story list.
//! - `lost_work` detects that the attempt discarded uncommitted work.
//! - `unreviewed` keeps work whose review did not end, and resumes it.
//! - `conclude` makes the checkpoint or goes back; `refused_complete` ends a refused `complete`.
//! - `limits` decides whether another attempt follows; `stopped` notes why none does, and `stop_request` who asked.

mod accept;
mod agent;
mod agents_commits;
mod begin;
mod conclude;
pub(crate) mod limits;
pub(crate) mod list;
mod lost_work;
mod message;
mod neighbours;
mod refused_complete;
mod repair;
mod run_rounds;
mod stop_request;
mod stopped;
mod unreviewed;

use jiff::{SignedDuration, Timestamp};

use super::manual_edits::commit_manual_edits;
use super::skip::{SkipWatch, take_skips};
use crate::engine::attempt::backoff::{self, Backoff, Unanswered, Unavailable};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::attempt::{gates, held, prompt_text, review, unpromised};
use crate::engine::boxed::{self, Inside};
use crate::engine::story_source::boxing;
use crate::engine::{Loop, Step, lifecycle_hooks, messages, refuse_inside_attempt, stories};
use crate::error::{Error, refuse};
use crate::events::{News, Watching};
use crate::paths::first_few;
use crate::settings::to_std;
use crate::state::Progress;

pub use agent::AttemptOptions;
pub(crate) use agent::agent_of_attempt;
use agent::{Which, may_change_tests, require_agent, tell_fallback};
pub(crate) use begin::{begin, begin_at, choose_story, take_record};
pub use conclude::StepEnd;
pub(crate) use conclude::{Concluded, conclude};
pub(crate) use neighbours::put_back as put_branch_back;
pub(crate) use repair::{after_agent, clean_up};
use run_rounds::Round;
pub(crate) use run_rounds::after_turn;
pub use stop_request::BY_REQUEST;
pub(crate) use stopped::note_stopped;
use stopped::stopped_by;
pub(crate) use stopped::unjudged;
pub use stopped::{at_limit, by_signal};
pub(crate) use unreviewed::refuse_other;
pub use unreviewed::{judged_first, waits_for_review};

/// Makes one attempt at the next story (`next`), or another one at the story that failed (`retry`). Repeats attempts
/// that the agent's service did not answer, or that a crash of the agent ended.
///
/// # Errors
/// If the loop's state does not allow it (exit 3, 4 or 5), the user is needed (exit 7), the agent cannot work at all,
/// or git fails. After an error the work tree is at a checkpoint, or the next command brings it there.
pub async fn attempt(open: &mut Loop<'_>, step: Step, options: &AttemptOptions) -> Result<StepEnd, Error> {
    be_ready(open, options).await?;
    let end = Box::pin(attempt_until_answered(open, step, options)).await;
    note_stopped(open, stopped_by(&end));
    end
}

/// Has unreviewed work judged as the next step would, but starts no agent. Returns `None` if none is waiting, or the
/// user has removed it from the work tree.
///
/// # Errors
/// As for [`attempt`].
pub async fn judge_waiting(open: &mut Loop<'_>, options: &AttemptOptions) -> Result<Option<StepEnd>, Error> {
    be_ready(open, options).await?;
    let Some((outcome, begun)) = Box::pin(unreviewed::take_up(open, &options.settings)).await? else {
        return Ok(None);
    };
    let end = match Box::pin(conclude(open, outcome, begun)).await {
        Ok(Concluded::End(end)) => Ok(end),
        Ok(Concluded::Unavailable(unavailable)) => Ok(StepEnd::Limited(unavailable.reason)),
        Ok(Concluded::Broken { refusal, .. }) => Err(refusal.into()),
        Err(error) => Err(error),
    };
    note_stopped(open, stopped_by(&end));
    end.map(Some)
}

/// Refuses a step that may not begin, and prepares the loop for it.
async fn be_ready(open: &mut Loop<'_>, options: &AttemptOptions) -> Result<(), Error> {
    refuse_inside_attempt()?;
    refuse_beside_session(open, options)?;
    prepare(open, options).await?;
    limit(open, options)?;
    open.context.observer.hear(News::Limits(Watching {
        top: open.repo().top.clone(),
        idle: options.settings.idle_timeout.map(to_std),
        max_cost: options.settings.max_cost,
    }));
    Ok(())
}

/// Sets the number of retries; a story without any left gets one more if it may now change tests.
pub(crate) fn limit(open: &mut Loop<'_>, options: &AttemptOptions) -> Result<(), Error> {
    open.advance(|progress| progress.limit(options.settings.max_retries))?;
    let may_change_tests = options.leave.is_some() || options.settings.tests.release_scripts;
    if options.started == 0 && may_change_tests {
        open.advance(Progress::give_one_more)?;
    }
    Ok(())
}

/// Refuses options with which no work could be judged.
pub async fn require_judges(open: &Loop<'_>, options: &AttemptOptions) -> Result<(), Error> {
    gates::require_proven(open, &options.settings)?;
    if options.started == 0 {
        unpromised::require_judge(&options.settings)?;
        held::require_pathspecs(open.git(), &options.settings).await?;
    }
    Ok(())
}

/// Makes a loop ready for an attempt with these options: refuses those with which none could begin.
pub(crate) async fn prepare(open: &mut Loop<'_>, options: &AttemptOptions) -> Result<(), Error> {
    require_judges(open, options).await?;
    if options.started == 0 {
        for message in open.context.configuration.weaker(&open.state.common.settings) {
            open.tell(message);
        }
    }
    // Typed options also apply to the hooks of this step, and to the commands of a tracker.
    open.context.configuration.settings.boxing.mode = options.settings.boxing.mode;
    if let Some(commands) = &mut open.state.common.source.commands {
        commands.boxing = boxing(&options.settings);
    }
    if options.started == 0 {
        tell_own_output(open)?;
    }
    Ok(())
}

/// Names the files of the work tree that receive git-ralph's own output. A tracked file still counts as work.
fn tell_own_output(open: &Loop<'_>) -> Result<(), Error> {
    let repo = open.repo();
    let index = repo.read_index_or_none(&open.checkpoint().index())?;
    let is_tracked = |path: &&Vec<u8>| index.has(path);
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
    let mut crashes = 0;
    loop {
        let has_fallback = which == Which::Usual && options.settings.fallback_agent.is_some();
        let mut crash = None;
        let unavailable = match Box::pin(attempt_once(open, step, options, which)).await {
            Ok(Concluded::End(end)) => return Ok(end),
            Ok(Concluded::Broken { refusal, crashed }) => {
                crashes += 1;
                if crashes == 1 {
                    open.tell(format!(
                        "{refusal}; the attempt does not count, and is made again"
                    ));
                    continue;
                }
                if has_fallback {
                    tell_fallback(open, &refusal.to_string());
                    which = Which::Fallback;
                    continue;
                }
                if !crashed || crashes > backoff::MOST_CRASHES {
                    return Err(refusal.into());
                }
                let unavailable = Unavailable::crashed(refusal.to_string());
                crash = Some(refusal);
                unavailable
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
        // The next attempt may use the usual agent again.
        which = Which::Usual;
        match backoff::wait_for_service(open, &mut backoff, &unavailable, &options.settings).await {
            Ok(()) => {}
            Err(Unanswered::Limited(why)) => {
                return crash.map_or(Ok(StepEnd::Limited(why)), |refusal| Err(refusal.into()));
            }
            Err(Unanswered::Asked) => return Ok(StepEnd::Asked),
            Err(Unanswered::Interrupted(signal)) => return Ok(StepEnd::Interrupted(signal)),
        }
    }
}

/// Refuses an attempt while an agent's own session works on the loop: two writers in one work tree destroy each other's
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
    refuse(AttemptRefusal::SessionAtWork {
        change: open.change().to_string(),
        story: session.given.as_ref().map(|given| given.story.clone()),
        silent: SignedDuration::from_secs(Timestamp::now().duration_since(session.seen).as_secs().max(0)),
    })
}

async fn attempt_once(
    open: &mut Loop<'_>,
    step: Step,
    options: &AttemptOptions,
    which: Which,
) -> Result<Concluded, Error> {
    let settings = &options.settings;
    // A user who has just typed the command approves the content of the work tree.
    let (is_typed, before) = (open.open_stories.is_none(), open.state.checkpoint().clone());
    // No command of the list that could write in the user's name has run yet.
    messages::take(open, None)?;
    take_skips(open, &[]).await?;
    if let Some((outcome, begun)) = Box::pin(unreviewed::take_up(open, settings)).await? {
        return Box::pin(conclude(open, outcome, begun)).await;
    }
    let (mut listing, mut story) = choose_story(open, step, settings).await?;
    if let Some(limit) = limits::limit_before(open, settings, options.started)? {
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
        open.approve_changes(before);
    }
    if lifecycle_hooks::tell_hooks(open, None).await? {
        // Changes by such a hook are not the attempt's work either; no hook runs for this checkpoint.
        commit_manual_edits(open, &story.id).await?;
        open.due.borrow_mut().clear();
    }
    let mut settings = settings.clone();
    if may_change_tests(&mut open.story_that_may_change_tests, options, &story) {
        settings.tests.allow();
    }
    let settings = &settings;
    // Every operation that can fail comes before the attempt is recorded as running.
    let confined = boxed::of_loop(open, settings, Inside::Agent(&agent)).await?;
    messages::take(open, None)?;
    let text = prompt_text(open, &listing, &story, settings)?;
    review::require_usable(open, &story, settings)?;
    let facts = take_record(open, &story.id, settings).await?;
    let mut begun = Begun {
        facts,
        ..begin(open, step, (listing, story), Some(&agent), settings)?
    };
    let tells_cost = !agent.format.tells_no_cost();
    let first = Round {
        agent,
        confined,
        text,
        which,
    };
    let _watch = SkipWatch::begin(open, &begun.story.id);
    let outcome = Box::pin(run_rounds::run(open, &mut begun, first, options)).await?;
    if !outcome.never_began() && tells_cost {
        limits::tell_unknown_cost(open, settings, options.started, outcome.cost().is_none());
    }
    if outcome
        .report
        .as_ref()
        .is_some_and(|report| report.on_extra_usage)
    {
        open.tell("the agent's plan is used up: it worked on extra usage, which is paid for");
    }
    Box::pin(conclude(open, outcome, begun)).await
}
