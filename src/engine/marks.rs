//! Marks a complete story in its list: git-ralph decides which stories are done.

use super::Loop;
use super::list_growth;
use super::stories::{follow_source, listed, listing_in_place};
use crate::events::Notices;
use crate::settings::{Mark, Settings};
use crate::stories::{Finder, Listing, Marked, News, Story};

/// Reads the list again and marks the story as done in it; `before` is the list at the beginning of the attempt. Other
/// boxes that the agent ticked are accepted and reported; boxes that it unticked without adding work are ticked again.
pub(super) async fn mark_done(
    open: &mut Loop<'_>,
    story: &Story,
    before: &Listing,
    settings: &Settings,
    attempt: u32,
) -> Result<(), String> {
    let top = open.repo().top.clone();
    follow_source(open);
    let listing = listing_in_place(&open.state, &top).await;
    let listing = listing.map_err(|error| error.to_string())?;
    match settings.mark {
        _ if open.state.source().is_whole() => {}
        Mark::Auto => mark_in_source(open, story, &listing, attempt).await?,
        Mark::Agent => require_ticked(story, &listing, &open.state.source().path)?,
        Mark::Never => {}
    }
    let others = list_growth::note_attempt(&mut open.state.common.list, story, before, &listing);
    report_other_marks(open, others);
    if settings.mark == Mark::Auto && !open.state.source().is_by_command() {
        tick_again(open, story, before, &listing)?;
    }
    let skipped = &open.state.progress().skipped;
    open.state.common.listed = Some(listed(&listing, skipped, Some(story)));
    Ok(())
}

/// Reports the changes to other stories, which were changed only in the list.
fn report_other_marks(open: &Loop<'_>, [gone, done]: [Vec<String>; 2]) {
    let what = "warning: stories that had no attempt are";
    open.tell_names(&format!("{what} no longer in the list"), &gone);
    open.tell_names(&format!("{what} done in the list"), &done);
}

/// Ticks the boxes that the agent unticked.
fn tick_again(open: &Loop<'_>, story: &Story, before: &Listing, now: &Listing) -> Result<(), String> {
    let mut again = Vec::new();
    for unticked in unticked(before, now, story) {
        let source = open.state.source();
        let marked = source.mark_done(&open.repo().top, unticked);
        marked.map_err(|error| error.to_string())?;
        again.push(unticked.id.clone());
    }
    let what = "the agent unticked stories that were complete; they are ticked again";
    open.tell_names(what, &again);
    Ok(())
}

/// Marks a story in its source, or runs the command for it; `now` is the list.
pub(super) async fn mark_in_source(
    open: &Loop<'_>,
    story: &Story,
    now: &Listing,
    attempt: u32,
) -> Result<(), String> {
    let env = command_environment(open, story, attempt);
    let top = open.repo().top.clone();
    let source = open.state.source();
    let Some(commands) = &source.commands else {
        let marked = source.mark_done(&top, story).map_err(|error| error.to_string())?;
        if marked == Marked::Vanished {
            tell_vanished(open, story);
        }
        return Ok(());
    };
    match Finder::new(&now.stories).find(story) {
        None => tell_vanished(open, story),
        Some(found) if found.done => {}
        // A command that fails is not the agent's fault: the work gets its checkpoint, and a story that is still open
        // then stops the loop.
        Some(found) => {
            if let Err(error) = commands.tell(&top, News::Done, found, &env).await {
                open.tell(error.to_string());
            }
        }
    }
    Ok(())
}

fn tell_vanished(open: &Loop<'_>, story: &Story) {
    let path = &open.state.source().path;
    open.tell(format!(
        "the story {} is no longer in {path}; it counts as done",
        story.id
    ));
}

/// Runs the user's command after the checkpoint of a story; if it fails, the loop continues.
pub(super) async fn tell_closed(open: &Loop<'_>, story: &str, title: &str, attempt: u32) {
    let story = Story {
        id: story.to_owned(),
        title: title.to_owned(),
        done: true,
        ..Story::default()
    };
    let env = command_environment(open, &story, attempt);
    let Some(commands) = &open.state.source().commands else {
        return;
    };
    if let Err(error) = commands.tell(&open.repo().top, News::Closed, &story, &env).await {
        open.tell(error.to_string());
    }
}

fn command_environment(open: &Loop<'_>, story: &Story, attempt: u32) -> Vec<(&'static str, String)> {
    vec![
        ("RALPH_STORY", story.id.clone()),
        ("RALPH_STORY_TITLE", story.title.clone()),
        ("RALPH_ATTEMPT", attempt.to_string()),
        ("RALPH_BRANCH", open.state.common.branch.clone()),
    ]
}

/// Refuses a story that its list does not show as done: under `ralph.mark=agent`, a story with open tasks is not
/// complete.
fn require_ticked(story: &Story, listing: &Listing, path: &str) -> Result<(), String> {
    let found = Finder::new(&listing.stories).find(story);
    let Some(found) = found.filter(|found| !found.done) else {
        return Ok(());
    };
    let open: Vec<&str> = found
        .tasks
        .iter()
        .filter(|task| !task.done && !task.optional)
        .map(|task| task.text.as_str())
        .collect();
    let which = if open.is_empty() { "" } else { ":\n" };
    Err(format!(
        "the promise was COMPLETE, but {path} does not say so; tick off what is done{which}{}",
        open.join("\n")
    ))
}

/// Finds the stories that were complete in `before` and are open now, although no task was added to them.
fn unticked<'a>(before: &'a Listing, now: &Listing, current: &Story) -> Vec<&'a Story> {
    let texts = |story: &Story| {
        story
            .tasks
            .iter()
            .map(|task| task.text.clone())
            .collect::<Vec<_>>()
    };
    let finder = Finder::new(&now.stories);
    before
        .stories
        .iter()
        .filter(|story| story.done && story.id != current.id)
        .filter(|story| {
            finder
                .find(story)
                .is_some_and(|found| !found.done && texts(found) == texts(story))
        })
        .collect()
}
