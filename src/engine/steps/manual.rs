//! Steps of the user, or of another driver, on a story: complete, fail, revert.

use super::attempt::{self, AttemptOptions, Concluded, StepEnd, conclude};
use super::revert::{Undoing, read_what_is_left, undo};
use super::work_away::require_work_here;
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::held;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::verdict::Judgement;
use crate::engine::position::refuse_operation;
use crate::engine::step_place::{is_at_checkpoint, require_on_branch};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::stories::{listing_of, story_to_do};
use crate::engine::{Loop, Step, lifecycle_hooks, numbers, users_head};
use crate::error::{Error, refuse};
use crate::git::GitError;
use crate::settings::Settings;
use crate::state::{Effect, Verdict};

/// Accepts the work tree as the finished story, at the request of the user or a driver.
pub async fn complete(open: &mut Loop<'_>, options: &AttemptOptions) -> Result<StepEnd, Error> {
    if open.completed == Some(Effect::Undone) {
        return refuse(StepRefusal::UndoneNow(open.change().to_string()));
    }
    refuse_operation(open.repo()).await?;
    refuse_unfit(open).await?;
    if open.state.is_live() && !open.state.has_branch() {
        require_work_here(open).await?;
    }
    held::require_pathspecs(open.git(), &options.settings).await?;
    let begun = begin(open, &options.settings).await?;
    let (site, state) = (open.site(), &open.state);
    site.take_judged_list(state.source())?;
    let outcome = Outcome::by_hand(Judgement::complete());
    conclude_by_hand(open, outcome, begun).await
}

/// Counts the story as failed, at the request of the user or a driver: keeps its work, and undoes it. Without a reason, it
/// is the one for which the story was not complete just before, if it was not.
pub async fn fail(open: &mut Loop<'_>, reason: Option<String>) -> Result<StepEnd, Error> {
    let settings = open.settings();
    let refused = open.state.current().and_then(|story| story.refused.clone());
    let reason = reason.or(refused);
    let begun = begin(open, &settings).await?;
    let outcome = Outcome::by_hand(Judgement {
        reason,
        ..Judgement::bare(Verdict::Failed)
    });
    conclude_by_hand(open, outcome, begun).await
}

/// Refuses a state whose checkpoint is not in the repository, before the story is marked.
async fn refuse_unfit(open: &Loop<'_>) -> Result<(), Error> {
    let position = open.position().await?;
    let (repo, state) = (open.repo(), &open.state);
    let held = repo.held_tree(&open.checkpoint().index());
    // Usually this needs no process.
    if position.tip.as_ref() == Some(state.checkpoint()) && held.as_ref() == Some(state.checkpoint_tree()) {
        return Ok(());
    }
    match repo.git.tree_of(state.checkpoint()).await {
        Ok(tree) if tree == state.common.checkpoint_tree => Ok(()),
        Ok(_) | Err(GitError::Failed { .. }) => refuse(StepRefusal::Unfit {
            change: state.change.to_string(),
            checkpoint: state.checkpoint().short().to_owned(),
            file: open.store.state_file(),
        }),
        Err(error) => Err(error.into()),
    }
}

async fn begin(open: &mut Loop<'_>, settings: &Settings) -> Result<Begun, Error> {
    open.require_live()?;
    users_head::follow(open).await?;
    require_on_branch(open).await?;
    forget_record(open)?;
    let chosen = attempt::choose_story(open, Step::Manual, settings).await?;
    attempt::refuse_other(&open.state, &chosen.1.id)?;
    attempt::begin(open, Step::Manual, chosen, None, settings)
}

/// Concludes an attempt that no process of git-ralph ran.
pub(crate) async fn conclude_by_hand(
    open: &mut Loop<'_>,
    outcome: Outcome,
    mut begun: Begun,
) -> Result<StepEnd, Error> {
    attempt::after_agent(open, &mut begun, outcome.is_of_agent()).await?;
    match Box::pin(conclude(open, outcome, begun)).await? {
        Concluded::End(end) => Ok(end),
        // No agent ran, so no service can be unavailable.
        Concluded::Broken { refusal, .. } => Err(refusal.into()),
        Concluded::Unavailable(unavailable) => Ok(StepEnd::Limited(unavailable.reason)),
    }
}

/// Goes back to the checkpoint without a new attempt; returns whether there were changes to undo.
pub async fn revert(open: &mut Loop<'_>) -> Result<bool, Error> {
    open.require_live()?;
    forget_record(open)?;
    users_head::follow(open).await?;
    let position = open.position().await?;
    if !open.state.is_branch_of(&position.head) {
        // The operation may belong to another branch.
        refuse_operation(open.repo()).await?;
    }
    let at_tip = position.tip.as_ref() == Some(open.state.checkpoint());
    if at_tip
        && position.is_on_branch(&open.state)
        && is_at_checkpoint(open).await?
        && open.checkpoint().unclean_submodule().await?.is_none()
    {
        return Ok(false);
    }
    let listing = listing_of(&open.state, &open.repo().top).await.ok();
    let story = listing
        .and_then(|listing| story_to_do(&open.state, &listing).ok())
        .map(|story| story.id)
        .or_else(|| open.state.current().map(|story| story.id.clone()))
        .unwrap_or_else(|| "work".to_owned());
    let attempt = numbers::next_number(open, &story)?;
    let log = numbers::log_of(open, &story, attempt);
    open.store.door().write_private(&log, "reverted by hand\n")?;
    let undoing = Undoing {
        story,
        attempt,
        ..Undoing::default()
    };
    let left = read_what_is_left(open).await?;
    undo(open, undoing, &position, left).await?;
    lifecycle_hooks::tell_hooks(open, None).await?;
    Ok(true)
}

/// Forgets the record of an attempt that never began: the user's later work is not compared with it.
pub(crate) fn forget_record(open: &Loop<'_>) -> Result<(), Error> {
    Ok(open.attempt_record().forget()?)
}
