//! Children that only read: a request to stop ends them, even in the middle of a step.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The time that a child has whose step only began it after the request to stop: the step may still end well.
const TIME_AFTER_REQUEST: Duration = Duration::from_secs(10);

/// The children that only read.
static READERS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Entry {
    group: i32,
    begun: Instant,
    /// The signal because of which it was ended.
    ended_by: Option<i32>,
}

/// A child that only reads, until this is dropped.
pub(super) struct Reader(Vec<i32>);

impl Reader {
    /// Notes a child by its process groups, with a moment before it was started.
    pub fn of(groups: &[Pid], begun: Instant) -> Self {
        let groups: Vec<i32> = groups.iter().map(|group| group.as_raw()).collect();
        readers().extend(groups.iter().map(|&group| Entry {
            group,
            begun,
            ended_by: None,
        }));
        Self(groups)
    }

    /// Returns the signal because of which it was ended.
    pub fn ended_by(self) -> Option<i32> {
        let readers = readers();
        let mut ours = readers.iter().filter(|entry| self.0.contains(&entry.group));
        ours.find_map(|entry| entry.ended_by)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        readers().retain(|entry| !self.0.contains(&entry.group));
    }
}

fn readers() -> MutexGuard<'static, Vec<Entry>> {
    READERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the children that only read and that were under way when a signal asked us to stop, and later ones that take too
/// long. Is called again and again after a signal, because a child may be noted only after it.
pub fn end_readers(asked: Instant, signal: i32) {
    for entry in readers().iter_mut() {
        if entry.begun <= asked || entry.begun.elapsed() >= TIME_AFTER_REQUEST {
            entry.ended_by = Some(signal);
            let _ = killpg(Pid::from_raw(entry.group), Signal::SIGTERM);
        }
    }
}
