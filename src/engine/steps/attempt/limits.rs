//! Limits that the user set for the loop: time, attempts, cost. They are checked between attempts and before a wait;
//! the loop can go on later.

use jiff::{SignedDuration, Timestamp};

use crate::engine::Loop;
use crate::error::Error;
use crate::events::Attempt;
use crate::names::{counted, dollars};
use crate::settings::Settings;
use crate::state::Verdict;

/// Warns once in a command that a limit in dollars cannot count an attempt whose agent reports no cost: before its first
/// attempt if that is known, otherwise after it.
pub(super) fn tell_unknown_cost(open: &Loop<'_>, settings: &Settings, started: u32, is_unknown: bool) {
    if settings.max_cost.is_some() && is_unknown && started == 0 {
        open.tell(
            "the agent reports no cost, so ralph.maxCost cannot limit it; use ralph.maxAttempts or ralph.maxDuration",
        );
    }
}

/// Number of seconds within which an agent that cannot work at all ends.
const AT_ONCE: f64 = 10.0;

/// Returns whether the last two attempts at this story ended at once with an error and the same words, without a promise
/// and without any change: another would end so too.
pub(super) fn fails_at_once(open: &Loop<'_>, story: &str) -> Result<bool, Error> {
    let reader = open.history()?;
    let mut latest = reader.history.ended().rev();
    let (Some(last), Some(before)) = (latest.next(), latest.next()) else {
        return Ok(false);
    };
    let at_once = |attempt: &Attempt| {
        attempt.verdict == Verdict::NoSignal
            && attempt.story == story
            && attempt.exit_code.is_some_and(|code| code != 0)
            && attempt.duration < AT_ONCE
            && attempt.files == Some(0)
    };
    let (before, last) = (&before.attempt, &last.attempt);
    Ok(at_once(before) && at_once(last) && before.reason == last.reason)
}

/// Returns the limit on attempts, time or cost that was reached, in words; `started` is the number of attempts that this command has begun.
pub(crate) fn limit_reached(
    open: &Loop<'_>,
    settings: &Settings,
    started: u32,
) -> Result<Option<String>, Error> {
    if let Some(most) = settings.max_attempts
        && started >= most
    {
        return Ok(Some(format!(
            "{} (ralph.maxAttempts)",
            counted(most, "attempt", "attempts")
        )));
    }
    limit_of_loop(open, settings, 0.0)
}

/// Returns the limit of the loop's time or cost that was reached, in words; `spent` is the cost of the attempt that runs.
pub(super) fn limit_of_loop(
    open: &Loop<'_>,
    settings: &Settings,
    spent: f64,
) -> Result<Option<String>, Error> {
    if let Some(longest) = settings.max_duration {
        let age = Timestamp::now().duration_since(open.state.common.started);
        if age >= longest {
            let age = SignedDuration::from_secs(age.as_secs());
            return Ok(Some(format!(
                "the loop is {age:#} old (ralph.maxDuration); to raise it: git ralph run --max-duration <time>"
            )));
        }
    }
    if let Some(most) = settings.max_cost {
        let reader = open.history()?;
        let earlier = reader
            .history
            .ended()
            .filter_map(|entry| entry.attempt.whole_cost());
        let spent = earlier.sum::<f64>() + spent;
        if spent >= most {
            return Ok(Some(format!(
                "{} of {} spent (ralph.maxCost); to raise it: git ralph run --max-cost <dollars>",
                dollars(spent),
                dollars(most)
            )));
        }
    }
    Ok(None)
}
