//! Checkpoints: the commit of a complete story, or of edits by the user.

use super::side::with_held_list;
use crate::engine::position::Position;
use crate::engine::stories::changes_only_the_list;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, submodules, users_head};
use crate::error::Error;
use crate::events::Notices;
use crate::git::worktree::Reading;
use crate::names::Oid;
use crate::protect::StashList;
use crate::refs::{KeptRef, Update};
use crate::settings::EmptyStory;
use crate::state::{CheckpointPlan, Intent};

/// The parts of a new checkpoint.
pub(crate) struct NewCheckpoint {
    /// The story that the checkpoint completes; `None` for edits by the user.
    pub story: Option<String>,
    /// The attempt that made the checkpoint.
    pub attempt: Option<u32>,
    /// Its parent commit.
    pub parent: Oid,
    /// Its subject.
    pub subject: String,
    /// The body of its message; may be empty.
    pub body: String,
    /// Other commits that are kept, and the moves of refs that go with them.
    pub beside: (Vec<KeptRef>, Option<Update>),
    /// The stash before the attempt.
    pub stash: Option<StashList>,
    /// True if the user or the reviewers approve its changes to tests.
    pub stands: bool,
    /// True if the agent was asked why it changed no file, or explained it unasked.
    pub is_known_unchanged: bool,
}

/// Makes a checkpoint of the work tree that was just read.
pub(crate) async fn save(
    open: &mut Loop<'_>,
    new: NewCheckpoint,
    position: &Position,
    reading: Reading,
) -> Result<(), Error> {
    open.state.common.unchanged = number_unchanged(open, &new, &reading);
    open.tell_few("not committed, because git cannot store it", &reading.unstorable);
    let (plan, known) = plan(open, new, position, reading.tree).await?;
    transition::take(open, Intent::Checkpoint(plan), known).await
}

/// Counts completed stories whose agents changed only the story list. A `complete` by the user does not count, but is
/// reported: an earlier return to the checkpoint may have removed the intended work.
fn number_unchanged(open: &Loop<'_>, new: &NewCheckpoint, reading: &Reading) -> u32 {
    let state = &open.state;
    let by_agent = state.is_running() && !state.is_work_of_user();
    let is_fine = open.settings().empty_story == EmptyStory::Accept;
    let story = new.story.as_deref().unwrap_or_default();
    if is_fine || new.is_known_unchanged || new.story.is_none() || !changes_only_the_list(open, reading) {
        return 0;
    }
    let who = if by_agent {
        "was reported complete"
    } else {
        "is complete because you say so"
    };
    let mut words = format!("warning: story {story} {who}, but git sees no change outside the story list");
    let failed = state.current_at(story).filter(|current| current.failures > 0);
    if let Some(failed) = failed.filter(|_| !by_agent) {
        words += ", and its latest attempt failed";
        let why = failed.why().and_then(|why| why.lines().next());
        words.extend(why.map(|why| format!(": {why}")));
    }
    open.tell(words);
    if by_agent { state.common.unchanged + 1 } else { 0 }
}

/// Makes the commit and the plan of a checkpoint; the working index has its tree.
pub(super) async fn plan(
    open: &Loop<'_>,
    new: NewCheckpoint,
    position: &Position,
    tree: Oid,
) -> Result<(CheckpointPlan, Known), Error> {
    let tree = with_held_list(open, tree, new.story.as_deref()).await?;
    submodules::share(open, open.state.checkpoint_tree(), &tree).await?;
    let name = match (&new.story, new.attempt) {
        (Some(story), Some(attempt)) => open.state.change.attempt_ref(story, attempt),
        _ => String::new(),
    };
    let (mut put_back, mut kept) = users_head::put_back(open, position, &name).await?;
    kept.extend(new.beside.0);
    put_back.extend(new.beside.1);
    let message = match new.body.as_str() {
        "" => new.subject,
        body => format!("{}\n\n{body}", new.subject),
    };
    let plan = CheckpointPlan {
        commit: open.repo().commit_tree(&tree, &[&new.parent], &message).await?,
        tree,
        before: Some(open.state.checkpoint().clone()),
        tip: position.tip.clone(),
        story: new.story,
        attempt: new.attempt,
        stands: new.stands,
        kept,
        put_back,
        closed_told: false,
    };
    let known = Known {
        stash: new.stash,
        ..Known::fresh()
    };
    Ok((plan, known))
}
