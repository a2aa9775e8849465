//! The story list of a loop: what it says, a copy of it as it was before an attempt, for lists that git
//! does not bring back (ignored ones, and those outside the repository), and the mark of a complete story.

use std::fs;
use std::io;
use std::path::Path;

use super::Session;
use super::stories::{listed, listing_of, remembering};
use super::touched::tracked_paths;
use super::trash::move_away;
use crate::error::Error;
use crate::fs::{FileError, copy_file, file_error};
use crate::settings::{Mark, Settings};
use crate::stories::file::TEMPORARY;
use crate::stories::{Adapter, Listing, Marked, News, Story, find_again};

/// The copy from before an attempt, in the loop's directory; it is there only while an attempt is.
const COPY: &str = "stories.copy";

/// The copy from when somebody said what an attempt came to; it is there only while that is looked into.
const JUDGED: &str = "stories.judged";

impl Session<'_> {
    /// The stories of the loop.
    ///
    /// # Errors
    /// When their source cannot be read.
    pub async fn listing(&self) -> Result<Listing, Error> {
        Ok(listing_of(&self.state, &self.engine.repo.top).await?)
    }

    /// The stories as they were before an attempt that has been made in the work tree: by the copy from before
    /// it, else as the last checkpoint has them. `None` where neither has the list.
    pub(crate) async fn listing_before(&self) -> Result<Option<Listing>, Error> {
        let source = &self.state.source;
        if source.commands.is_some() {
            return Ok(None);
        }
        let bytes = match crate::fs::read_regular(&self.file(COPY), crate::fs::Links::Refused, u64::MAX) {
            Ok(bytes) => Some(bytes),
            Err(_) if Path::new(&source.path).is_absolute() => None,
            Err(_) => {
                let git = &self.engine.repo.git;
                git.file_of(&self.state.checkpoint, &source.path).await?
            }
        };
        match bytes {
            Some(bytes) => Ok(Some(remembering(&self.state, source.list_in(&bytes)?))),
            None => Ok(None),
        }
    }

    /// Notes where the list has gone when its change was archived; the caller saves.
    pub(super) fn follow_source(&mut self) {
        let found = self.state.source.file(&self.engine.repo.top);
        if let Some(path) = found.filter(|path| **path != self.state.source.path) {
            self.state.source.path = path.into_owned();
            self.tell(format!("the stories are now in {}", self.state.source.path));
        }
    }

    /// Copies the story list before an attempt. The copy is whole or not there.
    pub(crate) fn copy_source(&self) -> Result<(), Error> {
        if self.state.source.adapter == Adapter::Command {
            return Ok(());
        }
        let from = self.engine.repo.top.join(&self.state.source.path);
        Ok(copy_file(&from, &self.file(COPY))?)
    }

    /// Copies the story list before it is looked into what somebody says of it: git-ralph's own marks are
    /// undone by it. A list that is not there, or no file, has no copy.
    pub(crate) fn copy_judged_source(&self) -> Result<(), Error> {
        self.forget_copy(JUDGED)?;
        let from = self.engine.repo.top.join(&self.state.source.path);
        if self.state.source.commands.is_none() && from.is_file() {
            copy_file(&from, &self.file(JUDGED))?;
        }
        Ok(())
    }

    /// Forgets the copies, once the attempt's own list has become the checkpoint's.
    pub(super) fn forget_source_copies(&self) -> Result<(), Error> {
        self.forget_copy(JUDGED)?;
        self.forget_copy(COPY)
    }

    fn forget_copy(&self, name: &str) -> Result<(), Error> {
        let copy = self.file(name);
        match fs::remove_file(&copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(file_error("remove", &copy, error).into())
            }
            _ => Ok(()),
        }
    }

    /// Puts the story list back to what it was before an attempt, where the revert has not done so.
    pub(super) fn put_back_source(&self) -> Result<(), Error> {
        let list = self.state.source.path.as_bytes();
        if !self.file(COPY).exists()
            && !tracked_paths(&self.file("checkpoint.index"), self.oid_length()).contains(list)
        {
            self.put_back_judged_source()?;
        }
        self.put_back_copy(COPY)?;
        self.forget_copy(JUDGED)
    }

    /// Puts the story list back to what it was when somebody said what the attempt came to.
    pub(super) fn put_back_judged_source(&self) -> Result<(), Error> {
        self.put_back_copy(JUDGED)
    }

    fn put_back_copy(&self, name: &str) -> Result<(), Error> {
        let copy = self.file(name);
        let was = match crate::fs::read_regular(&copy, crate::fs::Links::Refused, u64::MAX) {
            Ok(was) => was,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(file_error("read", &copy, error).into()),
        };
        let list = self.engine.repo.top.join(&self.state.source.path);
        remove_half_written(&list)?;
        let is_regular = list.metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_regular || fs::read(&list).ok().as_ref() != Some(&was) {
            if !is_regular {
                self.clear_place_of(&list)?;
            }
            if let Some(dir) = list.parent() {
                fs::create_dir_all(dir).map_err(|error| file_error("make", dir, error))?;
            }
            // A link that an attempt put there may lead anywhere: it goes, and nothing is written through it.
            if self.state.source.target(&self.engine.repo.top).is_err() {
                let _ = fs::remove_file(&list);
            }
            fs::write(&list, was).map_err(|error| file_error("write", &list, error))?;
        }
        self.forget_copy(name)
    }

    /// Moves to the trash what an attempt put in the place of the list, or of a directory above it.
    fn clear_place_of(&self, list: &Path) -> Result<(), FileError> {
        let is_in_the_way = |path: &&Path| match path.symlink_metadata() {
            Ok(_) if *path == list => true,
            Ok(_) => !path.is_dir(),
            Err(_) => false,
        };
        let Some((path, name)) = list
            .ancestors()
            .find(is_in_the_way)
            .and_then(|path| Some((path, path.file_name()?)))
        else {
            return Ok(());
        };
        let trash = self.file("trash");
        let error = |source| file_error("move to the trash", path, source);
        fs::create_dir_all(&trash).map_err(error)?;
        let place = tempfile::Builder::new().prefix("stories.").tempdir_in(&trash);
        move_away(path, &place.map_err(error)?.keep().join(name)).map_err(error)
    }

    /// Marks the story as done in its list, which is read again for that; `before` is the list as it was
    /// when the attempt began. Inside: why the list cannot be used, as a reason for the next prompt.
    ///
    /// git-ralph decides what is done (contract section 7): what the agent ticked elsewhere is accepted
    /// and told, what it unticked without adding work is ticked again.
    pub(super) async fn mark_done(
        &mut self,
        story: &Story,
        before: &Listing,
        settings: &Settings,
        attempt: u32,
    ) -> Result<(), String> {
        let top = self.engine.repo.top.clone();
        self.follow_source();
        let listing = self.listing().await.map_err(|error| error.to_string())?;
        match settings.mark {
            Mark::Auto => self.mark_in_source(story, &listing, attempt).await?,
            Mark::Agent => require_ticked(story, &listing, &self.state.source.path)?,
            Mark::Never => {}
        }
        let others_gone: Vec<&str> = before
            .stories
            .iter()
            .filter(|other| !other.done && !other.optional && other.id != story.id)
            .filter(|other| find_again(&listing.stories, other).is_none())
            .map(|other| other.id.as_str())
            .collect();
        if !others_gone.is_empty() {
            let gone = others_gone.join(", ");
            self.tell(format!(
                "warning: the agent took stories off the list that nobody has worked on: {gone}"
            ));
        }
        let was_open = |id: &String| before.stories.iter().any(|story| story.id == *id && !story.done);
        let others: Vec<String> = listing
            .stories
            .iter()
            .filter(|other| other.done && other.id != story.id)
            .map(|other| other.id.clone())
            .filter(was_open)
            .collect();
        if !others.is_empty() {
            self.tell(format!("the agent also ticked off: {}", others.join(", ")));
        }
        if settings.mark == Mark::Auto && self.state.source.commands.is_none() {
            let mut again = Vec::new();
            for unticked in unticked(before, &listing, story) {
                let marked = self.state.source.mark_done(&top, unticked);
                marked.map_err(|error| error.to_string())?;
                again.push(unticked.id.clone());
            }
            if !again.is_empty() {
                self.tell(format!(
                    "the agent unticked stories that were complete; they are ticked again: {}",
                    again.join(", ")
                ));
            }
        }
        let skipped = &self.state.progress.skipped;
        self.state.listed = Some(listed(&listing, skipped, Some(story)));
        Ok(())
    }

    pub(super) async fn mark_in_source(
        &mut self,
        story: &Story,
        now: &Listing,
        attempt: u32,
    ) -> Result<(), String> {
        let env = self.command_environment(story, attempt);
        let top = self.engine.repo.top.clone();
        let source = &self.state.source;
        let Some(commands) = &source.commands else {
            let marked = source.mark_done(&top, story).map_err(|error| error.to_string())?;
            if marked == Marked::Vanished {
                self.tell_vanished(story);
            }
            return Ok(());
        };
        match find_again(&now.stories, story).and_then(|index| now.stories.get(index)) {
            None => self.tell_vanished(story),
            Some(found) if found.done => {}
            // A command that fails is not the agent's fault: its work gets its checkpoint, and what is
            // still open then stops the loop.
            Some(found) => {
                let mut commands = commands.clone();
                if let Some(line) = self.engine.configuration.given("ralph.donecommand") {
                    commands.done = (!line.is_empty()).then(|| line.to_owned());
                }
                if let Err(error) = commands.tell(&top, News::Done, found, &env).await {
                    self.tell(error.to_string());
                }
            }
        }
        Ok(())
    }

    fn tell_vanished(&mut self, story: &Story) {
        self.tell(format!(
            "the story {} is no longer in {}; it counts as done",
            story.id, self.state.source.path
        ));
    }

    /// Tells the user's command that the checkpoint of a story is made. It may be told twice after a
    /// crash, and the loop goes on when it fails.
    pub(super) async fn tell_closed(&mut self, story: &str, title: &str, attempt: u32) {
        let story = Story {
            id: story.to_owned(),
            title: title.to_owned(),
            body: String::new(),
            done: true,
            optional: false,
            depends_on: Vec::new(),
            line: 0,
            tasks: Vec::new(),
        };
        let env = self.command_environment(&story, attempt);
        let top = &self.engine.repo.top;
        let Some(commands) = &self.state.source.commands else {
            return;
        };
        if let Err(error) = commands.tell(top, News::Closed, &story, &env).await {
            self.tell(error.to_string());
        }
    }

    fn command_environment(&self, story: &Story, attempt: u32) -> Vec<(&'static str, String)> {
        vec![
            ("RALPH_STORY", story.id.clone()),
            ("RALPH_STORY_TITLE", story.title.clone()),
            ("RALPH_ATTEMPT", attempt.to_string()),
            ("RALPH_BRANCH", self.state.branch.clone()),
        ]
    }
}

/// With `ralph.mark=agent`, a story with open tasks is not complete.
fn require_ticked(story: &Story, listing: &Listing, path: &str) -> Result<(), String> {
    let found = find_again(&listing.stories, story).and_then(|index| listing.stories.get(index));
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

/// The stories of `before` that were complete, and are open now though no task came to them.
fn unticked<'a>(before: &'a Listing, now: &Listing, current: &Story) -> Vec<&'a Story> {
    let texts = |story: &Story| {
        story
            .tasks
            .iter()
            .map(|task| task.text.clone())
            .collect::<Vec<_>>()
    };
    before
        .stories
        .iter()
        .filter(|story| story.done && story.id != current.id)
        .filter(|story| {
            let found = find_again(&now.stories, story).and_then(|index| now.stories.get(index));
            found.is_some_and(|found| !found.done && texts(found) == texts(story))
        })
        .collect()
}

/// Removes what a mark that was cut off left beside the list: temporary files of git-ralph's own.
fn remove_half_written(list: &Path) -> Result<(), Error> {
    let list = list.canonicalize().unwrap_or_else(|_| list.to_owned());
    let entries = list.parent().and_then(|dir| fs::read_dir(dir).ok());
    for entry in entries.into_iter().flatten().filter_map(Result::ok) {
        let is_ours = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(TEMPORARY.as_bytes());
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path()).map_err(|error| file_error("remove", &entry.path(), error))?;
        }
    }
    Ok(())
}
