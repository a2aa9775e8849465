//! Limits that the user set for the loop: time, attempts, cost. They are checked between attempts and before a wait;
//! the loop can go on later.

use jiff::{SignedDuration, Timestamp};

use crate::engine::Loop;
use crate::error::Error;
use crate::events::log;
use crate::names::{counted, dollars};
use crate::settings::Settings;

/// Warns once in a command that a limit in dollars cannot count an attempt whose agent reports no cost.
pub(super) fn tell_unknown_cost(open: &mut Loop<'_>, settings: &Settings, started: u32, cost: Option<f64>) {
    if settings.max_cost.is_some() && cost.is_none() && started == 0 {
        open.tell(
            "the agent reported no cost, so ralph.maxCost cannot limit it; use ralph.maxAttempts or ralph.maxDuration",
        );
    }
}

/// Returns the limit that was reached, in words; `started` is the number of attempts that this command has begun.
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
    if let Some(longest) = settings.max_duration {
        let age = Timestamp::now().duration_since(open.state.started);
        if age >= longest {
            let age = SignedDuration::from_secs(age.as_secs());
            return Ok(Some(format!(
                "the loop is {age:#} old (ralph.maxDuration); to raise it: git -c ralph.maxDuration=<time> ralph run"
            )));
        }
    }
    if let Some(most) = settings.max_cost {
        let spent: f64 = log::attempts(&open.file("events.jsonl"))?
            .iter()
            .filter_map(|entry| entry.attempt.cost_usd)
            .sum();
        if spent >= most {
            return Ok(Some(format!(
                "{} of {} spent (ralph.maxCost); to raise it: git -c ralph.maxCost=<dollars> ralph run",
                dollars(spent),
                dollars(most)
            )));
        }
    }
    Ok(None)
}
