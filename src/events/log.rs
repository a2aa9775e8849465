//! The attempts of a loop, read from its events.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use memchr::memchr;
use serde::Serialize;

use super::lines::{each_line, each_line_of, open};
use super::rounds::{RoundEntry, end_last, round_of};
use super::{Attempt, AttemptStarted, Event, GateEnded, ReviewEnded, What};
use crate::fs::{FileError, file_error, target_of};
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
    /// The seconds of the gates before any attempt.
    #[serde(skip)]
    pub before_work: f64,
}

impl Log {
    /// Reads the log of a loop from its events.
    pub fn read(change: Change, events: &Path) -> Result<Self, FileError> {
        let mut history = History::read(events)?;
        Ok(Self {
            change,
            messages: std::mem::take(&mut history.messages),
            before_work: history.gates.iter().map(|(_, gate)| gate.duration).sum(),
            attempts: history.into_ended(),
        })
    }
}

/// A message of the user for the prompts (`git ralph tell`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// Its rounds, oldest first; absent if it had one, or if what is known of them is not here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_round: Vec<RoundEntry>,
    /// The part of its story list that was put back, in words; null if there is none.
    pub list_put_back: Option<String>,
    /// The refs that keep the list as it was found each time, oldest first.
    #[serde(skip)]
    pub lists: Vec<String>,
    /// True if its end is among the events.
    #[serde(skip)]
    pub has_ended: bool,
    /// The time of its beginning, and what was known then; none if only something of what it did is among the events.
    #[serde(skip)]
    pub begun: Option<(Timestamp, AttemptStarted)>,
    /// Its gates, in the order in which they ended, each with that time.
    #[serde(skip)]
    pub gates: Vec<(Timestamp, GateEnded)>,
    /// Its reviews, in the same way.
    #[serde(skip)]
    pub reviews: Vec<(Timestamp, ReviewEnded)>,
    /// The reason for its failure in the prompt of the next attempt.
    #[serde(skip)]
    pub told: Option<String>,
    /// The checkpoint before it, and the state with its work: its checkpoint, or the ref that keeps it.
    #[serde(skip)]
    pub range: Option<(Oid, String)>,
    /// The state that it left before something of the story list was put back, if it was accepted.
    #[serde(skip)]
    left: Option<String>,
}

impl LogEntry {
    /// Returns the seconds of the attempt with its gates and reviews.
    pub fn seconds(&self) -> f64 {
        self.attempt.duration + self.judged().map(|(_, took)| took).sum::<f64>()
    }

    /// Returns when each of its gates and reviews ended, and the seconds that it took.
    pub fn judged(&self) -> impl Iterator<Item = (Timestamp, f64)> {
        let gates = self.gates.iter().map(|(t, gate)| (*t, gate.duration));
        gates.chain(self.reviews.iter().map(|(t, review)| (*t, review.duration)))
    }

    /// Returns whether it was accepted, as far as is known, and has no checkpoint.
    pub fn lacks_checkpoint(&self) -> bool {
        self.attempt.verdict == Verdict::Complete && self.checkpoint.is_none()
    }
}

/// Folds the events of a loop into its attempts, messages and gates, event by event.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The attempts in the events, oldest first, including those of earlier loops.
    attempts: Vec<LogEntry>,
    /// The number of attempts of earlier loops.
    earlier: usize,
    /// The messages of the user since the loop was last started.
    pub messages: Vec<MessageEntry>,
    /// The gates since then that ran before any attempt, each with the time of its end.
    pub gates: Vec<(Timestamp, GateEnded)>,
    /// The latest checkpoint.
    pub checkpoint: Option<Oid>,
    /// True if the events contain a start of the loop.
    pub(super) has_beginning: bool,
}

impl History {
    /// Reads the history of a loop from its events.
    pub fn read(events: &Path) -> Result<Self, FileError> {
        let mut reader = Reader::default();
        reader.read_on(events)?;
        Ok(reader.history)
    }

    /// Returns the history in these events.
    #[cfg(test)]
    pub fn of(events: &[Event]) -> Self {
        let mut history = Self::default();
        for event in events {
            history.take(event);
        }
        history
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        self.take_at(event.t, &event.what);
    }

    fn take_at(&mut self, t: Timestamp, what: &What) {
        match what {
            What::Started { checkpoint, .. } => {
                *self = Self {
                    earlier: self.attempts.len(),
                    attempts: std::mem::take(&mut self.attempts),
                    checkpoint: Some(checkpoint.clone()),
                    has_beginning: true,
                    ..Self::default()
                };
            }
            What::AttemptStarted(begun) => {
                // A parallel attempt may have begun long before its work was taken over.
                if begun.slot.is_none() {
                    self.note_shown(&begun.story, begun.attempt, t);
                }
                let entry = self.add(&begun.story, begun.attempt);
                entry.title = Some(begun.title.clone());
                entry.begun = Some((t, begun.clone()));
            }
            What::RoundStarted {
                story,
                attempt,
                round,
                why,
                left,
            } => {
                self.note_shown(story, *attempt, t);
                let entry = round_of(&mut self.entry(story, *attempt).by_round, *round);
                (entry.why, entry.begun) = (Some(*why), Some(t));
                entry.left.clone_from(left);
            }
            What::RoundEnded {
                story,
                attempt,
                round,
                duration,
                cost_usd,
                ..
            } => {
                let entry = round_of(&mut self.entry(story, *attempt).by_round, *round);
                (entry.duration, entry.cost_usd) = (Some(*duration), *cost_usd);
            }
            What::Message { text, during } => self.messages.push(MessageEntry {
                t,
                text: text.clone(),
                during: during.clone(),
                ..MessageEntry::default()
            }),
            What::Gate(ended) => {
                let gates = match ended.story.as_deref().zip(ended.attempt) {
                    Some((story, attempt)) => &mut self.entry(story, attempt).gates,
                    None => &mut self.gates,
                };
                gates.push((t, ended.clone()));
            }
            What::Review(ended) => {
                let entry = self.entry(&ended.story, ended.attempt);
                entry.reviews.push((t, ended.clone()));
            }
            What::ListPutBack(back) => {
                let entry = self.entry(&back.story, back.attempt);
                // Rounds before the last have refs beside that of the attempt.
                let is_own = back.kept.ends_with(&format!("/{}", back.attempt));
                if is_own || entry.left.is_none() {
                    entry.left = Some(back.kept.clone());
                }
                entry.lists.push(back.kept.clone());
                let before = entry.list_put_back.iter();
                let parts: Vec<&str> = before.chain([&back.what]).map(String::as_str).collect();
                entry.list_put_back = Some(parts.join("; "));
            }
            What::AttemptEnded(attempt) => {
                if attempt.base.is_some() {
                    self.note_shown(&attempt.story, attempt.attempt, attempt.started);
                }
                self.end(attempt);
            }
            What::Retry { story, reason, .. } => {
                // It follows the attempt that failed.
                let mut attempts = self.attempts[self.earlier..].iter_mut();
                if let Some(last) = attempts.rfind(|entry| entry.attempt.story == *story) {
                    last.told.clone_from(reason);
                }
            }
            What::Checkpoint {
                story, attempt, oid, ..
            } => {
                let before = self.checkpoint.replace(oid.clone());
                if let Some((story, attempt)) = story.as_deref().zip(*attempt) {
                    let entry = self.entry(story, attempt);
                    entry.checkpoint = Some(oid.clone());
                    entry.range = before.map(|before| (before, oid.to_string()));
                }
            }
            What::Reverted {
                story: Some(story),
                attempt: Some(attempt),
                oid,
                kept,
                ..
            } => {
                let entry = self.entry(story, *attempt);
                entry.kept.clone_from(kept);
                if let Some(kept) = kept {
                    let from = entry.attempt.base.as_ref().unwrap_or(oid).clone();
                    (entry.range, entry.left) = (Some((from, kept.clone())), None);
                }
            }
            What::Redone { stories, oid, words } => {
                self.checkpoint = Some(oid.clone());
                for (number, one) in stories.iter().enumerate() {
                    let entry = self.entry(&one.story, one.attempt);
                    entry.attempt.verdict = Verdict::Redone;
                    entry.attempt.reason = match number {
                        0 => words.clone(),
                        _ => Some(format!("undone with story {}", stories[0].story)),
                    };
                    (entry.checkpoint, entry.kept) = (None, Some(one.kept.clone()));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, attempt: &Attempt) {
        let mut entry = self.entry(&attempt.story, attempt.attempt);
        if entry.has_ended {
            // There is a second end if git-ralph was killed between the verdict and the checkpoint.
            if attempt.verdict == Verdict::Interrupted && entry.lacks_checkpoint() {
                entry.attempt.verdict = attempt.verdict;
                entry.attempt.reason.clone_from(&attempt.reason);
                entry.attempt.rests_on.clear();
                return;
            }
            entry = self.add(&attempt.story, attempt.attempt);
        }
        (entry.attempt, entry.has_ended) = (attempt.clone(), true);
        end_last(&mut entry.by_round, attempt);
    }

    /// Records that the messages up to that time are in the prompt of an attempt.
    fn note_shown(&mut self, story: &str, attempt: u32, until: Timestamp) {
        let is_new = |message: &&mut MessageEntry| message.story.is_none() && message.t <= until;
        for unshown in self.messages.iter_mut().filter(is_new) {
            (unshown.story, unshown.attempt) = (Some(story.to_owned()), Some(attempt));
        }
    }

    /// Finds an attempt of this loop, or adds it.
    fn entry(&mut self, story: &str, attempt: u32) -> &mut LogEntry {
        let mut known = self.attempts[self.earlier..].iter();
        match known.rposition(|entry| entry.attempt.is(story, attempt)) {
            Some(at) => &mut self.attempts[self.earlier + at],
            None => self.add(story, attempt),
        }
    }

    fn add(&mut self, story: &str, attempt: u32) -> &mut LogEntry {
        let entry = LogEntry {
            attempt: Attempt {
                story: story.to_owned(),
                attempt,
                ..Attempt::default()
            },
            ..LogEntry::default()
        };
        self.attempts.push(entry);
        let last = self.attempts.len() - 1;
        &mut self.attempts[last]
    }

    /// Returns the starts of all attempts, oldest first, including those of earlier loops.
    pub fn begun(&self) -> impl DoubleEndedIterator<Item = &AttemptStarted> {
        let begun = self.attempts.iter().filter_map(|entry| entry.begun.as_ref());
        begun.map(|(_, begun)| begun)
    }

    /// Returns the attempts since the loop was last started.
    pub fn latest(mut self) -> Vec<LogEntry> {
        self.attempts.split_off(self.earlier)
    }

    fn into_ended(self) -> Vec<LogEntry> {
        let mut latest = self.latest();
        latest.retain(|entry| entry.has_ended);
        latest
    }

    /// Returns the ended attempts, including those of earlier loops.
    pub fn all_ended(&self) -> impl Iterator<Item = &LogEntry> {
        self.attempts.iter().filter(|entry| entry.has_ended)
    }

    /// Returns the ended attempts since the loop was last started.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &LogEntry> {
        let latest = self.attempts.get(self.earlier..).unwrap_or_default();
        latest.iter().filter(|entry| entry.has_ended)
    }
}

/// Returns the attempts since the loop was last started, read from its events.
pub fn attempts(events: &Path) -> Result<Vec<LogEntry>, FileError> {
    Ok(History::read(events)?.into_ended())
}

/// Finds the two states whose difference is the work of an attempt: the checkpoint before it, and the state after it.
/// Without a number, finds the latest attempt at the story. With `as_left` the state is the one that the attempt left,
/// even if parts of it were undone; else the accepted one, if there is one.
pub fn range_of(
    events: &Path,
    story: &str,
    attempt: Option<u32>,
    as_left: bool,
) -> Result<Option<(String, String)>, FileError> {
    let range = |entry: &LogEntry| {
        let (base, end) = entry.range.as_ref()?;
        let left = entry.left.as_ref().filter(|_| as_left);
        Some((base.to_string(), left.unwrap_or(end).clone()))
    };
    find_attempt(events, story, attempt, range)
}

/// Returns the refs that keep the story list as an attempt left it before something was put back, oldest first, and the
/// attempt's number. Without a number, finds the latest attempt at the story.
pub fn lists_of(
    events: &Path,
    story: &str,
    attempt: Option<u32>,
) -> Result<Option<(u32, Vec<String>)>, FileError> {
    find_attempt(events, story, attempt, |entry| {
        Some((entry.attempt.attempt, entry.lists.clone()))
    })
}

/// Returns what the latest attempt at a story has, or the one with this number.
fn find_attempt<T>(
    events: &Path,
    story: &str,
    attempt: Option<u32>,
    wanted: impl Fn(&LogEntry) -> Option<T>,
) -> Result<Option<T>, FileError> {
    let history = History::read(events)?;
    // Attempt numbers are never reused: a named attempt may belong to an earlier loop.
    let from = if attempt.is_none() { history.earlier } else { 0 };
    let is_it = |entry: &&LogEntry| {
        entry.attempt.story == story && attempt.is_none_or(|number| entry.attempt.attempt == number)
    };
    let attempts = history.attempts[from..].iter().rev();
    Ok(attempts.filter(is_it).find_map(wanted))
}

/// Reads the history of a loop; further calls read the later events.
#[derive(Debug, Default)]
pub struct Reader {
    /// The history up to the last read.
    pub history: History,
    /// The command lines of all gates.
    pub gates: BTreeSet<String>,
    /// The number of bytes that were read.
    pub(super) read: u64,
}

impl Reader {
    /// Makes a reader that begins after `read` bytes, in which these gates ran.
    pub(super) fn after(read: u64, gates: BTreeSet<String>) -> Self {
        Self {
            gates,
            read,
            ..Self::default()
        }
    }

    /// Reads the later events.
    pub fn read_on(&mut self, events: &Path) -> Result<(), FileError> {
        if target_of(events)?.is_none_or(|found| found.len() < self.read) {
            *self = Self::default();
        }
        if let Some(mut file) = open(events)? {
            self.read_from(&mut file)
                .map_err(|source| file_error("read", events, source))?;
        }
        Ok(())
    }

    /// Does the same with an open file that has not become shorter.
    pub(super) fn read_from(&mut self, file: &mut File) -> io::Result<()> {
        self.read = each_line_of(file, self.read, |line| {
            if let Some((t, what)) = recorded(line) {
                self.history.take_at(t, &what);
                if let What::Gate(gate) = what {
                    self.gates.insert(gate.command);
                }
            }
        })?;
        Ok(())
    }
}

/// Reads the events of a loop, oldest first.
pub fn read_events(events: &Path) -> Result<Vec<Event>, FileError> {
    let mut found = Vec::new();
    each_line(events, 0, |line| {
        found.extend(serde_json::from_slice::<Event>(line));
    })?;
    Ok(found)
}

/// Parses a line for a history: the time and the event. Skips events that a history does not use, and parses most kinds
/// directly, which is faster than serde's search for the kind; returns `None` for lines in another form.
fn recorded(line: &[u8]) -> Option<(Timestamp, What)> {
    let Some((t, kind)) = beginning(line) else {
        let event: Event = serde_json::from_slice(line).ok()?;
        return Some((event.t, event.what));
    };
    let what = match kind {
        b"attempt_started" => What::AttemptStarted(serde_json::from_slice(line).ok()?),
        b"attempt_ended" => What::AttemptEnded(serde_json::from_slice(line).ok()?),
        b"gate" => What::Gate(serde_json::from_slice(line).ok()?),
        b"review" => What::Review(serde_json::from_slice(line).ok()?),
        // `History::take_at` ignores these.
        b"story_progress"
        | b"ref_moved"
        | b"notice"
        | b"waiting"
        | b"max_retries_exceeded"
        | b"run_ended" => return None,
        _ => serde_json::from_slice(line).ok()?,
    };
    Some((t, what))
}

/// Returns the time and the kind at the beginning of a line; `None` for lines in another form.
fn beginning(line: &[u8]) -> Option<(Timestamp, &[u8])> {
    let rest = line.strip_prefix(br#"{"v":1,"t":""#)?;
    let (t, rest) = rest.split_at(memchr(b'"', rest)?);
    let rest = rest.strip_prefix(br#"","event":""#)?;
    let t = str::from_utf8(t).ok()?.parse().ok()?;
    Some((t, &rest[..memchr(b'"', rest)?]))
}

#[cfg(test)]
mod tests;
