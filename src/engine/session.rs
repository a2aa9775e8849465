//! An open loop: its state, its lock, and the few things that every step does with them.

use std::path::{Path, PathBuf};

use super::lifecycle_hooks::Hook;
use super::other_refs::OtherRefs;
use super::progress::Refusal;
use super::{Engine, progress_of};
use crate::error::Error;
use crate::events::{Event, What};
use crate::git::worktree::{Reading, Whose};
use crate::git::{Head, index};
use crate::names::{Change, Oid, ref_component};
use crate::paths::percent_decode;
use crate::state::{Lock, Phase, Progress, State, StateError, Store};
use crate::stories::{Listing, Story};

/// A loop that this process may change.
pub struct Session<'o> {
    /// The repository and who watches.
    pub engine: Engine<'o>,
    /// The loop's state as last saved.
    pub state: State,
    pub(super) store: Store,
    pub(super) _lock: Lock,
    /// Whether this process itself has just brought the work tree to the checkpoint.
    pub(super) settled: bool,
    /// Whether `engine.head` is still where HEAD is: nothing that could move it has run since it was read.
    pub(super) head_is_known: bool,
    /// The user's refs as last read; nothing but this process has changed them since.
    pub(super) refs: Option<OtherRefs>,
    /// What happened in this step, for hooks that are told when nothing is under way.
    pub(super) due: Vec<Event>,
}

impl<'o> Session<'o> {
    /// Opens a loop for a step: takes its lock, and completes what a crash left.
    ///
    /// # Errors
    /// When there is no such loop, another process holds it, or it cannot be read.
    pub async fn open(engine: Engine<'o>, change: &Change) -> Result<Self, Error> {
        let store = Store::new(&engine.repo.common_dir, change);
        let lock = store.lock()?;
        let Some(state) = store.load()? else {
            return Err(Error::UnknownLoop {
                name: change.to_string(),
                known: Vec::new(),
            });
        };
        let mut session = Self {
            engine,
            state,
            store,
            _lock: lock,
            settled: false,
            head_is_known: false,
            refs: None,
            due: Vec::new(),
        };
        session.require_own_work_tree()?;
        let at_rest = session.state.intent.is_none() && session.state.running.is_none();
        session.recover().await?;
        session.head_is_known = at_rest;
        Ok(session)
    }

    /// The change.
    #[must_use]
    pub fn change(&self) -> &Change {
        &self.state.change
    }

    /// A file in the loop's own directory.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.store.file(name)
    }

    /// Records an event and shows it.
    pub fn emit(&mut self, what: What) {
        let event = Event::now(self.state.change.as_str(), what);
        if let Err(error) = append(&self.file("events.jsonl"), &event.line()) {
            tracing::warn!("cannot record an event: {error}");
        }
        self.engine.observer.event(&event);
        if Hook::after(&event.what).is_some() {
            self.due.push(event);
        }
    }

    /// Tells a person something that the loop goes on after.
    pub fn tell(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.emit(What::Notice { message });
    }

    pub(crate) fn save(&self) -> Result<(), Error> {
        Ok(self.store.save(&self.state)?)
    }

    /// Changes the progress; the caller saves.
    pub(super) fn advance<T>(
        &mut self,
        change: impl FnOnce(&mut Progress) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        change(&mut self.state.progress).map_err(|refusal| self.refusal(refusal))
    }

    fn refusal(&self, refusal: Refusal) -> Error {
        let change = self.change().to_string();
        let progress = &self.state.progress;
        let story = progress.story.as_ref();
        let id = story.map(|story| story.id.clone()).unwrap_or_default();
        match refusal {
            Refusal::RetryFirst => Error::RetryFirst {
                change,
                story: id,
                left: progress
                    .max_retries
                    .saturating_sub(story.map_or(0, |story| story.retries)),
            },
            Refusal::RetriesSpent => Error::RetriesSpent { change, story: id },
            Refusal::NothingFailed => Error::NothingFailed(change),
            Refusal::Finished => Error::LoopFinished(change),
            Refusal::NoStory => Error::NothingLeft {
                change,
                done: progress.completed.len(),
                total: progress.completed.len(),
                live: true,
            },
            Refusal::Running | Refusal::NotRunning => Error::WrongPhase(change),
        }
    }

    /// Reads the story list and lets the machine know what is open.
    pub(super) async fn list_stories(&mut self) -> Result<Listing, Error> {
        self.follow_source();
        let watched = self.begin_tracker().await?;
        let listing = self.listing().await;
        self.end_tracker(watched).await?;
        let listing = listing?;
        self.note_open(&listing)?;
        Ok(listing)
    }

    /// Lets the machine know what is open.
    pub(crate) fn note_open(&mut self, listing: &Listing) -> Result<(), Error> {
        let incomplete: Vec<String> = listing
            .stories
            .iter()
            .filter(|story| {
                !story.done && !story.optional && !self.state.progress.skipped.contains(&story.id)
            })
            .map(|story| story.id.clone())
            .collect();
        self.advance(|progress| progress.listed(&incomplete))?;
        self.state.listed = Some(super::stories::listed(
            listing,
            &self.state.progress.skipped,
            None,
        ));
        Ok(())
    }

    /// The story that an attempt would be about: the one that failed, else the first that is ready.
    ///
    /// # Errors
    /// When nothing is left (exit 5) or what is left waits for each other (exit 7).
    pub fn story_to_do(&self, listing: &Listing) -> Result<Story, Error> {
        let progress = &self.state.progress;
        if matches!(progress.phase, Phase::Failed | Phase::Exhausted) {
            let current = progress.story.as_ref().map(|story| story.id.as_str());
            let found = listing
                .stories
                .iter()
                .find(|story| Some(story.id.as_str()) == current);
            if let Some(story) = found {
                return Ok(story.clone());
            }
        }
        match super::stories::upcoming(listing, &progress.skipped) {
            super::stories::Upcoming::Story(story) => Ok(story.clone()),
            super::stories::Upcoming::Blocked(knot) => Err(Error::Blocked(knot)),
            super::stories::Upcoming::Nothing => {
                let (done, total) = progress_of(listing);
                Err(Error::NothingLeft {
                    change: self.change().to_string(),
                    done,
                    total,
                    live: true,
                })
            }
        }
    }

    /// The story of this id.
    ///
    /// # Errors
    /// When there is none.
    pub fn story_called(&self, listing: &Listing, id: &str) -> Result<Story, Error> {
        let found = listing.stories.iter().find(|story| story.id == id);
        found.cloned().ok_or_else(|| Error::UnknownStory {
            id: id.to_owned(),
            source_file: self.state.source.path.clone(),
            known: listing.stories.iter().map(|story| story.id.clone()).collect(),
        })
    }

    /// The number of the next attempt at a story: one more than any that left a log, a loop of the
    /// same change that was finished before included.
    pub(crate) fn next_attempt_number(&self, story: &str) -> u32 {
        let prefix = format!("{}.", ref_component(story));
        let logged = std::fs::read_dir(self.file("attempts"))
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                name.strip_prefix(&prefix)?
                    .strip_suffix(".log")?
                    .parse::<u32>()
                    .ok()
            })
            .max()
            .unwrap_or(0);
        let recorded = match &self.state.progress.story {
            Some(current) if current.id == story => current.attempt,
            _ => 0,
        };
        logged.max(recorded).saturating_add(1)
    }

    /// The log of an attempt.
    #[must_use]
    pub fn attempt_log(&self, story: &str, attempt: u32) -> PathBuf {
        self.file(&format!("attempts/{}.{attempt}.log", ref_component(story)))
    }

    /// HEAD as the loop wants it.
    pub(super) fn own_head(&self) -> Head {
        Head {
            branch: Some(self.state.change.branch_ref()),
            oid: Some(self.state.checkpoint.clone()),
        }
    }

    /// HEAD as it was before the loop.
    pub(super) fn original_head(&self) -> Head {
        Head {
            branch: self
                .state
                .original_branch
                .as_ref()
                .map(|branch| format!("refs/heads/{branch}")),
            oid: self.state.original_head.clone(),
        }
    }

    /// The tip of the loop's branch, if it is there.
    pub(super) async fn branch_tip(&self, head: &Head) -> Result<Option<Oid>, Error> {
        let branch = self.state.change.branch_ref();
        if head.branch.as_deref() == Some(&branch) {
            return Ok(head.oid.clone());
        }
        let refs = self.engine.repo.git.refs(&[&branch]).await?;
        Ok(refs
            .into_iter()
            .find(|found| found.name == branch)
            .map(|found| found.oid))
    }

    /// Makes the private index that a step computes with: the real one without flags that hide files.
    pub(super) async fn working_index(&mut self) -> Result<PathBuf, Error> {
        let work = self.file("work.index");
        self.mend_index().await?;
        let repo = &self.engine.repo;
        let fallback = self.state.checkpoint.clone();
        let made = repo.private_index(&repo.index(), &work, Some(&fallback)).await?;
        let mut hidden = made.entries.hidden();
        hidden.extend(self.unversioned().newly_sparse(made.entries.sparse)?);
        repo.show_paths(&work, &hidden).await?;
        if !made.sound {
            repo.hide_paths(&work, &[], &self.unversioned().sparse()?).await?;
            // Other git commands read the real one too.
            repo.install_index(&work).await?;
            self.tell("the index was missing or damaged: made anew from the checkpoint");
        }
        Ok(work)
    }

    /// Reads the work tree as it is now, compared with the checkpoint. One scan.
    pub(super) async fn read_work_tree(&mut self) -> Result<Reading, Error> {
        let work = self.working_index().await?;
        let base = self.state.checkpoint_tree.clone();
        let nested = self.users_nested();
        let whose = Whose::Loops { nested: &nested };
        let repo = &self.engine.repo;
        let known = self.file("checkpoint.index");
        let reading = repo.read_work_tree(&work, &base, Some(&known), whose).await?;
        self.leave_out_ignored(&work, reading).await
    }

    /// Nested repositories that were there before the loop.
    pub(super) fn users_nested(&self) -> Vec<Vec<u8>> {
        let nested = self.state.before.nested.iter();
        nested.map(|path| percent_decode(path)).collect()
    }

    /// Puts the working index in the place of the real one.
    pub(super) async fn install_working_index(&self) -> Result<(), Error> {
        let work = self.file("work.index");
        if work.exists() {
            self.engine.repo.install_index(&work).await?;
            index::discard(&work)?;
        }
        Ok(())
    }

    /// Refuses to work on the files of another work tree.
    pub(super) fn require_own_work_tree(&self) -> Result<(), Error> {
        if self.state.worktree.as_path() == self.engine.repo.top || !self.state.is_live() {
            return Ok(());
        }
        Err(Error::OtherWorkTree {
            change: self.change().to_string(),
            path: self.state.worktree.to_string(),
        })
    }
}

/// Looks at a loop without taking a step. When nobody holds it, what a crash left is completed first,
/// as by every command.
///
/// # Errors
/// When there is no such loop, or it cannot be read or completed.
pub async fn look<'o>(engine: Engine<'o>, change: &Change) -> Result<(Engine<'o>, State), Error> {
    let store = Store::new(&engine.repo.common_dir, change);
    let Some(state) = store.load()? else {
        return Err(Error::UnknownLoop {
            name: change.to_string(),
            known: Vec::new(),
        });
    };
    let cut_off = state.intent.is_some() || state.progress.phase == Phase::Running;
    let here = state.worktree.as_path() == engine.repo.top;
    if !cut_off
        || !here
        || matches!(
            store.lock(),
            Err(StateError::Busy { .. } | StateError::Outlived { .. })
        )
    {
        return Ok((engine, state));
    }
    let session = Session::open(engine, change).await?;
    Ok((session.engine, session.state))
}

fn append(path: &Path, line: &str) -> std::io::Result<()> {
    crate::fs::append_private(path, line)
}
