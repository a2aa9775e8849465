//! Concludes an attempt after the agent's verdict: a checkpoint, or back to the last one.

use super::accept::{Base, decide};
use super::stop_request::{BY_REQUEST_NOW, is_request};
use super::{agents_commits, limits, list, message, refused_complete, unreviewed};
use crate::engine::attempt::backoff::Unavailable;
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::held;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::attempt::unpromised;
use crate::engine::attempt::verdict::{Judgement, Unjudged};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::checkpoint::{self, NewCheckpoint};
use crate::engine::steps::revert::{self, Undoing};
use crate::engine::stories::{progress_of, read_list};
use crate::engine::{Loop, checkpoint_message, lifecycle_hooks, messages, numbers, unmarked_stories};
use crate::error::{Error, refuse};
use crate::events::{Basis, What};
use crate::git::worktree::Reading;
use crate::names::typed;
use crate::paths::{first_few, shown};
use crate::protect::UserRefs;
use crate::settings::{OnFailure, RetryContext, Settings};
use crate::signal::SKIPPED;
use crate::state::{Completed, Phase, Progress, Verdict};
use crate::stories::Story;

/// Number of consecutive complete stories without a change after which promises of the agent are refused.
const MOST_UNCHANGED: u32 = 3;

/// Maximum number of lines about remaining work in the next prompt.
const MOST_LEFT: usize = 40;

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
    /// `git ralph skip` ended the attempt, which does not count.
    Skipped,
    /// This signal asked git-ralph to stop; the attempt does not count.
    Interrupted(i32),
}

impl StepEnd {
    /// Returns the end of an attempt that a signal ended, or that git-ralph ended by a signal for another reason.
    fn interrupted(signal: i32) -> Self {
        match signal {
            SKIPPED => Self::Skipped,
            _ => Self::Interrupted(signal),
        }
    }
}

/// The conclusion of an attempt.
pub(crate) enum Concluded {
    /// The step is over.
    End(StepEnd),
    /// The agent's service did not answer; the work tree is at the checkpoint, and nothing was counted.
    Unavailable(Unavailable),
    /// An internal error or a crash of the agent ended the attempt; otherwise like `Unavailable`. The refusal is for a
    /// second such end in a row.
    Broken {
        refusal: AttemptRefusal,
        /// True if it was a crash of the agent.
        crashed: bool,
    },
}

/// Concludes an attempt after the repository was repaired: makes a checkpoint, or goes back to the last one.
pub(crate) async fn conclude(
    open: &mut Loop<'_>,
    mut outcome: Outcome,
    mut begun: Begun,
) -> Result<Concluded, Error> {
    unpromised::judge(open, &mut outcome, &begun.settings).await?;
    let is_promised = outcome.is_of_agent()
        && outcome.judgement.verdict == Verdict::Complete
        && !outcome.judgement.unpromised
        && !outcome.judgement.was_asked();
    let is_persons_word = outcome.judgement.verdict == Verdict::Complete && !outcome.is_of_agent();
    let decided = decide(open, &mut outcome, &mut begun, is_persons_word);
    let (accepted, left) = Box::pin(decided).await?;
    if accepted.is_none() && is_persons_word {
        let signal = refused_complete::end(open, &begun, outcome).await?;
        return Ok(Concluded::End(StepEnd::interrupted(signal)));
    }
    if outcome
        .judgement
        .signal
        .is_some_and(|signal| is_request(open, signal))
    {
        outcome.judgement.reason = Some(BY_REQUEST_NOW.to_owned());
    }
    // Work made beside others may not be in this work tree.
    let is_here = outcome.beside.as_ref().is_none_or(|beside| beside.kept.is_none());
    let is_beside = outcome.beside.is_some();
    let mut ended = begun.ended(&outcome);
    if is_here {
        ended = ended.with_size(match &left {
            Ok(left) => open.size_of(left).await,
            Err(_) => None,
        });
    }
    if let Some(base) = &accepted {
        ended.rests_on = rests_on(&outcome, base);
    }
    let rests_on = ended.rests_on.clone();
    if outcome.is_of_agent() {
        messages::take(open, Some((&begun.story.id, begun.number)))?;
    }
    open.emit(What::AttemptEnded(Box::new(ended)));
    unpromised::tell_missing_line(open, &outcome);
    let left = left?;
    if let Some(base) = accepted {
        let has_gates = !base.gates.lines.is_empty();
        save(open, &mut begun, &outcome, &rests_on, base, left).await?;
        if has_gates {
            look_at_submodules(open).await?;
        }
        lifecycle_hooks::tell_hooks(open, Some(begun.about())).await?;
        return after_checkpoint(open, &begun.story).await.map(Concluded::End);
    }
    let asked_for = match outcome.said_failure() {
        Some(said) => {
            let kept = outcome.beside.as_ref().and_then(|beside| beside.kept.as_ref());
            let tree = match kept {
                Some(kept) => open.git().tree_of(kept).await?,
                None => left.tree.clone(),
            };
            held::asked_for(open, &begun, said, &tree).await?
        }
        None => Vec::new(),
    };
    let reason = match &outcome.beside {
        Some(beside) if !is_here => beside.reason.0.clone(),
        _ => reason_for_next(&outcome, &begun.settings),
    };
    let shown = outcome.judgement.reason.clone();
    let undoing = Undoing {
        story: begun.story.id.clone(),
        attempt: begun.number,
        verdict: Some(outcome.judgement.verdict),
        shown: shown.filter(|shown| Some(shown) != reason.as_ref()),
        reason,
        facts: std::mem::take(&mut begun.facts),
        kept: outcome
            .beside
            .take()
            .and_then(|beside| Some((beside.kept?, beside.base))),
    };
    let position = open.position().await?;
    revert::undo(open, undoing, &position, left).await?;
    lifecycle_hooks::tell_hooks(open, Some(begun.about())).await?;
    // Work made beside others stays in its side until it is judged.
    if is_promised && outcome.is_unreviewed() && !is_beside {
        unreviewed::keep(open, &begun).await;
    }
    let has_failed = matches!(open.state.phase(), Phase::Failed | Phase::Exhausted);
    if has_failed && outcome.judgement.with_held_tests && outcome.judgement.verdict.counts() {
        open.advance(Progress::need_leave)?;
        open.save()?;
    }
    if has_failed && let Some(why) = needs_tests(open, &asked_for, &outcome.judgement) {
        let (story, change) = (begun.story.id, open.change().to_string());
        let (order, phase) = (begun.settings.on_failure, open.state.phase());
        if order == OnFailure::Stop && phase == Phase::Failed {
            return refuse(AttemptRefusal::NeedsTests { change, story, why });
        }
        open.tell(format!("story {story} is not retried: it failed, {why}"));
        if order == OnFailure::Skip {
            open.tell(format!(
                "if that is right: git ralph skip {change} {} --undo, then: git ralph run {change} --allow-test-changes",
                typed(&story)
            ));
        } else {
            held::tell_leave(open);
        }
        open.advance(Progress::spend)?;
        open.save()?;
    }
    after_failure(open, outcome.judgement)
}

/// Returns why a failed story needs the user's permission to change tests, if another attempt would end likewise.
fn needs_tests(open: &Loop<'_>, asked_for: &[Vec<u8>], judgement: &Judgement) -> Option<String> {
    if !asked_for.is_empty() {
        let files = first_few(asked_for).join(", ");
        return Some(format!(
            "and its agent asks to change files that must stay as they were: {files}"
        ));
    }
    // After the first such failure, the next attempt may find a way.
    let files = judgement.only_by_user.as_ref()?;
    let is_second = open.state.current().is_some_and(|story| story.failures > 1);
    is_second
        .then(|| format!("and its gates pass only with what earlier attempts have made of files: {files}"))
}

/// Makes the checkpoint of an accepted attempt.
async fn save(
    open: &mut Loop<'_>,
    begun: &mut Begun,
    outcome: &Outcome,
    rests_on: &[Basis],
    base: Base,
    left: Reading,
) -> Result<(), Error> {
    let Base {
        position,
        parent,
        gates,
        review,
        ..
    } = base;
    if let Some(notice) = parent.notice {
        open.tell(notice);
    }
    if outcome.is_of_agent() {
        open.site().tell_deleted()?;
        open.site().tell_unseen_work(&left)?;
    }
    let mut beside = list::take_left(open, begun);
    let mut parent = parent.oid;
    if outcome.is_of_agent() {
        let (below, kept) = agents_commits::parent_without_ignored(open, parent).await?;
        parent = below;
        beside.0.extend(kept);
    }
    let new = NewCheckpoint {
        story: Some(begun.story.id.clone()),
        attempt: Some(begun.number),
        parent,
        subject: checkpoint_message::subject(&begun.story),
        body: message::body(begun, outcome, rests_on, &gates.lines, review.as_deref()),
        beside,
        stash: begun.facts.stash.take(),
        stands: begun.settings.tests.release_scripts || rests_on.contains(&Basis::TestsReviewed),
        is_known_unchanged: outcome.judgement.was_asked(),
    };
    checkpoint::save(open, new, &position, left).await?;
    UserRefs::forget(open.site().slot);
    Ok(())
}

/// Reports a submodule that gates left with uncommitted changes: the next attempt does not begin with it, and is not
/// blamed for it.
async fn look_at_submodules(open: &Loop<'_>) -> Result<(), Error> {
    if let Some(unclean) = open.checkpoint().unclean_submodule().await? {
        open.view.note_at_checkpoint(false);
        let path = shown(&unclean.path);
        open.tell(match unclean.unreadable {
            None => format!(
                "after the gates, the submodule {path} has uncommitted changes; remove them, or have them ignored"
            ),
            Some(_) => format!("since the gates git cannot read the submodule {path}"),
        });
    }
    Ok(())
}

/// Returns the basis of an accepted attempt.
fn rests_on(outcome: &Outcome, base: &Base) -> Vec<Basis> {
    let said = match outcome.is_of_agent() {
        true if outcome.judgement.unpromised => None,
        true => Some(Basis::Promise),
        false => Some(Basis::Person),
    };
    let also = outcome.judgement.also;
    let gates = base.gates.rests_on.iter().copied();
    let review = base.review.as_ref().map(|_| Basis::Review);
    said.into_iter().chain(also).chain(gates).chain(review).collect()
}

/// Returns the text about this attempt for the next one; `None` if the attempt made no promise: the story is just
/// repeated.
fn reason_for_next(outcome: &Outcome, settings: &Settings) -> Option<String> {
    let judgement = &outcome.judgement;
    match (&judgement.reason, judgement.verdict) {
        (Some(reason), Verdict::NoSignal) if settings.retry_context == RetryContext::Always => {
            Some(format!("{reason}; the end of the output:\n\n{}", outcome.tail))
        }
        (_, Verdict::NoSignal) if !judgement.wrong_form => None,
        (reason, verdict) => {
            let reason = reason
                .clone()
                .filter(|_| verdict.counts() || verdict == Verdict::Conflict)?;
            Some(with_left(reason, &outcome.left))
        }
    }
}

/// Returns a reason, extended by the remaining work that the rounds of the attempt named.
fn with_left(reason: String, left: &[String]) -> String {
    let lines: Vec<&str> = left
        .iter()
        .flat_map(|left| left.lines())
        .take(MOST_LEFT)
        .collect();
    if lines.is_empty() {
        return reason;
    }
    format!(
        "{reason}\n\nBefore that, its processes said that this was left:\n\n{}",
        lines.join("\n")
    )
}

async fn after_checkpoint(open: &mut Loop<'_>, story: &Story) -> Result<StepEnd, Error> {
    let before = (open.state.progress().clone(), open.state.common.unmarked.clone());
    let listing = read_list(open).await?;
    unmarked_stories::note_mark(&mut open.state, &listing, Completed::of(story));
    if (open.state.progress(), &open.state.common.unmarked) != (&before.0, &before.1) {
        open.save()?;
    }
    let (done, total) = progress_of(&listing);
    let (skipped, _) = open.state.progress().left_out();
    open.emit(What::StoryProgress { done, total, skipped });
    unmarked_stories::refuse_unmarked(&open.state, &listing)?;
    if open.state.common.unchanged >= MOST_UNCHANGED && open.state.phase() != Phase::Complete {
        // Repeating the command confirms it.
        open.state.common.unchanged = 0;
        open.save()?;
        return refuse(AttemptRefusal::NothingChanged {
            change: open.change().to_string(),
            stories: MOST_UNCHANGED,
        });
    }
    Ok(StepEnd::Checkpointed)
}

fn after_failure(open: &Loop<'_>, judgement: Judgement) -> Result<Concluded, Error> {
    let Some(current) = open.state.current().cloned() else {
        return Err(StepRefusal::WrongPhase(open.change().to_string()).into());
    };
    let unavailable = judgement.unavailable();
    let Judgement {
        verdict,
        reason,
        signal,
        advice,
        unjudged,
        ..
    } = judgement;
    let crashed = unjudged == Some(Unjudged::Crashed);
    let log = numbers::log_of(open, &current.id, current.attempt);
    match unjudged {
        Some(Unjudged::Limited(limit)) => return Ok(Concluded::End(StepEnd::Limited(limit))),
        Some(Unjudged::Asked) => return Ok(Concluded::End(StepEnd::Asked)),
        Some(Unjudged::NoVerdict(reviewer)) => {
            return refuse(AttemptRefusal::NoVerdict {
                change: open.change().to_string(),
                log,
                attempt: format!("{}@{}", current.id, current.attempt),
                why: format!(
                    "the reviewer {reviewer} gave no verdict about story {}: {}",
                    current.id,
                    reason.unwrap_or_default()
                ),
            });
        }
        Some(Unjudged::Crashed) | None => {}
    }
    if let Some(unavailable) = unavailable {
        return Ok(Concluded::Unavailable(unavailable));
    }
    let unable = |advice| AttemptRefusal::AgentUnable {
        log,
        story: current.id.clone(),
        verdict,
        reason,
        advice,
    };
    match (verdict, signal) {
        (Verdict::Interrupted, Some(signal)) => Ok(Concluded::End(StepEnd::interrupted(signal))),
        // An attempt with advice needs the user.
        (Verdict::Interrupted, _) if advice.is_none() => {
            let refusal = unable(None);
            Ok(Concluded::Broken { refusal, crashed })
        }
        (Verdict::Auth | Verdict::NotStarted | Verdict::Interrupted, _) => refuse(unable(advice)),
        (Verdict::Conflict, _) => {
            let retries_left = open.state.phase() != Phase::Exhausted;
            Ok(Concluded::End(StepEnd::Failed { retries_left }))
        }
        _ => {
            let retries_left = open.state.phase() == Phase::Failed;
            if retries_left && limits::fails_at_once(open, &current.id)? {
                let advice = "two attempts ended this way within seconds: fix the cause";
                return refuse(unable(Some(advice.to_owned())));
            }
            if retries_left {
                open.emit(What::Retry {
                    story: current.id.clone(),
                    retries: current.retries,
                    max_retries: open.state.progress().max_retries,
                    reason: current.reason.clone(),
                });
            }
            Ok(Concluded::End(StepEnd::Failed { retries_left }))
        }
    }
}
