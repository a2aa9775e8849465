//! The stories of a loop: reads its list, adds the stories that the loop remembers as done, and finds the next.

use std::borrow::Cow;
use std::path::Path;

use super::open_loop::advance;
use super::position::require_place;
use super::watch::{self, Who};
use super::{Context, Loop};
use crate::engine::step_place::require_own_list;
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::story_source::wanted;
use crate::error::Error;
use crate::git::worktree::Reading;
use crate::git::{Git, Head, Repo, discover};
use crate::names::{Change, Oid, ShortNames, stories_option, typed};
use crate::settings::{Mark, Settings};
use crate::state::{Completed, Ending, Listed, Phase, Progress, State, Store};
use crate::stories::{
    Additions, Listing, Source, SourceError, Story, Wanted, Warning, not_listed, resolve_typed,
};

/// The next entry of a story list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upcoming<'a> {
    /// This story can be worked on.
    Story(&'a Story),
    /// The remaining stories all wait for another: their ids and the ids of their dependencies.
    Blocked(Vec<String>),
    /// No story is left.
    Nothing,
}

/// Finds the first story in order that is neither complete nor skipped, and has no incomplete dependency in the list.
/// Trackers omit closed stories, so a dependency that is not listed counts as complete.
pub fn upcoming<'a>(listing: &'a Listing, skipped: &[String]) -> Upcoming<'a> {
    let is_complete = |id: &String| listing.find(id).is_none_or(|other| other.done);
    let mut blocked = Vec::new();
    for story in listing.open().filter(|story| !skipped.contains(&story.id)) {
        let named = story.depends_on.iter().flatten();
        let waits: Vec<&str> = named.filter(|id| !is_complete(id)).map(String::as_str).collect();
        if waits.is_empty() {
            return Upcoming::Story(story);
        }
        blocked.push(format!("{} waits for {}", story.id, waits.join(" and ")));
    }
    if blocked.is_empty() {
        Upcoming::Nothing
    } else {
        Upcoming::Blocked(blocked)
    }
}

/// Returns the warnings about dependencies of a story that count as complete because no list has them.
pub(crate) fn unknown_dependencies(listing: &Listing, story: &Story) -> Vec<String> {
    let is_known = |id: &String| listing.gone.contains(id) || listing.find(id).is_some();
    let unknown = story.depends_on.iter().flatten().filter(|id| !is_known(id));
    unknown.map(|id| not_listed(&story.id, id)).collect()
}

/// Counts the complete stories, and all stories; optional stories count only if they are complete, and complete stories
/// also if they are no longer listed.
pub fn progress_of(listing: &Listing) -> (usize, usize) {
    let done = listing.stories.iter().filter(|story| story.done).count() + listing.gone.len();
    (done, done + listing.open().count())
}

/// Returns a summary of the list as it will be once the story `done` is done.
pub(super) fn listed(listing: &Listing, skipped: &[String], done: Option<&Story>) -> Listed {
    let mut listing = Cow::Borrowed(listing);
    if let Some(done) = done {
        let listing = listing.to_mut();
        let mut stories = listing.stories.iter_mut();
        if let Some(story) = stories.find(|story| story.id == done.id) {
            story.done = true;
        }
        note_gone(listing, &done.id, &done.title);
    }
    let (done, total) = progress_of(&listing);
    let next = match upcoming(&listing, skipped) {
        Upcoming::Story(story) => Some(story.id.clone()),
        Upcoming::Blocked(_) | Upcoming::Nothing => None,
    };
    Listed { done, total, next }
}

/// Returns the shortest unambiguous names of an active loop's stories; none if its list is unreadable. Runs nothing.
pub fn short_names(state: &State) -> ShortNames {
    let listing = state.source().list_in_file(state.work_tree());
    let listing = listing.ok().filter(|_| state.is_live());
    listing.map(|listing| listing.short_names()).unwrap_or_default()
}

/// Reads the stories of a loop. Stories with a checkpoint are done if nothing marks stories in their source, or if the
/// source no longer lists them. Marks that a running attempt makes do not count, as they do not when the list is
/// restored.
pub async fn listing_of(state: &State, top: &Path) -> Result<Listing, SourceError> {
    if (state.here.holds_list || state.phase() == Phase::Running)
        && let Some(bytes) = held_list(state, top).await
    {
        return Ok(remembering(state, state.source().list_in(&bytes)?));
    }
    listing_in_place(state, top).await
}

/// Reads the stories of a loop from the present content of its list.
pub(super) async fn listing_in_place(state: &State, top: &Path) -> Result<Listing, SourceError> {
    match state.source().list(top).await {
        Err(SourceError::Missing { path }) => {
            let before = Git::at_top(top).file_behind(state.checkpoint(), &path).await;
            let has_it = matches!(before, Ok(Some(_)));
            let checkpoint = has_it.then(|| state.checkpoint().short().to_owned());
            Err(SourceError::Gone { path, checkpoint })
        }
        listing => Ok(remembering(state, listing?)),
    }
}

/// Returns the list of the last checkpoint with the stories added since; `None` if no commit has it.
async fn held_list(state: &State, top: &Path) -> Option<Vec<u8>> {
    let (git, source) = (Git::at_top(top), state.source());
    let before = git.file_behind(state.checkpoint(), &source.path).await.ok()??;
    let now = source.bytes(top).map_err(|error| error.to_string());
    let seen = now.as_deref().map_err(String::as_str);
    Some(source.settle(&before, seen, "", Additions::Stay).bytes)
}

/// Reads the stories of a loop for display: from its work tree, or from its branch if another one is checked out there.
pub async fn listing_from_head(state: &State, head: &Head, repo: &Repo) -> Result<Listing, Error> {
    let place = state.work_tree();
    if place != repo.top
        && let Ok((there, head)) = discover(place).await
        && there.top == place
    {
        return Box::pin(listing_from_head(state, &head, &there)).await;
    }
    if !state.is_branch_of(head)
        && let Some(tip) = repo.git.oid_at(&state.tip_ref()).await?
        && let Some(listing) = listing_at(&repo.git, state, &tip).await
    {
        return Ok(listing);
    }
    let listing = listing_of(state, &repo.top).await;
    if listing.is_err() {
        require_place(&repo.git, state, head).await?;
    }
    Ok(listing?)
}

/// Reads the stories of a loop from the list in this commit; `None` if the commit has no list.
pub async fn listing_at(git: &Git, state: &State, commit: &Oid) -> Option<Listing> {
    let source = state.source();
    if source.is_by_command() || Path::new(&source.path).is_absolute() {
        return None;
    }
    let bytes = git.file_behind(commit, &source.path).await.ok()??;
    Some(remembering(state, source.list_in(&bytes).ok()?))
}

/// Marks the stories of the listing as done that the loop remembers as done.
pub(super) fn remembering(state: &State, mut listing: Listing) -> Listing {
    let is_remembered = state.common.settings.mark == Mark::Never || !state.source().takes_marks();
    let remembered = if is_remembered {
        &state.progress().completed
    } else {
        // A story need not wait for one that is skipped only because its source takes no marks.
        &state.common.unmarked
    };
    for story in &mut listing.stories {
        let is_it = |done: &Completed| done.id == story.id && done.title == story.title;
        story.done |=
            (is_remembered || state.progress().skipped.contains(&story.id)) && remembered.iter().any(is_it);
    }
    for done in &state.progress().completed {
        note_gone(&mut listing, &done.id, &done.title);
    }
    listing
}

/// Reads the list with which a loop of this change would begin. A text that the last loop has completed counts as done,
/// unless the loop is begun again: no mark in the text shows it.
pub async fn list_of_new_loop(
    context: &Context<'_>,
    change: &Change,
    settings: &Settings,
    is_again: bool,
) -> Result<(Source, Listing), Error> {
    let source = source_of_new_loop(context, change, settings)?;
    let mut listing = source.list(&context.repo.top).await?;
    if source.is_whole() && !is_again {
        remember_text(context, change, &source, &mut listing).await?;
    }
    Ok((source, listing))
}

/// Finds the list of a new loop: the named list, else one in a known place, else the list of the change's last loop.
pub fn source_of_new_loop(
    context: &Context<'_>,
    change: &Change,
    settings: &Settings,
) -> Result<Source, SourceError> {
    let (top, name) = (&context.repo.top, change.as_str());
    let found = resolve_typed(top, name, &wanted(settings, change, &context.below_top));
    if !matches!(found, Err(SourceError::NoStories { .. })) {
        return found;
    }
    let last = Store::new(&context.repo.common_dir, change).load();
    let last = last.ok().flatten().filter(|last| !last.is_live());
    let Some(list) = last.and_then(|last| last.source().to_name(top, name)) else {
        return found;
    };
    let of_last = Wanted {
        stories: Some(list),
        ..Wanted::default()
    };
    resolve_typed(top, name, &of_last).or(found)
}

/// Treats the story of a text as done if the last loop of its change has completed it, and the text is unchanged.
async fn remember_text(
    context: &Context<'_>,
    change: &Change,
    source: &Source,
    listing: &mut Listing,
) -> Result<(), Error> {
    let repo = &context.repo;
    let last = Store::new(&repo.common_dir, change).load()?;
    let is_finished = |last: &State| matches!(last.here.closed, Some(Ending::Cleanup | Ending::Keep));
    let Some(last) = last.filter(is_finished) else {
        return Ok(());
    };
    let was = repo
        .git
        .file_of(&last.common.checkpoint_tree, &source.path)
        .await?;
    if was.is_some_and(|was| source.bytes(&repo.top).is_ok_and(|is| is != was)) {
        return Ok(());
    }
    let list = stories_option(source.to_name(&repo.top, change.as_str()).as_deref());
    let again = format!("git ralph start --restart {}{list}", typed(change));
    for story in &mut listing.stories {
        let is_it = |done: &Completed| done.id == story.id && done.title == story.title;
        if last.progress().completed.iter().any(is_it) {
            story.done = true;
            listing.warnings.push(Warning {
                line: story.line,
                message: format!("it was completed in the last loop of this change; to do it again: {again}"),
            });
        }
    }
    Ok(())
}

/// Records a complete story that is no longer listed under its id or its title.
fn note_gone(listing: &mut Listing, id: &str, title: &str) {
    let mut stories = listing.stories.iter();
    let is_listed = stories.any(|story| story.id == id || story.title == title);
    if !is_listed && !listing.gone.iter().any(|gone| gone == id) {
        listing.gone.push(id.to_owned());
    }
}

/// Returns whether nothing but the story list has changed since the last checkpoint.
pub(crate) fn changes_only_the_list(open: &Loop<'_>, reading: &Reading) -> bool {
    let list = open.state.source().path.as_bytes();
    match &reading.changes {
        Some(changes) => changes.iter().all(|(_, path)| path == list),
        None => reading.tree == open.state.common.checkpoint_tree,
    }
}

/// Reads the list, inside the guard if a command prints it, and passes the open stories to the progress.
pub(super) async fn read_list(open: &mut Loop<'_>) -> Result<Listing, Error> {
    if open.held_list.is_some() {
        // An attempt may write to the file at any time.
        let path = &open.state.source().path;
        let list = open.git().file_of(open.state.checkpoint(), path).await?;
        let listing = match list {
            Some(list) => remembering(&open.state, open.state.source().list_in(&list)?),
            None => listing_in_place(&open.state, &open.repo().top).await?,
        };
        note_open(&mut open.state, &listing)?;
        return Ok(listing);
    }
    require_own_list(open).await?;
    follow_source(open);
    let watch = watch::begin(open, Who::Tracker).await?;
    let listing = listing_in_place(&open.state, &open.repo().top).await;
    watch::end(open, watch).await?;
    let listing = listing?;
    note_open(&mut open.state, &listing)?;
    Ok(listing)
}

/// Passes the open stories to the progress; the caller saves.
pub(crate) fn note_open(state: &mut State, listing: &Listing) -> Result<(), Error> {
    state.common.progress.skipped = state.still_skipped(listing);
    // A story that was put off and left the list is an open story if it returns.
    let Progress { skipped, put_off, .. } = &mut state.common.progress;
    put_off.retain(|other| {
        let id = &other.story.id;
        let listed = listing.find(id);
        if listed.is_none() {
            skipped.retain(|skipped| skipped != id);
        }
        listed.is_some_and(|story| !story.done)
    });
    let incomplete = listing.open().map(|story| story.id.clone());
    let incomplete: Vec<String> = incomplete.filter(|id| !skipped.contains(id)).collect();
    let by_list = &mut state.common.list.by_list;
    by_list.retain(|id| !incomplete.contains(id));
    advance(state, |progress| progress.listed(&incomplete))?;
    state.common.listed = Some(listed(listing, &state.progress().skipped, None));
    Ok(())
}

/// Records the new place of the list after its change was archived; the caller saves.
pub(super) fn follow_source(open: &mut Loop<'_>) {
    let found = open.state.source().file(&open.repo().top);
    if let Some(path) = found.filter(|path| **path != open.state.source().path) {
        open.state.common.source.path = path.into_owned();
        open.tell(format!("the stories are now in {}", open.state.source().path));
    }
}

/// Reads the stories as they were before an attempt in the work tree: from the copy made before it, else from the last
/// checkpoint. Returns `None` if neither has the list.
pub(crate) async fn list_before_attempt(open: &Loop<'_>) -> Result<Option<Listing>, Error> {
    match list_bytes_before_attempt(open).await? {
        Some(bytes) => Ok(Some(remembering(
            &open.state,
            open.state.source().list_in(&bytes)?,
        ))),
        None => Ok(None),
    }
}

/// Reads the bytes of the list before the attempt.
pub(super) async fn list_bytes_before_attempt(open: &Loop<'_>) -> Result<Option<Vec<u8>>, Error> {
    let source = open.state.source();
    if source.is_by_command() {
        return Ok(None);
    }
    Ok(match open.site().list_before_attempt()? {
        Some(bytes) => Some(bytes),
        None if Path::new(&source.path).is_absolute() => None,
        None => open.git().file_of(open.state.checkpoint(), &source.path).await?,
    })
}

/// Returns the story of the next attempt: the one that failed, else the first that is ready.
///
/// # Errors
/// If no story is left (exit 5), or the remaining stories wait for each other (exit 7).
pub fn story_to_do(state: &State, listing: &Listing) -> Result<Story, Error> {
    let progress = state.progress();
    if matches!(progress.phase, Phase::Failed | Phase::Exhausted) {
        let current = progress.current();
        if let Some(story) = current.and_then(|story| listing.find(&story.id)) {
            return Ok(story.clone());
        }
    }
    chosen(upcoming(listing, &progress.skipped), || {
        nothing_left(&state.change, listing, progress)
    })
}

/// Returns the story of the first attempt of a loop that has not begun; its list is in the work tree at `top`.
pub fn first_story(top: &Path, change: &Change, source: &Source, listing: &Listing) -> Result<Story, Error> {
    chosen(upcoming(listing, &[]), || {
        nothing_to_begin(top, change, source, listing)
    })
}

fn chosen(upcoming: Upcoming<'_>, nothing_left: impl FnOnce() -> Error) -> Result<Story, Error> {
    match upcoming {
        Upcoming::Story(story) => Ok(story.clone()),
        Upcoming::Blocked(knot) => Err(StoryRefusal::Blocked(knot).into()),
        Upcoming::Nothing => Err(nothing_left()),
    }
}

/// Returns the error for a live loop without an open story.
fn nothing_left(change: &Change, listing: &Listing, progress: &Progress) -> Error {
    let (done, total) = progress_of(listing);
    let (skipped, put_off) = progress.left_out();
    StoryRefusal::NothingLeft {
        change: change.to_string(),
        done,
        total,
        skipped,
        put_off,
        live: true,
        stories: None,
    }
    .into()
}

/// Returns the error for a change without an open story, and without a live loop.
pub(super) fn nothing_to_begin(top: &Path, change: &Change, source: &Source, listing: &Listing) -> Error {
    let (done, total) = progress_of(listing);
    StoryRefusal::NothingLeft {
        change: change.to_string(),
        done,
        total,
        skipped: Vec::new(),
        put_off: Vec::new(),
        live: false,
        stories: source.to_name(top, change.as_str()),
    }
    .into()
}

/// Returns the only story of a list that matches `id`.
pub fn story_in(source: &Source, listing: &Listing, id: &str) -> Result<Story, Error> {
    let found = match listing.named(id).as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    };
    let missing = || StoryRefusal::UnknownStory {
        id: id.to_owned(),
        source_file: source.path.clone(),
        known: listing.stories.iter().map(|story| story.id.clone()).collect(),
    };
    Ok(found.ok_or_else(missing)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(id: &str, done: bool, depends_on: &[&str]) -> Story {
        Story {
            id: id.to_owned(),
            title: id.to_owned(),
            body: String::new(),
            done,
            optional: false,
            depends_on: Some(depends_on.iter().map(|id| (*id).to_owned()).collect()),
            line: 1,
            tasks: Vec::new(),
        }
    }

    #[test]
    fn story_waits_only_for_stories_of_its_own_list() {
        let listing = |stories: &[Story]| Listing {
            stories: stories.to_vec(),
            gone: vec!["gone".to_owned()],
            ..Listing::default()
        };
        let first = |listing: &Listing| match upcoming(listing, &[]) {
            Upcoming::Story(story) => Ok(story.id.clone()),
            Upcoming::Blocked(knot) => Err(knot),
            Upcoming::Nothing => Err(Vec::new()),
        };
        let closed_before = listing(&[story("b", false, &["closed", "gone"])]);
        assert_eq!(first(&closed_before), Ok("b".to_owned()));
        assert_eq!(
            unknown_dependencies(&closed_before, &closed_before.stories[0]),
            ["story b depends on 'closed', which is not in the list: it is taken as complete"]
        );
        let waiting = listing(&[story("b", false, &["a"]), story("a", false, &[])]);
        assert_eq!(first(&waiting), Ok("a".to_owned()));
        assert!(unknown_dependencies(&waiting, &waiting.stories[0]).is_empty());
        let knot = listing(&[story("b", false, &["a"]), story("a", false, &["b"])]);
        assert_eq!(
            first(&knot),
            Err(vec!["b waits for a".to_owned(), "a waits for b".to_owned()])
        );
    }
}
