//! The time that a process may take: its time limit, and the longest time without progress.
//!
//! The clock counts only while git-ralph runs: time in which it was stopped, by Ctrl-Z or because the machine slept, is
//! no silence of the process. This module does no input or output.

use std::time::Duration;

use tokio::time::Instant;

use crate::names::counted;

/// The limit that a process has reached: its time limit, or the maximum time without progress.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spent {
    /// The reason to end the process, in words.
    pub(super) why: String,
    /// The limit.
    pub(super) limit: Duration,
}

/// The gap between two readings of the clock, usually a second apart, that means that git-ralph was stopped.
const STOPPED: Duration = Duration::from_secs(3);

/// The limits of a process, and their remaining time.
pub(super) struct Patience {
    timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
    deadline: Option<Instant>,
    last_progress: Instant,
    last_look: Instant,
    /// The name of the missing progress.
    lack: &'static str,
}

impl Patience {
    pub(super) fn begin(now: Instant, timeout: Option<Duration>, idle_timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            idle_timeout,
            deadline: timeout.map(|limit| now + limit),
            last_progress: now,
            last_look: now,
            lack: "output",
        }
    }

    /// Returns the time at which the clock must be read next.
    pub(super) fn next(&self) -> Option<Instant> {
        let idle = self.idle_timeout.map(|limit| self.last_progress + limit);
        [self.deadline, idle].into_iter().flatten().min()
    }

    /// Reads the clock: a gap in which git-ralph was stopped does not count, and restarts the time without progress.
    pub(super) fn look(&mut self, now: Instant) {
        let gap = now.duration_since(self.last_look);
        self.last_look = now;
        if gap >= STOPPED {
            self.deadline = self.deadline.map(|deadline| deadline + gap);
            self.last_progress = now;
        }
    }

    /// Notes output, and whether it shows progress.
    pub(super) fn heard(&mut self, now: Instant, progress: bool) {
        if progress {
            (self.last_progress, self.lack) = (now, "output");
        } else {
            self.lack = "progress in its output";
        }
    }

    /// Returns the limit that ends the process now, if it has reached one.
    pub(super) fn spent(&self, now: Instant) -> Option<Spent> {
        let whole = |limit: Duration| counted(limit.as_secs(), "second", "seconds");
        if let (Some(limit), Some(deadline)) = (self.timeout, self.deadline)
            && deadline <= now
        {
            let why = format!("ended after {}, its time limit", whole(limit));
            return Some(Spent { why, limit });
        }
        let limit = self.idle_timeout?;
        (self.last_progress + limit <= now).then(|| {
            let why = format!("ended after {} without {}", whole(limit), self.lack);
            Spent { why, limit }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn spent(why: &str, limit: u64) -> Spent {
        Spent {
            why: why.to_owned(),
            limit: seconds(limit),
        }
    }

    /// Reads the clock every second until `until`.
    fn look_on(patience: &mut Patience, begin: Instant, from: u64, until: u64) {
        for second in from..=until {
            patience.look(begin + seconds(second));
        }
    }

    #[test]
    fn silence_and_time_are_limited() {
        let begin = Instant::now();
        let mut patience = Patience::begin(begin, Some(seconds(30)), Some(seconds(10)));
        assert_eq!(patience.next(), Some(begin + seconds(10)));
        look_on(&mut patience, begin, 1, 9);
        assert_eq!(patience.spent(begin + seconds(9)), None);
        let idle = patience.spent(begin + seconds(10));
        let silent = "ended after 10 seconds without output";
        assert_eq!(idle, Some(spent(silent, 10)));
        for second in 5..30 {
            patience.look(begin + seconds(second));
            patience.heard(begin + seconds(second), true);
        }
        patience.heard(begin + seconds(29), false);
        let over = patience.spent(begin + seconds(30));
        let limit = "ended after 30 seconds, its time limit";
        assert_eq!(over, Some(spent(limit, 30)));
        assert_eq!(Patience::begin(begin, None, None).next(), None);
    }

    #[test]
    fn output_without_progress_counts_as_silence() {
        let begin = Instant::now();
        let mut patience = Patience::begin(begin, None, Some(seconds(1)));
        patience.heard(begin + seconds(1), false);
        let idle = patience.spent(begin + seconds(1));
        let silent = "ended after 1 second without progress in its output";
        assert_eq!(idle, Some(spent(silent, 1)));
    }

    #[test]
    fn long_gap_between_checks_does_not_count() {
        let begin = Instant::now();
        let mut patience = Patience::begin(begin, Some(seconds(100)), Some(seconds(10)));
        look_on(&mut patience, begin, 1, 8);
        let later = begin + seconds(3608);
        patience.look(later);
        assert_eq!(patience.spent(later), None);
        assert_eq!(patience.next(), Some(later + seconds(10)));
        patience.heard(later, true);
        for second in 1..92 {
            patience.look(later + seconds(second));
            patience.heard(later + seconds(second), true);
        }
        assert_eq!(patience.spent(later + seconds(91)), None);
        assert!(patience.spent(later + seconds(92)).is_some());
    }
}
