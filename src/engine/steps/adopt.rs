//! Makes a loop from remote data: refs, branch, HEAD and files are set to its checkpoint. The local loop of this name
//! stays in refs.

use std::path::PathBuf;

use super::preflight::{StartOptions, refuse_other_loops};
use super::put_away::PutAway;
use super::side;
use super::snapshot::{commit_below, kept_from_before, snapshot_message};
use super::start_again::in_own_work_tree;
use crate::agent::program_of;
use crate::engine::numbers::take_numbers;
use crate::engine::position::{View, refuse_operation};
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::story_source::wanted;
use crate::engine::transition::{self, Known, PULL_TRASH};
use crate::engine::travel::{self, PublicText};
use crate::engine::{Context, Loop, Place, open, own_output, refuse_inside_attempt, submodules};
use crate::error::{Error, refuse};
use crate::events::log::attempts;
use crate::fs::{Durability, FileError, read_if_there};
use crate::git::{RefInfo, StagedEntry};
use crate::names::{Change, Oid, typed, typed_path};
use crate::paths::{WorkTreePath, path_of, shown};
use crate::refs::KeptRef;
use crate::settings::Settings;
use crate::state::{AdoptPlan, Before, Ending, Here, Intent, Linked, State, Store};

/// A loop read from a remote: another machine has written it.
#[derive(Clone, Debug)]
pub struct Portable {
    /// Its state, without what belongs to one machine.
    pub state: State,
    /// The refs that keep its attempts.
    pub attempts: Vec<KeptRef>,
    /// Its events.
    pub events: Vec<u8>,
    /// The notes of its agents.
    pub learnings: Vec<u8>,
}

/// Makes a loop from remote data, in this work tree. The objects of the loop must be in the repository.
///
/// # Errors
/// If the work tree has uncommitted changes or another loop, or the state cannot be used on this machine. Nothing is
/// changed then.
pub async fn adopt<'o>(
    context: Context<'o>,
    change: &Change,
    portable: Portable,
    settings: &Settings,
) -> Result<Loop<'o>, Error> {
    Box::pin(adopt_in(context, change, portable, settings, None)).await
}

/// Does the same in the loop's own work tree, which is made first unless the loop is active here.
///
/// # Errors
/// As for [`adopt`], or if the work tree cannot be made. No new work tree stays then.
pub async fn adopt_apart<'o>(
    context: Context<'o>,
    change: &Change,
    portable: Portable,
    options: &StartOptions,
    place: &Place,
) -> Result<Loop<'o>, Error> {
    let here = Store::new(&context.repo.common_dir, change).load_live()?;
    if here.is_some() {
        return Box::pin(adopt(context, change, portable, &options.settings)).await;
    }
    let begin = async |context, options: &StartOptions| {
        let own = options.linked.clone().map(|linked| NewTree {
            linked,
            set_up: options.set_up.clone(),
        });
        Box::pin(adopt_in(context, change, portable, &options.settings, own)).await
    };
    Box::pin(in_own_work_tree(context, change, options, place, begin)).await
}

/// The loop's own work tree, which was just made.
struct NewTree {
    linked: Linked,
    /// The new files made by its preparation.
    set_up: Vec<StagedEntry>,
}

async fn adopt_in<'o>(
    mut context: Context<'o>,
    change: &Change,
    portable: Portable,
    settings: &Settings,
    own: Option<NewTree>,
) -> Result<Loop<'o>, Error> {
    refuse_inside_attempt()?;
    let store = Store::new(&context.repo.common_dir, change);
    if store.load()?.is_some_and(|state| state.is_live()) {
        // An interrupted step of the local loop is completed first.
        context = open(context, change).await?.context;
        context.head = context.repo.head().await?;
    }
    refuse_other_loops(&context, change)?;
    // Its own work tree has only what its preparation made.
    if own.is_none() {
        refuse_uncommitted(&context).await?;
    }
    let refs = context
        .repo
        .git
        .refs(&["refs/heads", &change.ralph_ref("")])
        .await?;
    refuse_branch_elsewhere(&context, change, &refs)?;
    let lock = store.lock()?;
    let ours = store.load()?;
    let mut state = localised(&context, &portable, settings)?;
    let is_own = |known: &State| {
        let is_there = known.here.closed != Some(Ending::Abort);
        is_there && known.is_same_loop(&state) && known.here.worktree == state.here.worktree
    };
    let is_known = ours.as_ref().is_some_and(is_own);
    let unskipped = ours.as_ref().filter(|_| is_known);
    let unskipped = unskipped.map_or_else(Vec::new, |ours| no_longer_skipped(ours, &state));
    let (events, learnings) = match &ours {
        Some(ours) => with_ours(&context, &store, ours, &portable)?,
        None => (portable.events.clone(), portable.learnings.clone()),
    };
    let mut dropped = std::mem::take(&mut state.common.settings.gates);
    match ours {
        // Agent and gates that this machine's command line named stay in force.
        Some(ours) if is_known => {
            dropped.clear();
            if ours.has_own_work_tree() {
                // HEAD was detached in it.
                state.common.original_branch = None;
            }
            state.common.settings = ours.common.settings;
            state.here = Here {
                linked: ours.here.linked,
                commands: ours.here.commands,
                messages: ours.here.messages,
                dot_git: ours.here.dot_git,
                ..Here::new(ours.here.worktree, ours.here.before)
            };
        }
        _ => {
            state.here.before = before(&context, &state).await?;
            if let Some(own) = own {
                state.common.original_branch = None;
                state.here.linked = Some(own.linked);
                state.here.gate_files.replace(own.set_up);
            }
            // A remote can ask for more confinement than the local settings, never for less.
            let asked = &mut state.common.settings.plain.boxed;
            *asked = asked.filter(|mode| mode.is_required());
            dropped.retain(|gate| !settings.verify.iter().any(|own| program_of(own) == gate));
        }
    }
    let detached = detached_alone(&context).await?;
    let plan = AdoptPlan {
        from: context.repo.tree_at(context.head.oid.as_ref()).await?,
        kept: overtaken(
            &context,
            change,
            (&refs, detached),
            state.checkpoint(),
            &portable.attempts,
        )
        .await?,
        attempts: portable.attempts,
        is_known,
    };
    submodules::refuse_unmovable(&context.repo, &plan.from, &state.common.checkpoint_tree).await?;
    let overtaken: Vec<String> = plan.kept.iter().map(|kept| typed(&kept.name)).collect();
    store.slot().make()?;
    let log = put_files(&store, &events, &learnings)?;
    take_numbers_of(&store, change, &plan)?;
    state.intent = Some(Intent::Adopt(plan.clone()));
    let (head, from) = (context.head.clone(), plan.from.clone());
    let mut open = Loop::new(context, state, store, lock);
    if !is_known {
        open.checkpoint().record_submodules_of_start().await?;
    }
    open.save()?;
    open.view = View::of_head(head.clone());
    let put_away = PutAway::before(&open, PULL_TRASH)?;
    transition::apply(&mut open, Intent::Adopt(plan), Known::fresh()).await?;
    let kept = [&from, open.state.checkpoint_tree()];
    Box::pin(put_away.tell_in_the_way(&open, &kept)).await?;
    if !overtaken.is_empty() {
        open.tell(format!(
            "what {change} has here, and the remote has not, is kept: git log {}",
            overtaken.join(" ")
        ));
    }
    if let Some(log) = log {
        open.tell(format!(
            "the log as it was here, with what the remote has not, is kept: {}",
            log.display()
        ));
    }
    for id in unskipped {
        open.tell(format!(
            "story {id} was skipped here, and is not in the loop of the remote; to skip it again: git ralph skip {} {}",
            typed(change),
            typed(&id)
        ));
    }
    if !open.state.is_live() {
        Box::pin(side::remove_all(&open)).await?;
    }
    for gate in dropped {
        open.tell(format!(
            "a gate with which the loop began does not come from a remote, a command of the program {gate}"
        ));
    }
    Ok(open)
}

/// Refuses, before a lease is taken, what [`adopt`] refuses in a work tree in which no step was interrupted.
pub async fn require_free_work_tree(context: &Context<'_>, change: &Change) -> Result<(), Error> {
    let here = Store::new(&context.repo.common_dir, change).load_live()?;
    if here.is_some_and(|here| !here.is_at_rest()) {
        return Ok(());
    }
    refuse_other_loops(context, change)?;
    refuse_uncommitted(context).await
}

/// Refuses uncommitted changes: the loop would take them in.
pub(super) async fn refuse_uncommitted(context: &Context<'_>) -> Result<(), Error> {
    refuse_operation(&context.repo).await?;
    let args = [
        "--porcelain",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=none",
    ];
    let mut dirty = context.repo.git.cmd("status", args).fields().await?;
    let own = own_output::files_below(&context.repo.top);
    dirty.retain(|line| {
        !line
            .strip_prefix(b"?? ")
            .is_some_and(|path| own.iter().any(|own| own == path))
    });
    if !dirty.is_empty() {
        return Err(RepositoryRefusal::Uncommitted.into());
    }
    let hidden = context.repo.changed_in_hiding(&context.repo.index()).await?;
    if hidden.is_empty() {
        return Ok(());
    }
    let arguments: Vec<_> = hidden.iter().map(|path| typed_path(path_of(path))).collect();
    refuse(RepositoryRefusal::Hidden {
        paths: hidden.iter().map(|path| shown(path)).collect(),
        typed: arguments.join(" "),
    })
}

/// Refuses if another work tree has the loop's branch.
fn refuse_branch_elsewhere(context: &Context<'_>, change: &Change, refs: &[RefInfo]) -> Result<(), Error> {
    let wanted = change.branch_ref();
    let own = refs.iter().find(|found| found.name == wanted);
    let checked_out = own.and_then(|found| found.checked_out.clone());
    match checked_out.filter(|path| std::path::Path::new(path) != context.repo.top) {
        Some(path) => refuse(StartRefusal::CheckedOutElsewhere {
            branch: change.branch(),
            path,
        }),
        None => Ok(()),
    }
}

/// Returns the state for this machine. No command comes from a remote: local settings name gates, agents and adapters.
fn localised(context: &Context<'_>, portable: &Portable, settings: &Settings) -> Result<State, Error> {
    let mut state = portable.state.clone();
    state.here.worktree = WorkTreePath::new(&context.repo.top);
    let own = wanted(settings, &state.change, &context.below_top);
    let source = &mut state.common.source;
    if source.is_by_command() {
        let missing = || StartRefusal::NoListCommand(state.change.to_string());
        let commands = own.commands.ok_or_else(missing)?;
        source.path.clone_from(&commands.stories);
        source.commands = Some(commands);
    } else if !is_inside(&source.path) {
        return Err(StartRefusal::ListOutside(source.path.clone()).into());
    }
    Ok(state)
}

/// Returns whether a path stays inside the work tree, by its components.
fn is_inside(path: &str) -> bool {
    let path = std::path::Path::new(path);
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    path.components().all(is_plain)
}

/// Makes a snapshot for a loop that began in another clone: it has no staged content.
async fn before(context: &Context<'_>, state: &State) -> Result<Before, Error> {
    let repo = &context.repo;
    let head = commit_below(repo, state.common.original_head.as_ref()).await?;
    let tree = repo.git.tree_of(&head).await?;
    let staged = repo.commit_tree(&tree, &[&head], "what was staged").await?;
    let message = snapshot_message(&state.original_place(), &state.change, None);
    let tree = repo.git.tree_of(state.initial()).await?;
    let snapshot = repo.commit_tree(&tree, &[&head, &staged], &message).await?;
    Ok(Before::nothing_beside(snapshot))
}

/// Names the commits that the local loop of this name has and the remote's has not: its tip, the refs of its end, and
/// attempts with the same numbers; and the commit of a detached HEAD that no ref has.
async fn overtaken(
    context: &Context<'_>,
    change: &Change,
    (refs, detached): (&[RefInfo], Option<Oid>),
    checkpoint: &Oid,
    attempts: &[KeptRef],
) -> Result<Vec<KeptRef>, Error> {
    let is_other = |found: &&RefInfo| {
        let mut attempts = attempts.iter();
        found.name == change.branch_ref()
            || found.name == change.ralph_ref("finished")
            || attempts.any(|attempt| attempt.name == found.name && attempt.oid != found.oid)
    };
    let old = refs.iter().filter(is_other).map(|found| found.oid.clone());
    let old = old.chain(detached);
    kept_from_before(context, change, old.collect(), refs, &[], checkpoint).await
}

/// Returns the stories that the user skipped here, and that the state of the remote neither skips nor has completed.
fn no_longer_skipped(ours: &State, there: &State) -> Vec<String> {
    let (ours, there) = (ours.progress(), there.progress());
    let (mut ids, _) = ours.left_out();
    ids.retain(|id| !there.skipped.contains(id) && !there.completed.iter().any(|story| story.id == *id));
    ids
}

/// Returns the commit of a detached HEAD, if no ref has it: nothing else would name it after a pull.
async fn detached_alone(context: &Context<'_>) -> Result<Option<Oid>, Error> {
    let Some(oid) = context.head.oid.clone().filter(|_| context.head.branch.is_none()) else {
        return Ok(None);
    };
    let args = ["--count=1", "--format=x", "--contains", oid.as_str()];
    let named = context.repo.git.cmd("for-each-ref", args).text().await?;
    Ok(named.is_empty().then_some(oid))
}

/// Returns the local events and learnings of the loop, followed by the new remote ones.
fn with_ours(
    context: &Context<'_>,
    store: &Store,
    ours: &State,
    came: &Portable,
) -> Result<(Vec<u8>, Vec<u8>), FileError> {
    let read = |name| Ok(read_if_there(&store.file(name))?.unwrap_or_default());
    let (events, learnings) = (read("events.jsonl")?, read("learnings.md")?);
    let text = PublicText::of_loop(context, ours, travel::gates_in(&events));
    let travelled = travel::events(&events, &text);
    let learned = travel::learnings(&learnings, &text);
    Ok((
        joined(&events, &travelled, came.events.clone()),
        joined(&learnings, &learned, came.learnings.clone()),
    ))
}

/// Reserves the numbers of all attempts that are kept or in the events, so that no later attempt reuses one.
fn take_numbers_of(store: &Store, change: &Change, plan: &AdoptPlan) -> Result<(), Error> {
    take_numbers(store, change, plan.attempts.iter().map(|kept| kept.name.as_str()))?;
    let done = attempts(&store.file("events.jsonl"))?;
    let done: Vec<String> = done
        .iter()
        .map(|entry| change.attempt_ref(&entry.attempt.story, entry.attempt.attempt))
        .collect();
    take_numbers(store, change, done.iter().map(String::as_str))
}

/// Returns a file of a loop after a pull: the complete local file, followed by the part that the remote added to its
/// travelling part. If the remote file does not continue that part, returns the remote file.
fn joined(here: &[u8], travelled: &[u8], came: Vec<u8>) -> Vec<u8> {
    match came.strip_prefix(travelled) {
        Some(new) => [here, new].concat(),
        None => came,
    }
}

/// Replaces the events and the learnings; moves local events that are missing from the new ones to the trash, and
/// returns that file.
fn put_files(store: &Store, events: &[u8], learnings: &[u8]) -> Result<Option<PathBuf>, Error> {
    let (door, old) = (store.door(), store.file("events.jsonl"));
    let mut moved = None;
    if let Some(bytes) = read_if_there(&old)?
        && !events.starts_with(&bytes)
    {
        let name = format!("trash/events-{}.jsonl", jiff::Timestamp::now().as_second());
        let file = store.file(&name);
        door.write(&file, &bytes, 0o600, Durability::Atomic)?;
        moved = Some(file);
    }
    door.write(&old, events, 0o600, Durability::Atomic)?;
    door.write(&store.file("learnings.md"), learnings, 0o600, Durability::Atomic)?;
    Ok(moved)
}
