//! The time for which an operation on a remote is retried; a waiting user may shorten it.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::signal::Stop;

/// Time to wait while the user waits too, or while a run has nothing to lose yet.
pub(super) const SHORT_PATIENCE: Duration = Duration::from_secs(20);

/// The time for which an operation is retried, from its start.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    time: Duration,
    begun: Instant,
    /// Stop requests: the first one shortens the time, and the second one ends it.
    stop: Option<Stop>,
}

impl Patience {
    /// Begins a time.
    pub fn of(time: Duration) -> Self {
        let (begun, stop) = (Instant::now(), None);
        Self { time, begun, stop }
    }

    /// Begins a time that requests to stop shorten.
    pub fn until_asked(time: Duration, stop: &Stop) -> Self {
        let stop = Some(stop.clone());
        Self {
            stop,
            ..Self::of(time)
        }
    }

    /// Returns the remaining time.
    pub fn left(&self) -> Duration {
        let time = match self.stop.as_ref().map_or(0, Stop::times) {
            0 => self.time,
            1 => self.time.min(SHORT_PATIENCE),
            _ => Duration::ZERO,
        };
        time.saturating_sub(self.begun.elapsed())
    }

    /// Pauses, but not beyond the remaining time, and not after another stop request.
    pub async fn pause(&mut self, pause: Duration) {
        let pause = pause.min(self.left());
        match &mut self.stop {
            None => sleep(pause).await,
            Some(stop) => {
                let next = stop.times().saturating_add(1);
                tokio::select! {
                    () = sleep(pause) => {}
                    _ = stop.asked(next) => {}
                }
            }
        }
    }
}
