//! Texts about agents and reviewers, for the tables of a report.

use serde_json::{Value, json};

use super::room::LINE;
use super::{short, tokens};
use crate::names::dollars;
use crate::report::{AgentTotals, Review, first_line};
use crate::ui::amounts::{spent, time};

/// The text for an unknown number.
const UNKNOWN: &str = "unknown";

/// Maximum number of shown reviews of one attempt; the last ones are shown.
const MOST_REVIEWS: usize = 10;

/// Returns the row of an agent.
pub(super) fn agent_row(sums: &AgentTotals) -> Value {
    let name = sums.agent.as_deref().unwrap_or("none that git-ralph started");
    let unknown = |number: Option<u64>| number.map_or_else(|| UNKNOWN.to_owned(), tokens);
    let of_all = match sums.tokens_unknown {
        missing if missing == 0 || missing == sums.attempts => String::new(),
        missing => format!(" ({missing} of {} unknown)", sums.attempts),
    };
    json!({
        "agent": short(name, 80),
        "attempts": sums.attempts,
        "complete": sums.complete,
        "failed": sums.failed,
        "time": time(sums.duration),
        "cost": sums.cost_usd.map_or_else(
            || UNKNOWN.to_owned(),
            |cost| spent(cost, sums.cost_unknown, sums.attempts),
        ),
        "tokens": match (sums.input_tokens, sums.output_tokens) {
            (None, None) => UNKNOWN.to_owned(),
            (read, written) => format!("{} / {}{of_all}", unknown(read), unknown(written)),
        },
    })
}

/// Returns the rows of the last reviews of an attempt, with the first line of their messages.
pub(super) fn review_rows(reviews: &[Review]) -> Vec<Value> {
    let unshown = reviews.len().saturating_sub(MOST_REVIEWS);
    let row = |review: &Review| {
        let (kind, verdict) = match review.accepted {
            Some(true) => ("complete", "review accepted"),
            Some(false) => ("failed", "review rejected"),
            None => ("other", "review without a verdict"),
        };
        json!({
            "kind": kind,
            "verdict": verdict,
            "words": short(first_line(review.words.as_deref().unwrap_or_default()).trim(), LINE),
            "time": time(review.duration),
            "cost": review.cost_usd.map(dollars).unwrap_or_default(),
            "reviewer": short(&review.reviewer, 80),
        })
    };
    reviews.iter().skip(unshown).map(row).collect()
}
