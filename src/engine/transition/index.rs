//! The phase that changes the index, and the records of the work tree that belong to it.

use super::original::{ORIGINAL_INDEX, install_original_index};
use crate::engine::Loop;
use crate::error::Error;
use crate::names::Oid;
use crate::state::EndPlan;

/// The index that a work tree gets.
pub(super) enum Index {
    /// The working index, for the first checkpoint of a loop.
    First,
    /// The working index, for a later checkpoint.
    Next,
    /// The present index; the loop comes from a remote, and began in this clone if `is_known`.
    Brought { is_known: bool },
    /// The user's index from before the loop, byte for byte.
    Start,
    /// An index with the content of the original branch, or with the content staged before the loop.
    Original(Box<EndPlan>),
    /// An index with the content of the final state, for a work tree that is removed.
    Final(Oid),
}

/// Installs the index.
pub(super) async fn reach(open: &Loop<'_>, index: Option<Index>) -> Result<(), Error> {
    let Some(index) = index else { return Ok(()) };
    let (site, checkpoint, since) = (open.site(), open.checkpoint(), open.state.common.started);
    match index {
        Index::First => checkpoint.at_first_checkpoint().await?,
        Index::Next => checkpoint.at_checkpoint(since).await?,
        Index::Brought { is_known: true } => checkpoint.record(since).await?,
        Index::Brought { is_known: false } => {
            // The user's present index belongs to no loop.
            site.repo.discard_index(&site.loop_file(ORIGINAL_INDEX))?;
            let work = site.work_index();
            let made = site.repo.private_index(&work, Some(&checkpoint.commit)).await?;
            site.begin_loop(&work, &made.entries).await?;
            site.repo.discard_index(&work)?;
            checkpoint.record_pulled().await?;
        }
        Index::Start => install_original_index(open).await?,
        Index::Original(plan) => install_content(open, &plan).await?,
        Index::Final(commit) => {
            let (repo, work) = (site.repo, site.work_index());
            let made = repo.private_index(&work, Some(&commit)).await?;
            // Git refuses to reset a changed file whose flag hides the change.
            repo.show_paths(&work, &made.entries.hidden()).await?;
            let reset = ["--reset", commit.as_str()];
            repo.git.cmd("read-tree", reset).index(&work).done().await?;
            repo.refresh(&work).await?;
            repo.install_index(&work).await?;
            repo.discard_index(&work)?;
        }
    }
    Ok(())
}

/// Installs an index with the content that the plan stages, else of the original branch, and with the flags of the
/// user's index. The working index already has the merged tree, if there is one.
async fn install_content(open: &Loop<'_>, plan: &EndPlan) -> Result<(), Error> {
    let (repo, work) = (open.repo(), open.site().work_index());
    let (head, staged) = (plan.original.as_ref(), plan.staged.as_ref());
    let held = match &plan.merged {
        Some(merged) => Some(merged.clone()),
        None => {
            repo.private_index(&work, head).await?;
            repo.held_tree(&work)
        }
    };
    match (held, staged.or(head)) {
        // Reading a large tree is slow.
        (Some(held), Some(content)) => {
            let entries = repo.git.staged_between(&held, content).await?;
            repo.set_entries(&work, &entries).await?;
        }
        (None, Some(content)) => {
            let args = ["--no-sparse-checkout", "--reset", content.as_str()];
            repo.git.cmd("read-tree", args).index(&work).done().await?;
        }
        (_, None) => {
            let empty = repo.git.cmd("read-tree", ["--empty"]).index(&work);
            empty.done().await?;
        }
    }
    if staged.is_some() {
        // Paths that were staged with `git add --intent-to-add`.
        let index = repo.read_index(&open.file(ORIGINAL_INDEX)).unwrap_or_default();
        let intended = index.entries().filter(|entry| entry.intended);
        let intended: Vec<Vec<u8>> = intended.map(|entry| entry.path.to_vec()).collect();
        repo.intend_to_add(&work, &intended).await?;
    }
    open.site().hide_again(&work).await?;
    repo.install_index(&work).await?;
    Ok(repo.discard_index(&work)?)
}
