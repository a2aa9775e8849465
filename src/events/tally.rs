//! Adds up the attempts of a loop for its status. Reading the events of a very long loop takes time, so a file beside
//! them saves the sums of the first events.
//!
//! Invariant: the result equals that of reading all events. Saved sums count only if the bytes that they were computed
//! from are unchanged, and if no later event is about an attempt in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::Attempt;
use super::lines::open;
use super::log::{LogEntry, Reader};
use crate::fs::{Below, Durability, FileError, Links, file_error, read_regular_text, target_of};
use crate::state::Verdict;

/// The version of the file, and of the meaning of events in it: increased when either changes.
const FORM: u32 = 2;
/// The number of bytes after which the sums are saved again: about 700 attempts.
const PIECE: u64 = 1 << 20;
/// Maximum size of the file, in bytes.
const MOST: u64 = 16 << 20;

/// The attempts of a loop that have ended, since it was last started, added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The number of attempts.
    pub attempts: usize,
    /// The number of attempts with a known cost.
    pub priced: usize,
    /// Their cost in US dollars, including reviews.
    pub cost: f64,
    /// The seconds of all attempts, including gates and reviews.
    pub seconds: f64,
    /// The seconds of the gates before any attempt, which no other sum includes.
    pub before_work: f64,
    /// True if some attempts ran in parallel.
    pub several_at_once: bool,
    /// The attempts after which parts of the list were restored, as story@number.
    pub list_put_back: Vec<String>,
    /// The attempts at each story, by the story's id.
    stories: BTreeMap<String, OfStory>,
}

/// The attempts at a story, with the fields that a status shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct OfStory {
    /// The highest attempt number.
    highest: u32,
    latest: Option<Attempt>,
    /// The latest complete attempt, if it is not the latest.
    complete: Option<Attempt>,
}

impl Tally {
    /// Reads the events of a loop.
    pub fn read(events: &Path) -> Result<Self, FileError> {
        Ok(sums(events)?.tally)
    }

    /// Returns the latest attempt at a story, with the fields that a status shows.
    pub fn latest(&self, story: &str) -> Option<&Attempt> {
        self.stories.get(story)?.latest.as_ref()
    }

    /// Returns the latest complete attempt at a story in the same way.
    pub fn complete(&self, story: &str) -> Option<&Attempt> {
        let of_story = self.stories.get(story)?;
        let latest = of_story.latest.iter().chain(&of_story.complete);
        latest.into_iter().find(|one| one.verdict == Verdict::Complete)
    }

    /// Adds attempts; returns `None` if one of them may be included already.
    fn with(mut self, entries: &[LogEntry]) -> Option<Self> {
        let is_known = |one: &Attempt| {
            let of_story = self.stories.get(&one.story);
            of_story.is_some_and(|of_story| one.attempt <= of_story.highest)
        };
        if entries.iter().any(|entry| is_known(&entry.attempt)) {
            return None;
        }
        for entry in entries {
            self.add(entry);
        }
        Some(self)
    }

    fn add(&mut self, entry: &LogEntry) {
        let attempt = &entry.attempt;
        let of_story = self.stories.entry(attempt.story.clone()).or_default();
        of_story.highest = of_story.highest.max(attempt.attempt);
        if !entry.has_ended {
            return;
        }
        let shown = Attempt {
            story: attempt.story.clone(),
            attempt: attempt.attempt,
            verdict: attempt.verdict,
            reason: attempt.reason.clone(),
            files: attempt.files,
            rests_on: attempt.rests_on.clone(),
            ..Attempt::default()
        };
        let before = of_story.latest.replace(shown);
        if let Some(before) = before.filter(|before| before.verdict == Verdict::Complete) {
            of_story.complete = Some(before);
        }
        self.attempts += 1;
        self.seconds += entry.seconds();
        self.several_at_once |= attempt.base.is_some();
        if let Some(cost) = attempt.whole_cost() {
            self.priced += 1;
            self.cost += cost;
        }
        self.list_put_back
            .extend(entry.list_put_back.as_ref().map(|_| attempt.name()));
    }
}

impl<'e> FromIterator<&'e LogEntry> for Tally {
    fn from_iter<I: IntoIterator<Item = &'e LogEntry>>(entries: I) -> Self {
        let mut tally = Self::default();
        for entry in entries {
            tally.add(entry);
        }
        tally
    }
}

/// The sums of the first events of a loop.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    /// The length of these events, in bytes.
    end: u64,
    /// The command lines of their gates, including those of earlier loops.
    gates: BTreeSet<String>,
    tally: Tally,
}

/// The content of the file with the sums.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    form: u32,
    version: String,
    /// The result of [`sum_of`] for these events.
    sum: String,
    first: Sums,
}

impl Remembered {
    fn file(events: &Path) -> PathBuf {
        events.with_extension("tally.toml")
    }

    fn read(events: &Path) -> Option<Self> {
        let text = read_regular_text(&Self::file(events), Links::Refused, MOST).ok()?;
        let found: Self = toml::from_str(&text).ok()?;
        (found.form == FORM && found.version == env!("CARGO_PKG_VERSION")).then_some(found)
    }

    /// Returns the saved sums of this file's events, if its first bytes are unchanged.
    fn of(events: &Path, file: &mut File) -> io::Result<Option<Sums>> {
        let Some(known) = Self::read(events) else {
            return Ok(None);
        };
        let sum = sum_of(file, known.first.end)?;
        Ok((sum == Some(known.sum)).then_some(known.first))
    }
}

/// Saves the sums of a loop's events, if the events are much longer than at the last time. The caller holds the lock of
/// the loop, and no attempt runs.
pub fn remember(door: &Below, events: &Path) -> Result<(), FileError> {
    let length = target_of(events)?.map_or(0, |found| found.len());
    let is_short = |from: u64| length.checked_sub(from).is_some_and(|more| more < PIECE);
    if is_short(0) || Remembered::read(events).is_some_and(|known| is_short(known.first.end)) {
        return Ok(());
    }
    remember_now(door, events, length)
}

fn remember_now(door: &Below, events: &Path, length: u64) -> Result<(), FileError> {
    let first = sums(events)?;
    let sum = match open(events)? {
        Some(mut file) => sum_of(&mut file, first.end).map_err(|error| file_error("read", events, error))?,
        None => None,
    };
    // An incomplete last line may still change.
    let Some(sum) = sum.filter(|_| first.end == length) else {
        return Ok(());
    };
    let remembered = Remembered {
        form: FORM,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sum,
        first,
    };
    // Without the file, the events are read again.
    let text = toml::to_string(&remembered).unwrap_or_default();
    door.write(
        &Remembered::file(events),
        text.as_bytes(),
        0o600,
        Durability::Atomic,
    )
}

/// Returns a reader of the events after the saved sums, with the gates of those before; `None` without saved sums.
pub fn reader_of_last(events: &Path) -> Result<Option<Reader>, FileError> {
    let Some(mut file) = open(events)? else {
        return Ok(None);
    };
    let known = Remembered::of(events, &mut file).map_err(|error| file_error("read", events, error))?;
    Ok(known.map(|known| Reader::after(known.end, known.gates)))
}

/// Adds up the events, to the end of the last whole line.
fn sums(events: &Path) -> Result<Sums, FileError> {
    let Some(mut file) = open(events)? else {
        return Ok(Sums::default());
    };
    let error = |source| file_error("read", events, source);
    if let Some(known) = Remembered::of(events, &mut file).map_err(error)?
        && let Some(found) = added_up(&mut file, known).map_err(error)?
    {
        return Ok(found);
    }
    let found = added_up(&mut file, Sums::default()).map_err(error)?;
    Ok(found.unwrap_or_default())
}

/// Adds the later events to the first ones; returns `None` if they change the sums of the first.
fn added_up(file: &mut File, first: Sums) -> io::Result<Option<Sums>> {
    let mut reader = Reader::after(first.end, first.gates);
    reader.read_from(file)?;
    let history = reader.history;
    let before = if history.has_beginning {
        Tally::default()
    } else {
        first.tally
    };
    let before_work: Vec<f64> = history.gates.iter().map(|(_, gate)| gate.duration).collect();
    Ok(before.with(&history.latest()).map(|mut tally| {
        // One by one: floating-point sums depend on the order.
        tally.before_work = before_work.iter().fold(tally.before_work, |sum, more| sum + more);
        Sums {
            end: reader.read,
            gates: reader.gates,
            tally,
        }
    }))
}

/// Returns two checksums of the first bytes of a file; `None` if it is shorter.
fn sum_of(file: &mut File, length: u64) -> io::Result<Option<String>> {
    let (mut crc, mut sum) = (Crc::new(), 0_u64);
    let mut piece = vec![0; 1 << 16];
    let mut left = usize::try_from(length).map_err(io::Error::other)?;
    file.rewind()?;
    while left > 0 {
        let length = left.min(piece.len());
        let piece = &mut piece[..length];
        match file.read_exact(piece) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        crc.update(piece);
        let (words, rest) = piece.as_chunks();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let all = words.chain(rest.iter().copied().map(u64::from));
        sum = all.fold(sum, u64::wrapping_add);
        left -= length;
    }
    Ok(Some(format!("{:08x}{sum:016x}", crc.sum())))
}

#[cfg(test)]
mod tests;
