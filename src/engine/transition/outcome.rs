//! Puts the outcome of a step into the state and the stash, and tells it.

use super::ground::Left;
use crate::engine::progress::Outlook;
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, judged, marks, shared_stash, stash};
use crate::error::Error;
use crate::events::{What, closings};
use crate::exit::Exit;
use crate::names::{short_branch, typed};
use crate::paths::first_few;
use crate::protect::{story_backup, users_index};
use crate::refs::Update;
use crate::state::{CheckpointPlan, Ending, Intent, Progress, RevertPlan, SavePlan, Verdict};

/// The most files that a command in a message names.
const MOST_NAMED: usize = 5;

/// The outcome of a step.
pub(super) enum Outcome {
    /// The loop has begun.
    Begun,
    /// The loop continues as its state says.
    Going,
    /// There is a new checkpoint: of a story, or of edits by the user.
    Checkpoint(CheckpointPlan),
    /// The state before an attempt is a stash entry.
    Saved(SavePlan),
    /// The work tree is again what an attempt left.
    /// An attempt is undone.
    Reverted(RevertPlan),
    /// The loop is closed.
    Closed(Closing),
}

/// The way in which a loop is closed.
pub(super) struct Closing {
    pub how: Ending,
    /// The ref that keeps the final state.
    pub kept: String,
    /// The deletion of the loop's tip, if it goes last.
    pub delete: Option<Update>,
    /// The branch of HEAD, if the user needs advice about what was not committed before the loop.
    pub advise_on: Option<HeadOn>,
}

/// The branch of HEAD; `None` if it is detached.
#[derive(Clone)]
pub(super) struct HeadOn(pub Option<String>);

/// The events of a step that is made, and advice.
pub(super) struct Told {
    events: Vec<What>,
    advise_on: Option<HeadOn>,
}

impl Outcome {
    /// Puts it into the state; the caller saves.
    pub async fn enter(self, open: &mut Loop<'_>, left: Left, why: &str) -> Result<Told, Error> {
        let mut advise_on = None;
        let events = match self {
            Self::Begun => {
                begin(open);
                Vec::new()
            }
            Self::Going => Vec::new(),
            Self::Checkpoint(plan) => vec![accept(open, plan).await?],
            Self::Saved(plan) => {
                stash::put_entry(open, plan).await?;
                Vec::new()
            }
            Self::Reverted(plan) => fail(open, plan, left).await?,
            Self::Closed(closing) => {
                advise_on.clone_from(&closing.advise_on);
                vec![close(open, closing, left, why).await?]
            }
        };
        Ok(Told { events, advise_on })
    }
}

impl Told {
    /// Returns the events, advice included.
    pub async fn events(self, open: &Loop<'_>) -> Result<Vec<What>, Error> {
        let mut events = self.events;
        if let Some(HeadOn(on)) = self.advise_on {
            let advice = uncommitted_before(open, on.as_deref().map(short_branch)).await?;
            events.extend(advice.map(|message| What::Notice { message }));
        }
        Ok(events)
    }
}

/// Tells that the loop has begun. The state does not say so yet: after a crash the event is there twice, but never missing, and
/// what is in the events before it is of an earlier loop.
fn begin(open: &Loop<'_>) {
    open.emit(What::Started {
        branch: open.state.common.branch.clone(),
        original_branch: open.state.begun_on().cloned(),
        original_head: open.state.common.original_head.clone(),
        checkpoint: open.state.checkpoint().clone(),
        source: open.state.source().path.clone(),
    });
    if open.state.has_own_work_tree() {
        let top = open.context.repo.top.display().to_string();
        open.tell(format!("its own work tree: {top}"));
    }
}

/// Notes a new checkpoint, and the story that it completes.
async fn accept(open: &mut Loop<'_>, plan: CheckpointPlan) -> Result<What, Error> {
    open.state.common.checkpoint = plan.commit.clone();
    open.state.common.checkpoint_tree = plan.tree;
    open.state.here.noted = None;
    if let Some(story) = &plan.story {
        stash::drop_of(open, story).await?;
        shared_stash::put_back(open).await?;
        stash::keep_listed(open).await?;
    }
    if let (Some(id), Some(number), false) = (&plan.story, plan.attempt, plan.closed_told)
        && let Some(commands) = &open.state.source().commands
        && commands.closed.is_some()
    {
        tell_closed(open, id, number).await?;
    }
    open.state.intent = None;
    if plan.story.is_some() {
        // A backup left behind would overwrite the list of this checkpoint.
        story_backup::forget(open.site())?;
        users_index::forget(open.site())?;
        judged::forget(open).await?;
        open.state.end_running();
        open.advance(|progress| progress.end(Verdict::Complete, None, None))?;
        // A command is believed only if the list agrees.
        if open.state.source().is_by_command() {
            let done = open.state.progress().completed.last().cloned();
            open.state.common.unmarked.extend(done);
        }
    }
    judged::settle_gate_files(open)?;
    open.view.note_at_checkpoint(true);
    Ok(What::Checkpoint {
        story: plan.story,
        attempt: plan.attempt,
        oid: plan.commit,
    })
}

/// Runs the command after the checkpoint of a story, once: the state says so before it starts. A command that only shows
/// the loop runs none.
async fn tell_closed(open: &mut Loop<'_>, id: &str, number: u32) -> Result<(), Error> {
    if open.is_looking {
        open.tell(format!("ralph.closedCommand was not run for story {id}"));
        return Ok(());
    }
    if let Some(Intent::Checkpoint(plan)) = &mut open.state.intent {
        plan.closed_told = true;
        open.save()?;
    }
    let title = open.state.current();
    let title = title.map_or_else(String::new, |story| story.title.clone());
    let watch = watch::begin(open, Who::Closed).await?;
    marks::tell_closed(open, id, &title, number).await;
    watch::end(open, watch).await
}

/// Notes that an attempt has failed and is undone.
async fn fail(open: &mut Loop<'_>, plan: RevertPlan, left: Left) -> Result<Vec<What>, Error> {
    shared_stash::put_back(open).await?;
    stash::keep_listed(open).await?;
    judged::forget(open).await?;
    open.state.end_running();
    let outlook = match plan.verdict {
        Some(verdict) => {
            let reason = with_lost(plan.reason, &left.lost);
            open.advance(|progress| progress.end(verdict, reason, plan.shown))?
        }
        None => Outlook::Uncounted,
    };
    open.view.note_at_checkpoint(true);
    let mut events = vec![What::Reverted {
        story: Some(plan.story.clone()),
        attempt: Some(plan.attempt),
        oid: open.state.checkpoint().clone(),
        kept: left.kept.first().map(|kept| kept.name.clone()),
        changed: left.changed,
    }];
    if outlook == Outlook::RetriesSpent {
        events.extend(retries_spent(open, plan.story));
    }
    Ok(events)
}

/// Returns the events about a story that has no retries left.
fn retries_spent(open: &Loop<'_>, story: String) -> [What; 2] {
    let progress = open.state.progress();
    let current = progress.current();
    let change = typed(open.change());
    let error = What::Error {
        message: format!("story {story} failed, no retries left"),
        hint: Some(format!(
            "git ralph skip {change}, or: git ralph finish {change} --cleanup (or --keep)"
        )),
        exit: Exit::RetriesSpent.code(),
        kind: Some("max_retries_exceeded".to_owned()),
        story: Some(story.clone()),
        reason: current.and_then(|current| current.why()).map(ToOwned::to_owned),
        attempts: current.map(|current| current.failures),
        options: closings(),
    };
    let max_retries = progress.max_retries;
    [What::MaxRetriesExceeded { story, max_retries }, error]
}

/// Returns the reason for the next attempt, extended by the files that the last one removed and that could not be
/// restored.
fn with_lost(reason: Option<String>, lost: &[Vec<u8>]) -> Option<String> {
    if lost.is_empty() {
        return reason;
    }
    let sentence = format!(
        "During that attempt files that git does not track were deleted, and they could not be put back: {}",
        first_few(lost).join(", ")
    );
    Some(reason.map_or_else(|| sentence.clone(), |reason| format!("{reason}\n\n{sentence}")))
}

/// Closes the loop. Its stash entries, and its tip, go last.
async fn close(open: &mut Loop<'_>, closing: Closing, left: Left, why: &str) -> Result<What, Error> {
    open.view.drop_all();
    if !matches!(closing.how, Ending::Keep | Ending::Aside) {
        stash::drop_all(open).await?;
    }
    if let Some(delete) = closing.delete {
        open.context.repo.git.update_refs(&[delete], why).await?;
        open.view.drop_refs();
    }
    open.state.here.closed = Some(closing.how);
    open.advance(Progress::close)?;
    Ok(What::Finished {
        how: closing.how.to_string(),
        branch: left.branch,
        kept: closing.kept,
        worktree: left.work_tree,
    })
}

/// Returns advice about the files that were not committed before the loop: `start` has committed them on the loop's branch, and a
/// checkout of the original branch takes them away.
async fn uncommitted_before(open: &Loop<'_>, on: Option<&str>) -> Result<Option<String>, Error> {
    let (git, state) = (&open.context.repo.git, &open.state);
    let Some(was) = &state.common.original_head else {
        return Ok(None);
    };
    let (was, initial) = (git.tree_of(was).await?, git.tree_of(state.initial()).await?);
    let changed = git.diff_trees(&was, &initial).await?;
    if changed.is_empty() {
        return Ok(None);
    }
    let original = state.original_name();
    let checkout = match on {
        Some(on) if on == original => String::new(),
        _ => format!("git checkout {} && ", typed(&original)),
    };
    let paths = match changed.len() {
        ..=MOST_NAMED => changed
            .iter()
            .map(|(_, path)| typed(format!(":/{}", String::from_utf8_lossy(path))))
            .collect(),
        _ => vec![":/".to_owned()],
    };
    Ok(Some(format!(
        "files that were not committed before the loop are now committed on {}; to have them on {original} as they \
         were: {checkout}git restore --source={} {}",
        state.common.branch,
        state.change.ralph_ref("start"),
        paths.join(" ")
    )))
}
