//! `skip`: skips a story, or stops skipping it. The process that holds the loop does it at the request of the user.

use std::time::Duration;

use tokio::task::{self, AbortHandle};
use tokio::time::sleep;

use crate::engine::Loop;
use crate::engine::stories::{read_list, story_in, story_to_do};
use crate::engine::story_refusal::StoryRefusal;
use crate::error::Error;
use crate::signal::Stop;
use crate::state::{State, Store};
use crate::stories::Listing;

/// Interval between two checks for a request.
const POLL: Duration = Duration::from_millis(250);

/// Returns the id of the story to skip or to unskip; by default the next story, or the one skipped last.
pub fn story_to_skip(
    state: &State,
    listing: &Listing,
    story: Option<&str>,
    undo: bool,
) -> Result<String, Error> {
    let skipped = &state.progress().skipped;
    Ok(match story {
        Some(id) if skipped.iter().any(|skipped| skipped == id) => id.to_owned(),
        Some(id) => {
            let story = story_in(state.source(), listing, id)?;
            if undo {
                return Err(StoryRefusal::NotSkipped(story.id).into());
            }
            let mut unmarked = state.common.unmarked.iter();
            if story.done && unmarked.all(|unmarked| unmarked.id != story.id) {
                return Err(StoryRefusal::AlreadyComplete(story.id).into());
            }
            story.id
        }
        None if undo => match skipped.last() {
            Some(last) => last.clone(),
            None => return Err(StoryRefusal::NothingSkipped.into()),
        },
        None => story_to_do(state, listing)?.id,
    })
}

/// Skips a story, or stops skipping it; returns the story's id.
pub async fn skip(open: &mut Loop<'_>, story: Option<&str>, undo: bool) -> Result<String, Error> {
    let listing = read_list(open).await?;
    let id = story_to_skip(&open.state, &listing, story, undo)?;
    open.advance(|progress| {
        if undo {
            progress.unskip(&id)
        } else {
            progress.skip(&id)
        }
    })?;
    read_list(open).await?;
    open.save()?;
    Ok(id)
}

/// Fulfils the pending requests, except those about stories that are `running` in sides.
pub async fn take_skips(open: &mut Loop<'_>, running: &[String]) -> Result<(), Error> {
    for request in open.store.skip_requests()? {
        if running.contains(&request.story) {
            continue;
        }
        let story = &request.story;
        match Box::pin(skip(open, Some(story), request.is_undone)).await {
            Ok(id) if request.is_undone => {
                open.tell(format!(
                    "story {id} is no longer skipped, by a request that came meanwhile"
                ));
            }
            Ok(id) => open.tell(format!("story {id} is skipped, by a request that came meanwhile")),
            Err(Error::Story(refusal)) => open.tell(format!("git ralph skip {story}: {refusal}")),
            Err(error) => return Err(error),
        }
        open.store.forget_skip(&request)?;
    }
    Ok(())
}

/// Ends the running attempt if the user asks to skip its story; active until it is dropped.
pub(crate) struct SkipWatch {
    task: AbortHandle,
    stop: Stop,
}

impl SkipWatch {
    /// Begins to watch. The requests for an attempt beside others are those of its loop.
    pub fn begin(open: &Loop<'_>, story: &str) -> Self {
        let change = open.change();
        let of = change.side_of().map_or_else(|| change.clone(), |(of, _)| of);
        let (store, stop) = (open.store.of_other(&of), open.context.stop.clone());
        let (story, asks) = (story.to_owned(), stop.clone());
        let look = async move {
            while !is_asked_to_skip(&store, &story) {
                sleep(POLL).await;
            }
            asks.skip();
        };
        Self {
            task: task::spawn(look).abort_handle(),
            stop,
        }
    }
}

impl Drop for SkipWatch {
    fn drop(&mut self) {
        self.task.abort();
        self.stop.end_skip();
    }
}

/// Returns whether the user asks to skip a story of a loop; an unreadable request does not count.
pub(crate) fn is_asked_to_skip(store: &Store, story: &str) -> bool {
    let requests = store.skip_requests().unwrap_or_default();
    let of_it = requests.iter().rfind(|request| request.story == story);
    of_it.is_some_and(|request| !request.is_undone)
}
