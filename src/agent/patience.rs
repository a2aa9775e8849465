//! How long a process may go on: its time limit, and how long it may show no progress.
//!
//! The clock counts only while somebody looks: time in which git-ralph itself was stopped, by Ctrl-Z or with the machine
//! asleep, is nobody's silence. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::names::counted;

/// Looks are a second apart; with so much more between two of them, nobody looked.
const STOPPED: Duration = Duration::from_secs(3);

/// The limits of a process, and what is left of them.
pub(super) struct Patience {
    timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
    deadline: Option<Instant>,
    last_progress: Instant,
    last_look: Instant,
    /// What it went without since it last got on.
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

    /// Returns when there is something to look at at the latest.
    pub(super) fn next(&self) -> Option<Instant> {
        let idle = self.idle_timeout.map(|limit| self.last_progress + limit);
        [self.deadline, idle].into_iter().flatten().min()
    }

    /// Looks at the clock: after a time in which nobody did, that time does not count, and silence begins anew.
    pub(super) fn look(&mut self, now: Instant) {
        let gap = now.duration_since(self.last_look);
        self.last_look = now;
        if gap >= STOPPED {
            self.deadline = self.deadline.map(|deadline| deadline + gap);
            self.last_progress = now;
        }
    }

    /// Notes that something was printed, and whether it shows that the process gets on.
    pub(super) fn heard(&mut self, now: Instant, progress: bool) {
        if progress {
            (self.last_progress, self.lack) = (now, "output");
        } else {
            self.lack = "progress in its output";
        }
    }

    /// Returns why the process has to end now, if it has to.
    pub(super) fn spent(&self, now: Instant) -> Option<String> {
        let whole = |limit: Duration| counted(limit.as_secs(), "second", "seconds");
        if let (Some(limit), Some(deadline)) = (self.timeout, self.deadline)
            && deadline <= now
        {
            return Some(format!("ended after {}, its time limit", whole(limit)));
        }
        let limit = self.idle_timeout?;
        (self.last_progress + limit <= now)
            .then(|| format!("ended after {} without {}", whole(limit), self.lack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Looks every second until this one.
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
        assert_eq!(idle.as_deref(), Some("ended after 10 seconds without output"));
        for second in 5..30 {
            patience.look(begin + seconds(second));
            patience.heard(begin + seconds(second), true);
        }
        patience.heard(begin + seconds(29), false);
        let over = patience.spent(begin + seconds(30));
        assert_eq!(over.as_deref(), Some("ended after 30 seconds, its time limit"));
        assert_eq!(Patience::begin(begin, None, None).next(), None);
    }

    #[test]
    fn what_is_no_progress_is_silence() {
        let begin = Instant::now();
        let mut patience = Patience::begin(begin, None, Some(seconds(1)));
        patience.heard(begin + seconds(1), false);
        let idle = patience.spent(begin + seconds(1));
        assert_eq!(
            idle.as_deref(),
            Some("ended after 1 second without progress in its output")
        );
    }

    #[test]
    fn time_in_which_nobody_looked_does_not_count() {
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
