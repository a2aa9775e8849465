//! Repairs the repository after an attempt, before its work is judged or kept: both after the agent ends and after
//! git-ralph was killed.

use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::facts::{ATTEMPT, Facts};
use crate::engine::position::refuse_branch_in_the_way;
use crate::engine::steps::revert;
use crate::engine::{Loop, ended_loops, guard_rail, watch};
use crate::error::Error;
use crate::names::ref_component;
use crate::protect::{Held, UserRefs};

/// Repairs faults that would stop git, and restores the repository, after the agent of an attempt has ended: its own
/// agent, an agent's session, or the user.
pub(crate) async fn after_agent(open: &Loop<'_>, begun: &mut Begun, is_of_agent: bool) -> Result<(), Error> {
    let (story, facts) = (&begun.story.id, &mut begun.facts);
    repair(open, facts.held.as_ref()).await?;
    clean_up(open, story, begun.number, is_of_agent, facts).await
}

/// Repairs faults that would stop git from running. No process of the attempt is alive.
async fn repair(open: &Loop<'_>, held: Option<&Held>) -> Result<(), Error> {
    if open.attempt_record().after_attempt(held).await? {
        // A configuration read before this point may be the agent's.
        open.context.configuration.hooks.replace(None);
    }
    ended_loops::tell_lost_work_trees(open, open.attempt_record().gone_work_trees()?);
    open.switch_off_foreign_filters().await?;
    refuse_branch_in_the_way(open.repo(), &open.state)
}

/// Removes the guard and the work trees of subagents, and undoes the attempt's changes to the refs that keep the loop's
/// work. No process of the attempt is alive, and git's own files are repaired. The user's linked work trees stay.
pub(crate) async fn clean_up(
    open: &Loop<'_>,
    story: &str,
    attempt: u32,
    is_of_agent: bool,
    facts: &mut Facts,
) -> Result<(), Error> {
    facts
        .made
        .extend(guard_rail::end_attempt(open, story, attempt).await?);
    if is_of_agent {
        take_out_work_trees(open, story, attempt, facts).await?;
    }
    open.position().await?;
    revert_own_refs(open, facts).await
}

/// Removes the linked work trees that the attempt left inside the work tree, before the work is judged.
async fn take_out_work_trees(open: &Loop<'_>, story: &str, attempt: u32, facts: &Facts) -> Result<(), Error> {
    let refs = match facts.refs.clone() {
        Some(known) => Some(known),
        None => UserRefs::recorded(open.site().slot)?,
    };
    let kept = open.change().subagents_ref(story, attempt);
    let site = open.site();
    let name = format!("{}.{attempt}.work-trees", ref_component(story));
    let trash = site.trash().join(name);
    site.take_out_work_trees(refs.as_ref(), &kept, &trash).await?;
    open.view.drop_refs();
    Ok(())
}

/// Undoes the attempt's changes to the refs that keep the loop's work, whatever its outcome.
async fn revert_own_refs(open: &Loop<'_>, facts: &Facts) -> Result<(), Error> {
    let changes = revert::ref_changes(open, facts).await?;
    let name = open.state.attempt_ref();
    watch::put_own_refs_back(open, &changes, name.as_deref(), ATTEMPT).await
}
