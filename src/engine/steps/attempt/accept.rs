//! Decides whether an attempt is accepted: runs gates, the review, lifecycle hooks and the mark in the list in order.
//! The first refusal wins; a checkpoint that would omit a part of the work is refused, too.

use jiff::Timestamp;

use super::{list, lost_work, neighbours};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::facts::ATTEMPT;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::proof::{self, Gates};
use crate::engine::attempt::verdict::Judgement;
use crate::engine::attempt::{gates, review, unpromised};
use crate::engine::lifecycle_hooks::{self, Hook, Refusal};
use crate::engine::position::{Parent, Position};
use crate::engine::steps::{revert, side};
use crate::engine::stories::changes_only_the_list;
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, judged, marks, shared_stash};
use crate::error::Error;
use crate::events::Basis;
use crate::git::worktree::{Reading, WorkTreeError};
use crate::git::{StagedEntry, operations_in_progress};
use crate::names::{NO_CHANGE, Oid};
use crate::paths::shown;
use crate::settings::{EmptyStory, Settings};
use crate::state::Verdict;

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

impl<E: Into<Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// The position of HEAD, and the parent commit of the checkpoint.
pub(super) struct Base {
    pub position: Position,
    pub parent: Parent,
    /// The results of the gates.
    pub gates: Gates,
    /// The result of the review.
    pub review: Option<String>,
    /// The judged content, if there are gates or a reviewer.
    judged: Option<Judged>,
}

/// The content to which a checkpoint is limited.
enum Judged {
    /// The content of this tree, except the story list.
    Tree(Oid),
    /// These entries: hooks and trackers may change the rest.
    Entries(Vec<StagedEntry>),
}

/// Decides whether the attempt is accepted, and reads its work. Returns the base of its checkpoint; otherwise the
/// outcome has the reason, and the user's work stays unchanged.
pub(super) async fn decide(
    open: &mut Loop<'_>,
    outcome: &mut Outcome,
    begun: &mut Begun,
    is_persons_word: bool,
) -> Result<(Option<Base>, Result<Reading, Error>), Error> {
    if outcome.judgement.verdict == Verdict::Complete {
        let listed = open.state.common.listed.clone();
        let judgement = match accept(open, outcome, begun).await {
            Ok(base) => {
                let mut left = open.read_and_count().await;
                if let (Ok(_), Some(judged)) = (&left, &base.judged) {
                    let reading = left?;
                    let entries = match judged {
                        Judged::Tree(tree) => judged::late(open, &reading, tree).await?,
                        Judged::Entries(entries) => entries.clone(),
                    };
                    left = Ok(judged::limit(open, reading, &entries).await?);
                }
                match left_out(open, &left).await? {
                    None => {
                        let times = [open.state.common.started, open.checkpoint().since];
                        let times = times.map(Timestamp::as_second);
                        open.site().tell_hidden_by_rules(times).await?;
                        return Ok((Some(base), left));
                    }
                    Some(why) => Judgement::new(Verdict::Failed, why),
                }
            }
            Err(Refused::Attempt(judgement)) => judgement,
            Err(Refused::Error(error)) => return Err(error),
        };
        // The mark in the list goes with the attempt.
        open.state.common.listed = listed;
        outcome.judgement = if outcome.judgement.unpromised {
            unpromised::refused(judgement)
        } else {
            judgement
        };
    }
    let left = if is_persons_word {
        open.read_work_tree().await
    } else {
        revert::read_what_is_left(open).await
    };
    Ok((None, left))
}

/// Returns why a checkpoint of this reading would omit work, if it would.
async fn left_out(open: &Loop<'_>, left: &Result<Reading, Error>) -> Result<Option<String>, Error> {
    let Ok(reading) = left else {
        return Ok(None);
    };
    if let Err(why) = reading.require_converted() {
        return Ok(Some(why.to_string()));
    }
    if open.state.is_work_of_user() {
        return Ok(None);
    }
    lost_work::lost_work(open, &reading.tree).await
}

/// Decides whether the promised work can become a checkpoint: gates, the reviewer, hooks and the mark are checked in this
/// order.
async fn accept(open: &mut Loop<'_>, outcome: &mut Outcome, begun: &mut Begun) -> Result<Base, Refused> {
    if let Some(litter) = outcome.litter {
        clear_agent_files(open, litter).await?;
    }
    neighbours::put_branch_back(open).await?;
    let position = open.position().await?;
    let parent = position.parent_for_checkpoint(open.site(), &open.state).await?;
    let parent = parent.map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    let mut base = Base {
        position,
        parent,
        gates: Gates::default(),
        review: None,
        judged: None,
    };
    if let Some(reason) = shared_stash::hidden_work(open, &begun.facts).await? {
        return Err(Judgement::new(Verdict::Failed, reason).into());
    }
    let changes = revert::ref_changes(open, &begun.facts).await?;
    changes.report_others(&begun.facts.made, ATTEMPT, open);
    if let Some(unclean) = open.checkpoint().unclean_submodule().await? {
        let path = shown(&unclean.path);
        if unclean.unreadable.is_some() {
            let reason = format!("git cannot read the submodule {path} any more");
            return Err(Judgement::new(Verdict::Failed, reason).into());
        }
        let advice = match outcome.confined.walls {
            None => "commit them in it",
            Some(_) => "in a box nothing can be committed in it (docs/sandbox.md)",
        };
        let reason = format!("the submodule {path} was left with uncommitted changes; {advice}");
        return Err(Judgement::new(Verdict::Failed, reason).into());
    }
    let refused = open.repo().refused_submodules().await?;
    if let Some(reason) = refused {
        return Err(Judgement::new(Verdict::Failed, reason).into());
    }
    let of_agent = outcome.is_of_agent();
    let settled = if of_agent {
        list::settle(open, begun, list::Then::Judged).await?
    } else {
        list::Settled::default()
    };
    refuse_empty_work(open, outcome, &begun.settings).await?;
    let proof = match (proof::run(open, begun, of_agent).await?, &outcome.beside) {
        (Err(failed), Some(beside)) if let Some(merged) = &beside.merged => {
            side::blame(open, begun, beside, (merged, failed)).await?
        }
        (proof, _) => proof,
    };
    base.gates = proof?;
    if outcome.judgement.unpromised && base.gates.are_on_others() && begun.settings.review.is_empty() {
        let reason = "nothing else speaks for the work: a gate took files of it away, and passed on others";
        return Err(Judgement::new(Verdict::GateFailed, reason).into());
    }
    let for_review = std::mem::take(&mut base.gates.for_review);
    if outcome.judgement.unpromised
        && let Some(refused) = for_review.refused
    {
        return Err(refused.into());
    }
    recheck_position(open, &mut base, begun, &settled, "the gates").await?;
    let mut reviewed = None;
    // A user who calls the work complete has reviewed it.
    if of_agent {
        let gates = begun.settings.verify.as_slice();
        let gates = if base.gates.have_judged() { gates } else { &[] };
        base.review = review::run(open, begun, outcome, gates, &for_review).await??;
        reviewed = judged::record(open).map(|record| record.tree);
        if base.review.is_some() {
            recheck_position(open, &mut base, begun, &settled, "the review").await?;
        }
    }
    match (&base.review, for_review.refused) {
        (None, Some(refused)) => return Err(refused.into()),
        (Some(_), _) if !for_review.files.is_empty() => base.gates.rests_on.push(Basis::TestsReviewed),
        _ => {}
    }
    if let Some(tree) = base.gates.tree.take().or(reviewed) {
        let may_change =
            open.state.source().is_by_command() || lifecycle_hooks::may_change_checkpoint(open).await?;
        base.judged = Some(if may_change {
            let now = open.read_work_tree().await?;
            Judged::Entries(judged::late(open, &now, &tree).await?)
        } else {
            Judged::Tree(tree)
        });
    }
    let ended = begun.ended(outcome);
    let hook = format!("the hook {}", Hook::PreCheckpoint.name());
    match lifecycle_hooks::before_checkpoint(open, begun.about(), ended).await? {
        None => {}
        Some(Refusal::Interrupted(signal)) => return Err(Judgement::interrupted(signal).into()),
        Some(Refusal::Failed(why, tail)) => {
            let reason = gates::failed(&format!("{hook} said no ({why})"), &tail);
            return Err(Judgement::new(Verdict::GateFailed, &reason).into());
        }
    }
    recheck_position(open, &mut base, begun, &settled, &hook).await?;
    if open.state.source().is_by_command() {
        // A tracker must not mark a story whose checkpoint cannot be made.
        let unconverted = |why: WorkTreeError| Judgement::new(Verdict::Failed, why.to_string());
        open.read_work_tree()
            .await?
            .require_converted()
            .map_err(unconverted)?;
    }
    let watch = watch::begin(open, Who::Tracker).await?;
    let marked = marks::mark_done(open, &begun.story, &begun.before, &begun.settings, begun.number).await;
    watch::end(open, watch).await?;
    marked.map_err(|reason| Judgement::new(Verdict::Failed, reason))?;
    let settled = list::Settled::default();
    recheck_position(open, &mut base, begun, &settled, "ralph.doneCommand").await?;
    Ok(base)
}

/// Refuses an agent's promise without a change, if tools were denied to it or `ralph.emptyStory` says so.
async fn refuse_empty_work(open: &Loop<'_>, outcome: &Outcome, settings: &Settings) -> Result<(), Refused> {
    let tools = outcome.denied().join(", ");
    let reason = if !tools.is_empty() {
        format!("{NO_CHANGE}; the agent was not allowed to use {tools}")
    } else if settings.empty_story == EmptyStory::Fail && outcome.is_of_agent() {
        format!("{NO_CHANGE} (ralph.emptyStory)")
    } else {
        return Ok(());
    };
    let reading = open.read_work_tree().await?;
    if !changes_only_the_list(open, &reading) {
        return Ok(());
    }
    Err(Judgement::new(Verdict::Failed, reason).into())
}

/// Reads the position of HEAD and the branch again after processes other than the agent's, which may have moved them.
/// Restores the list as the attempt may leave it.
async fn recheck_position(
    open: &Loop<'_>,
    base: &mut Base,
    begun: &mut Begun,
    list: &list::Settled,
    after: &str,
) -> Result<(), Refused> {
    list.again(open, begun, after).await?;
    let mut position = open.position().await?;
    if position != base.position {
        neighbours::put_branch_back(open).await?;
        position = open.position().await?;
    }
    let operations = operations_in_progress(open.repo()).await?;
    if position == base.position && operations.is_empty() {
        return Ok(());
    }
    let parent = position.parent_for_checkpoint(open.site(), &open.state).await?;
    let parent =
        parent.map_err(|reason| Judgement::new(Verdict::GateFailed, format!("after {after}: {reason}")))?;
    (base.position, base.parent) = (position, parent);
    Ok(())
}

/// Moves the files that an agent left in the top directory for its own use to the trash.
async fn clear_agent_files(open: &Loop<'_>, prefix: &str) -> Result<(), Error> {
    let (checkpoint, trash) = (open.checkpoint(), open.site().trash().join(open.trash_name()));
    if checkpoint.clear_agent_files(prefix, &trash).await? {
        open.tell(format!(
            "the agent's own files ({prefix}*) are no part of the story; they are in {}",
            trash.display()
        ));
    }
    Ok(())
}
