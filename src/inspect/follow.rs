//! Follows a loop by its files: its events, its state, and the process that drives it. Takes no lock and writes
//! nothing, so it can follow a loop of any process, even a finished one.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::beside::ParallelAttempt;
use super::pace::Pace;
use crate::events::Event;
use crate::fs::{Links, kind_of, open_regular};
use crate::names::Change;
use crate::state::{AwaitingChoice, Phase, State, Store};

/// Number of bytes that are read in one step.
const PIECE: u64 = 256 * 1024;
/// Maximum length of a kept line; no event is as long.
const LONGEST: usize = 16 << 20;
/// The interval between two checks for the process that drives the loop.
const DRIVER: Duration = Duration::from_secs(1);

/// Reads the complete lines of a growing file, even if another file replaces it.
#[derive(Debug, Default)]
pub struct LineTail {
    path: PathBuf,
    open: Option<(File, u64)>,
    read: u64,
    /// An incomplete line, which may still be written.
    begun: Vec<u8>,
}

/// The lines since the last call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// True if they begin a new file: earlier lines belong to another one.
    pub restarted: bool,
    /// The lines, without their ends.
    pub lines: Vec<Vec<u8>>,
}

impl LineTail {
    /// Makes a reader of a file, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    /// Returns the new lines since the last call.
    pub fn poll(&mut self) -> io::Result<Lines> {
        let mut found = Lines::default();
        // The rest of a replaced file is read first.
        self.read_on(&mut found.lines)?;
        let Some(now) = kind_of(&self.path).map_err(|error| error.source)? else {
            return Ok(found);
        };
        let is_same = |(_, inode): &(File, u64)| *inode == now.ino() && now.len() >= self.read;
        if self.open.as_ref().is_some_and(is_same) {
            return Ok(found);
        }
        let file = match open_regular(&self.path, Links::Refused) {
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(found),
            opened => opened?,
        };
        found.restarted = self.open.is_some();
        if found.restarted {
            found.lines.clear();
        }
        self.open = Some((file, now.ino()));
        self.read = 0;
        self.begun.clear();
        self.read_on(&mut found.lines)?;
        Ok(found)
    }

    fn read_on(&mut self, lines: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let Some((file, _)) = &mut self.open else {
            return Ok(());
        };
        loop {
            let mut piece = Vec::new();
            let read = file.by_ref().take(PIECE).read_to_end(&mut piece)?;
            self.read += read as u64;
            for part in piece.split_inclusive(|byte| *byte == b'\n') {
                if self.begun.len() < LONGEST {
                    self.begun.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    let mut line = std::mem::take(&mut self.begun);
                    line.pop();
                    lines.push(line);
                }
            }
            if read == 0 {
                return Ok(());
            }
        }
    }
}

/// Follows one loop.
#[derive(Debug)]
pub struct LoopFollower {
    store: Store,
    events: LineTail,
    /// The last read state file: its inode and change time.
    seen: Option<(u64, i64, i64)>,
    /// The start of the loop according to this file.
    started: Option<Timestamp>,
    driver: Option<(Instant, bool)>,
    /// The repository's common directory, and the change.
    of: (PathBuf, Change),
    /// The parallel attempts.
    beside: Vec<ParallelAttempt>,
    /// The question in the last read state.
    asks: Option<AwaitingChoice>,
    /// The pace of a replay, and the state to show at its end.
    replay: Option<(Pace, Option<Box<State>>)>,
}

/// The news of a loop since the last call.
#[derive(Debug, Default)]
pub struct News {
    /// True if earlier events belong to another file.
    pub restarted: bool,
    /// The lines of events as they are in the file.
    pub lines: Vec<Vec<u8>>,
    /// The events.
    pub events: Vec<Event>,
    /// The stories of a loop that has begun since the last call, as [`stories_of`] returns them.
    pub listed: Option<Vec<(String, String, bool)>>,
    /// The state, if it has changed.
    pub state: Option<Box<State>>,
    /// True if the loop's files are gone.
    pub is_gone: bool,
    /// True if a process drives the loop now, or asks the user.
    pub is_driven: bool,
    /// The question that the process asks.
    pub asks: Option<AwaitingChoice>,
    /// The running parallel attempts.
    pub beside: Vec<ParallelAttempt>,
}

impl LoopFollower {
    /// Makes a follower that begins with the first event.
    pub fn new(common_dir: &Path, change: &Change) -> Self {
        let store = Store::new(common_dir, change);
        Self {
            events: LineTail::new(store.file("events.jsonl")),
            store,
            seen: None,
            started: None,
            driver: None,
            of: (common_dir.to_owned(), change.clone()),
            beside: Vec::new(),
            asks: None,
            replay: None,
        }
    }

    /// Replays the events, at this multiple of their speed.
    pub fn replay(&mut self, speed: f64) {
        self.replay = Some((Pace::new(speed), None));
    }

    /// Returns the files of the loop.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Reads the files. Unreadable ones are read by the next call. A replayed loop counts as driven until its last
    /// event.
    pub fn poll(&mut self) -> News {
        let mut news = self.look();
        if let Some((pace, state)) = &mut self.replay {
            news.lines.clear();
            news.events = pace.hold(news.events, Instant::now());
            *state = news.state.or(state.take());
            news.state = state.take_if(|_| pace.is_over());
            if let (Some(state), Some(begun)) = (&mut news.state, pace.begun()) {
                state.common.started = begun;
            }
            news.beside.clear();
            news.is_driven |= !pace.is_over() || !news.events.is_empty();
        }
        news
    }

    fn look(&mut self) -> News {
        let found = self.events.poll().unwrap_or_default();
        let events = found.lines.iter();
        let mut news = News {
            restarted: found.restarted,
            events: events
                .filter_map(|line| serde_json::from_slice(line).ok())
                .collect(),
            is_driven: self.is_driven(),
            ..News::default()
        };
        news.lines = found.lines;
        match kind_of(&self.store.state_file()) {
            Ok(Some(now)) => {
                let stamp = (now.ino(), now.mtime(), now.mtime_nsec());
                if self.seen != Some(stamp)
                    && let Ok(Some(state)) = self.store.load()
                {
                    self.seen = Some(stamp);
                    self.asks.clone_from(&state.here.awaiting_choice);
                    let started = state.common.started;
                    let before = self.started.replace(started);
                    if before.is_some_and(|before| before != started) {
                        news.listed = Some(stories_of(&state));
                    }
                    news.state = Some(Box::new(state));
                }
            }
            found => news.is_gone = found.is_ok(),
        }
        news.asks = self.asks.clone().filter(AwaitingChoice::is_asked);
        news.is_driven |= news.asks.is_some();
        news.beside.clone_from(&self.beside);
        news
    }

    /// Returns whether a process holds the loop; checked once a second, together with the parallel attempts.
    fn is_driven(&mut self) -> bool {
        let now = Instant::now();
        match self.driver {
            Some((looked, is_driven)) if now.duration_since(looked) < DRIVER => is_driven,
            _ => {
                let is_driven = is_driven(&self.store);
                self.beside = ParallelAttempt::all_there(&self.of.0, &self.of.1);
                self.beside.retain(ParallelAttempt::is_running);
                self.driver = Some((now, is_driven));
                is_driven
            }
        }
    }
}

/// Returns whether a process holds the loop. Tries the lock only if the process that took it last is alive, so that it
/// hardly ever blocks a command that takes the lock at the same moment.
pub fn is_driven(store: &Store) -> bool {
    let is_alive = |pid: i32| kill(Pid::from_raw(pid), None).is_ok();
    store.holder().is_none_or(is_alive) && store.is_held()
}

/// Returns the question of a process about the loop while no process holds the loop.
pub fn asked(store: &Store) -> Option<AwaitingChoice> {
    let state = store.load_live().ok().flatten()?;
    state.asked().cloned()
}

/// Returns the process that drives the loop, or asks the user how to continue.
pub fn driver(store: &Store) -> Option<i32> {
    let holder = store.holder().filter(|_| is_driven(store));
    holder.or_else(|| Some(asked(store)?.pid))
}

/// Returns the ids and titles of a loop's stories, and whether the list marks each as complete. Does not run a command
/// that prints the list: a display runs nothing.
pub fn stories_of(state: &State) -> Vec<(String, String, bool)> {
    if state.phase() == Phase::Finished {
        return Vec::new();
    }
    let listing = state.source().list_in_file(state.work_tree());
    let stories = listing.map(|listing| listing.stories).unwrap_or_default();
    stories
        .into_iter()
        .map(|story| (story.id, story.title, story.done))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use proptest::prelude::*;

    fn words(found: &Lines) -> Vec<String> {
        let lines = found.lines.iter();
        lines
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }

    #[test]
    fn lines_are_read_once_and_whole_and_a_new_file_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let mut tail = LineTail::new(path.clone());
        assert_eq!(tail.poll().unwrap(), Lines::default());
        fs::write(&path, "one\ntw").unwrap();
        assert_eq!(words(&tail.poll().unwrap()), ["one"]);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"o\n").unwrap();
        assert_eq!(words(&tail.poll().unwrap()), ["two"]);
        fs::rename(&path, dir.path().join("old")).unwrap();
        fs::write(&path, "three\n").unwrap();
        let found = tail.poll().unwrap();
        assert!(found.restarted);
        assert_eq!(words(&found), ["three"]);
        fs::write(&path, "").unwrap();
        assert_eq!(words(&tail.poll().unwrap()), [""; 0]);
    }

    proptest! {
        #[test]
        fn times_of_the_reads_do_not_change_the_lines(
            text in "([a-c]{0,3}\n?){0,8}", cuts in prop::collection::vec(0_usize..40, 0..5)
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("events.jsonl");
            let mut tail = LineTail::new(path.clone());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut seen = Vec::new();
            let mut file = File::create(&path).unwrap();
            for pair in cuts.windows(2) {
                file.write_all(&text.as_bytes()[pair[0]..pair[1]]).unwrap();
                seen.extend(words(&tail.poll().unwrap()));
            }
            let mut whole: Vec<&str> = text.split('\n').collect();
            whole.pop();
            prop_assert_eq!(seen, whole);
        }
    }
}
