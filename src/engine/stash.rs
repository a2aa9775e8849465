//! Stash entries of a loop that leaves HEAD in its place: before an attempt, the state of the work tree is stored as one,
//! in the shape that `git stash -u` gives it, without touching index or work tree.
//!
//! An entry is identified by its commit alone, never by its position or message. A ref keeps the commit, so that a
//! dropped entry can be stored again. A loop without entries is not affected.

use std::collections::HashSet;

use super::Loop;
use crate::error::Error;
use crate::git::StashEntry;
use crate::names::{Oid, ref_component};
use crate::refs::Update;
use crate::state::{SavePlan, SavePoint};

/// Puts an entry into the list of the stash, in the place of an earlier one.
pub(crate) async fn put_entry(open: &Loop<'_>, plan: &SavePlan) -> Result<(), Error> {
    let SavePlan { point, old } = plan;
    open.view.drop_refs();
    let list = open.git().stash_list().await?;
    if list.iter().all(|entry| entry.oid != point.entry) {
        open.git().stash_store(&entry_of(open, point)).await?;
    }
    if let Some(old) = old {
        drop_entry(open, old).await?;
    }
    Ok(())
}

/// Drops the entry of a complete story, or all entries of the loop if `story` is `None`; returns the remaining points.
pub(crate) async fn drop_of(open: &Loop<'_>, story: Option<&str>) -> Result<Vec<SavePoint>, Error> {
    let points = open.state.here.save_points.iter().cloned();
    let (dropped, left): (Vec<_>, _) =
        points.partition(|point| story.is_none_or(|story| point.story == story));
    for point in dropped {
        drop_entry(open, &point.entry).await?;
        let name = kept(open, &point.story);
        open.view.drop_refs();
        if let Some(oid) = open.git().oid_at(&name).await? {
            let delete = Update::delete(name, oid);
            open.git()
                .update_refs(&[delete], "ralph: the story is complete")
                .await?;
        }
    }
    Ok(left)
}

/// Stores dropped entries of the loop again, and reports them.
pub(crate) async fn keep_listed(open: &Loop<'_>) -> Result<(), Error> {
    if open.state.here.save_points.is_empty() {
        return Ok(());
    }
    let list = open.repo().stash().await?;
    let listed: HashSet<&Oid> = list.iter().map(|entry| &entry.oid).collect();
    for point in open.state.here.save_points.clone() {
        if !listed.contains(&point.entry) {
            let entry = entry_of(open, &point);
            open.view.drop_refs();
            open.git().stash_store(&entry).await?;
            open.tell(format!(
                "the stash entry '{}' was gone; it is stored again",
                entry.message
            ));
        }
    }
    Ok(())
}

async fn drop_entry(open: &Loop<'_>, oid: &Oid) -> Result<(), Error> {
    open.view.drop_refs();
    for other in open.git().stash_drop(oid).await? {
        open.tell(format!(
            "the stash changed in the same moment; the entry '{}' is stored again, as the newest",
            other.message
        ));
    }
    Ok(())
}

/// Returns the ref that keeps the commit of a story's entry.
pub(crate) fn kept(open: &Loop<'_>, story: &str) -> String {
    let story = ref_component(story);
    open.change().ralph_ref(&format!("saved/{story}"))
}

fn entry_of(open: &Loop<'_>, point: &SavePoint) -> StashEntry {
    StashEntry {
        oid: point.entry.clone(),
        message: message(open, &point.story),
    }
}

/// Returns the message of a story's entry, in the form that `git stash push -m` gives it.
pub(crate) fn message(open: &Loop<'_>, story: &str) -> String {
    let on = match &open.state.common.original_branch {
        Some(branch) => branch.as_str(),
        None => "(no branch)",
    };
    format!("On {on}: ralph:{}:{story}", open.change())
}
