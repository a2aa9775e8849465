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
    /// The list when the attempt began.
    pub before: Listing,
    pub settings: Settings,
    /// The side in which its agent ran, if it ran beside others.
    pub slot: Option<u16>,
    pub number: u32,
    pub since: Timestamp,
    pub log: File,
    pub run: String,
    /// The facts about the attempt that this process holds in memory.
    pub facts: Facts,
}

impl Begun {
    /// Returns the description of the attempt for a hook.
    pub(in crate::engine) fn about(&self) -> About<'_> {
        About {
            story: &self.story,
            attempt: self.number,
            log: &self.log,
        }
    }

    /// Returns the record of the end of the attempt.
    pub fn ended(&self, outcome: &Outcome) -> Attempt {
        let made = match &outcome.beside {
            Some(beside) => Attempt {
                rests_on: Vec::new(),
                slot: Some(beside.slot),
                base: Some(beside.base.clone()),
                ..if beside.is_left_by(outcome.judgement.verdict) {
                    beside.attempt.clone().without_spending()
                } else {
                    beside.attempt.clone()
                }
            },
            None => self.made_here(outcome),
        };
        let review = outcome.review.clone();
        let spent = review.clone().unwrap_or_default();
        Attempt {
            attempt: self.number,
            verdict: outcome.judgement.verdict,
            reason: outcome.judgement.reason.clone(),
            reviewer: review.map(|review| review.reviewer),
            review_cost_usd: spent.cost_usd,
            review_input_tokens: spent.input_tokens,
            review_output_tokens: spent.output_tokens,
            ..made
        }
    }

    /// Returns the record of the work of the attempt's own agent.
    fn made_here(&self, outcome: &Outcome) -> Attempt {
        let report = outcome.report.clone().unwrap_or_default();
        Attempt {
            story: self.story.id.clone(),
            started: self.since,
            duration: seconds_between(self.since, outcome.ended),
            exit_code: outcome.exit_code,
            cost_usd: outcome.cost(),
            input_tokens: report.input_tokens,
            cache_read_tokens: report.cache_read_tokens,
            cache_write_tokens: report.cache_write_tokens,
            output_tokens: report.output_tokens,
            model: report.model,
            agent_version: report.version,
            turns: report.turns,
            boxed: outcome.confined.words(),
            rounds: Some(outcome.rounds).filter(|rounds| *rounds > 1),
            output: outcome.output,
            ..Attempt::default()
        }
    }
}
