//! Finds the next story that may begin beside the running ones.

use std::path::Path;

use super::list::put_list_back;
use crate::engine::steps::attempt::limits::limit_reached;
use crate::engine::steps::attempt::{AttemptOptions, agent_of_attempt, prepare, put_branch_back};
use crate::engine::steps::manual_edits::commit_manual_edits;
use crate::engine::steps::skip::take_skips;
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::work_tree_place::{configured, real};
use crate::engine::{Loop, Made, list_growth, messages, numbers, order, stories, unmarked_stories};
use crate::error::Error;
use crate::fs::seen_itself;
use crate::settings::Settings;
use crate::state::Verdict;
use crate::stories::Listing;

/// The number of conflicts after which a story is attempted alone.
const CONFLICTS: usize = 2;

/// The beginning of the reason of a conflict that a story gets in every side.
pub(super) const OWN_TREE_ALONE: &str = "only the loop's own work tree can have what it did to the submodule";

/// The decision which story may begin now.
pub enum Beginning {
    /// This story may begin.
    Story(String),
    /// This story, in the loop's own work tree, before any other: it gets conflicts beside others.
    Alone(String),
    /// No further story, because of this limit.
    Limited(String),
    /// No story at present.
    Nothing,
}

/// Returns the next story that may begin beside the `running` ones. Commits the user's edits before it.
///
/// # Errors
/// As for an attempt.
pub async fn may_begin(
    open: &mut Loop<'_>,
    options: &AttemptOptions,
    running: &[String],
) -> Result<Beginning, Error> {
    let settings = &options.settings;
    prepare(open, options).await?;
    let during = match running.first() {
        // The running attempt may have written them.
        Some(story) => Some((story.as_str(), numbers::next_number(open, story)?)),
        None => None,
    };
    messages::take(open, during)?;
    put_list_back(open).await?;
    take_skips(open, running).await?;
    let listing = unmarked_stories::require_marks(open, settings).await?;
    list_growth::note_between(&mut open.state, &mut open.open_stories, &listing);
    let story = match next(open, &listing, running, options).await? {
        Beginning::Story(story) => story,
        Beginning::Alone(story) => {
            open.advance(|progress| progress.turn_to(&story))?;
            return Ok(Beginning::Alone(story));
        }
        other => return Ok(other),
    };
    if let Some(limit) = limit_reached(open, settings, options.started)? {
        return Ok(Beginning::Limited(limit));
    }
    if let Some(found) = listing.find(&story) {
        agent_of_attempt(open, found, options)?;
        if let Err(refusal) = list_growth::refuse_grown_list(&mut open.state, &listing, found) {
            open.save()?;
            return Err(refusal.into());
        }
    }
    put_branch_back(open).await?;
    commit_manual_edits(open, &story).await?;
    open.save()?;
    Ok(Beginning::Story(story))
}

/// Returns whether a story got conflicts beside others, and is to be attempted alone.
fn is_in_conflict(open: &Loop<'_>, id: &str) -> Result<bool, Error> {
    let history = open.history()?;
    let (mut conflicts, mut is_alone) = (0, false);
    for entry in history.history.ended() {
        let attempt = &entry.attempt;
        if attempt.story == id && attempt.verdict == Verdict::Conflict {
            conflicts += 1;
            let reason = attempt.reason.as_deref().unwrap_or_default();
            is_alone |= reason.starts_with(OWN_TREE_ALONE);
        }
    }
    Ok(conflicts >= CONFLICTS || is_alone)
}

async fn next(
    open: &Loop<'_>,
    listing: &Listing,
    running: &[String],
    options: &AttemptOptions,
) -> Result<Beginning, Error> {
    let progress = open.state.progress();
    let spent = |id: &str| {
        let failed = progress.failed(id);
        failed.is_some_and(|story| story.failures > progress.max_retries)
    };
    let ready = order::may_begin(listing, &progress.skipped, &[], options.settings.order, running);
    let listed = at_checkpoint(open).await?;
    for story in ready {
        // A side begins with the list of the checkpoint; a story that the user has added is in the next one.
        let is_listed = listed.stories.iter().any(|one| one.id == story.id);
        if !is_listed || spent(&story.id) {
            continue;
        }
        if !is_in_conflict(open, &story.id)? {
            return Ok(Beginning::Story(story.id.clone()));
        }
        if running.is_empty() {
            return Ok(Beginning::Alone(story.id.clone()));
        }
    }
    Ok(Beginning::Nothing)
}

/// Returns the stories in the list of the last checkpoint.
async fn at_checkpoint(open: &Loop<'_>) -> Result<Listing, Error> {
    let source = open.state.source();
    let list = open.git().file_of(open.state.checkpoint(), &source.path).await?;
    Ok(source.list_in(&list.unwrap_or_default())?)
}

/// Returns why the stories of a loop are attempted one after another, although they may be attempted in parallel;
/// `None` if they are attempted in parallel.
///
/// # Errors
/// If the dependencies of the list are unreliable.
pub async fn why_in_turn(open: &Loop<'_>, settings: &Settings) -> Result<Option<String>, Error> {
    let listing = stories::listing_of(&open.state, &open.repo().top).await?;
    let source = open.state.source();
    if let Some(why) = order::refuse(&listing) {
        let (change, list) = (open.change().to_string(), source.path.clone());
        return Err(StoryRefusal::Order { change, list, why }.into());
    }
    let tip = open.state.checkpoint();
    Ok(if !open.state.has_branch() {
        Some("the loop leaves HEAD in its place (ralph.strategy)".to_owned())
    } else if source.is_by_command() {
        Some("the stories come from a command".to_owned())
    } else if open.git().file_of(tip, &source.path).await?.is_none() {
        Some(format!("git does not track {}", source.path))
    } else if is_link(&open.repo().top.join(&source.path)) {
        Some(format!("{} is a symbolic link", source.path))
    } else if are_seen(open, settings).await? {
        Some("ralph.worktreeDir is in the work tree, and git does not ignore it".to_owned())
    } else if order::says_nothing(&listing, settings.order) {
        let list = &source.path;
        Some(format!(
            "nothing in {list} says which do not need each other; git config ralph.order free, if none does"
        ))
    } else {
        None
    })
}

/// Returns whether the work trees of sides would be files of the loop's own work tree.
async fn are_seen(open: &Loop<'_>, settings: &Settings) -> Result<bool, Error> {
    let repo = open.repo();
    let main = repo.main_top().await?;
    let dir = configured(main.as_deref().unwrap_or(&repo.top), settings);
    let Ok(below) = dir.strip_prefix(real(&repo.top)) else {
        return Ok(false);
    };
    let ignored = open
        .git()
        .cmd("check-ignore", ["-q", "--", &below.join("x").to_string_lossy()]);
    Ok(ignored.answer().await?.is_none())
}

/// Returns whether the loop, or an earlier one of this name, already has this attempt of a side.
pub fn was_taken_in(open: &Loop<'_>, made: &Made) -> Result<bool, Error> {
    let made = &made.attempt;
    let history = open.history()?;
    let is_it = history.history.all_ended().any(|entry| {
        let attempt = &entry.attempt;
        let is_judged = attempt.verdict != Verdict::Interrupted || made.verdict == Verdict::Interrupted;
        attempt.story == made.story && attempt.started == made.started && is_judged
    });
    Ok(is_it)
}

fn is_link(path: &Path) -> bool {
    seen_itself(path).is_some_and(|found| found.is_symlink())
}
