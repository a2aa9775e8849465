//! The files changed by the shown attempt: counted from time to time in a separate thread, until that takes too long.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::inspect::changed_files::{Changed, Of, Unknown, changed_files};
use crate::state::Store;

/// Minimum time between two counts.
const PAUSE: Duration = Duration::from_secs(5);
/// Minimum time between two counts, as a multiple of the duration of one.
const SHARE: u32 = 50;

/// The counted files, and the time of the count.
pub(super) type Found = (Timestamp, Result<Changed, Unknown>);
/// The counted files, and the duration of the count.
type Counted = (Found, Duration);

/// The files of one attempt.
#[derive(Default)]
pub(super) struct Files {
    of: Option<Of>,
    found: Option<Found>,
    counting: Option<(Of, JoinHandle<Counted>)>,
    /// The time before which a running attempt's files, or the same attempt's, are not counted again.
    due: Option<Instant>,
    /// True after a count for a running attempt took too long.
    is_off: bool,
}

impl Files {
    /// Returns the files of the last requested attempt, once known.
    pub fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// Counts the files of an attempt when due; returns true if anything is new.
    pub fn look(&mut self, store: &Store, of: Option<Of>) -> bool {
        let mut changed = self.of != of;
        if changed {
            (self.of, self.found) = (of, None);
        }
        if let Some((of, thread)) = self.counting.take_if(|(_, thread)| thread.is_finished()) {
            let (found, took) = thread
                .join()
                .unwrap_or(((Timestamp::now(), Err(Unknown::TooLong)), PAUSE));
            self.due = Some(Instant::now() + (took * SHARE).max(PAUSE));
            self.is_off |= of.runs && found.1 == Err(Unknown::TooLong);
            if self.of.as_ref() == Some(&of) {
                changed = true;
                self.found = Some(found);
            }
        }
        if let Some(of) = self.of.clone().filter(|of| self.is_wanted(of)) {
            let (store, counted) = (store.clone(), of.clone());
            let count = move || {
                let (at, since) = (Timestamp::now(), Instant::now());
                ((at, changed_files(&store, &counted)), since.elapsed())
            };
            let thread = thread::Builder::new().name("files".to_owned()).spawn(count);
            self.counting = thread.ok().map(|thread| (of, thread));
        }
        changed
    }

    /// Returns whether a new count is due and useful.
    fn is_wanted(&self, of: &Of) -> bool {
        let is_due = self.due.is_none_or(|due| Instant::now() >= due);
        self.counting.is_none()
            && match &self.found {
                _ if of.runs => is_due && !self.is_off,
                None => true,
                Some((_, Err(Unknown::NotNow(_)))) => is_due,
                Some(_) => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_counts_files_of_a_running_attempt_now_and_then_until_git_is_slow() {
        let of = |runs| Of {
            story: "1".to_owned(),
            attempt: 1,
            runs,
        };
        let not_now = || Some(Err(Unknown::NotNow("half a work tree".to_owned())));
        let known = || Some(Ok(Changed::new()));
        let is_wanted = |found: Option<Result<Changed, Unknown>>, is_due: bool, is_off: bool| {
            let now = Instant::now();
            let files = Files {
                found: found.map(|files| (Timestamp::UNIX_EPOCH, files)),
                due: Some(if is_due { now } else { now + PAUSE }),
                is_off,
                ..Files::default()
            };
            [files.is_wanted(&of(true)), files.is_wanted(&of(false))]
        };
        assert_eq!(is_wanted(None, true, false), [true, true]);
        assert_eq!(is_wanted(None, false, false), [false, true]);
        assert_eq!(is_wanted(known(), true, false), [true, false]);
        assert_eq!(is_wanted(not_now(), true, false), [true, true]);
        assert_eq!(is_wanted(not_now(), false, false), [false, false]);
        assert_eq!(is_wanted(None, true, true), [false, true]);
        let too_long = Some(Err(Unknown::TooLong));
        assert_eq!(is_wanted(too_long, true, true), [false, false]);
    }
}
