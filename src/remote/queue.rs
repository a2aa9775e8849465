//! The changes of this work tree and the loops on a remote, in one list: the remaining work, and who does it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::grown::{Ids, List, has_grown_since};
use super::lease::{Holding, Watch};
use super::refusal::RemoteRefusal;
use super::server::{Server, There};
use super::tenure::other_work;
use crate::engine::Context;
use crate::engine::story_refusal::StoryRefusal;
use crate::error::Error;
use crate::exit::Exit;
use crate::names::{Change, Oid, counted, typed};
use crate::settings::Settings;
use crate::state::{self, Ending, Phase, State, Store};
use crate::stories;

/// Maximum number of jobs in a matrix of a CI system.
pub const MOST_JOBS: usize = 256;

/// The phase of a loop on the remote that is invalid or unreadable.
pub const UNREADABLE: &str = "unknown";

/// The reason why no run can take a loop that another run holds.
const HELD: &str = "another run holds it";

/// The changes of this work tree that have a list, with the state of each.
pub type Lists = BTreeMap<Change, Entry>;

/// The changes, and the remote that was listed.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    /// The version of this document.
    pub v: u32,
    /// The remote; null if only this work tree was read.
    pub remote: Option<String>,
    /// The number of changes that a run holds.
    pub run: usize,
    /// The number of changes that a run can take.
    pub wait: usize,
    /// The number of changes that need the user.
    pub need_person: usize,
    /// The number of changes without remaining work.
    pub finished: usize,
    /// The changes: those that need attention first, then those with a loop that can continue, then new ones.
    pub changes: Vec<Entry>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its name.
    pub change: Change,
    /// Its story list in this work tree; null without one.
    pub source: Option<String>,
    /// All stories; null if unknown.
    pub total: Option<usize>,
    /// Complete stories.
    pub done: usize,
    /// Stories that are neither complete nor left to do: the loop skips them.
    pub skipped: usize,
    /// `new` for a change without a loop, `blocked` if the host refused its work, else the phase of its loop.
    pub phase: &'static str,
    /// The run that holds it.
    pub holder: Option<String>,
    /// The time of its last renewal, by its own clock.
    pub renewed: Option<Timestamp>,
    /// The number of state commits on the remote.
    pub generation: u64,
    /// The branch of its checkpoints.
    pub branch: String,
    /// Its last checkpoint.
    pub checkpoint: Option<Oid>,
    /// True if the numbers and the phase come from the message of the state on the remote: its content was not read.
    pub claimed: bool,
    /// True if a run can take it now.
    pub free: bool,
    /// The reason why no run can take it.
    pub why: String,
    /// Finished changes, and the original branch, with which it would conflict; absent if this was not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts_with: Option<Vec<String>>,
    /// The stories in the list of this work tree.
    #[serde(skip)]
    pub ids: Ids,
    /// The object of its state.
    #[serde(skip)]
    pub there: Option<There>,
}

/// Lists the changes of this work tree and the loops on a remote. Lists the remote once, and fetches only commits, if
/// there are new ones.
pub async fn read(
    context: &Context<'_>,
    settings: &Settings,
    server: Option<&Server>,
    watch: &mut Watch,
) -> Result<Queue, Error> {
    let lists = lists(context, settings).await;
    let mut entries = BTreeMap::new();
    for change in state::loops(&context.repo.common_dir)? {
        let store = Store::new(&context.repo.common_dir, &change);
        let entry = match store.load() {
            Ok(Some(state)) if is_grown(lists.get(&change), &state) => continue,
            Ok(Some(state)) => of_loop(&store, &state),
            Ok(None) => continue,
            // An unreadable change must not hide the others.
            Err(error) => Entry::none(change.clone(), error.to_string()),
        };
        entries.insert(change, entry);
    }
    for (change, list) in &lists {
        entries.entry(change.clone()).or_insert_with(|| list.clone());
    }
    if let Some(server) = server {
        for mut entry in on_remote(server, &lists, watch).await? {
            let here = entries.remove(&entry.change);
            // No run can work here until this is solved.
            let unreadable = here.clone().filter(|here: &Entry| here.phase == UNREADABLE);
            entry.source = here.and_then(|here| here.source);
            entries.insert(entry.change.clone(), unreadable.unwrap_or(entry));
        }
        let new = |entry: &&mut Entry| entry.free && entry.checkpoint.is_none();
        for entry in entries.values_mut().filter(new) {
            if let Some(refusal) = other_work(context, server, &entry.change, watch).await? {
                (entry.free, entry.why) = (false, refusal.with_hint());
            }
        }
    }
    let mut changes: Vec<Entry> = entries.into_values().collect();
    changes.sort_by_key(|entry| {
        let needs_person = entry.standing() == Standing::NeedsPerson;
        let (is_new, is_finished) = (entry.phase == "new", entry.phase == "finished");
        (!needs_person, !entry.free, is_new, is_finished)
    });
    let number = |standing| {
        changes
            .iter()
            .filter(|entry| entry.standing() == standing)
            .count()
    };
    Ok(Queue {
        v: 1,
        remote: server.map(|server| server.name().to_owned()),
        run: number(Standing::Runs),
        wait: number(Standing::Waits),
        need_person: number(Standing::NeedsPerson),
        finished: number(Standing::Finished),
        changes,
    })
}

/// Reads the lists of the changes in this work tree.
pub async fn lists(context: &Context<'_>, settings: &Settings) -> Lists {
    let mut lists = Lists::new();
    for name in stories::changes(&context.repo.top) {
        let Ok(change) = Change::new(&name) else { continue };
        if let Some(entry) = here(context, settings, &change).await {
            lists.insert(change, entry);
        }
    }
    lists
}

/// Lists only the loops on a remote, by name. A finished one whose list among these has grown can begin again.
pub async fn on_remote(server: &Server, lists: &Lists, watch: &mut Watch) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    let refs = server.refs_of_all().await?;
    let listing = server.list_among(&refs).await?;
    watch.refs = Some(refs);
    for (change, found) in listing {
        let went_back = match &found {
            Ok(there) => server.went_back(there).await?,
            Err(_) => None,
        };
        let entry = match went_back {
            Some(refusal) => Entry::none(change, refusal.with_hint()),
            None => entry_of(server, change, found, watch),
        };
        let is_grown = match (lists.get(&entry.change), &entry.there) {
            // A finished loop that cannot be read stays finished.
            (Some(list), Some(there)) => has_grown_since(server, &list.ids, there).await.unwrap_or(false),
            _ => false,
        };
        entries.push(match lists.get(&entry.change).filter(|_| is_grown) {
            Some(list) => again(server, list, entry, watch),
            None => entry,
        });
    }
    Ok(entries)
}

/// The next action that a change needs, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A run works on it.
    Runs,
    /// A run can take it.
    Waits,
    /// It needs the user.
    NeedsPerson,
    /// Nothing is left to do.
    Finished,
}

impl Entry {
    /// Returns the entry of an unknown change that no run can take for this reason.
    fn none(change: Change, why: String) -> Self {
        Self {
            source: None,
            total: None,
            done: 0,
            skipped: 0,
            phase: UNREADABLE,
            holder: None,
            renewed: None,
            generation: 0,
            branch: change.branch(),
            checkpoint: None,
            claimed: false,
            ids: Ids::default(),
            free: false,
            why,
            conflicts_with: None,
            there: None,
            change,
        }
    }

    /// Returns the exit code of a run that leaves the change to the user.
    pub fn exit(&self) -> Exit {
        match self.phase {
            "exhausted" => Exit::RetriesSpent,
            _ => Exit::Person,
        }
    }

    /// Returns the next action that the change needs. A complete loop waits for the choice how to finish it.
    pub fn standing(&self) -> Standing {
        let has_loop = self.checkpoint.is_some();
        match self.phase {
            "blocked" | UNREADABLE => Standing::NeedsPerson,
            // Its list has no story.
            "new" if !self.free => Standing::NeedsPerson,
            "exhausted" | "complete" if has_loop && self.holder.is_none() && !self.free => {
                Standing::NeedsPerson
            }
            "finished" => Standing::Finished,
            "complete" if !has_loop => Standing::Finished,
            _ if self.free => Standing::Waits,
            _ => Standing::Runs,
        }
    }
}

/// Returns the entry of a change that only this work tree has; `None` if its list cannot be read.
async fn here(context: &Context<'_>, settings: &Settings, change: &Change) -> Option<Entry> {
    let List { source, ids } = List::read(context, settings, change).await?;
    let (done, total) = ids.numbers();
    let is_open = done < total;
    let (phase, why) = match total {
        0 => ("new", StoryRefusal::of_none(source.clone()).to_string()),
        _ if is_open => ("new", String::new()),
        _ => ("complete", "no story is left".to_owned()),
    };
    Some(Entry {
        source: Some(source.path),
        total: Some(total),
        done,
        ids,
        phase,
        free: is_open,
        ..Entry::none(change.clone(), why)
    })
}

/// Returns whether a list has grown since a local loop was finished.
fn is_grown(list: Option<&Entry>, state: &State) -> bool {
    let (Some(list), Some(listed), false) = (list, state.listed(), state.is_live()) else {
        return false;
    };
    list.ids.have_grown((listed.done, listed.total), state)
}

/// Returns the entry of a finished loop on the remote whose list has grown: a new loop can begin on top of it.
fn again(server: &Server, list: &Entry, entry: Entry, watch: &mut Watch) -> Entry {
    let there = entry.there.as_ref();
    let holding = there.map(|found| server.holding_now(found, watch));
    let mut again = Entry {
        holder: entry.holder,
        renewed: entry.renewed,
        generation: entry.generation,
        there: entry.there,
        ..list.clone()
    };
    if matches!(holding, Some(Holding::Alive | Holding::Unknown)) {
        again.phase = "ready";
        again.free = false;
        HELD.clone_into(&mut again.why);
    }
    again
}

/// Returns the entry of a loop in this repository.
fn of_loop(store: &Store, state: &State) -> Entry {
    let phase = state.shown_phase();
    let is_held = store.is_held_by_living();
    let listed = state.listed();
    let total = listed.map(|listed| listed.total);
    let done = listed.map_or(state.progress().completed.len(), |listed| listed.done);
    let skipped = state.skipped_of(done, total.unwrap_or(usize::MAX));
    let nothing_left = state.phase() == Phase::Complete;
    let why = if is_held {
        "it is running here".to_owned()
    } else {
        why_not(phase, nothing_left, skipped)
    };
    let is_aside = state.here.closed == Some(Ending::Aside);
    let (phase, why) = if is_aside {
        let change = typed(&state.change);
        let resume =
            format!("it was set aside for another loop; to continue it: git ralph start {change} --resume");
        ("blocked", resume)
    } else {
        (phase.into(), why)
    };
    Entry {
        source: Some(state.source().path.clone()),
        total,
        done,
        skipped,
        phase,
        holder: store
            .holder()
            .filter(|_| is_held)
            .map(|process| format!("process {process} here")),
        branch: state.common.branch.clone(),
        checkpoint: Some(state.checkpoint().clone()),
        free: why.is_empty(),
        ..Entry::none(state.change.clone(), why)
    }
}

/// Returns the reason why a run cannot continue a loop in this phase; empty if it can.
fn why_not(phase: Phase, nothing_left: bool, skipped: usize) -> String {
    match phase {
        Phase::Finished => "it is finished".to_owned(),
        Phase::Complete | Phase::Exhausted if nothing_left && skipped == 0 => {
            "no story is left; finish it".to_owned()
        }
        Phase::Complete | Phase::Exhausted if nothing_left => {
            let skipped = counted(skipped as u64, "story is skipped", "stories are skipped");
            format!("{skipped}, and no other is left; finish it")
        }
        Phase::Complete | Phase::Exhausted => "a story has no retries left".to_owned(),
        Phase::Ready | Phase::Running | Phase::Failed => String::new(),
    }
}

/// Returns the entry of a loop on the remote.
pub fn entry_of(
    server: &Server,
    change: Change,
    found: Result<There, RemoteRefusal>,
    watch: &mut Watch,
) -> Entry {
    let found = match found {
        Ok(found) => found,
        Err(error) => return Entry::none(change, error.to_string()),
    };
    let record = &found.record;
    let holding = server.holding_now(&found, watch);
    let why = match (&record.blocked, holding) {
        (Some(words), _) => words.clone(),
        (None, _) if record.is_over() => {
            let skipped = record.total.saturating_sub(record.done);
            why_not(record.shown_phase(), record.has_nothing_left(), skipped)
        }
        (None, Holding::Free | Holding::Dead) => String::new(),
        (None, Holding::Alive | Holding::Unknown) => HELD.to_owned(),
    };
    Entry {
        total: Some(record.total),
        done: record.done,
        skipped: record.skipped,
        phase: match record.blocked {
            Some(_) => "blocked",
            None => record.shown_phase().into(),
        },
        holder: record.holder.as_ref().map(|holder| holder.name.clone()),
        renewed: Some(record.renewed),
        generation: record.generation,
        checkpoint: Some(record.checkpoint.clone()),
        claimed: !server.is_here(&found),
        free: why.is_empty(),
        there: Some(found),
        ..Entry::none(change, why)
    }
}

impl Queue {
    /// Returns the changes that a run can take.
    pub fn free(&self) -> impl Iterator<Item = &Entry> {
        self.changes.iter().filter(|entry| entry.free)
    }

    /// Returns the changes that need attention.
    pub fn need_person(&self) -> impl Iterator<Item = &Entry> {
        let needs = |entry: &&Entry| entry.standing() == Standing::NeedsPerson;
        self.changes.iter().filter(needs)
    }

    /// Returns the changes that another run holds.
    pub fn held(&self) -> impl Iterator<Item = &Entry> {
        let is_held = |entry: &&Entry| {
            entry.there.is_some() && entry.holder.is_some() && entry.standing() == Standing::Runs
        };
        self.changes.iter().filter(is_held)
    }

    /// Returns the free changes as a matrix of a CI system.
    pub fn matrix(&self) -> serde_json::Value {
        let jobs = self.free().take(MOST_JOBS);
        let jobs: Vec<_> = jobs
            .map(|entry| serde_json::json!({"change": entry.change}))
            .collect();
        serde_json::json!({"include": jobs})
    }
}

/// Computes which complete and finished changes conflict with the present HEAD, or with each other; changes nothing.
/// Fetches the work of these loops. Those without conflicts come first.
pub async fn find_conflicts(
    context: &Context<'_>,
    server: Option<&Server>,
    queue: &mut Queue,
) -> Result<(), Error> {
    let repo = &context.repo;
    let Some(head) = context.head.oid.clone() else {
        return Ok(());
    };
    let is_done = |entry: &Entry| {
        let has_nothing_left = entry.phase == "exhausted"
            && entry
                .total
                .is_some_and(|total| entry.done + entry.skipped >= total);
        let is_over = has_nothing_left || matches!(entry.phase, "complete" | "finished");
        is_over && entry.checkpoint.is_some()
    };
    let done = queue.changes.iter().filter(|entry| is_done(entry));
    if let Some(server) = server {
        let there = done.clone();
        let there = there.filter_map(|entry| Some((entry.change.clone(), entry.there.as_ref()?.oid.clone())));
        // Work that cannot be fetched is not compared.
        server.fetch(&there.collect()).await?;
    }
    let tips = done.filter_map(|entry| Some((entry.change.clone(), entry.checkpoint.clone()?)));
    let mut tips: Vec<(Change, Oid)> = tips.collect();
    // A message on a remote can name any object.
    let oids: Vec<Oid> = tips.iter().map(|(_, oid)| oid.clone()).collect();
    let mut kinds = repo.git.kinds_of(&oids).await?.into_iter();
    tips.retain(|_| kinds.next().flatten().is_some_and(|kind| kind.is_commit));
    for (change, tip) in &tips {
        let mut conflicts = Vec::new();
        let name = context.head.branch.as_deref().unwrap_or("HEAD");
        let others = std::iter::once((crate::names::short_branch(name).to_owned(), &head));
        let others = others.chain(tips.iter().map(|(other, oid)| (other.to_string(), oid)));
        for (other, oid) in others {
            if oid == tip {
                continue;
            }
            let base = repo.git.merge_base(tip, oid).await?;
            let base = match base {
                Some(base) => base,
                None => repo.empty_tree().await?,
            };
            if repo.merge(&base, oid, tip).await?.is_err() {
                conflicts.push(other);
            }
        }
        if let Some(entry) = queue.changes.iter_mut().find(|entry| entry.change == *change) {
            entry.conflicts_with = Some(conflicts);
        }
    }
    let number = |entry: &Entry| entry.conflicts_with.as_ref().map_or(usize::MAX, Vec::len);
    queue.changes.sort_by_key(number);
    Ok(())
}
