//! `start`: makes the first checkpoint from the user's state, without changing a file.
//!
//! Every operation that can fail comes first, and writes only objects and private files; then the plan is written, then
//! applied.

use jiff::Timestamp;

use super::gates_at_start;
use super::preflight::{Found, StartOptions, check, refuse_index_state, refuse_other_loops};
use super::saved::{Saved, staged_changes};
use super::snapshot::{anchor, kept_from_before, names, snapshot_message, staged_commit};
use crate::engine::attempt::held;
use crate::engine::boxed::{self, Inside};
use crate::engine::numbers::take_numbers;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::position::{Position, View};
use crate::engine::stories::{listed, progress_of};
use crate::engine::transition::{self, Known, ORIGINAL_INDEX};
use crate::engine::{Context, Loop, agent_of, missing_agents, own_output, refuse_inside_attempt};
use crate::error::{Error, refuse};
use crate::events::{Notices, What};
use crate::fs::may_exist;
use crate::git::RefInfo;
use crate::git::worktree::{Count, Whose};
use crate::names::{Change, Oid, typed};
use crate::paths::{WorkTreePath, percent_decode, percent_encode, shown};
use crate::protect::Site;
use crate::state::{Before, Common, DotGit, Here, Intent, ListNotes, Progress, StartPlan, State, Store};

/// Begins a new loop. `refs` are all refs, if they are known. `before_gates` shows the loop before its first gate runs.
///
/// # Errors
/// All refusals of `start`; nothing is changed then.
pub(super) async fn begin<'o>(
    context: Context<'o>,
    change: &Change,
    options: &StartOptions,
    refs: Option<Vec<RefInfo>>,
    before_gates: impl AsyncFn(&Loop<'_>),
) -> Result<Loop<'o>, Error> {
    let store = Store::new(&context.repo.common_dir, change);
    // The checks that need no lock come before any write.
    let found = check(&context, change, options, refs).await?;
    boxed::confine(&context, &options.settings, Inside::Commands, Vec::new()).await?;
    let had_loop = may_exist(&store.dir()) || may_exist(&store.state_file());
    let _alone = store.lock_work_tree(&context.repo.git_dir)?;
    refuse_other_loops(&context, change)?;
    let lock = store.lock()?;
    take_numbers(&store, change, names(&found.earlier))?;
    let is_known = store.load()?.is_some();
    let (state, plan, saved) = compute(&context, &store, change, options, &found).await?;
    let old = plan
        .kept
        .iter()
        .find(|kept| found.leftover.as_ref() == Some(&kept.oid));
    let old = old.map(|kept| kept.name.clone()).filter(|_| !is_known);
    store.save(&state)?;
    let head = context.head.clone();
    let mut open = Loop::new(context, state, store, lock);
    open.view = View::of_head(head.clone());
    // A new loop has just read the branch, and has chosen free names.
    let known = Known {
        position: Some(Position {
            head,
            tip: plan.tip.clone(),
            has_place: true,
        }),
        ..Known::fresh()
    };
    if let Err(error) = transition::apply(&mut open, Intent::Start(plan), known).await {
        forget_if_gone(&open).await?;
        return Err(error);
    }
    open.view.note_at_checkpoint(true);
    tell(&open, options, &found, &saved);
    if let Some(old) = old {
        let log = typed(old);
        open.tell(format!(
            "work of an earlier loop of this name is here, without its state; it is kept: git log {log}"
        ));
    }
    held::tell_files(&open, &options.settings).await?;
    let is_first = found.earlier.is_empty() && !had_loop;
    before_gates(&open).await;
    gates_at_start::run_gates(&mut open, options, is_first).await?;
    Ok(open)
}

/// Forgets a loop whose start was interrupted before it changed a ref, if git no longer has the required commits.
///
/// # Errors
/// [`OpenRefusal::BeginningGone`] if it is forgotten.
pub(in crate::engine) async fn forget_if_gone(open: &Loop<'_>) -> Result<(), Error> {
    let state = &open.state;
    if !matches!(state.intent, Some(Intent::Start(_))) {
        return Ok(());
    }
    let before = &state.here.before;
    let needed = [state.initial(), &before.snapshot]
        .into_iter()
        .chain(&before.anchor);
    let needed: Vec<&Oid> = needed.collect();
    let is_whole = open.repo().missing(&needed).await?.is_empty();
    if is_whole || open.git().oid_at(state.tip_ref().as_str()).await?.as_ref() == Some(state.initial()) {
        return Ok(());
    }
    open.store.door().remove_file(&open.store.state_file())?;
    refuse(OpenRefusal::BeginningGone(open.change().to_string()))
}

/// Reports the progress of the list, what was saved, and warnings.
fn tell(open: &Loop<'_>, options: &StartOptions, found: &Found, saved: &Saved) {
    let (done, total) = progress_of(&found.listing);
    open.emit(What::StoryProgress {
        done,
        total,
        skipped: Vec::new(),
    });
    for warning in &found.listing.warnings {
        open.tell(format!(
            "{}:{}: {}",
            found.source.path, warning.line, warning.message
        ));
    }
    if let Some(words) = saved.words(open.change()) {
        open.tell(words);
    }
    tell_nested(open);
    tell_agent(open, options);
    if let Some(limit) = options.settings.limit_of_rounds() {
        open.tell(format!("time limit of a round: {limit}"));
    }
    if !options.settings.tests.pathspecs.is_empty() && options.settings.verify.is_empty() {
        open.tell("ralph.tests has no effect without ralph.verify: no gate runs these tests");
    }
}

/// Makes all the checks of `start` and changes nothing; returns `None` if the loop is already live. `refs` are all
/// refs, if they are known.
pub async fn preview(
    context: &Context<'_>,
    change: &Change,
    options: &StartOptions,
    refs: Option<Vec<RefInfo>>,
) -> Result<Option<Found>, Error> {
    refuse_inside_attempt()?;
    let store = Store::new(&context.repo.common_dir, change);
    if store.load()?.is_some_and(|state| state.is_live()) {
        return Ok(None);
    }
    Ok(Some(check(context, change, options, refs).await?))
}

/// Makes the snapshot and the first checkpoint as objects, and the state that points to them.
async fn compute(
    context: &Context<'_>,
    store: &Store,
    change: &Change,
    options: &StartOptions,
    found: &Found,
) -> Result<(State, StartPlan, Saved), Error> {
    let repo = &context.repo;
    let (head, slot) = (context.head.oid.as_ref(), store.slot());
    slot.make()?;
    let work = slot.file("work.index");
    let made = repo.private_index(&work, head).await?;
    refuse_index_state(context, &made.entries).await?;
    let base = match head {
        Some(head) => head.clone(),
        None => repo.empty_tree().await?,
    };
    let staged = match repo.held_tree(&work) {
        Some(staged) => staged,
        None => repo.git.write_tree(&work).await?,
    };
    let staged_tree = staged.clone();
    // Files whose index flags hide changes are the user's work too.
    repo.show_paths(&work, &made.entries.hidden()).await?;
    repo.discard_index(&store.file(ORIGINAL_INDEX))?;
    repo.copy_index(&repo.index(), &store.file(ORIGINAL_INDEX))?;
    let site = Site::new(repo, &slot, &());
    // Work that does not need the result of the reading runs in parallel.
    let users_index = repo.index();
    let (reading, staged, recorded, anchor, from_head) = tokio::join!(
        async {
            let reading = repo.read_work_tree(&work, &base, None, Whose::Users, Count::Nothing);
            let mut reading = own_output::leave_out(repo, &work, reading.await?).await?;
            let set_up: Vec<Vec<u8>> = options.set_up.iter().map(|file| file.path.clone()).collect();
            repo.leave_out(&work, &mut reading, &set_up).await?;
            Ok::<_, Error>(reading)
        },
        staged_commit(context, &staged),
        site.begin_records(&users_index, &made.entries),
        anchor(context, made.sound, &found.tips),
        staged_changes(repo, &base, &staged_tree),
    );
    let (reading, (below, staged), anchor) = (reading?, staged?, anchor?);
    recorded?;
    let parents: Vec<&Oid> = head.into_iter().collect();
    let message = snapshot_message(&context.head, change, options.linked.as_ref());
    let both = [&below, &staged];
    let work_tree = (&reading.tree, work.as_path());
    let (recorded, snapshot, checkpoint, unstaged) = tokio::join!(
        site.begin_exact_bytes(&work),
        repo.commit_tree(&reading.tree, &both, &message),
        repo.commit_tree(&reading.tree, &parents, "initial state"),
        repo.differences_of_trees((&staged_tree, &users_index), work_tree),
    );
    recorded?;
    let saved = Saved::of(repo, &from_head?, &unstaged?)?;
    let (snapshot, checkpoint) = (snapshot?, checkpoint?);
    let old: Vec<Oid> = found.leftover.iter().cloned().collect();
    let roles = ["finished", "start", "anchor"];
    let kept = kept_from_before(context, change, old, &found.earlier, &roles, &checkpoint).await?;
    let strategy = options.settings.strategy;
    let plan = StartPlan {
        tip: found.leftover.clone(),
        kept,
    };
    let common = Common {
        branch: strategy.branch(change, &context.head),
        strategy,
        original_branch: context.head.branch_name().map(str::to_owned),
        original_head: context.head.oid.clone(),
        initial: checkpoint.clone(),
        checkpoint,
        checkpoint_tree: reading.tree.clone(),
        started: Timestamp::now(),
        progress: Progress::new(options.settings.max_retries, Vec::new()),
        settings: options.kept(),
        source: found.source.clone(),
        unmarked: Vec::new(),
        unchanged: 0,
        listed: Some(listed(&found.listing, &[], None)),
        list: ListNotes::of_length(found.listing.stories.len()),
        approved: Vec::new(),
    };
    let before = Before {
        snapshot,
        anchor: Some(anchor),
        index: made.sound,
        nested: reading.nested.iter().map(|path| percent_encode(path)).collect(),
    };
    let here = Here {
        linked: options.linked.clone(),
        is_side: options.begun_for.is_of_side(),
        commands: options.commands(),
        dot_git: DotGit::of(&repo.top)?,
        ..Here::new(WorkTreePath::new(&repo.top), before)
    };
    let mut state = State::new(change.clone(), common, here);
    state.here.gate_files.replace(options.set_up.clone());
    state.intent = Some(Intent::Start(plan.clone()));
    Ok((state, plan, saved))
}

/// Reports the repositories inside the work tree that do not belong to the loop.
fn tell_nested(open: &Loop<'_>) {
    let nested = open.state.here.before.nested.iter();
    let names: Vec<_> = nested.map(|path| shown(&percent_decode(path))).collect();
    open.tell_names("repositories of their own, neither kept nor put back", &names);
}

/// Reports the agent and its permissions, unless the user has just typed it.
fn tell_agent(open: &Loop<'_>, options: &StartOptions) {
    for (key, missing) in missing_agents(&options.agent, &options.settings, &open.repo().top) {
        open.tell(format!("warning: {key}: cannot find the agent '{missing}'"));
    }
    if let reviewers @ [_, _, ..] = options.settings.review.as_slice() {
        // A command line can contain keys: it is not recorded.
        let words = format!("reviewers, all of which have to accept: {}", reviewers.join(", "));
        open.context.tell(open.change(), words);
    }
    let Some(agent) = agent_of(&options.agent, &options.settings, &open.repo().top) else {
        return;
    };
    if options.agent.is_empty() {
        // This is not recorded: a command line can contain keys.
        open.context
            .tell(open.change(), format!("agent: {}", agent.described()));
    }
    if let Some(argument) = agent.unasked {
        open.tell(format!(
            "with {argument} the agent acts without asking, with all your permissions"
        ));
    }
}
