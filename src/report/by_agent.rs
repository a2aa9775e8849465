//! Sums up the attempts of each agent.

use serde::Serialize;

use super::{AttemptReport, Report};

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

impl AgentTotals {
    fn add(&mut self, report: &AttemptReport) {
        let attempt = &report.entry.attempt;
        self.attempts += 1;
        self.complete += usize::from(report.is_complete());
        self.failed += usize::from(attempt.verdict.counts());
        self.duration += attempt.duration;
        match attempt.cost_usd {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None => self.cost_unknown += 1,
        }
        for (sum, more) in [
            (&mut self.input_tokens, attempt.input_tokens),
            (&mut self.output_tokens, attempt.output_tokens),
        ] {
            *sum = more.map(|more| sum.unwrap_or(0).saturating_add(more)).or(*sum);
        }
        let is_known = attempt.input_tokens.is_some() && attempt.output_tokens.is_some();
        self.tokens_unknown += usize::from(!is_known);
    }
}

/// Returns the sums of each agent, in the order of their first attempts.
pub(super) fn of(report: &Report) -> Vec<AgentTotals> {
    let mut all: Vec<AgentTotals> = Vec::new();
    for (_, attempt) in report.attempts() {
        let known = all.iter_mut().find(|known| known.agent == attempt.agent);
        if let Some(known) = known {
            known.add(attempt);
            continue;
        }
        let mut new = AgentTotals {
            agent: attempt.agent.clone(),
            ..AgentTotals::default()
        };
        new.add(attempt);
        all.push(new);
    }
    all
}
