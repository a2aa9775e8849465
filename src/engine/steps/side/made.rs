//! Reads what a side has made of its story.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::agent::decode::sum_of_costs;
use crate::engine::numbers::log_of;
use crate::engine::{Context, Loop, attempt::learnings, open};
use crate::error::Error;
use crate::events::log::read_events;
use crate::events::{Attempt, Observer, What};
use crate::git::oid_of;
use crate::names::{Change, Oid};
use crate::state::{Completed, Store, Verdict};

/// An attempt that has ended in a side, and what it left.
#[derive(Clone, Debug)]
pub struct Made {
    /// The attempt, as the side counts it.
    pub attempt: Attempt,
    /// The path of its story list, which it may have moved.
    pub list: String,
    /// The number of the side.
    pub slot: u16,
    /// The checkpoint at which it began.
    pub base: Oid,
    /// The stories that were complete then.
    pub completed: Vec<Completed>,
    /// The commit with its work; `None` if it left none.
    pub commit: Option<Oid>,
    /// The last commit that its agent made, below a promised one.
    pub commits: Option<Oid>,
    /// Its notices, and the parts of its list that were put back, each with the commit that keeps the list as it was.
    pub notices: Vec<(What, Option<Oid>)>,
    /// The reason of its failure for the next prompt, and for people.
    pub reason: (Option<String>, Option<String>),
    /// The agent's name for people.
    pub agent: Option<String>,
    /// The log with its output.
    pub log: PathBuf,
    /// The notes for later stories, with those that were there when it began.
    pub learned: Vec<String>,
    /// The files of the messages that its prompt had.
    pub told: Vec<String>,
}

/// Opens a side of a loop, and completes what was cut off in it; returns `None` if it has no state.
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

/// Reads the last attempt of a side, also of one that was closed; returns `None` if none has ended.
pub async fn made_by(side: &Loop<'_>) -> Result<Option<Made>, Error> {
    let Some(base) = side.state.common.original_head.clone() else {
        return Ok(None);
    };
    let last = side.history()?.history.ended().next_back().cloned();
    let Some(last) = last else { return Ok(None) };
    let mut attempt = last.attempt;
    // Those before it, that a service or a crash ended, were paid for, too.
    let costs: Vec<_> = side
        .history()?
        .history
        .ended()
        .map(|entry| entry.attempt.cost_usd)
        .collect();
    attempt.cost_usd = costs.into_iter().fold(None, sum_of_costs);
    let commit = match (attempt.verdict, &last.kept) {
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
    let notes = learnings::newest_in(&learnings::file(side));
    let origin = format!("[{}] ", attempt.name());
    let failed = side.state.current_at(&attempt.story);
    Ok(Some(Made {
        list: side.state.source().path.clone(),
        slot: side.change().side_of().map_or(1, |(_, place)| place),
        base,
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
        notices: notices_of(side, attempt.started).await?,
        reason: failed.map_or_else(Default::default, |failed| {
            (failed.reason.clone(), failed.shown.clone())
        }),
        agent: last.begun.and_then(|(_, begun)| begun.agent),
        log: log_of(side, &attempt.story, attempt.attempt),
        learned: notes
            .lines()
            .map(|line| line.strip_prefix(&origin).unwrap_or(line).to_owned())
            .collect(),
        told: side
            .state
            .here
            .messages
            .iter()
            .map(|message| message.file.clone())
            .collect(),
        attempt,
    }))
}

/// Reads the notices of a side since its attempt began.
async fn notices_of(side: &Loop<'_>, since: Timestamp) -> Result<Vec<(What, Option<Oid>)>, Error> {
    let mut notices = Vec::new();
    for event in read_events(&side.file("events.jsonl"))? {
        let kept = match &event.what {
            _ if event.t < since => continue,
            What::Notice { .. } => None,
            What::ListPutBack(back) => oid_of(&side.git().refs(&[&back.kept]).await?, &back.kept),
            _ => continue,
        };
        notices.push((event.what, kept));
    }
    Ok(notices)
}
