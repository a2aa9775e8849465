//! Words about agents and reviewers, for the tables of a report.

use super::harmless::inline;
use super::views::{AgentRow, ReviewRow};
use super::{short, tokens};
use crate::names::dollars;
use crate::report::{AgentTotals, AttemptReport, Report, Review, first_line};
use crate::ui::amounts::{spent, time};

/// What stands for a number that is not known.
const UNKNOWN: &str = "unknown";

/// The longest line of a table in Markdown, in characters, and the most rows of one of agents.
const LINE: usize = 200;
const MOST_AGENTS: usize = 50;

/// The most reviews that are shown of one attempt; the last ones are kept.
const MOST_REVIEWS: usize = 10;

/// Returns the row of an agent.
pub(super) fn agent_row(sums: &AgentTotals, most: usize) -> AgentRow {
    let name = sums.agent.as_deref().unwrap_or("none that git-ralph started");
    let unknown = |number: Option<u64>| number.map_or_else(|| UNKNOWN.to_owned(), tokens);
    let of_all = match sums.tokens_unknown {
        missing if missing == 0 || missing == sums.attempts => String::new(),
        missing => format!(" ({missing} of {} unknown)", sums.attempts),
    };
    AgentRow {
        agent: short(name, most),
        attempts: sums.attempts,
        complete: sums.complete,
        failed: sums.failed,
        time: time(sums.duration),
        cost: sums.cost_usd.map_or_else(
            || UNKNOWN.to_owned(),
            |cost| spent(cost, sums.cost_unknown, sums.attempts),
        ),
        tokens: match (sums.input_tokens, sums.output_tokens) {
            (None, None) => UNKNOWN.to_owned(),
            (read, written) => format!("{} / {}{of_all}", unknown(read), unknown(written)),
        },
    }
}

/// Returns the rows of the last reviews of an attempt; words are cut to their first line of at most `most` characters.
pub(super) fn review_rows(reviews: &[Review], most: usize) -> Vec<ReviewRow> {
    let unshown = reviews.len().saturating_sub(MOST_REVIEWS);
    let row = |review: &Review| {
        let (kind, verdict) = match review.accepted {
            Some(true) => ("complete", "review accepted"),
            Some(false) => ("failed", "review rejected"),
            None => ("other", "review without a verdict"),
        };
        ReviewRow {
            kind,
            verdict,
            words: short(
                first_line(review.words.as_deref().unwrap_or_default()).trim(),
                most,
            ),
            time: time(review.duration),
            cost: review.cost_usd.map(dollars).unwrap_or_default(),
            reviewer: short(&review.reviewer, 80),
        }
    };
    reviews.iter().skip(unshown).map(row).collect()
}

/// Returns the rows of a table in Markdown for the reviews of an attempt.
pub(super) fn markdown_rows(attempt: &AttemptReport) -> String {
    let rows = review_rows(&attempt.reviews, LINE).into_iter().map(|review| {
        let words = match review.words.as_str() {
            "" => String::new(),
            words => format!(": {}", inline(words, LINE)),
        };
        let who = inline(&review.reviewer, LINE);
        let (verdict, time, cost) = (review.verdict, review.time, review.cost);
        format!("| | | {verdict}, {who}{words} | {time} | {cost} | |\n")
    });
    rows.collect()
}

/// Returns the table of the agents in Markdown; nothing if there are none.
pub(super) fn markdown_table(report: &Report) -> String {
    if report.by_agent.is_empty() {
        return String::new();
    }
    let mut text = "\n#### Agents\n\n| agent | attempts | complete | failed | time | cost | tokens in / out |\n|---|---|---|---|---|---|---|\n".to_owned();
    for sums in report.by_agent.iter().take(MOST_AGENTS) {
        let AgentRow {
            agent,
            attempts,
            complete,
            failed,
            time,
            cost,
            tokens,
        } = agent_row(sums, LINE);
        let agent = inline(&agent, LINE);
        let row = format!("| {agent} | {attempts} | {complete} | {failed} | {time} | {cost} | {tokens} |\n");
        text.push_str(&row);
    }
    if report.by_agent.len() > MOST_AGENTS {
        text.push_str(&format!("\nand {} more\n", report.by_agent.len() - MOST_AGENTS));
    }
    text
}
