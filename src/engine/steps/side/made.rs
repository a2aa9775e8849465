//! Reads the results of a side.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::engine::numbers::log_of;
use crate::engine::{Context, Loop, attempt::learnings, open};
use crate::error::Error;
use crate::events::log::{LogEntry, read_events};
use crate::events::{Attempt, AttemptStarted, Observer, What};
use crate::git::oid_of;
use crate::names::{Change, Oid};
use crate::refs::KeptRef;
use crate::state::{Completed, Store, Verdict};

/// An attempt that has ended in a side, and its results.
#[derive(Clone, Debug)]
pub struct Made {
    /// The attempt, as recorded by the side.
    pub attempt: Attempt,
    /// The path of its story list, which it may have moved.
    pub list: String,
    /// The number of the side.
    pub slot: u16,
    /// The top directory of its work tree.
    pub top: PathBuf,
    /// The checkpoint at which it began.
    pub base: Oid,
    /// The stories that were complete at that time.
    pub completed: Vec<Completed>,
    /// The commit with its work; `None` without work.
    pub commit: Option<Oid>,
    /// The last commit by its agent, an ancestor of a promised commit.
    pub commits: Option<Oid>,
    /// The ref of the side that keeps its work; then its other refs.
    pub kept_as: String,
    pub beside: Vec<KeptRef>,
    /// Its notices, and the undone changes to its list, each with the commit that keeps the changed list.
    pub notices: Vec<(What, Option<Oid>)>,
    /// The reason of its failure for the next prompt, and for the user.
    pub reason: (Option<String>, Option<String>),
    /// The noted reason why its step ended early.
    pub stopped: Option<String>,
    /// The beginning of the attempt, as recorded by the side.
    pub begun: Option<AttemptStarted>,
    /// The log with its output.
    pub log: PathBuf,
    /// The notes for later stories, including those from before the attempt.
    pub learned: Vec<String>,
    /// The files of the messages in its prompt.
    pub shown: Vec<String>,
}

/// Opens a side of a loop, and completes its interrupted steps; returns `None` if it has no state.
pub async fn open_side<'o>(
    of: &Loop<'_>,
    side: &Change,
    observer: &'o dyn Observer,
) -> Result<Option<Loop<'o>>, Error> {
    if Store::new(&of.repo().common_dir, side).load()?.is_none() {
        return Ok(None);
    }
    let context = Context::open(&of.repo().top, observer).await?;
    Ok(Some(open(context, side).await?))
}

/// Reads the attempts of a side that have ended, also of a closed one: the run judges the last one; the earlier ones
/// were repeated there, because a service did not answer or the fallback agent took over.
pub async fn made_by(side: &Loop<'_>) -> Result<Vec<Made>, Error> {
    let Some(base) = side.state.common.original_head.clone() else {
        return Ok(Vec::new());
    };
    let ended = side.attempts()?;
    let begun = |entry: &LogEntry| entry.attempt.started;
    let mut made = Vec::new();
    for (at, entry) in ended.iter().enumerate() {
        let next = ended.get(at + 1).map(begun);
        made.push(of_attempt(side, &base, entry.clone(), next).await?);
    }
    let origins: Vec<String> = ended
        .iter()
        .map(|entry| format!("[{}] ", entry.attempt.name()))
        .collect();
    let text = |line: &str| {
        let text = origins
            .iter()
            .find_map(|origin| line.strip_prefix(origin.as_str()));
        text.unwrap_or(line).to_owned()
    };
    if let Some(last) = made.last_mut() {
        let notes = learnings::newest_in(&learnings::file(side));
        last.learned = notes.lines().map(text).collect();
        last.stopped.clone_from(&side.state.here.stopped);
        if let Some(failed) = side.state.current_at(&last.attempt.story) {
            last.reason = (failed.reason.clone(), failed.shown.clone());
        }
    }
    Ok(made)
}

/// Reads an attempt of a side; `next` is the start of the following one.
async fn of_attempt(
    side: &Loop<'_>,
    base: &Oid,
    ended: LogEntry,
    next: Option<Timestamp>,
) -> Result<Made, Error> {
    let attempt = ended.attempt;
    let of_it = side.change().attempt_ref(&attempt.story, attempt.attempt);
    let commit = match (attempt.verdict, &ended.kept) {
        (Verdict::Complete, _) => Some(side.state.checkpoint().clone()),
        (_, Some(kept)) => oid_of(&side.git().refs(&[kept]).await?, kept),
        (_, None) => None,
    };
    let mut commits = None;
    if attempt.verdict == Verdict::Complete {
        let parents = side.git().parents_of(side.state.checkpoint()).await?;
        commits = parents
            .into_iter()
            .next()
            .filter(|parent| parent != side.state.initial());
    }
    let notices = notices_of(side, attempt.started, next).await?;
    let is_list = |name: &str| {
        let mut lists = notices.iter().map(|(what, _)| what);
        lists.any(|what| matches!(what, What::ListPutBack(back) if back.kept == name))
    };
    let refs = side.git().refs(&[&side.change().ralph_ref("attempts")]).await?;
    let beside = refs
        .into_iter()
        .filter(|found| found.name.starts_with(&format!("{of_it}-")) && !is_list(&found.name))
        .map(|found| KeptRef::new(found.name, found.oid))
        .collect();
    let shown = side.state.here.messages.iter();
    Ok(Made {
        list: side.state.source().path.clone(),
        slot: side.change().side_of().map_or(1, |(_, place)| place),
        top: side.repo().top.clone(),
        base: base.clone(),
        completed: side
            .state
            .progress()
            .completed
            .iter()
            .filter(|done| done.id != attempt.story)
            .cloned()
            .collect(),
        commit,
        commits,
        kept_as: of_it,
        beside,
        notices,
        reason: (None, attempt.reason.clone()),
        stopped: None,
        begun: ended.begun.map(|(_, begun)| begun),
        log: log_of(side, &attempt.story, attempt.attempt),
        learned: Vec::new(),
        shown: shown.map(|message| message.file.clone()).collect(),
        attempt,
    })
}

/// Reads the notices of a side from the start of its attempt until the start of the next one.
async fn notices_of(
    side: &Loop<'_>,
    since: Timestamp,
    next: Option<Timestamp>,
) -> Result<Vec<(What, Option<Oid>)>, Error> {
    let mut notices = Vec::new();
    for event in read_events(&side.file("events.jsonl"))? {
        let kept = match &event.what {
            _ if event.t < since || next.is_some_and(|next| event.t >= next) => continue,
            What::Notice { .. } => None,
            What::ListPutBack(back) => oid_of(&side.git().refs(&[&back.kept]).await?, &back.kept),
            _ => continue,
        };
        notices.push((event.what, kept));
    }
    Ok(notices)
}
