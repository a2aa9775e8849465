//! What follows an agent's verdict: gates, mark and checkpoint, or back to the checkpoint.

use super::agent_run::{Begun, Outcome};
use super::backoff::Unavailable;
use super::verdict::Judgement;
use super::{gates, message};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::guard_rail::{self, AGENT};
use crate::engine::lifecycle_hooks::{self, Hook, Refusal};
use crate::engine::position::{Parent, Position};
use crate::engine::recover::refuse_branch_in_the_way;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::checkpoint::{self, NewCheckpoint};
use crate::engine::steps::revert::{self, Undoing};
use crate::engine::stories::{progress_of, read_list};
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, marks, numbers, unmarked_stories};
use crate::error::Error;
use crate::events::What;
use crate::git::operations_in_progress;
use crate::protect::{ProtectError, user_refs};
use crate::settings::Settings;
use crate::state::{Completed, Phase, Verdict};
use crate::stories::{Listing, Story};

/// This many complete stories in a row without a change mean that the agent cannot do what it says.
const MOST_UNCHANGED: u32 = 3;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The story has its checkpoint.
    Checkpointed,
    /// The attempt failed; whether retries are left.
    Failed {
        /// Retries are left.
        retries_left: bool,
    },
    /// A limit is reached, in words: one that the user set, or the agent's service does not answer and is not waited
    /// for any longer. Attempts that it did not answer do not count.
    Limited(String),
    /// We were asked to stop by this signal; the attempt does not count.
    Interrupted(i32),
}

/// What an attempt was concluded with.
pub(crate) enum Concluded {
    /// The step is over.
    End(StepEnd),
    /// The agent's service did not answer; the work tree is at the checkpoint, and nothing was counted.
    Unavailable(Unavailable),
}

/// Why an attempt that promised COMPLETE gets no checkpoint.
enum Refused {
    /// It is judged otherwise.
    Attempt(Judgement),
    /// That cannot be found out.
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

/// Where HEAD is, and the commit that the checkpoint is made upon.
struct Base {
    position: Position,
    parent: Parent,
    /// What each gate came to.
    gates: Vec<String>,
}

/// Concludes an attempt: a checkpoint, or back to the last one.
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
    let mut accepted = None;
    if outcome.judgement.verdict == Verdict::Complete {
        match accept(open, story, before, &outcome, settings, &begun).await {
            Ok(base) => accepted = Some(base),
            Err(Refused::Attempt(judgement)) => outcome.judgement = judgement,
            Err(Refused::Error(error)) => return Err(error),
        }
    }
    open.emit(What::AttemptEnded(begun.ended(story, &outcome)));
    if let Some(Base {
        position,
        parent,
        gates,
    }) = accepted
    {
        if let Some(told) = parent.told {
            open.tell(told);
        }
        let new = NewCheckpoint {
            story: Some(story.id.clone()),
            attempt: Some(begun.number),
            parent: parent.oid,
            subject: format!("checkpoint: {}", story.id),
            body: message::body(story, &begun, &outcome, &gates),
            denied: outcome.denied().join(", "),
        };
        checkpoint::save(open, new, &position).await?;
        user_refs::forget(open.site().dir);
        lifecycle_hooks::tell_hooks(open, Some(begun.about(story))).await?;
        return after_checkpoint(open, story).await.map(Concluded::End);
    }
    let undoing = Undoing {
        story: story.id.clone(),
        attempt: begun.number,
        verdict: Some(outcome.judgement.verdict),
        reason: reason_for_next(&outcome, settings),
    };
    let position = open.position().await?;
    revert::undo(open, undoing, &position).await?;
    lifecycle_hooks::tell_hooks(open, Some(begun.about(story))).await?;
    after_failure(open, outcome.judgement)
}

/// Repairs what would stop git from running. No process of the attempt is alive.
async fn repair(open: &mut Loop<'_>) -> Result<(), Error> {
    let (record, mut recorder) = open.attempt_record();
    if record.repair(&mut recorder).await? {
        // Read before, it may have been theirs.
        open.context.configuration.hooks = None;
    }
    open.switch_off_foreign_filters().await?;
    refuse_branch_in_the_way(open)
}

/// Puts back what the attempt did to the refs that keep the loop's work, whatever its outcome.
pub(crate) async fn revert_own_refs(open: &mut Loop<'_>) -> Result<(), Error> {
    let changes = revert::ref_changes(open).await?;
    let story = open.state.progress.story.as_ref();
    let name = story.map(|story| open.state.change.attempt_ref(&story.id, story.attempt));
    watch::put_own_refs_back(open, &changes, name.as_deref(), user_refs::ATTEMPT).await
}

/// Finds out whether what was promised can become a checkpoint; gates, hooks and the mark have their say in this order.
async fn accept(
    open: &mut Loop<'_>,
    story: &Story,
    before: &Listing,
    outcome: &Outcome,
    settings: &Settings,
    begun: &Begun,
) -> Result<Base, Refused> {
    if let Some(litter) = outcome.litter {
        clear_agent_files(open, litter).await?;
    }
    let position = open.position().await?;
    let parent = position.parent_for_checkpoint(open.site(), &open.state).await?;
    let parent = parent.map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    let gates = Vec::new();
    let mut base = Base {
        position,
        parent,
        gates,
    };
    let changes = revert::ref_changes(open).await?;
    user_refs::judge(&changes, &mut open.parts().2)
        .map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    let checkpoint = open.checkpoint();
    let (site, _, mut recorder) = open.parts();
    if let Some(path) = checkpoint.dirty_submodule(site, &mut recorder).await? {
        let reason = format!("the submodule {path} was left with uncommitted changes; commit them in it");
        return Err(Judgement::new(Verdict::Failed, reason).into());
    }
    base.gates = gates::run(open, story, settings, begun).await??;
    look_again(open, &mut base, "the gates").await?;
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
    let watch = watch::begin(open, Who::Tracker).await?;
    let marked = marks::mark_done(open, story, before, settings, begun.number).await;
    watch::end(open, watch).await?;
    marked.map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    look_again(open, &mut base, "ralph.doneCommand").await?;
    Ok(base)
}

/// Looks where HEAD and the branch are after processes that were not the agent's: they may have moved them.
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

/// Moves to the trash what an agent has left in the top directory for itself.
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

/// Returns what the next attempt learns about this one. Where nothing was promised, there is nothing to say about the
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
    open.emit(What::StoryProgress { done, total });
    unmarked_stories::refuse_unmarked(&open.state, &listing)?;
    if open.state.unchanged >= MOST_UNCHANGED && open.state.progress.phase != Phase::Complete {
        // Whoever types the same command again has looked.
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
        signal,
        advice,
        ..
    } = judgement;
    match (verdict, signal) {
        (Verdict::RateLimited | Verdict::Overloaded, _) => Ok(Concluded::Unavailable(Unavailable {
            reason: reason.unwrap_or_else(|| verdict.to_string()),
            retry_after,
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
