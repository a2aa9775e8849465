//! `start`: from the user's state to the first checkpoint, without touching a file (contract section 4).
//!
//! Everything that can fail comes first and changes nothing but objects and private files; then the
//! intent is written, then applied.

use jiff::Timestamp;

use super::abort::{ORIGINAL_INDEX, START_INDEX};
use super::kept::take_numbers;
use super::other_refs::OtherRefs;
use super::preflight::{Found, StartOptions, check, refuse_index_state, refuse_other_loops};
use super::snapshot::{anchor, snapshot_message, staged_commit};
use super::stories::listed;
use super::unversioned::Unversioned;
use super::{Engine, Session, agent_of, progress_of};
use crate::error::Error;
use crate::events::What;
use crate::git::RefInfo;
use crate::git::index;
use crate::git::worktree::Whose;
use crate::names::{Change, Oid};
use crate::paths::{WorkTreePath, percent_encode};
use crate::refs::{KeptRef, Update};
use crate::state::{Before, Intent, Phase, Progress, State, Store, VERSION};

/// What `start` came to.
pub struct Started<'o> {
    /// The loop.
    pub session: Session<'o>,
    /// Whether it was live already, and nothing was changed.
    pub already: bool,
}

/// Begins a loop, or finds it live already.
///
/// # Errors
/// Everything of contract section 4 that `start` refuses; nothing is changed then.
pub async fn start<'o>(
    mut engine: Engine<'o>,
    change: &Change,
    options: &StartOptions,
) -> Result<Started<'o>, Error> {
    super::refuse_inside_attempt()?;
    let store = Store::new(&engine.repo.common_dir, change);
    if store.load()?.is_some_and(|state| state.is_live()) {
        let session = Session::open(engine, change).await?;
        if session.state.is_live() && !options.restart {
            return Ok(Started {
                session,
                already: true,
            });
        }
        engine = session.abort_for_restart().await?;
    }
    // Nothing may be written before the refusals that need no lock.
    let found = check(&engine, change, options).await?;
    let _alone = store.lock_work_tree(&engine.repo.git_dir)?;
    refuse_other_loops(&engine, change)?;
    let lock = store.lock()?;
    take_numbers(&store, change, names(&found.earlier))?;
    let state = compute(&engine, &store, change, options, &found).await?;
    store.save(&state)?;
    let mut session = Session {
        engine,
        state,
        store,
        _lock: lock,
        settled: true,
        head_is_known: true,
        refs: None,
        due: Vec::new(),
    };
    session.emit(What::Started {
        branch: session.state.branch.clone(),
        original_branch: session.state.original_branch.clone(),
        original_head: session.state.original_head.clone(),
        checkpoint: session.state.checkpoint.clone(),
        source: session.state.source.path.clone(),
    });
    session.finish_start().await?;
    let (done, total) = progress_of(&found.listing);
    session.emit(What::StoryProgress { done, total });
    for warning in &found.listing.warnings {
        session.tell(format!(
            "{}:{}: {}",
            found.source.path, warning.line, warning.message
        ));
    }
    session.tell_nested();
    session.tell_agent(options);
    session.record_baseline(&options.settings).await?;
    Ok(Started {
        session,
        already: false,
    })
}

/// What `start` would begin: all its checks, and nothing changed. Inside: nothing, because the loop is live.
///
/// # Errors
/// As [`start`].
pub async fn preview(
    engine: &Engine<'_>,
    change: &Change,
    options: &StartOptions,
) -> Result<Option<Found>, Error> {
    super::refuse_inside_attempt()?;
    let store = Store::new(&engine.repo.common_dir, change);
    if store.load()?.is_some_and(|state| state.is_live()) {
        return Ok(None);
    }
    Ok(Some(check(engine, change, options).await?))
}

/// Makes the snapshot and the first checkpoint as objects, and the state that points to them.
async fn compute(
    engine: &Engine<'_>,
    store: &Store,
    change: &Change,
    options: &StartOptions,
    found: &Found,
) -> Result<State, Error> {
    let repo = &engine.repo;
    let git = &repo.git;
    let head = engine.head.oid.as_ref();
    let work = store.file("work.index");
    let made = repo.private_index(&repo.index(), &work, head).await?;
    refuse_index_state(engine, &made.entries).await?;
    let base = match head {
        Some(head) => head.clone(),
        None => git.empty_tree().await?,
    };
    let staged = match index::held_tree(&work, base.as_str().len() / 2) {
        Some(staged) => staged,
        None => git.write_tree(&work).await?,
    };
    // What git is told not to look at is the user's work all the same.
    repo.show_paths(&work, &made.entries.hidden()).await?;
    index::discard(&store.file(ORIGINAL_INDEX))?;
    index::copy(&repo.index(), &store.file(ORIGINAL_INDEX))?;
    let unversioned = Unversioned::new(store.file("unversioned"), &repo.top);
    // What does not wait for the reading goes on beside it.
    let users_index = repo.index();
    let (reading, staged, recorded, anchor) = tokio::join!(
        repo.read_work_tree(&work, &base, None, Whose::Users),
        staged_commit(engine, &staged),
        unversioned.record_start(repo, &users_index, &made.entries),
        anchor(engine, made.sound, &found.tips),
    );
    let (reading, (below, staged), anchor) = (reading?, staged?, anchor?);
    recorded?;
    let parents: Vec<&Oid> = head.into_iter().collect();
    let oid = reading.tree.as_str().len() / 2;
    let message = snapshot_message(engine, change);
    let both = [&below, &staged];
    let (recorded, snapshot, checkpoint) = tokio::join!(
        unversioned.record_raw(repo, &work, oid),
        git.commit_tree(&reading.tree, &both, &message),
        git.commit_tree(&reading.tree, &parents, "initial state"),
    );
    recorded?;
    let (snapshot, checkpoint) = (snapshot?, checkpoint?);
    let initial = checkpoint.clone();
    let old: Vec<Oid> = found.leftover.iter().cloned().collect();
    let roles = ["finished", "start", "anchor"];
    let kept = kept_from_before(engine, change, old, &found.earlier, &roles, &checkpoint).await?;
    let original_branch = engine
        .head
        .branch
        .as_deref()
        .and_then(|branch| branch.strip_prefix("refs/heads/"))
        .map(ToOwned::to_owned);
    Ok(State {
        version: VERSION,
        change: change.clone(),
        branch: change.branch(),
        original_branch,
        original_head: engine.head.oid.clone(),
        checkpoint,
        checkpoint_tree: reading.tree.clone(),
        worktree: WorkTreePath::new(&repo.top),
        started: Timestamp::now(),
        progress: Progress {
            phase: Phase::Ready,
            max_retries: options.settings.max_retries,
            skipped: Vec::new(),
            story: None,
            completed: Vec::new(),
        },
        settings: options.settings.clone(),
        source: found.source.clone(),
        unmarked: Vec::new(),
        before: Before {
            snapshot,
            initial,
            anchor: Some(anchor),
            index: made.sound,
            nested: reading.nested.iter().map(|path| percent_encode(path)).collect(),
        },
        running: None,
        session: None,
        unchanged: 0,
        listed: Some(listed(&found.listing, &[], None)),
        waits_until: None,
        noted: None,
        intent: Some(Intent::Start {
            tip: found.leftover.clone(),
            kept,
        }),
    })
}

/// The names of these refs.
pub(super) fn names(refs: &[RefInfo]) -> impl Iterator<Item = &str> {
    refs.iter().map(|found| found.name.as_str())
}

/// Names what an earlier loop of this name left and this one would write over: `old`, and the refs of these
/// `roles`. They go to `refs/ralph/<change>/replaced/<n>`, unless the checkpoint contains them.
pub(super) async fn kept_from_before(
    engine: &Engine<'_>,
    change: &Change,
    mut old: Vec<Oid>,
    earlier: &[RefInfo],
    roles: &[&str],
    checkpoint: &Oid,
) -> Result<Vec<KeptRef>, Error> {
    let replaced = change.ralph_ref("replaced/");
    let overwritten: Vec<String> = roles.iter().map(|role| change.ralph_ref(role)).collect();
    old.extend(
        earlier
            .iter()
            .filter(|earlier| overwritten.contains(&earlier.name))
            .map(|earlier| earlier.oid.clone()),
    );
    old.dedup();
    let number_of = |earlier: &RefInfo| earlier.name.strip_prefix(&replaced)?.parse::<u32>().ok();
    let mut last = earlier.iter().filter_map(number_of).max().unwrap_or(0);
    let mut kept = Vec::new();
    for oid in old {
        let is_kept = earlier
            .iter()
            .any(|earlier| earlier.name.starts_with(&replaced) && earlier.oid == oid);
        if !is_kept && !engine.repo.git.is_ancestor(&oid, checkpoint).await? {
            last += 1;
            kept.push(KeptRef {
                name: format!("{replaced}{last}"),
                oid,
            });
        }
    }
    Ok(kept)
}

impl Session<'_> {
    /// Says which repositories inside the work tree are no part of the loop.
    fn tell_nested(&mut self) {
        let nested = self.users_nested();
        let names: Vec<_> = nested.iter().map(|path| String::from_utf8_lossy(path)).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            self.tell(format!(
                "repositories of their own, neither kept nor put back: {names}"
            ));
        }
    }

    /// Says which agent will work, where nobody has just typed it, and what it is allowed.
    fn tell_agent(&mut self, options: &StartOptions) {
        let Some(agent) = agent_of(&options.agent, &options.settings, &self.engine.repo.top) else {
            return;
        };
        if options.agent.is_empty() {
            self.tell(format!("agent: {}", agent.described()));
        }
        if let Some(argument) = agent.unasked {
            self.tell(format!(
                "with {argument} it acts without asking, and may do whatever its process may do"
            ));
        }
    }

    /// Applies the intent of `start`; doing it again is harmless.
    pub(super) async fn finish_start(&mut self) -> Result<(), Error> {
        let Some(Intent::Start { tip, kept }) = self.state.intent.clone() else {
            return Ok(());
        };
        let change = &self.state.change;
        let branch = change.branch_ref();
        let mut updates = vec![Update::Set {
            name: change.ralph_ref("start"),
            new: self.state.before.snapshot.clone(),
        }];
        if let Some(anchor) = &self.state.before.anchor {
            updates.push(Update::Set {
                name: change.ralph_ref("anchor"),
                new: anchor.clone(),
            });
        }
        let why = format!("ralph: start {change}");
        // A loop that begins just now has seen the branch already.
        let is_new = self.head_is_known;
        let now = if is_new {
            tip.clone()
        } else {
            self.standing().await?.tip
        };
        self.head_is_known = false;
        if now.as_ref() != Some(&self.state.checkpoint) {
            updates.push(Update::Move {
                name: branch,
                new: self.state.checkpoint.clone(),
                old: tip,
            });
        }
        // A loop that begins just now has chosen names that are free.
        let known = is_new.then(OtherRefs::default);
        let head = self.engine.head.clone();
        self.keep_and_move(&kept, known, &updates, &head, &why).await?;
        self.install_working_index().await?;
        self.remember_index()?;
        index::copy(&self.engine.repo.index(), &self.file(START_INDEX))?;
        self.record_submodules_of_start().await?;
        self.state.intent = None;
        self.save()
    }
}
