//! Limits that the user set for the loop: time, attempts, cost. They are checked between attempts and before a wait;
//! the loop can continue later.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::engine::Loop;
use crate::error::Error;
use crate::events::Attempt;
use crate::events::log::attempts;
use crate::names::{counted, dollars};
use crate::settings::{MAX_ATTEMPTS, MAX_COST, MAX_DURATION, Settings};
use crate::state::{State, Verdict, sides};

/// Warns once per command that a limit in dollars cannot count an attempt whose agent reports no cost: before the first
/// attempt if that is known, otherwise after it.
pub(super) fn tell_unknown_cost(open: &Loop<'_>, settings: &Settings, started: u32, is_unknown: bool) {
    if settings.max_cost.is_some() && is_unknown && started == 0 {
        let cost = settings.given_by("ralph.maxCost", MAX_COST);
        let others = match cost {
            MAX_COST => [MAX_ATTEMPTS, MAX_DURATION],
            _ => ["ralph.maxAttempts", "ralph.maxDuration"],
        };
        let others = others.join(" or ");
        open.tell(format!(
            "the agent reports no cost, so {cost} cannot limit it; use {others}"
        ));
    }
}

/// The file of a loop's events, below its own directory.
const EVENTS: &str = "events.jsonl";

/// Number of seconds within which an agent ends that cannot work at all.
const AT_ONCE: f64 = 10.0;

/// Returns whether the last two attempts at this story ended at once with the same error message, without a promise and
/// without a change: another attempt would end so too.
pub(super) fn fails_at_once(open: &Loop<'_>, story: &str) -> Result<bool, Error> {
    let mut reader = open.latest_history()?;
    if reader.history.ended().nth(1).is_none() {
        drop(reader);
        reader = open.history()?;
    }
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

/// Returns the reached limit on attempts, time or cost, in words; `started` counts the attempts of this command.
pub(crate) fn limit_reached(
    open: &Loop<'_>,
    settings: &Settings,
    started: u32,
) -> Result<Option<String>, Error> {
    if let Some(most) = settings.max_attempts
        && started >= most
    {
        let by = settings.given_by("ralph.maxAttempts", MAX_ATTEMPTS);
        return Ok(Some(format!("{} ({by})", counted(most, "attempt", "attempts"))));
    }
    limit_of_loop(open, settings, 0.0)
}

/// Returns the limit that prevents an attempt which this process decides to make. The run of the loop has decided about
/// the first attempt of a side.
pub(super) fn limit_before(
    open: &Loop<'_>,
    settings: &Settings,
    started: u32,
) -> Result<Option<String>, Error> {
    if open.state.here.is_side && open.history()?.history.ended().next().is_none() {
        return Ok(None);
    }
    limit_reached(open, settings, started)
}

/// Returns the reached limit of the loop's time or cost, in words; `spent` is the cost of the running attempt.
pub(super) fn limit_of_loop(
    open: &Loop<'_>,
    settings: &Settings,
    spent: f64,
) -> Result<Option<String>, Error> {
    Ok(reached(open, settings, spent)?.map(|reached| reached.words))
}

/// Returns the reached limit of the loop's cost, in words; the loop's age does not limit questions of the user.
pub(crate) fn limit_of_cost(open: &Loop<'_>, settings: &Settings) -> Result<Option<String>, Error> {
    let settings = Settings {
        max_duration: None,
        ..settings.clone()
    };
    limit_of_loop(open, &settings, 0.0)
}

/// Returns the limit that the loop has reached. Reads no event without limits.
fn reached(open: &Loop<'_>, settings: &Settings, spent: f64) -> Result<Option<Reached>, Error> {
    if settings.max_duration.is_none() && settings.max_cost.is_none() {
        return Ok(None);
    }
    let spent = spent_by_loop(open)? + spent;
    Ok(Reached::of(open.began()?, settings, spent))
}

/// Returns the cost of a loop's attempts: the ended ones, and the ended rounds of those that run beside this one. The
/// loop and each of its sides get the same result.
fn spent_by_loop(open: &Loop<'_>) -> Result<f64, Error> {
    let mut costs = BTreeMap::new();
    let mut note = |attempt: &Attempt| {
        // The loop has the attempt that it took in, with its review.
        let at = (attempt.story.clone(), attempt.started);
        costs
            .entry(at)
            .or_insert_with(|| attempt.whole_cost().unwrap_or(0.0));
    };
    let of = open.loop_of_side();
    if let Some(of) = &of {
        for entry in attempts(&of.file(EVENTS))? {
            note(&entry.attempt);
        }
    }
    let own = open.history()?;
    own.history.ended().for_each(|entry| note(&entry.attempt));
    let common_dir = &open.repo().common_dir;
    let of = of.map_or_else(|| open.change().clone(), |_| open.change().worked_on());
    for side in sides(common_dir, &of)?
        .iter()
        .filter(|side| *side != open.change())
    {
        let store = open.store.of_other(side);
        for entry in attempts(&store.file(EVENTS))? {
            note(&entry.attempt);
        }
        if let Some(state) = store.load()?
            && let (Some(running), Some(story)) = (state.running(), state.attempted())
        {
            note(&Attempt {
                story: story.id.clone(),
                started: running.since,
                cost_usd: running.cost_usd,
                ..Attempt::default()
            });
        }
    }
    Ok(costs.into_values().sum())
}

/// Returns the option of `git ralph run` that doubles the reached limit of this loop; `None` if no limit is reached.
pub(crate) fn raised_in(open: &Loop<'_>) -> Result<Option<String>, Error> {
    Ok(reached(open, &open.settings(), 0.0)?.map(|reached| reached.raised_by))
}

/// A reached limit of the whole loop: it applies to the next command too.
struct Reached {
    /// The limit in words.
    words: String,
    /// The option that raises it.
    raised_by: String,
}

/// Returns the option of `git ralph run` that raises the reached limit of a loop with this cost; `None` if no limit is
/// reached.
pub(crate) fn raised_by(state: &State, spent: f64, settings: &Settings) -> Option<String> {
    Reached::of(state.common.started, settings, spent).map(|reached| reached.raised_by)
}

impl Reached {
    /// Returns the reached limit of a loop that began at `began`; `spent` is the cost of its attempts.
    fn of(began: Timestamp, settings: &Settings, spent: f64) -> Option<Self> {
        let age = Timestamp::now().duration_since(began);
        if settings.max_duration.is_some_and(|longest| age >= longest) {
            let by = settings.given_by("ralph.maxDuration", MAX_DURATION);
            let more = typed_time(age.saturating_add(settings.max_duration.unwrap_or_default()));
            let age = SignedDuration::from_secs(age.as_secs());
            return Some(Self {
                words: format!("the loop is {age:#} old ({by})"),
                raised_by: format!("{MAX_DURATION} {more}"),
            });
        }
        let most = settings.max_cost?;
        let by = settings.given_by("ralph.maxCost", MAX_COST);
        (spent >= most).then(|| Self {
            words: format!("{} of {} spent ({by})", dollars(spent), dollars(most)),
            raised_by: format!("{MAX_COST} {:.2}", spent + most),
        })
    }
}

/// Returns a duration as the user types it, rounded up to a whole unit.
fn typed_time(time: SignedDuration) -> String {
    let seconds = time.as_secs();
    match seconds {
        3600.. => format!("{}h", (seconds + 3599) / 3600),
        60.. => format!("{}m", (seconds + 59) / 60),
        _ => format!("{}s", seconds + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_limit_allows_as_much_again() {
        for (seconds, typed) in [(2, "3s"), (60, "1m"), (61, "2m"), (3600, "1h"), (28_801, "9h")] {
            assert_eq!(typed_time(SignedDuration::from_secs(seconds)), typed);
        }
    }
}
