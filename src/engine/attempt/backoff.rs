//! Waits for an unavailable agent service until the time that it named, else with a growing delay; and for an agent
//! that crashes repeatedly. Such attempts do not count. `ralph.maxWait` and `ralph.maxDuration` limit the wait.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;

use crate::engine::Loop;
use crate::events::{News, What};
use crate::settings::{MAX_DURATION, Settings, to_std};

/// The first delay if the service names no time; each further delay is twice as long.
const FIRST: Duration = Duration::from_secs(10);
/// The longest delay of that series.
const LONGEST: Duration = Duration::from_secs(300);
/// Maximum number of repeats of an attempt that crashes end: each may cost as much as a whole attempt.
pub(crate) const MOST_CRASHES: u32 = 5;
/// Number of seconds that stands for any longer duration.
const FOREVER: u64 = 10 * 365 * 86_400;
/// Time between two updates of the countdown.
const TICK: Duration = Duration::from_secs(1);

/// The agent's report about its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unavailable {
    /// The agent's own message.
    pub reason: String,
    /// Seconds until the service answers again, if it said so.
    pub retry_after: Option<u64>,
    /// Time that the agent spent waiting for the service, or an upper bound of it.
    pub waited: Duration,
}

impl Unavailable {
    /// Returns the report about an agent that crashed.
    pub fn crashed(reason: String) -> Self {
        Self {
            reason,
            retry_after: None,
            waited: Duration::ZERO,
        }
    }
}

/// The reason why a wait for a service ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
    /// The service is unavailable for longer than a limit allows, which the text describes.
    Limited(String),
    /// `git ralph stop` ended the wait.
    Asked,
}

/// The number and total time of the waits for one attempt.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    times: u32,
    waited: Duration,
}

/// Waits until a new try makes sense, or returns why the wait ended early.
pub(crate) async fn wait_for_service(
    open: &Loop<'_>,
    backoff: &mut Backoff,
    unavailable: &Unavailable,
    settings: &Settings,
) -> Result<(), Unanswered> {
    backoff.waited = backoff.waited.saturating_add(unavailable.waited);
    let delay = delay(unavailable.retry_after, backoff.times, fastrand::f64());
    let words = format!("{:#}", in_words(delay));
    let too_long = |limit: &str| {
        Err(Unanswered::Limited(format!(
            "an agent's service is unavailable for another {words}, longer than {limit} allows: {}",
            unavailable.reason
        )))
    };
    if let Some(longest) = settings.max_wait
        && backoff.waited.saturating_add(delay) > to_std(longest)
    {
        return too_long("ralph.maxWait");
    }
    let now = Timestamp::now();
    if let Some(longest) = settings.max_duration
        && now.duration_since(open.began().unwrap_or(open.state.common.started)) + rounded(delay) > longest
    {
        return too_long(settings.given_by("ralph.maxDuration", MAX_DURATION));
    }
    backoff.times += 1;
    backoff.waited += delay;
    let until = now.checked_add(delay).unwrap_or(now);
    open.state.note_wait(until, &unavailable.reason);
    if let Err(error) = open.save() {
        open.tell(format!("cannot note the waiting: {error}"));
    }
    open.emit(What::Waiting {
        reason: unavailable.reason.clone(),
        seconds: delay.as_secs(),
        until,
    });
    count_down(open, until, delay).await
}

/// Counts down until a time, `delay` from now.
async fn count_down(open: &Loop<'_>, until: Timestamp, delay: Duration) -> Result<(), Unanswered> {
    let begun = Instant::now();
    let mut stop = open.context.stop.clone();
    loop {
        let left = left(until.duration_since(Timestamp::now()), delay, begun.elapsed());
        open.context.observer.hear(News::Countdown(left));
        if left.is_zero() {
            // Any process may have changed the work tree meanwhile.
            open.view.drop_all();
            return Ok(());
        }
        if open.is_asked_to_stop() {
            open.context.observer.hear(News::Countdown(Duration::ZERO));
            return Err(Unanswered::Asked);
        }
        tokio::select! {
            biased;
            signal = stop.asked(1) => {
                open.context.observer.hear(News::Countdown(Duration::ZERO));
                return Err(Unanswered::Interrupted(signal));
            }
            () = sleep(left.min(TICK)) => {}
        }
    }
}

/// Returns the rest of a delay. The wall clock, which gives the time `until` the end, continues while the machine
/// sleeps, and can be set back; the monotonic clock, which gives the time `passed`, does neither.
fn left(until: SignedDuration, delay: Duration, passed: Duration) -> Duration {
    let by_the_wall: Duration = until.try_into().unwrap_or_default();
    by_the_wall.min(delay.saturating_sub(passed))
}

/// Returns the time to wait; `chance` (0 to 1) spreads loops that wait for the same service.
fn delay(asked: Option<u64>, times: u32, chance: f64) -> Duration {
    match asked {
        // A little later than the service said, never earlier.
        Some(seconds) => {
            let asked = Duration::from_secs(seconds.clamp(1, FOREVER));
            asked + (asked / 20).min(Duration::from_secs(10)).mul_f64(chance)
        }
        None => FIRST
            .saturating_mul(2u32.saturating_pow(times))
            .min(LONGEST)
            .mul_f64(0.75 + chance / 2.0),
    }
}

/// Rounds a delay for messages: the seconds of an hour do not matter.
fn in_words(delay: Duration) -> SignedDuration {
    let whole = rounded(delay);
    match whole.as_secs() {
        seconds @ 3600.. => SignedDuration::from_secs(seconds - seconds % 60),
        _ => whole,
    }
}

/// Rounds a delay to whole seconds, for sums.
fn rounded(delay: Duration) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(delay.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_makes_no_wait_longer() {
        let left = |until, passed| {
            left(
                SignedDuration::from_secs(until),
                Duration::from_secs(60),
                Duration::from_secs(passed),
            )
            .as_secs()
        };
        assert_eq!(left(60, 0), 60);
        assert_eq!(left(86_400, 20), 40);
        assert_eq!(left(86_400, 60), 0);
        assert_eq!(left(86_400, 61), 0);
        // The machine slept.
        assert_eq!(left(-3_600, 1), 0);
    }

    #[test]
    fn backoff_keeps_a_given_time_and_lets_others_grow() {
        let seconds = |asked, times| {
            let spread = [0.0, 1.0].map(|chance| delay(asked, times, chance).as_secs_f64());
            (spread[0], spread[1])
        };
        assert_eq!(seconds(Some(60), 7), (60.0, 63.0));
        assert_eq!(seconds(Some(0), 0), (1.0, 1.05));
        assert_eq!(seconds(Some(86_400), 0), (86_400.0, 86_410.0));
        assert_eq!(seconds(None, 0), (7.5, 12.5));
        assert_eq!(seconds(None, 2), (30.0, 50.0));
        assert_eq!(seconds(None, 5), (225.0, 375.0));
        assert_eq!(seconds(None, 4_000_000_000), (225.0, 375.0));
        assert!(delay(Some(u64::MAX), 0, 0.5) >= Duration::from_secs(FOREVER));
    }
}
