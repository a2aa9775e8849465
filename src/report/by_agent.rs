//! Sums up the attempts of each agent.

use super::{AgentTotals, AttemptReport, Report};

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
