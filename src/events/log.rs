//! The attempts of a loop, read from its events.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::{Attempt, Event, What};
use crate::fs::{FileError, Links, file_error, open_regular};
use crate::names::{Change, Oid};
use crate::state::Verdict;

/// The attempts of a loop: `git ralph log --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    /// The change.
    pub change: Change,
    /// The attempts, oldest first.
    pub attempts: Vec<LogEntry>,
    /// The messages of the user that git-ralph has read, oldest first.
    pub messages: Vec<MessageEntry>,
}

impl Log {
    /// Reads the log of a loop from its events.
    pub fn read(change: Change, events: &Path) -> Result<Self, FileError> {
        let events = read_events(events)?;
        Ok(Self {
            change,
            attempts: entries_of(&events),
            messages: messages_in(&events),
        })
    }
}

/// A message of the user for the prompts (`git ralph tell`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageEntry {
    /// Time at which it was read.
    pub t: Timestamp,
    /// Its words.
    pub text: String,
    /// The attempt that was running when it was written, as story@number; null if none was.
    pub during: Option<String>,
    /// The story of the first attempt that was shown it; null if none was yet.
    pub story: Option<String>,
    /// The number of that attempt.
    pub attempt: Option<u32>,
}

/// An attempt, and the ref or checkpoint that keeps its work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogEntry {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The story's title.
    pub title: Option<String>,
    /// The ref that keeps what it left, when that was undone.
    #[serde(rename = "ref")]
    pub kept: Option<String>,
    /// The checkpoint that it earned.
    pub checkpoint: Option<Oid>,
    /// The part of its story list that was put back, in words; null if there is none.
    pub list_put_back: Option<String>,
    /// Seconds that its gates and reviews took.
    #[serde(skip)]
    pub judging: f64,
}

impl LogEntry {
    /// Returns the seconds of the attempt with its gates and reviews.
    pub fn seconds(&self) -> f64 {
        self.attempt.duration + self.judging
    }
}

/// An attempt that has begun: its story, its number, and the format of its agent's output, if that is known.
pub type Begun<'e> = (&'e str, u32, Option<&'e str>);

/// Returns every attempt that has begun, oldest first, those of earlier loops included.
pub fn begun(events: &[Event]) -> Vec<Begun<'_>> {
    let begun = events.iter().filter_map(|event| match &event.what {
        What::AttemptStarted(begun) => Some((begun.story.as_str(), begun.attempt, begun.format.as_deref())),
        _ => None,
    });
    begun.collect()
}

/// Returns the attempts since the loop was last started, read from its events.
pub fn attempts(events: &Path) -> Result<Vec<LogEntry>, FileError> {
    Ok(entries_of(&read_events(events)?))
}

/// Returns the attempts since the loop was last started.
pub fn entries_of(events: &[Event]) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = Vec::new();
    let (mut begun, mut put_back, mut judging) = (None, None::<String>, 0.0);
    for event in events {
        match &event.what {
            What::Started { .. } => entries.clear(),
            What::AttemptStarted(new) => (begun, put_back, judging) = (Some(new.title.clone()), None, 0.0),
            What::Gate(ended) if ended.attempt.is_some() => judging += ended.duration,
            What::Review(ended) => judging += ended.duration,
            What::ListPutBack(back) => {
                let what = &back.what;
                put_back = Some(put_back.map_or_else(|| what.clone(), |before| format!("{before}; {what}")));
            }
            What::AttemptEnded(attempt) => match cut_off_checkpoint(&mut entries, attempt) {
                Some(entry) => entry.attempt = of_lost_checkpoint(&entry.attempt, attempt),
                None => entries.push(LogEntry {
                    attempt: (**attempt).clone(),
                    title: begun.take(),
                    list_put_back: put_back.take(),
                    judging: std::mem::take(&mut judging),
                    ..LogEntry::default()
                }),
            },
            What::Checkpoint { story, attempt, oid } => {
                if let Some(entry) = find(&mut entries, story.as_deref(), *attempt) {
                    entry.checkpoint = Some(oid.clone());
                }
            }
            What::Reverted {
                story, attempt, kept, ..
            } => {
                if let Some(entry) = find(&mut entries, story.as_deref(), *attempt) {
                    entry.kept.clone_from(kept);
                }
            }
            What::Redone { stories, words, .. } => {
                for (number, one) in stories.iter().enumerate() {
                    if let Some(entry) = find(&mut entries, Some(&one.story), Some(one.attempt)) {
                        entry.attempt.verdict = Verdict::Redone;
                        entry.attempt.reason = match number {
                            0 => words.clone(),
                            _ => Some(format!("undone with story {}", stories[0].story)),
                        };
                        (entry.checkpoint, entry.kept) = (None, Some(one.kept.clone()));
                    }
                }
            }
            _ => {}
        }
    }
    entries
}

/// Returns the messages since the loop was last started.
fn messages_in(events: &[Event]) -> Vec<MessageEntry> {
    let mut messages: Vec<MessageEntry> = Vec::new();
    for event in events {
        let (story, attempt) = match &event.what {
            What::Started { .. } => {
                messages.clear();
                continue;
            }
            What::Message { text, during } => {
                messages.push(MessageEntry {
                    t: event.t,
                    text: text.clone(),
                    during: during.clone(),
                    story: None,
                    attempt: None,
                });
                continue;
            }
            What::AttemptStarted(begun) => (&begun.story, begun.attempt),
            What::RoundStarted { story, attempt, .. } => (story, *attempt),
            _ => continue,
        };
        for unshown in messages.iter_mut().filter(|message| message.story.is_none()) {
            (unshown.story, unshown.attempt) = (Some(story.clone()), Some(attempt));
        }
    }
    messages
}

/// Finds the entry of an attempt that ends again, because git-ralph was killed between its verdict and its checkpoint.
fn cut_off_checkpoint<'e>(entries: &'e mut [LogEntry], again: &Attempt) -> Option<&'e mut LogEntry> {
    if again.verdict != Verdict::Interrupted {
        return None;
    }
    let entry = find(entries, Some(&again.story), Some(again.attempt))?;
    let has_lost_it = entry.attempt.verdict == Verdict::Complete && entry.checkpoint.is_none();
    has_lost_it.then_some(entry)
}

/// Returns an attempt as it ended in the end, with what it used.
fn of_lost_checkpoint(first: &Attempt, again: &Attempt) -> Attempt {
    Attempt {
        verdict: again.verdict,
        reason: again.reason.clone(),
        rests_on: Vec::new(),
        ..first.clone()
    }
}

/// Finds the two states to compare to see the changes of an attempt: the checkpoint before it, and the state that it
/// left. Without a number, the latest attempt at the story is meant. `as_left` tells whether what it made itself counts, also
/// where some of that was put back; else what was accepted of it does, if it was.
pub fn range_of(
    events: &Path,
    story: &str,
    attempt: Option<u32>,
    as_left: bool,
) -> Result<Option<(String, String)>, FileError> {
    let (mut range, mut left) = (None, None);
    let mut base = String::new();
    let wanted = |at: Option<&String>, number: Option<u32>| {
        at.is_some_and(|id| id == story) && number.is_some() && (attempt.is_none() || number == attempt)
    };
    for event in read_events(events)? {
        match event.what {
            What::Started { checkpoint, .. } => {
                base = checkpoint.to_string();
                // Attempt numbers are never reused: a named attempt may belong to an earlier loop.
                if attempt.is_none() {
                    range = None;
                }
            }
            What::Checkpoint { story, attempt, oid } => {
                if wanted(story.as_ref(), attempt) {
                    let left = left.take().filter(|_| as_left);
                    range = Some((base, left.unwrap_or_else(|| oid.to_string())));
                }
                base = oid.to_string();
            }
            What::Redone { oid, .. } => base = oid.to_string(),
            What::AttemptStarted(_) => left = None,
            What::ListPutBack(back) if wanted(Some(&back.story), Some(back.attempt)) => {
                left.get_or_insert(back.kept);
            }
            What::Reverted {
                story,
                attempt,
                oid,
                kept: Some(kept),
                ..
            } if wanted(story.as_ref(), attempt) => range = Some((oid.to_string(), kept)),
            _ => {}
        }
    }
    Ok(range)
}

/// Reads the events of a loop, oldest first. A line that a crash cut off is skipped.
pub fn read_events(events: &Path) -> Result<Vec<Event>, FileError> {
    let error = |source| file_error("read", events, source);
    let file = match open_regular(events, Links::Refused) {
        Ok(file) => file,
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(source)),
    };
    let mut found = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        if let Ok(event) = serde_json::from_slice(&line.map_err(error)?) {
            found.push(event);
        }
    }
    Ok(found)
}

fn find<'a>(
    entries: &'a mut [LogEntry],
    story: Option<&str>,
    attempt: Option<u32>,
) -> Option<&'a mut LogEntry> {
    entries
        .iter_mut()
        .rev()
        .find(|entry| Some(entry.attempt.story.as_str()) == story && Some(entry.attempt.attempt) == attempt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(verdict: Verdict, reason: Option<&str>) -> Attempt {
        Attempt::ended(
            "1",
            1,
            verdict,
            reason.map(str::to_owned),
            jiff::Timestamp::UNIX_EPOCH,
        )
    }

    #[test]
    fn an_attempt_whose_checkpoint_was_cut_off_is_not_complete() {
        let first = Attempt {
            cost_usd: Some(0.5),
            ..ended(Verdict::Complete, None)
        };
        let again = ended(Verdict::Interrupted, Some("cut off"));
        let events = [first, again].map(|attempt| Event::now("x", What::AttemptEnded(Box::new(attempt))));
        let entries = entries_of(&events);
        let attempts: Vec<_> = entries
            .iter()
            .map(|entry| {
                (
                    entry.attempt.verdict,
                    entry.attempt.reason.as_deref(),
                    entry.attempt.cost_usd,
                )
            })
            .collect();
        assert_eq!(attempts, [(Verdict::Interrupted, Some("cut off"), Some(0.5))]);
    }
}
