//! Concludes an attempt after the agent's verdict: gates, mark and checkpoint, or back to the checkpoint.

use super::agent_run::{Begun, Outcome};
use super::backoff::Unavailable;
use super::proof::{self, Gates};
use super::verdict::{Judgement, Unreviewed};
use super::{gates, left_to_person, limits, lost_work, message, review, unpromised};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::guard_rail::{self, AGENT};
use crate::engine::lifecycle_hooks::{self, Hook, Refusal};
use crate::engine::position::{Parent, Position, refuse_branch_in_the_way};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::checkpoint::{self, NewCheckpoint};
use crate::engine::steps::revert::{self, Undoing};
use crate::engine::stories::{progress_of, read_list};
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, checkpoint_message, marks, numbers, shared_stash, unmarked_stories, users_head};
use crate::error::Error;
use crate::events::{Basis, What};
use crate::git::operations_in_progress;
use crate::git::worktree::{Reading, WorkTreeError};
use crate::protect::{ProtectError, user_refs};
use crate::settings::{EmptyStory, Settings};
use crate::state::{Completed, Phase, Verdict};
use crate::stories::{Listing, Story};

/// Number of complete stories in a row without a change after which the agent's promises are not believed.
const MOST_UNCHANGED: u32 = 3;

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The story has its checkpoint.
    Checkpointed,
    /// The attempt failed.
    Failed {
        /// True if retries are left.
        retries_left: bool,
    },
    /// A limit is reached, described by the text: one that the user set, or the wait for the agent's service is over.
    /// Attempts that the service did not answer do not count.
    Limited(String),
    /// `git ralph stop` ended the wait for the agent's service.
    Asked,
    /// This signal asked git-ralph to stop; the attempt does not count.
    Interrupted(i32),
}

/// The conclusion of an attempt.
pub(crate) enum Concluded {
    /// The step is over.
    End(StepEnd),
    /// The agent's service did not answer; the work tree is at the checkpoint, and nothing was counted.
    Unavailable(Unavailable),
}

/// The reason why an attempt that promised COMPLETE gets no checkpoint.
enum Refused {
    /// The attempt gets another judgement.
    Attempt(Judgement),
    /// An error prevented the decision.
    Error(Error),
}

impl From<Judgement> for Refused {
    fn from(judgement: Judgement) -> Self {
        Self::Attempt(judgement)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<ProtectError> for Refused {
    fn from(error: ProtectError) -> Self {
        Self::Error(error.into())
    }
}

/// The position of HEAD, and the parent commit of the checkpoint.
struct Base {
    position: Position,
    parent: Parent,
    /// The results of the gates.
    gates: Gates,
    /// The result of the review.
    review: Option<String>,
}

/// Concludes an attempt: makes a checkpoint, or goes back to the last one.
pub(crate) async fn conclude(
    open: &mut Loop<'_>,
    story: &Story,
    before: &Listing,
    mut outcome: Outcome,
    settings: &Settings,
    begun: Begun,
) -> Result<Concluded, Error> {
    repair(open).await?;
    guard_rail::take_away(open, Some((&story.id, begun.number)), AGENT);
    open.position().await?;
    revert_own_refs(open).await?;
    unpromised::judge(open, &mut outcome, settings).await?;
    let mut accepted = None;
    let is_persons_word = outcome.judgement.verdict == Verdict::Complete && !outcome.is_of_agent();
    if outcome.judgement.verdict == Verdict::Complete {
        match accept(open, story, before, &mut outcome, settings, &begun).await {
            Ok(base) => accepted = Some(base),
            Err(Refused::Attempt(judgement)) if outcome.judgement.unpromised => {
                outcome.judgement = unpromised::refused(judgement);
            }
            Err(Refused::Attempt(judgement)) => outcome.judgement = judgement,
            Err(Refused::Error(error)) => return Err(error),
        }
    }
    let mut left = match accepted {
        Some(_) => open.read_and_count().await,
        None => read_refused(open, is_persons_word).await,
    };
    if accepted.is_some()
        && let Ok(reading) = &left
        && let Err(why) = reading.require_converted()
    {
        outcome.judgement = Judgement::new(Verdict::Failed, why.to_string());
        accepted = None;
        left = read_refused(open, is_persons_word).await;
    }
    if accepted.is_some()
        && !users_head::is_persons(&open.state)
        && let Ok(reading) = &left
        && let Some(why) = lost_work::lost_work(open, &reading.tree).await?
    {
        outcome.judgement = Judgement::new(Verdict::Failed, why);
        accepted = None;
        left = read_refused(open, is_persons_word).await;
    }
    if accepted.is_none() && is_persons_word {
        let signal = left_to_person::leave(open, story, &begun, outcome).await?;
        return Ok(Concluded::End(StepEnd::Interrupted(signal)));
    }
    let size = match &left {
        Ok(left) => open.size_of(left).await,
        Err(_) => None,
    };
    let mut ended = begun.ended(story, &outcome).with_size(size);
    if let Some(base) = &accepted {
        ended.rests_on = rests_on(&outcome, base);
    }
    let rests_on = ended.rests_on.clone();
    open.emit(What::AttemptEnded(Box::new(ended)));
    let left = left?;
    if let Some(base) = accepted {
        let Base {
            position,
            parent,
            gates,
            review,
        } = base;
        if let Some(told) = parent.told {
            open.tell(told);
        }
        let new = NewCheckpoint {
            story: Some(story.id.clone()),
            attempt: Some(begun.number),
            parent: parent.oid,
            subject: checkpoint_message::subject(story),
            body: message::body(
                story,
                &begun,
                &outcome,
                &rests_on,
                &gates.lines,
                review.as_deref(),
            ),
        };
        checkpoint::save(open, new, &position, left).await?;
        user_refs::forget(open.site().dir);
        lifecycle_hooks::tell_hooks(open, Some(begun.about(story))).await?;
        return after_checkpoint(open, story).await.map(Concluded::End);
    }
    let reason = reason_for_next(&outcome, settings);
    let shown = outcome.judgement.reason.clone();
    let undoing = Undoing {
        story: story.id.clone(),
        attempt: begun.number,
        verdict: Some(outcome.judgement.verdict),
        shown: shown.filter(|shown| Some(shown) != reason.as_ref()),
        reason,
    };
    let position = open.position().await?;
    revert::undo(open, undoing, &position, left).await?;
    lifecycle_hooks::tell_hooks(open, Some(begun.about(story))).await?;
    after_failure(open, outcome.judgement)
}

/// Reads the work tree of an attempt that is not accepted. A person's is not touched: it stays.
async fn read_refused(open: &mut Loop<'_>, is_persons: bool) -> Result<Reading, Error> {
    if is_persons {
        open.read_work_tree().await
    } else {
        revert::read_what_is_left(open).await
    }
}

/// Returns what an accepted attempt rests on.
fn rests_on(outcome: &Outcome, base: &Base) -> Vec<Basis> {
    let said = match outcome.is_of_agent() {
        true if outcome.judgement.unpromised => None,
        true => Some(Basis::Promise),
        false => Some(Basis::Person),
    };
    let has_gates = (!base.gates.lines.is_empty()).then_some(Basis::Gates);
    let of_tests = base.gates.rests_on.iter().copied();
    let review = base.review.as_ref().map(|_| Basis::Review);
    let all = said.into_iter().chain(has_gates).chain(of_tests);
    all.chain(review).collect()
}

/// Repairs anything that would stop git from running. No process of the attempt is alive.
async fn repair(open: &mut Loop<'_>) -> Result<(), Error> {
    let held = open.held.take();
    let (record, mut recorder) = open.attempt_record();
    if record.repair(held, &mut recorder).await? {
        // If they were read before, they may have been the agent's.
        open.context.configuration.hooks = None;
    }
    open.switch_off_foreign_filters().await?;
    refuse_branch_in_the_way(&open.context.repo, &open.state)
}

/// Undoes the attempt's changes to the refs that keep the loop's work, whatever its outcome.
pub(crate) async fn revert_own_refs(open: &mut Loop<'_>) -> Result<(), Error> {
    let changes = revert::ref_changes(open).await?;
    let story = open.state.progress.story.as_ref();
    let name = story.map(|story| open.state.change.attempt_ref(&story.id, story.attempt));
    watch::put_own_refs_back(open, &changes, name.as_deref(), user_refs::ATTEMPT).await
}

/// Decides whether the promised work can become a checkpoint: gates, the reviewer, hooks and the mark are checked in this
/// order.
async fn accept(
    open: &mut Loop<'_>,
    story: &Story,
    before: &Listing,
    outcome: &mut Outcome,
    settings: &Settings,
    begun: &Begun,
) -> Result<Base, Refused> {
    if let Some(litter) = outcome.litter {
        clear_agent_files(open, litter).await?;
    }
    let position = open.position().await?;
    let parent = position.parent_for_checkpoint(open.site(), &open.state).await?;
    let parent = parent.map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    let gates = Gates::default();
    let mut base = Base {
        position,
        parent,
        gates,
        review: None,
    };
    if let Some(reason) = shared_stash::hidden_work(open).await? {
        return Err(Judgement::new(Verdict::Failed, reason).into());
    }
    let changes = revert::ref_changes(open).await?;
    let own = open.own_moves.clone();
    user_refs::tell_others(&changes, &own, user_refs::ATTEMPT, &mut open.parts().2);
    let checkpoint = open.checkpoint();
    let (site, _, mut recorder) = open.parts();
    if let Some(path) = checkpoint.dirty_submodule(site, &mut recorder).await? {
        let reason = format!("the submodule {path} was left with uncommitted changes; commit them in it");
        return Err(Judgement::new(Verdict::Failed, reason).into());
    }
    refuse_empty_work(open, outcome, settings).await?;
    let of_agent = outcome.is_of_agent();
    base.gates = proof::run(open, story, settings, begun, of_agent).await??;
    look_again(open, &mut base, "the gates").await?;
    // A person who calls the work complete has looked.
    if of_agent {
        let looked = review::run(open, story, settings, begun, outcome).await?;
        base.review = looked?;
        if base.review.is_some() {
            look_again(open, &mut base, "the review").await?;
        }
    }
    let ended = begun.ended(story, outcome);
    let hook = Hook::PreCheckpoint.name();
    match lifecycle_hooks::before_checkpoint(open, begun.about(story), ended).await? {
        None => {}
        Some(Refusal::Interrupted(signal)) => return Err(Judgement::interrupted(signal).into()),
        Some(Refusal::Failed(why, tail)) => {
            let reason = gates::failed(&format!("the hook {hook} said no ({why})"), &tail);
            return Err(Judgement::new(Verdict::GateFailed, &reason).into());
        }
    }
    look_again(open, &mut base, &format!("the hook {hook}")).await?;
    if open.state.source.is_by_command() {
        // A tracker is not told of a story whose checkpoint cannot be made.
        let unconverted = |why: WorkTreeError| Judgement::new(Verdict::Failed, why.to_string());
        open.read_work_tree()
            .await?
            .require_converted()
            .map_err(unconverted)?;
    }
    let watch = watch::begin(open, Who::Tracker).await?;
    let marked = marks::mark_done(open, story, before, settings, begun.number).await;
    watch::end(open, watch).await?;
    marked.map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    look_again(open, &mut base, "ralph.doneCommand").await?;
    Ok(base)
}

/// Refuses an agent's promise without a change, if it was not allowed to use its tools or `ralph.emptyStory` says so.
async fn refuse_empty_work(
    open: &mut Loop<'_>,
    outcome: &Outcome,
    settings: &Settings,
) -> Result<(), Refused> {
    let tools = outcome.denied().join(", ");
    let reason = if !tools.is_empty() {
        format!("no files changed; the agent was not allowed to use {tools}")
    } else if settings.empty_story == EmptyStory::Fail && outcome.is_of_agent() {
        "no files changed (ralph.emptyStory)".to_owned()
    } else {
        return Ok(());
    };
    let reading = open.read_work_tree().await?;
    if !checkpoint::changes_only_the_list(open, &reading) {
        return Ok(());
    }
    Err(Judgement::new(Verdict::Failed, reason).into())
}

/// Reads the position of HEAD and the branch again after other processes than the agent's: they may have moved them.
async fn look_again(open: &mut Loop<'_>, base: &mut Base, after: &str) -> Result<(), Refused> {
    let position = open.position().await?;
    if position == base.position && operations_in_progress(&open.context.repo).is_empty() {
        return Ok(());
    }
    let parent = position.parent_for_checkpoint(open.site(), &open.state).await?;
    let parent =
        parent.map_err(|reason| Judgement::new(Verdict::GateFailed, format!("after {after}: {reason}")))?;
    (base.position, base.parent) = (position, parent);
    Ok(())
}

/// Moves the files that an agent left for its own use in the top directory to the trash.
async fn clear_agent_files(open: &mut Loop<'_>, prefix: &str) -> Result<(), Error> {
    let (checkpoint, trash) = (open.checkpoint(), open.site().trash().join(open.trash_name()));
    let site = open.site();
    if checkpoint.clear_agent_files(site, prefix, &trash).await? {
        open.tell(format!(
            "the agent's own files ({prefix}*) are no part of the story; they are in {}",
            trash.display()
        ));
    }
    Ok(())
}

/// Returns the text about this attempt for the next one. If nothing was promised, there is nothing to say about the
/// work: the story is just repeated.
fn reason_for_next(outcome: &Outcome, settings: &Settings) -> Option<String> {
    let judgement = &outcome.judgement;
    match (&judgement.reason, judgement.verdict) {
        (Some(reason), Verdict::NoSignal) if settings.retry_output => {
            Some(format!("{reason}; the end of the output:\n\n{}", outcome.tail))
        }
        (_, Verdict::NoSignal) if !judgement.wrong_form => None,
        (reason, verdict) => reason.clone().filter(|_| verdict.counts()),
    }
}

async fn after_checkpoint(open: &mut Loop<'_>, story: &Story) -> Result<StepEnd, Error> {
    let before = (open.state.progress.clone(), open.state.unmarked.clone());
    let listing = read_list(open).await?;
    unmarked_stories::note_mark(open, &listing, Completed::of(story));
    if (&open.state.progress, &open.state.unmarked) != (&before.0, &before.1) {
        open.save()?;
    }
    let (done, total) = progress_of(&listing);
    let skipped = open.state.progress.skipped.clone();
    open.emit(What::StoryProgress { done, total, skipped });
    unmarked_stories::refuse_unmarked(&open.state, &listing)?;
    if open.state.unchanged >= MOST_UNCHANGED && open.state.progress.phase != Phase::Complete {
        // A person who types the same command again has looked.
        open.state.unchanged = 0;
        open.save()?;
        return Err(AttemptRefusal::NothingChanged {
            change: open.change().to_string(),
            stories: MOST_UNCHANGED,
        }
        .into());
    }
    Ok(StepEnd::Checkpointed)
}

fn after_failure(open: &mut Loop<'_>, judgement: Judgement) -> Result<Concluded, Error> {
    let Some(current) = open.state.progress.story.clone() else {
        return Err(StepRefusal::WrongPhase(open.change().to_string()).into());
    };
    let Judgement {
        verdict,
        reason,
        retry_after,
        silent,
        signal,
        advice,
        unreviewed,
        ..
    } = judgement;
    match unreviewed {
        Some(Unreviewed::Limited(limit)) => return Ok(Concluded::End(StepEnd::Limited(limit))),
        Some(Unreviewed::Asked) => return Ok(Concluded::End(StepEnd::Asked)),
        Some(Unreviewed::NoVerdict(reviewer)) => {
            return Err(AttemptRefusal::NoVerdict {
                change: open.change().to_string(),
                log: numbers::log_of(open, &current.id, current.attempt),
                attempt: format!("{}@{}", current.id, current.attempt),
                why: format!(
                    "the reviewer {reviewer} gave no verdict about story {}: {}",
                    current.id,
                    reason.unwrap_or_default()
                ),
            }
            .into());
        }
        None => {}
    }
    match (verdict, signal) {
        (Verdict::RateLimited | Verdict::Overloaded, _) => Ok(Concluded::Unavailable(Unavailable {
            reason: reason.unwrap_or_else(|| verdict.to_string()),
            retry_after,
            silent,
        })),
        (Verdict::Interrupted, Some(signal)) => Ok(Concluded::End(StepEnd::Interrupted(signal))),
        (Verdict::Auth | Verdict::NotStarted | Verdict::Interrupted, _) => Err(AttemptRefusal::AgentUnable {
            log: numbers::log_of(open, &current.id, current.attempt),
            story: current.id,
            verdict,
            reason,
            advice,
        }
        .into()),
        _ => {
            let retries_left = open.state.progress.phase == Phase::Failed;
            if retries_left && limits::fails_at_once(open, &current.id)? {
                return Err(AttemptRefusal::AgentUnable {
                    log: numbers::log_of(open, &current.id, current.attempt),
                    story: current.id,
                    verdict,
                    reason,
                    advice: Some("two attempts ended so within seconds: fix the cause".to_owned()),
                }
                .into());
            }
            if retries_left {
                open.emit(What::Retry {
                    story: current.id,
                    retries: current.retries,
                    max_retries: open.state.progress.max_retries,
                    reason: current.reason,
                });
            }
            Ok(Concluded::End(StepEnd::Failed { retries_left }))
        }
    }
}
