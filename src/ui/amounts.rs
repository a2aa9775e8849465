//! Numbers as text for display: costs, durations, progress.

use std::time::Duration;

use jiff::{SignedDuration, Zoned};

use crate::events::tally::Tally;
use crate::inspect::status::Status;
use crate::names::{counted, dollars, parts_of_stories};

/// Returns the sum of the costs of attempts, and the number of those without a reported cost, if there are any.
pub(super) fn spent(known: f64, unknown: usize, attempts: usize) -> String {
    match unknown {
        0 => dollars(known),
        some => format!(
            "{} known, {some} of {} without a price",
            dollars(known),
            counted(attempts, "attempt", "attempts")
        ),
    }
}

/// Returns the time of attempts with their gates and reviews, and their cost, if known.
pub(super) fn time_and_cost(tally: &Tally) -> String {
    let mut took = time(tally.seconds) + at_once(tally.several_at_once);
    if tally.priced > 0 {
        let unknown = tally.attempts.saturating_sub(tally.priced);
        took = format!("{took}, {}", spent(tally.cost, unknown, tally.attempts));
    }
    took + &before_work(tally.before_work)
}

/// Returns the time of the gates before any attempt; empty if it is short.
fn before_work(seconds: f64) -> String {
    if seconds < 1.0 {
        return String::new();
    }
    format!("; gate before work {}", time(seconds))
}

/// Returns a note for a sum of overlapping times; empty without parallel attempts.
pub(super) fn at_once(are_some: bool) -> &'static str {
    if are_some { " (several at once)" } else { "" }
}

/// Returns the end of a wait: `in 11s`, `at 17:00, in 4h 59m`.
pub(super) fn waiting_time(seconds: u64, until: &Zoned) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    // The seconds of an hour do not matter.
    let shown = if seconds >= 3600 {
        seconds - seconds % 60
    } else {
        seconds
    };
    let left = SignedDuration::from_secs(shown);
    match seconds {
        ..60 => format!("in {left:#}"),
        60..72_000 => format!("at {}, in {left:#}", until.strftime("%H:%M")),
        _ => format!("on {}, in {left:#}", until.strftime("%Y-%m-%d at %H:%M")),
    }
}

/// Returns the rest of a wait, on one line; empty at its end.
pub(super) fn countdown(left: Duration) -> String {
    if left.is_zero() {
        return String::new();
    }
    let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    let left = SignedDuration::from_secs(seconds.saturating_add(1));
    format!("waiting, {left:#} left (Ctrl-C stops)")
}

/// Formats seconds for display: `4s`, `3m 20s`, `2h 05m`.
pub(super) fn time(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that does not fit becomes the nearest that does"
    )]
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

/// Formats the duration of a gate: `0s` would look as if it had not run.
pub(super) fn time_of_gate(seconds: f64) -> String {
    if seconds < 0.995 {
        format!("{:.2}s", seconds.max(0.01))
    } else {
        time(seconds)
    }
}

/// Returns how many stories are complete, and which are skipped.
pub fn far(done: usize, total: usize, skipped: &[String]) -> String {
    let words = format!("{done} of {} complete", counted(total, "story is", "stories are"));
    words + &parts_of_stories(&[(skipped, "skipped")])
}

/// Returns the progress of a loop, and the stories that only the list, or only the agent, calls complete.
pub(super) fn far_of(status: &Status) -> Option<String> {
    let (done, total) = (status.stories_done?, status.stories_total?);
    let (by_list, by_word) = (&status.by_list, status.by_word.as_deref().unwrap_or_default());
    let doubtful = status.doubtful.as_deref().unwrap_or_default();
    let left_out = parts_of_stories(&[(&status.skipped, "skipped"), (&status.put_off, "put off")]);
    // Events are missing after a full disk, or belong to another machine.
    let is_unrecorded = done > by_list.len() && status.by_promise_alone.is_none();
    let unrecorded = if is_unrecorded {
        "; what that rests on is not recorded"
    } else {
        ""
    };
    if by_list.is_empty() && by_word.is_empty() && doubtful.is_empty() {
        return Some(far(done, total, &[]) + &left_out + unrecorded);
    }
    let unseen = parts_of_stories(&[
        (by_list, "done or gone without an attempt"),
        (by_word, "without a changed file, on the agent's word"),
        (doubtful, "although the agent's own words may deny it"),
    ]);
    let all = counted(total, "story is", "stories are");
    Some(format!(
        "{done} of {all} done in the list{unseen}{left_out}{unrecorded}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_gates_before_work_is_shown_beside_that_of_attempts() {
        let none: [crate::events::log::LogEntry; 0] = [];
        let mut tally: Tally = none.iter().collect();
        (tally.seconds, tally.before_work) = (6.0, 0.4);
        assert_eq!(time_and_cost(&tally), "6s");
        tally.before_work = 3.0;
        assert_eq!(time_and_cost(&tally), "6s; gate before work 3s");
    }

    #[test]
    fn sum_of_costs_counts_attempts_without_a_price() {
        assert_eq!(spent(0.5, 0, 3), "$0.50");
        assert_eq!(spent(0.5, 1, 3), "$0.50 known, 1 of 3 attempts without a price");
    }

    #[test]
    fn times_are_short() {
        let words = [0.4, 59.0, 200.0, 7_500.0, f64::NAN, 1e300].map(time);
        assert_eq!(words[..4], ["0s", "59s", "3m 20s", "2h 05m"]);
        assert_eq!(words[4], "0s");
        let of_gates = [0.0, 0.3, 0.996, 61.0].map(time_of_gate);
        assert_eq!(of_gates, ["0.01s", "0.30s", "1s", "1m 01s"]);
    }

    #[test]
    fn long_wait_shows_the_clock_time() {
        let until = "2026-11-22T17:00:20[UTC]".parse().unwrap();
        let shown = |seconds| waiting_time(seconds, &until);
        assert_eq!(shown(11), "in 11s");
        assert_eq!(shown(90), "at 17:00, in 1m 30s");
        assert_eq!(shown(4 * 3600 + 59 * 60 + 40), "at 17:00, in 4h 59m");
        assert_eq!(shown(100 * 3600), "on 2026-11-22 at 17:00, in 100h");
        assert!(shown(u64::MAX).contains("in "));
    }
}
