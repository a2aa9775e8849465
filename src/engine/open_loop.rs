//! An open loop: its state, its lock, its events, and the known facts of the repository. The operations on it are in
//! `steps` and `attempt`.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Context;
use super::lifecycle_hooks::table::Hook;
use super::lost_commits::split_lost;
use super::own_output;
use super::position::{self, Position, View};
use super::progress::Refusal;
use super::story_source::take_commands;
use crate::engine::Step;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::story_refusal::StoryRefusal;
use crate::error::Error;
use crate::events::log::{self, LogEntry};
use crate::events::tally::{self, Tally};
use crate::events::{Event, News, Notices, What};
use crate::fs::{Below, Durability, FileError};
use crate::git::worktree::{Count, Reading};
use crate::git::{DiffSize, Git, Head, Repo};
use crate::names::{Change, Oid, ref_component};
use crate::paths::percent_decode;
use crate::prompt::Template;
use crate::protect::{AttemptRecord, Savepoint, Site, StoryList, UserRefs};
use crate::refs::{KeptRef, Update, free_names};
use crate::settings::Settings;
use crate::slot::Slot;
use crate::state::{ApprovedRange, Effect, Lock, Progress, State, StateError, Store};

/// A loop that this process may change. It holds the lock, except while it asks the user (`question`).
pub struct Loop<'o> {
    /// The repository, its configuration and the observer.
    pub context: Context<'o>,
    /// The loop's state as last saved.
    pub state: State,
    pub(super) store: Store,
    /// The effect of an interrupted step that opening the loop has completed.
    pub completed: Option<Effect>,
    /// The known facts of the repository.
    pub(super) view: View,
    /// Events of this step for the hooks, which run once nothing is in progress.
    pub(super) due: RefCell<Vec<Event>>,
    /// The ids of the stories that were open when this process last left the list.
    pub(super) open_stories: Option<Vec<String>>,
    /// The template of reviews when the command began.
    pub(super) review_template: RefCell<Option<Template>>,
    /// True while the work of a killed git-ralph is completed: all knowledge of it comes from files.
    pub(super) is_recovering: bool,
    /// True in a command that only shows the loop.
    pub(super) is_looking: bool,
    /// The number of stories completed beside the last attempt, in a run that puts stories off (`ralph.onFailure=later`).
    pub(super) puts_off: Option<usize>,
    /// The story that a run lets change tests, once it has begun.
    pub(super) story_that_may_change_tests: Option<String>,
    /// The files of the work tree that receive this process's own output: they do not count as work.
    pub(super) own_output: Vec<Vec<u8>>,
    /// The list when sides began to run; `None` if none runs.
    pub(super) held_list: Option<StoryList>,
    /// True if this command has named to the user the line that an agent never printed.
    pub(super) has_told_missing_line: Cell<bool>,
    /// The events of the loop that this process has read.
    history: RefCell<log::Reader>,
    /// The latest events, without the first of very many.
    latest: RefCell<Option<Box<log::Reader>>>,
    /// The number of the latest attempt at each story, as listed since this process took the lock.
    pub(super) numbers: RefCell<BTreeMap<String, u32>>,
    slot: Slot,
    lock: Option<Lock>,
}

impl<'o> Loop<'o> {
    /// Builds an open loop from its parts, without knowledge of the repository.
    pub(super) fn new(mut context: Context<'o>, mut state: State, store: Store, lock: Lock) -> Self {
        take_commands(&mut state, &context.configuration);
        let git = &mut context.repo.git;
        *git = git
            .clone()
            .with_index(state.common.strategy.loop_index(&store.dir()));
        Self {
            own_output: own_output::files_below(&context.repo.top),
            slot: store.slot(),
            history: RefCell::default(),
            latest: RefCell::default(),
            numbers: RefCell::default(),
            context,
            state,
            store,
            completed: None,
            view: View::default(),
            due: RefCell::default(),
            open_stories: None,
            review_template: RefCell::default(),
            is_recovering: false,
            is_looking: false,
            puts_off: None,
            story_that_may_change_tests: None,
            held_list: None,
            has_told_missing_line: Cell::default(),
            lock: Some(lock),
        }
    }

    /// Releases the lock, so that other commands can take the loop.
    pub(super) fn unlock(&mut self) {
        self.lock = None;
    }

    /// Takes the loop back, possibly changed by another command: drops all knowledge of the repository.
    pub(super) fn relock(&mut self, lock: Lock, mut state: State) {
        take_commands(&mut state, &self.context.configuration);
        self.lock = Some(lock);
        self.state = state;
        self.numbers.take();
        self.view.drop_all();
    }

    /// Returns whether this process holds the loop: another one may have taken it during a question.
    pub fn is_held(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the change.
    pub fn change(&self) -> &Change {
        &self.state.change
    }

    /// Returns the settings for a command on this loop.
    pub fn settings(&self) -> Settings {
        self.state.settings_in(&self.context.configuration)
    }

    /// Returns the repository of the loop, seen from its work tree.
    pub fn repo(&self) -> &Repo {
        &self.context.repo
    }

    /// Returns the git of the loop's repository.
    pub fn git(&self) -> &Git {
        &self.context.repo.git
    }

    /// Returns a file in the loop's own directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.slot.loop_dir().join(name)
    }

    /// Returns the history of the loop, after reading new events.
    pub fn history(&self) -> Result<Ref<'_, log::Reader>, FileError> {
        self.history.borrow_mut().read_on(&self.file("events.jsonl"))?;
        Ok(self.history.borrow())
    }

    /// Returns the attempts since the loop was last started.
    pub fn attempts(&self) -> Result<Vec<LogEntry>, FileError> {
        Ok(self.history()?.history.ended().cloned().collect())
    }

    /// Returns the history without the first of very many events, but with the gates of all.
    pub fn latest_history(&self) -> Result<Ref<'_, log::Reader>, FileError> {
        let events = self.file("events.jsonl");
        let mut latest = self.latest.borrow_mut();
        if latest.is_none() {
            *latest = tally::reader_of_last(&events)?.map(Box::new);
        }
        let Some(reader) = latest.as_mut() else {
            drop(latest);
            return self.history();
        };
        reader.read_on(&events)?;
        drop(latest);
        let latest = Ref::filter_map(self.latest.borrow(), Option::as_deref);
        latest.or_else(|_| self.history())
    }

    /// Returns the totals of the loop's events.
    pub fn tally(&self) -> Result<Tally, FileError> {
        Tally::read(&self.file("events.jsonl"))
    }

    /// Caches the totals of the loop's events.
    pub(super) fn remember_tally(&self) {
        if let Err(error) = tally::remember(&self.store.door(), &self.file("events.jsonl")) {
            tracing::warn!("cannot remember what the events add up to: {error}");
        }
    }

    /// Returns the repository and the loop's slot.
    pub(crate) fn site(&self) -> Site<'_> {
        Site::new(&self.context.repo, &self.slot, self)
    }

    /// Records an event and shows it.
    pub fn emit(&self, what: What) {
        let event = Event::now(self.change().as_str(), what);
        if let Err(error) = append(self.slot.loop_dir(), &event.line()) {
            tracing::warn!("cannot record an event: {error}");
        }
        self.context.observer.hear(News::Event(&event));
        if Hook::after(&event.what).is_some() {
            self.due.borrow_mut().push(event);
        }
    }

    /// Shows a message that does not stop the loop.
    pub fn tell(&self, message: impl Into<String>) {
        self.emit(What::Notice {
            message: message.into(),
        });
    }

    /// Saves the state before anything that relies on it.
    pub(crate) fn save(&self) -> Result<(), Error> {
        Ok(self.store.save(&self.state)?)
    }

    /// Saves the state with less durability.
    pub(super) fn save_for(&self, durability: Durability) -> Result<(), Error> {
        Ok(self.store.save_for(&self.state, durability)?)
    }

    /// Changes the progress; the caller saves the state.
    pub(super) fn advance<T>(
        &mut self,
        change: impl FnOnce(&mut Progress) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        advance(&mut self.state, change)
    }

    /// Records that the user approved the changes from the commit `from` to the checkpoint; the caller saves the state.
    pub(super) fn approve_changes(&mut self, from: Oid) {
        let to = self.state.checkpoint().clone();
        if from != to {
            self.state.common.approved.push(ApprovedRange { from, to });
        }
    }

    /// Refuses to continue if the loop is closed.
    pub fn require_live(&self) -> Result<(), Error> {
        if self.state.is_live() {
            Ok(())
        } else {
            Err(StepRefusal::of_end(&self.state).into())
        }
    }

    /// Drops all knowledge of the repository: other processes may have changed it.
    pub fn drop_cache(&self) {
        self.view.drop_all();
    }

    /// Returns whether `git ralph stop` asked for an end between two attempts; a side asks about its loop.
    pub fn is_asked_to_stop(&self) -> bool {
        let of = self.loop_of_side();
        self.store.is_asked_to_stop() || of.is_some_and(|of| of.is_holder_asked_to_stop())
    }

    /// Returns the loop for which this side works; `None` if this loop is no side.
    pub(crate) fn loop_of_side(&self) -> Option<Store> {
        let is_side = self.state.here.is_side;
        is_side.then(|| self.store.of_other(&self.change().worked_on()))
    }

    /// Returns the start of the loop whose limits apply: for a side, the loop for which it works.
    pub(crate) fn began(&self) -> Result<Timestamp, StateError> {
        let of = match self.loop_of_side() {
            Some(of) => of.load()?,
            None => None,
        };
        Ok(of.as_ref().unwrap_or(&self.state).common.started)
    }

    /// Returns the savepoint of the last checkpoint.
    pub(crate) fn checkpoint(&self) -> Savepoint<'_> {
        let state = &self.state;
        let gate_files = state.here.gate_files.borrow();
        let nested = state.here.before.nested.iter().map(|path| percent_decode(path));
        let (tree, commit) = (state.checkpoint_tree().clone(), state.checkpoint().clone());
        Savepoint {
            nested: nested.chain(self.own_output.iter().cloned()).collect(),
            gate_files: gate_files
                .iter()
                .map(|file| (file.path.clone(), file.clone()))
                .collect(),
            has_own_inventory: state.is_by_process(),
            ..Savepoint::of_checkpoint(self.site(), tree, commit, state.work_began())
        }
    }

    /// Returns the name of the trash of the current attempt.
    pub(crate) fn trash_name(&self) -> String {
        match self.state.current() {
            Some(story) => format!("{}.{}", ref_component(&story.id), story.attempt),
            None => "between".to_owned(),
        }
    }

    /// Returns the record of the current attempt, or of the next one.
    pub(crate) fn attempt_record(&self) -> AttemptRecord<'_> {
        let state = &self.state;
        let others = self.store.others_held();
        AttemptRecord {
            site: self.site(),
            change: &state.change,
            head: state.loop_head(),
            tip: state.tip_ref(),
            source: state.source(),
            checkpoint: self.checkpoint(),
            name: self.trash_name(),
            is_alone: others.as_ref().is_ok_and(Vec::is_empty),
            others: others.unwrap_or_default(),
        }
    }

    /// Disables filters that were added to the configuration of a submodule since the loop began.
    pub(crate) async fn switch_off_foreign_filters(&self) -> Result<(), Error> {
        let settings = self.site().switched_off_filters().await?;
        self.context.repo.git.change_settings(settings);
        Ok(())
    }

    /// Reads the present work tree, compared with the checkpoint. One scan.
    pub(crate) async fn read_work_tree(&self) -> Result<Reading, Error> {
        Ok(self.checkpoint().read(Count::Nothing).await?)
    }

    /// Reads the present work tree, and counts its differences from the checkpoint. One scan.
    pub(crate) async fn read_and_count(&self) -> Result<Reading, Error> {
        Ok(self.checkpoint().read(Count::Lines).await?)
    }

    /// Counts the differences between a work tree and the checkpoint; `None` if git cannot.
    pub(super) async fn size_of(&self, reading: &Reading) -> Option<DiffSize> {
        if let Some(size) = reading.size() {
            return Some(size);
        }
        let git = &self.context.repo.git;
        git.diff_size(self.state.checkpoint_tree(), &reading.tree)
            .await
            .ok()
    }

    /// Returns the position of HEAD and the branch; runs git only if a process may have moved them since the last call.
    pub(crate) async fn position(&self) -> Result<Position, Error> {
        let repo = &self.context.repo;
        if let Some(head) = self.view.head() {
            match self.view.refs() {
                _ if self.state.has_branch() => {
                    return position::position_at(&repo.git, &self.state, head).await;
                }
                Some(refs) => return Ok(Position::new(head, &self.state, |name| refs.at(name))),
                None => {}
            }
        }
        self.read_position().await
    }

    async fn read_position(&self) -> Result<Position, Error> {
        let (refs, head) = self.context.repo.ref_values_and_head().await?;
        let position = Position::new(head.clone(), &self.state, |name| {
            refs.get(name).map(|value| value.oid().clone())
        });
        let refs = UserRefs::of(refs, &self.state.change, self.state.has_branch());
        self.view.note_refs(refs);
        self.view.note_head(head);
        Ok(position)
    }

    /// Closes the open loop; returns the repository, with its present HEAD.
    pub fn into_context(self) -> impl Future<Output = Result<Context<'o>, Error>> {
        let known = self.view.head();
        let mut context = self.context;
        async move {
            context.head = match known {
                Some(head) => head,
                None => context.repo.head().await?,
            };
            Ok(context)
        }
    }

    /// Returns the user's refs, from memory if no process can have changed them since they were read.
    pub(crate) async fn user_refs(&self) -> Result<UserRefs, Error> {
        if let Some(known) = self.view.refs() {
            return Ok(known);
        }
        let refs = self.read_user_refs().await?;
        self.view.note_refs(refs.clone());
        Ok(refs)
    }

    /// Reads the user's refs.
    pub(crate) async fn read_user_refs(&self) -> Result<UserRefs, Error> {
        let (repo, own) = (&self.context.repo, &self.state.change);
        Ok(UserRefs::read(repo, own, self.state.has_branch()).await?)
    }

    /// Moves refs, and HEAD from its old to its new value, in one transaction; drops the knowledge of them.
    pub(super) async fn move_refs(
        &self,
        updates: &[Update],
        from: &Head,
        to: &Head,
        why: &str,
    ) -> Result<(), Error> {
        self.view.drop_refs();
        let repo = &self.context.repo;
        Ok(repo.update_refs_and_head(updates, from, to, why).await?)
    }

    /// Keeps commits under the `wanted` names, or under free names derived from them; returns the names.
    pub(crate) async fn keep_refs(&self, wanted: &[KeptRef], why: &str) -> Result<Vec<KeptRef>, Error> {
        let refs = self.read_user_refs().await?;
        let (updates, found) = free_names(wanted, |name| refs.at(name));
        let Err(error) = self.update_refs(&updates, why).await else {
            return Ok(found);
        };
        match split_lost(&self.context.repo, self, wanted).await? {
            (_, lost) if lost.is_empty() => Err(error),
            (there, _) => Box::pin(self.keep_refs(&there, why)).await,
        }
    }

    /// Changes refs that keep the work of the loop.
    pub(crate) async fn update_refs(&self, updates: &[Update], why: &str) -> Result<(), Error> {
        self.view.drop_refs();
        Ok(self.context.repo.git.update_refs(updates, why).await?)
    }

    /// Commits a tree on top of the checkpoint.
    pub(crate) async fn commit_on_checkpoint(&self, tree: &Oid, message: &str) -> Result<Oid, Error> {
        let below = [self.state.checkpoint()];
        Ok(self.context.repo.commit_tree(tree, &below, message).await?)
    }
}

/// Appends to the events of the loop in `dir`; follows no symlink at `dir`, or above it in git's directory.
fn append(dir: &Path, line: &str) -> io::Result<()> {
    Below::of_loop(dir).append(&dir.join("events.jsonl"), line.as_bytes())
}

impl Notices for Loop<'_> {
    fn tell(&self, message: String) {
        self.emit(What::Notice { message });
    }
}

/// Changes the progress in the state of a loop.
pub(super) fn advance<T>(
    state: &mut State,
    change: impl FnOnce(&mut Progress) -> Result<T, Refusal>,
) -> Result<T, Error> {
    change(&mut state.common.progress).map_err(|refusal| refusal_of(state, refusal))
}

/// Turns a refusal of the progress into the error about this loop.
fn refusal_of(state: &State, refusal: Refusal) -> Error {
    let change = state.change.to_string();
    let progress = state.progress();
    let story = progress.current();
    let id = story.map(|story| story.id.clone()).unwrap_or_default();
    match refusal {
        Refusal::RetryFirst => StepRefusal::RetryFirst {
            change,
            story: id,
            left: progress
                .max_retries
                .saturating_sub(story.map_or(0, |story| story.retries)),
        }
        .into(),
        Refusal::RetriesSpent => StepRefusal::RetriesSpent { change, story: id }.into(),
        Refusal::NothingFailed => StepRefusal::NothingFailed(change).into(),
        Refusal::Finished => StepRefusal::of_end(state).into(),
        Refusal::NoStory => {
            let (skipped, put_off) = progress.left_out();
            StoryRefusal::NothingLeft {
                skipped,
                put_off,
                change,
                done: progress.completed.len(),
                total: progress.completed.len(),
                live: true,
                stories: None,
            }
            .into()
        }
        Refusal::Running | Refusal::NotRunning => StepRefusal::WrongPhase(change).into(),
    }
}

/// Refuses a step that a loop may not begin now.
pub fn require_step(state: &State, step: Step) -> Result<(), Error> {
    let may_begin = state.common.progress.may_begin(step);
    may_begin.map_err(|refusal| refusal_of(state, refusal))
}
