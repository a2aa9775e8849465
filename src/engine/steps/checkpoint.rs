//! Checkpoints: the commit of a complete story, or of edits that a person made.

use crate::engine::position::Position;
use crate::engine::steps::revert::keep_and_move;
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, journal, marks, shared_stash, stash, users_head};
use crate::error::Error;
use crate::events::What;
use crate::git::worktree::Reading;
use crate::names::Oid;
use crate::paths::first_few;
use crate::protect::{Savepoint, UserRefs, story_backup, users_index};
use crate::refs::Update;
use crate::state::{CheckpointPlan, Intent, Verdict};

/// The parts of a new checkpoint.
pub(crate) struct NewCheckpoint {
    /// The story that it completes; `None` for edits made by a person.
    pub story: Option<String>,
    /// The attempt that made it.
    pub attempt: Option<u32>,
    /// Its parent commit.
    pub parent: Oid,
    /// Its subject.
    pub subject: String,
    /// The body of its message; may be empty.
    pub body: String,
    /// The names of the tools that the agent was not allowed to use.
    pub denied: String,
}

/// Makes a checkpoint of the work tree that was just read.
pub(crate) async fn save(
    open: &mut Loop<'_>,
    new: NewCheckpoint,
    position: &Position,
    reading: Reading,
) -> Result<(), Error> {
    count_unchanged(open, &new, &reading);
    if !reading.unstorable.is_empty() {
        let names = first_few(&reading.unstorable);
        let told = format!("not committed, because git cannot store it: {}", names.join(", "));
        open.tell(told);
    }
    commit(open, new, position, reading.tree).await
}

/// Counts completed stories whose agents changed nothing but the story list.
fn count_unchanged(open: &mut Loop<'_>, new: &NewCheckpoint, reading: &Reading) {
    let state = &open.state;
    let list = state.source.path.as_bytes();
    let only_list = match &reading.changes {
        Some(changes) => changes.iter().all(|(_, path)| path == list),
        None => reading.tree == state.checkpoint_tree,
    };
    let running = state.running.as_ref();
    let by_agent = running.is_some_and(|running| !running.by_hand || state.is_given_to_session());
    if !(by_agent && only_list) {
        open.state.unchanged = 0;
        return;
    }
    open.state.unchanged += 1;
    let story = new.story.as_deref().unwrap_or_default();
    let why = match new.denied.as_str() {
        "" => String::new(),
        tools => format!("; the agent was not allowed to use {tools}"),
    };
    open.tell(format!(
        "warning: story {story} was reported complete, but no files changed{why}"
    ));
}

/// Makes a checkpoint of a tree that the working index was just read into.
pub(super) async fn commit(
    open: &mut Loop<'_>,
    new: NewCheckpoint,
    position: &Position,
    tree: Oid,
) -> Result<(), Error> {
    let name = match (&new.story, new.attempt) {
        (Some(story), Some(attempt)) => open.state.change.attempt_ref(story, attempt),
        _ => String::new(),
    };
    let (put_back, kept) = users_head::put_back(open, position, &name).await?;
    let repo = &open.context.repo;
    let message = match new.body.as_str() {
        "" => new.subject,
        body => format!("{}\n\n{body}", new.subject),
    };
    let plan = CheckpointPlan {
        commit: repo.commit_tree(&tree, &[&new.parent], &message).await?,
        tree,
        tip: position.tip.clone(),
        story: new.story,
        attempt: new.attempt,
        kept,
        put_back,
    };
    journal::begin(open, Intent::Checkpoint(plan.clone()))?;
    apply(open, plan).await
}

/// Applies the plan of a checkpoint.
pub(crate) async fn apply(open: &mut Loop<'_>, plan: CheckpointPlan) -> Result<(), Error> {
    let position = open.position().await?;
    let why = match &plan.story {
        Some(story) => format!("ralph: checkpoint: {story}"),
        None => "ralph: checkpoint: edits".to_owned(),
    };
    let update = (position.tip.as_ref() != Some(&plan.commit)).then(|| Update::Move {
        name: open.state.tip_ref(),
        new: plan.commit.clone(),
        old: plan.tip,
    });
    let mut moves: Vec<Update> = update.into_iter().collect();
    if !plan.put_back.is_empty() {
        moves.extend(open.read_user_refs().await?.still_possible(plan.put_back));
    }
    let known = plan.kept.is_empty().then(UserRefs::default);
    keep_and_move(open, &plan.kept, known, &moves, &position.head, &why).await?;
    let site = open.site();
    users_index::put_back(site).await?;
    Savepoint::install_working_index(site).await?;
    open.checkpoint().record(site, open.state.started).await?;
    open.state.checkpoint = plan.commit.clone();
    open.state.checkpoint_tree = plan.tree;
    open.state.noted = None;
    if let Some(story) = &plan.story {
        stash::drop_of(open, story).await?;
        shared_stash::put_back(open).await?;
        stash::keep_listed(open).await?;
    }
    open.state.intent = None;
    if let (Some(id), Some(number)) = (&plan.story, plan.attempt)
        && open.state.source.is_by_command()
    {
        let title = open.state.progress.story.as_ref();
        let title = title.map_or_else(String::new, |story| story.title.clone());
        let watch = watch::begin(open, Who::Closed).await?;
        marks::tell_closed(open, id, &title, number).await;
        watch::end(open, watch).await?;
    }
    if plan.story.is_some() {
        // A backup left behind would overwrite the list of this checkpoint.
        story_backup::forget(open.site())?;
        users_index::forget(open.site())?;
        open.state.running = None;
        open.advance(|progress| progress.end(Verdict::Complete, None, None))?;
        // A command is believed only if the list agrees.
        if open.state.source.is_by_command() {
            let done = open.state.progress.completed.last().cloned();
            open.state.unmarked.extend(done);
        }
    }
    journal::end(open)?;
    open.view.at_checkpoint = true;
    open.emit(What::Checkpoint {
        story: plan.story,
        attempt: plan.attempt,
        oid: plan.commit,
    });
    Ok(())
}
