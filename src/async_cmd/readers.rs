//! Children that only read: a request to stop ends them, even in the middle of a step.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The children that only read, with the time of their start, and the signal because of which they were ended.
static READERS: Mutex<Vec<(i32, Instant, Option<i32>)>> = Mutex::new(Vec::new());

/// A child that only reads, until this is dropped.
pub(super) struct Reader(Vec<i32>);

impl Reader {
    /// Notes a child by its process groups.
    pub fn of(groups: &[Pid]) -> Self {
        let groups: Vec<i32> = groups.iter().map(|group| group.as_raw()).collect();
        let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        readers.extend(groups.iter().map(|group| (*group, Instant::now(), None)));
        Self(groups)
    }

    /// Returns the signal because of which it was ended.
    pub fn ended_by(self) -> Option<i32> {
        let readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ours = readers.iter().filter(|(group, ..)| self.0.contains(group));
        ours.find_map(|(_, _, signal)| *signal)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|(group, ..)| !self.0.contains(group));
    }
}

/// Ends the children that only read and have run for this time, because a signal asked us to stop.
pub fn end_readers(running: Duration, signal: i32) {
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    for (group, begun, ended) in readers.iter_mut() {
        if begun.elapsed() >= running {
            *ended = Some(signal);
            let _ = killpg(Pid::from_raw(*group), Signal::SIGTERM);
        }
    }
}
