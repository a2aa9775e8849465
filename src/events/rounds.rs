//! The rounds of an attempt, from its events.

use jiff::Timestamp;
use serde::Serialize;

use super::attempt::{Attempt, Further};

/// A round of an attempt that had several.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundEntry {
    /// Its number, from 1.
    pub round: u32,
    /// The reason for it; null for the first.
    pub why: Option<Further>,
    /// The work that was left, or what spoke against the promise, in the words of the round before; null if there are none.
    pub left: Option<String>,
    /// Seconds it took; null if they are not known.
    pub duration: Option<f64>,
    /// Its cost in US dollars, if the agent reports it.
    pub cost_usd: Option<f64>,
    /// The time of its beginning; none for the first.
    #[serde(skip)]
    pub begun: Option<Timestamp>,
}

/// Returns the round with this number; adds it if it is new.
pub(super) fn round_of(rounds: &mut Vec<RoundEntry>, number: u32) -> &mut RoundEntry {
    let at = rounds.iter().position(|entry| entry.round == number);
    let at = at.unwrap_or_else(|| {
        rounds.push(RoundEntry {
            round: number,
            ..RoundEntry::default()
        });
        rounds.len() - 1
    });
    &mut rounds[at]
}

/// Computes the last round from the end of the attempt: the totals of the attempt without the earlier rounds.
pub(super) fn end_last(rounds: &mut [RoundEntry], attempt: &Attempt) {
    let Some((last, before)) = rounds.split_last_mut() else {
        return;
    };
    if attempt.rounds != Some(last.round) {
        return;
    }
    let until = last.begun.map(|begun| begun.duration_since(attempt.started));
    last.duration = until.map(|until| (attempt.duration - until.as_secs_f64()).max(0.0));
    let costs = before.iter().map(|round| round.cost_usd);
    let costs: Option<f64> = costs.sum();
    // Sums of fractions are not exact.
    let cost = attempt.cost_usd.zip(costs).map(|(all, before)| all - before);
    last.cost_usd = cost.map(|cost| (cost.max(0.0) * 1e6).round() / 1e6);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_round_has_what_those_before_leave_of_the_attempt() {
        let started = Timestamp::UNIX_EPOCH;
        let rounds = |cost| {
            vec![
                RoundEntry {
                    round: 1,
                    duration: Some(4.0),
                    cost_usd: cost,
                    ..RoundEntry::default()
                },
                RoundEntry {
                    round: 2,
                    begun: Some(started + jiff::SignedDuration::from_secs(5)),
                    ..RoundEntry::default()
                },
            ]
        };
        let attempt = Attempt {
            started,
            duration: 12.0,
            cost_usd: Some(0.3),
            rounds: Some(2),
            ..Attempt::default()
        };
        for (cost, wanted) in [(Some(0.1), Some(0.2)), (None, None)] {
            let mut rounds = rounds(cost);
            end_last(&mut rounds, &attempt);
            assert_eq!((rounds[1].duration, rounds[1].cost_usd), (Some(7.0), wanted));
        }
        // If the end contradicts the rounds, nothing is known.
        let mut rounds = rounds(None);
        let attempt = Attempt {
            rounds: None,
            ..attempt
        };
        end_last(&mut rounds, &attempt);
        assert_eq!(rounds[1].duration, None);
    }
}
