//! Sums up the attempts of each agent.

use serde::Serialize;

use super::{AttemptReport, Report, Totals};

/// The attempts of one agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentTotals {
    /// The agent: its name, or that of its program; null for attempts for which git-ralph started none, such as those by hand.
    pub agent: Option<String>,
    /// Number of its attempts that have ended.
    pub attempts: usize,
    /// Number of those that completed their story.
    pub complete: usize,
    /// Number of those that failed. The others were cut off or not answered, and do not count.
    pub failed: usize,
    /// Seconds that it worked.
    pub duration: f64,
    /// Cost in US dollars, as far as it reported it, without reviews; null if it did not.
    pub cost_usd: Option<f64>,
    /// Number of its attempts whose cost is not known.
    pub cost_unknown: usize,
    /// Tokens read, including cache reads and writes, as far as it reported them; null if it did not.
    pub input_tokens: Option<u64>,
    /// Tokens written, as far as it reported them; null if it did not.
    pub output_tokens: Option<u64>,
    /// Number of its attempts of which one of these numbers of tokens is not known.
    pub tokens_unknown: usize,
}

/// Returns the sums of each agent, in the order of their first attempts.
pub(super) fn of(report: &Report) -> Vec<AgentTotals> {
    let mut all: Vec<(&Option<String>, Vec<&AttemptReport>)> = Vec::new();
    for (_, attempt) in report.attempts() {
        match all.iter_mut().find(|(agent, _)| **agent == attempt.agent) {
            Some((_, own)) => own.push(attempt),
            None => all.push((&attempt.agent, vec![attempt])),
        }
    }
    let sums = all.into_iter().map(|(agent, own)| {
        let sums = Totals::of(own.iter().copied());
        let count = |is: fn(&AttemptReport) -> bool| own.iter().filter(|one| is(one)).count();
        AgentTotals {
            agent: agent.clone(),
            attempts: sums.attempts,
            complete: count(AttemptReport::is_complete),
            failed: count(|one| one.entry.attempt.verdict.counts()),
            duration: sums.agent_duration,
            cost_usd: sums.cost_usd,
            cost_unknown: sums.cost_unknown,
            input_tokens: sums.input_tokens,
            output_tokens: sums.output_tokens,
            tokens_unknown: count(|AttemptReport { entry, .. }| {
                entry.attempt.input_tokens.is_none() || entry.attempt.output_tokens.is_none()
            }),
        }
    });
    sums.collect()
}
