//! `restore`: puts a kept attempt's work back into the work tree, so that the user can continue it.

use crate::engine::Loop;
use crate::engine::numbers::kept_attempt;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::transition::{self, Known};
use crate::error::Error;
use crate::names::ref_component;
use crate::paths::shown;
use crate::state::{Intent, RestorePlan};

/// Puts the work of an attempt back into the work tree; the latest attempt at the story if no number is given. Index
/// and HEAD stay at the checkpoint. Returns the attempt's number.
///
/// # Errors
/// If there is no such attempt, the work tree is not at the checkpoint, or a file is in the way; nothing is changed
/// then.
pub async fn restore(open: &mut Loop<'_>, story: &str, attempt: Option<u32>) -> Result<u32, Error> {
    open.require_live()?;
    let position = open.position().await?;
    position.require_on_branch(&open.state)?;
    let found = kept_attempt(&open.context.repo.git, open.change(), story, attempt).await?;
    let (attempt, kept) = found.ok_or_else(|| OpenRefusal::UnknownAttempt {
        change: open.change().to_string(),
        attempt: match attempt {
            Some(number) => format!("{story}@{number}"),
            None => story.to_owned(),
        },
    })?;
    if !open.is_at_checkpoint().await? {
        return Err(RepositoryRefusal::NotAtCheckpoint(open.change().to_string()).into());
    }
    let repo = &open.context.repo;
    let tree = repo.git.tree_of(&kept).await?;
    let changes = repo.git.diff_trees(open.state.checkpoint_tree(), &tree).await?;
    let in_the_way = repo.in_the_way(&changes)?;
    if !in_the_way.is_empty() {
        let paths = in_the_way.iter();
        return Err(RepositoryRefusal::InTheWay {
            of: format!("attempt {story}@{attempt}"),
            paths: paths.map(|path| shown(path)).collect(),
        }
        .into());
    }
    let plan = RestorePlan {
        tree,
        trash: format!("{}.{attempt}", ref_component(story)),
        attempt: Some(format!("{story}@{attempt}")),
    };
    transition::take(open, Intent::Restore(plan), Known::fresh()).await?;
    Ok(attempt)
}
