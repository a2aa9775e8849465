//! An attempt as a value.

use std::fs::File;

use jiff::Timestamp;

use super::facts::Facts;
use super::outcome::Outcome;
use crate::engine::lifecycle_hooks::About;
use crate::events::{Attempt, seconds_between};
use crate::settings::Settings;
use crate::stories::{Listing, Story};

/// An attempt that has begun: from the step that begins it, by its agent, gates and review, to its end.
pub(crate) struct Begun {
    pub story: Story,
    /// The list when it began.
    pub before: Listing,
    pub settings: Settings,
    pub number: u32,
    pub since: Timestamp,
    pub log: File,
    pub run: String,
    /// The facts about it that this process holds.
    pub facts: Facts,
}

impl Begun {
    /// Returns the description of it for a hook.
    pub(in crate::engine) fn about(&self) -> About<'_> {
        About {
            story: &self.story,
            attempt: self.number,
            log: &self.log,
        }
    }

    /// Returns the record of its end.
    pub fn ended(&self, outcome: &Outcome) -> Attempt {
        let report = outcome.report.as_ref();
        let review = outcome.review.as_ref();
        if let Some(beside) = &outcome.beside {
            return Attempt {
                attempt: self.number,
                verdict: outcome.judgement.verdict,
                reason: outcome.judgement.reason.clone(),
                rests_on: Vec::new(),
                base: Some(beside.base.clone()),
                reviewer: review.map(|review| review.reviewer.clone()),
                review_cost_usd: review.and_then(|review| review.cost_usd),
                review_input_tokens: review.and_then(|review| review.input_tokens),
                review_output_tokens: review.and_then(|review| review.output_tokens),
                ..beside.attempt.clone()
            };
        }
        Attempt {
            story: self.story.id.clone(),
            attempt: self.number,
            verdict: outcome.judgement.verdict,
            reason: outcome.judgement.reason.clone(),
            started: self.since,
            duration: seconds_between(self.since, outcome.ended),
            exit_code: outcome.exit_code,
            cost_usd: outcome.cost(),
            input_tokens: report.and_then(|report| report.input_tokens),
            cache_read_tokens: report.and_then(|report| report.cache_read_tokens),
            cache_write_tokens: report.and_then(|report| report.cache_write_tokens),
            output_tokens: report.and_then(|report| report.output_tokens),
            model: report.and_then(|report| report.model.clone()),
            agent_version: report.and_then(|report| report.version.clone()),
            turns: report.and_then(|report| report.turns),
            files: None,
            insertions: None,
            deletions: None,
            rests_on: Vec::new(),
            base: None,
            boxed: outcome.confined.words(),
            reviewer: review.map(|review| review.reviewer.clone()),
            review_cost_usd: review.and_then(|review| review.cost_usd),
            review_input_tokens: review.and_then(|review| review.input_tokens),
            review_output_tokens: review.and_then(|review| review.output_tokens),
            rounds: Some(outcome.rounds).filter(|rounds| *rounds > 1),
            output: outcome.output,
        }
    }
}
