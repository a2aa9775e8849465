//! The status of a loop: `git ralph status`.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::at_work::{Asked, GateAtWork, RunningAttempt, Waiting};
use super::beside::ParallelAttempt;
use super::ending::how_closed;
use super::session::SessionStatus;
use crate::engine::list_growth::has_new_story;
use crate::engine::stories::{Upcoming, listing_of, progress_of, short_names, upcoming};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::{Context, raised_by};
use crate::error::Error;
use crate::events::Attempt;
use crate::events::log::attempts;
use crate::events::tally::Tally;
use crate::fs::seen;
use crate::git::Repo;
use crate::names::{Change, Oid, ShortNames, typed};
use crate::settings::Strategy;
use crate::state::{Intent, Phase, State, Store, noted};
use crate::stories::Listing;

/// The other run that holds a loop on a remote.
#[derive(Clone, Debug)]
pub struct HeldThere {
    /// A description of the run.
    pub holder: String,
    /// The remote.
    pub remote: String,
    /// The end of its lease.
    pub until: Timestamp,
}

/// The status of a loop: `git ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The change.
    pub change: Change,
    /// The phase as programs read it.
    #[serde(rename = "phase")]
    pub(super) shown_phase: Phase,
    /// The phase of the loop.
    #[serde(skip)]
    pub phase: Phase,
    /// The way in which it was closed (cleanup, keep, abort or aside); null while it is open.
    pub closed: Option<String>,
    /// Short name of the branch on which HEAD is during the loop; `HEAD` if it is detached.
    pub branch: String,
    /// The place of its checkpoints.
    pub strategy: Strategy,
    /// The branch on which it began; null if HEAD was detached.
    pub original_branch: Option<String>,
    /// The commit on which it began; null on a branch without one.
    pub original_head: Option<Oid>,
    /// The work tree that the loop made for itself; null if it works in one of the user's, or is finished.
    pub worktree: Option<String>,
    /// The latest checkpoint.
    pub checkpoint: Oid,
    /// The names of the stories in commands.
    #[serde(skip)]
    pub names: ShortNames,
    /// Number of all stories; null if the list cannot be read.
    pub stories_total: Option<usize>,
    /// Number of complete stories; null if the list cannot be read.
    pub stories_done: Option<usize>,
    /// Number of complete stories accepted on an agent's promise alone; null if the events do not say.
    pub by_promise_alone: Option<usize>,
    /// Number of complete stories without a promise (`ralph.noSignal`); null if the events do not say.
    pub without_promise: Option<usize>,
    /// The ids of complete stories for which no file changed, so that only the agent calls them done; null if the
    /// events do not say.
    pub by_word: Option<Vec<String>>,
    /// The ids of complete stories whose promise is doubtful, and that no reviewer accepted; null if the events do not tell.
    pub doubtful: Option<Vec<String>>,
    /// The ids of stories that were open, and are done or removed without an attempt.
    pub by_list: Vec<String>,
    /// The attempts after which a part of the list was restored, as story@number.
    pub list_put_back: Vec<String>,
    /// True if the stash has entries of the loop.
    #[serde(skip)]
    pub has_stash_entries: bool,
    /// The traces of the latest attempt at the current story.
    #[serde(skip)]
    pub traces: Traces,
    /// The ids of the stories that the loop skips.
    pub skipped: Vec<String>,
    /// The ids of the stories that the user asked to be skipped while a process held the loop, which has not skipped them yet.
    pub asked_to_skip: Vec<String>,
    /// The ids of the stories that failed and are tried again after the others (`ralph.onFailure=later`).
    pub put_off: Vec<String>,
    /// The ids of stories that cannot be put off: they were before, or all others wait for them.
    #[serde(skip)]
    pub not_put_off: Vec<String>,
    /// Number of the messages of the user that no attempt has been shown (`git ralph tell`).
    pub messages: usize,
    /// The attempt whose work `git ralph restore` restored, as story@number; null if there is none.
    pub restored: Option<String>,
    /// The attempt whose work stays in the work tree until a reviewer judges it, as story@number; null if there is none.
    pub unreviewed: Option<String>,
    /// The story being worked on, or the next one.
    pub current: Option<CurrentStory>,
    /// Retries after the first attempt, for each story.
    pub max_retries: u32,
    /// The attempt that is running now; null if there is none.
    pub running: Option<RunningAttempt>,
    /// The parallel attempts that run or that the loop has not taken in yet.
    pub beside: Vec<ParallelAttempt>,
    /// The command that takes them in, without `git ralph`; `None` while a process that takes them in holds the loop.
    #[serde(skip)]
    pub takes_in: Option<String>,
    /// The change whose loop takes in the work of this side; `None` if this is no side.
    #[serde(skip)]
    pub side_of: Option<Change>,
    /// The gate that now runs before the first attempt; null without one.
    pub gate: Option<GateAtWork>,
    /// The current wait for the agent's service; null if there is none.
    pub waiting: Option<Waiting>,
    /// The question that a run asks the user; null if none does.
    pub awaiting_choice: Option<Asked>,
    /// The reason why the last step or run ended early; null if its story is the reason, or during an attempt or a
    /// wait.
    pub stopped: Option<String>,
    /// The option of `git ralph run` that allows another attempt; `None` if no limit is reached.
    #[serde(skip)]
    pub raised_by: Option<String>,
    /// The remote that the loop was last on: what continues it there, too, comes first. Known to `git ralph status` alone.
    #[serde(skip)]
    pub shared_on: Option<String>,
    /// The other run that holds the loop on that remote, as far as known. Known to `git ralph status` alone.
    #[serde(skip)]
    pub held_there: Option<HeldThere>,
    /// The command that comes next: `next`, `retry`, `complete`, `finish` or `start`.
    pub next: &'static str,
    /// The agent's own session that drives the loop by its hooks, or the last one that did; null if there was none.
    pub session: Option<SessionStatus>,
    /// Number of the user's commits above the checkpoint, according to git's hooks.
    pub commits_by_hand: usize,
    /// The position of HEAD in the loop's work tree, if it is not on its branch; null also if unknown.
    pub away: Option<String>,
    /// The reason why no story can be named, if there is one: the list cannot be read, or its stories wait for others.
    pub problem: Option<String>,
    /// The ids of the stories that are open in the list; empty if it was not read.
    #[serde(skip)]
    pub(super) open: Vec<String>,
    /// The end of a finished loop.
    #[serde(skip)]
    pub over: Option<Over>,
    /// The command that the loop needs before it can continue, and its purpose.
    #[serde(skip)]
    pub way_back: Option<(String, &'static str)>,
    /// The interrupted step, if any.
    #[serde(skip)]
    pub cut_off: Option<&'static str>,
    /// A message about a git operation in progress in the loop's work tree, while no attempt runs.
    #[serde(skip)]
    pub operation: Option<String>,
    /// True if `finish` or `abort` was interrupted, and the same command completes it.
    #[serde(skip)]
    pub is_closing: bool,
    /// True if the work tree that the loop made for itself is gone.
    #[serde(skip)]
    pub work_tree_is_gone: bool,
    /// The loop's work tree, if it is another work tree of the user's.
    #[serde(skip)]
    pub work_tree: Option<PathBuf>,
}

/// The end of a finished loop.
#[derive(Clone, Debug)]
pub struct Over {
    /// A description of how it was closed, and of its progress.
    pub words: String,
    /// The command that shows its commits; `None` if `prune` has removed them.
    pub commits: Option<String>,
    /// The command that begins it again, if a story is open.
    pub again: Option<String>,
    /// The argument for the list in this command.
    list: Option<String>,
}

/// The current story in a status.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CurrentStory {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The number of its latest attempt; absent if there was none.
    pub attempt: Option<u32>,
    /// Retries used so far.
    pub retries: u32,
    /// The reason why the last attempt failed.
    pub reason: Option<String>,
    /// True if it may need permission to change tests.
    #[serde(skip)]
    pub needs_leave: bool,
    /// True if it is not retried without that permission.
    #[serde(skip)]
    pub is_spent: bool,
}

impl Status {
    /// Returns the status of a loop of this repository. Reads the story list in the loop's own work tree, and only
    /// while its branch is checked out there: another branch has another list.
    pub async fn seen_from(context: &Context<'_>, state: &State) -> Result<Self, Error> {
        let (repo, head) = (&context.repo, &context.head);
        let running = RunningAttempt::of(&repo.common_dir, state);
        let waiting = Waiting::of(repo, state);
        let mut status = Self::where_it_is(repo, head, state).await?;
        let store = Store::new(&repo.common_dir, &state.change);
        let events = store.file("events.jsonl");
        if let Ok(tally) = Tally::read(&events) {
            status.add_attempts(&repo.common_dir, state, &tally);
            status.raised_by = raised_by(state, tally.cost, &state.settings_in(&context.configuration));
        }
        let mut status = status.with(running, waiting, repo, state);
        if !status.beside.is_empty() {
            let attempts = attempts(&events).unwrap_or_default();
            status.beside.retain(|one| !one.is_among(&attempts));
        }
        if let Some(over) = &mut status.over {
            if over.again.is_none() && has_new_story(state, &repo.top) {
                over.again = state.begin_again(over.list.as_deref(), true);
            }
            let finished = state.change.ralph_ref("finished");
            if repo.git.oid_at(&finished).await?.is_none() {
                over.commits = None;
            }
        }
        Ok(status)
    }

    /// Returns the status of a loop from its files, without reading the story list and without git.
    pub fn by_files(repo: &Repo, state: &State) -> Self {
        let running = RunningAttempt::of(&repo.common_dir, state);
        let waiting = Waiting::of(repo, state);
        Self::remembered(state).with(running, waiting, repo, state)
    }

    /// Adds what the attempts of the loop tell.
    pub fn add_attempts(&mut self, common_dir: &Path, state: &State, tally: &Tally) {
        self.list_put_back.clone_from(&tally.list_put_back);
        let latest = self.current.as_ref().and_then(|story| tally.latest(&story.id));
        let unchanged = latest.filter(|attempt| attempt.files == Some(0));
        self.traces = match unchanged {
            None => Traces::Work,
            Some(attempt) if printed_nothing(common_dir, state, attempt) => Traces::None,
            Some(_) => Traces::Output,
        };
        self.add_bases(state, tally);
    }

    /// Adds the bases of the complete stories; returns `None` if some are unknown. The state lists the complete
    /// stories, because an attempt without its checkpoint is repeated, except those open in the list again; the
    /// attempts have the basis of each, and some may be missing (a full disk, an earlier version).
    fn add_bases(&mut self, state: &State, tally: &Tally) -> Option<()> {
        let (mut promise_alone, mut without_promise) = (0, 0);
        let (mut by_word, mut doubtful) = (Vec::new(), Vec::new());
        let completed = &state.progress().completed;
        for (at, story) in completed.iter().enumerate() {
            let is_again = completed[..at].iter().any(|earlier| earlier.id == story.id);
            if is_again || self.open.contains(&story.id) {
                continue;
            }
            let attempt = tally.complete(&story.id)?;
            if attempt.rests_on.is_empty() {
                return None;
            }
            promise_alone += usize::from(attempt.is_by_promise_alone());
            without_promise += usize::from(attempt.is_unpromised());
            if attempt.is_by_word() {
                by_word.push(story.id.clone());
            } else if attempt.is_doubtful() {
                doubtful.push(story.id.clone());
            }
        }
        self.by_promise_alone = Some(promise_alone);
        self.without_promise = Some(without_promise);
        self.by_word = Some(by_word);
        self.doubtful = Some(doubtful);
        Some(())
    }

    /// Returns a message about restored parts of the list, if there are any.
    pub fn put_back_in_words(&self) -> Option<String> {
        let names = self.list_put_back.join(", ");
        (!names.is_empty()).then(|| format!("changes to the story list were undone after: {names}"))
    }

    /// Adds the running processes, and how the loop was closed.
    fn with(
        mut self,
        running: Option<RunningAttempt>,
        waiting: Option<Waiting>,
        repo: &Repo,
        state: &State,
    ) -> Self {
        if waiting.is_some() {
            self.stopped = None;
        }
        let store = Store::new(&repo.common_dir, &state.change);
        self.messages += store.untaken();
        self.asked_to_skip = store.asked_to_skip().unwrap_or_default();
        if !state.is_live() {
            self.closed = how_closed(repo, state);
            let list = state.source().to_name(&repo.top, state.change.as_str());
            self.over = Some(Over {
                words: state.end_in_words(),
                commits: Some(state.show_commits()),
                again: state.begin_again(list.as_deref(), false),
                list,
            });
        }
        (self.running, self.waiting) = (running, waiting);
        self.gate = GateAtWork::of(repo, state);
        self.beside = ParallelAttempt::all_of(&repo.common_dir, state);
        let is_free = !self.beside.is_empty() && !store.is_held();
        self.takes_in = is_free.then(|| format!("run {}", typed(&state.change)));
        self
    }

    /// Returns the status of a loop whose story list is at `top`.
    pub async fn of(state: &State, top: &Path) -> Self {
        if !state.is_live() {
            return Self::from_listing(state, None, None);
        }
        match listing_of(state, top).await {
            Ok(listing) => Self::from_listing(state, Some(&listing), None),
            Err(error) => Self::from_listing(state, None, Some(error.to_string())),
        }
    }

    /// Returns the status of a loop whose story list was just read.
    pub fn remembered(state: &State) -> Self {
        let listed = state.listed();
        Self {
            stories_done: listed.map(|listed| listed.done),
            stories_total: listed.map(|listed| listed.total),
            ..Self::from_listing(state, None, None)
        }
    }

    pub(super) fn from_listing(
        state: &State,
        listing: Option<&Listing>,
        mut problem: Option<String>,
    ) -> Self {
        let counts = listing.map(progress_of);
        let mut progress = state.progress().clone();
        if let Some(listing) = listing {
            progress.skipped = state.still_skipped(listing);
            let open = listing.open().map(|story| story.id.clone());
            let open: Vec<String> = open.filter(|id| !progress.skipped.contains(id)).collect();
            // During an attempt, and in a closed loop, the phase stays.
            let _ = progress.listed(&open);
        }
        let next_up = listing.map(|listing| upcoming(listing, &progress.skipped));
        let current = match (progress.current(), &next_up) {
            (Some(story), _) => Some(CurrentStory {
                id: story.id.clone(),
                title: story.title.clone(),
                attempt: Some(story.attempt),
                retries: story.retries,
                reason: story.why().map(ToOwned::to_owned),
                needs_leave: story.needs_leave || story.is_spent,
                is_spent: story.is_spent,
            }),
            (None, Some(Upcoming::Story(story))) => Some(CurrentStory {
                id: story.id.clone(),
                title: story.title.clone(),
                ..CurrentStory::default()
            }),
            (None, Some(Upcoming::Blocked(blocked))) => {
                problem = Some(StoryRefusal::Blocked(blocked.clone()).to_string());
                None
            }
            (None, _) => None,
        };
        let (skipped, put_off) = progress.left_out();
        let listed = listing.iter().flat_map(|listing| &listing.stories);
        let has_own = state.has_own_work_tree() && state.is_live();
        Self {
            change: state.change.clone(),
            shown_phase: progress.shown(progress.phase),
            phase: progress.phase,
            branch: state.common.branch.clone(),
            strategy: state.common.strategy,
            original_branch: state.begun_on().cloned(),
            original_head: state.common.original_head.clone(),
            worktree: has_own.then(|| state.here.worktree.to_string()),
            checkpoint: state.checkpoint().clone(),
            stories_total: counts.map(|(_, total)| total),
            stories_done: counts.map(|(done, _)| done),
            names: listing.map_or_else(|| short_names(state), Listing::short_names),
            open: listed
                .filter(|story| !story.done)
                .map(|story| story.id.clone())
                .collect(),
            skipped,
            asked_to_skip: Vec::new(),
            put_off,
            not_put_off: {
                let tried = progress.put_off.iter().filter(|other| other.is_over);
                tried.map(|other| other.story.id.clone()).collect()
            },
            messages: state.unshown(),
            restored: state.here.restored.clone().filter(|_| !state.here.is_unreviewed),
            unreviewed: state.unreviewed().map(str::to_owned),
            current,
            max_retries: progress.max_retries,
            by_list: state.common.list.by_list_alone(state.progress()),
            list_put_back: Vec::new(),
            has_stash_entries: !state.here.save_points.is_empty(),
            traces: Traces::Work,
            by_promise_alone: None,
            without_promise: None,
            by_word: None,
            doubtful: None,
            session: SessionStatus::of(state),
            operation: None,
            closed: None,
            running: None,
            beside: Vec::new(),
            takes_in: None,
            side_of: state
                .change
                .side_of()
                .map(|(of, _)| of)
                .filter(|_| state.here.is_side),
            gate: None,
            waiting: None,
            awaiting_choice: state.asked().map(Asked::of),
            stopped: state
                .here
                .stopped
                .clone()
                .filter(|_| matches!(progress.phase, Phase::Ready | Phase::Failed | Phase::Exhausted)),
            raised_by: None,
            shared_on: None,
            held_there: None,
            next: match progress.phase {
                Phase::Ready | Phase::Failed | Phase::Exhausted
                    if state.here.restored.is_some() && !state.here.is_unreviewed =>
                {
                    "complete"
                }
                Phase::Ready | Phase::Running => "next",
                Phase::Failed => "retry",
                Phase::Exhausted | Phase::Complete => "finish",
                Phase::Finished => "start",
            },
            problem,
            over: None,
            way_back: None,
            cut_off: state.intent.as_ref().map(Intent::step),
            is_closing: false,
            work_tree_is_gone: false,
            work_tree: None,
            commits_by_hand: noted::commits(state),
            away: if state.is_live() { noted::away(state) } else { None },
        }
    }
}

/// What there is to see of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// Changed files, as far as it is known.
    Work,
    /// Only its log.
    Output,
    /// Neither: its log is empty.
    None,
}

/// Returns whether the log of an attempt is empty.
pub(super) fn printed_nothing(common_dir: &Path, state: &State, attempt: &Attempt) -> bool {
    let store = Store::new(common_dir, &state.change);
    seen(&store.attempt_log(&attempt.story, attempt.attempt)).is_none_or(|log| log.len() == 0)
}
