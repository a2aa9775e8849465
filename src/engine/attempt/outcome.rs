//! The outcome of an agent's run, and the cost of its reviews.

use std::fs::File;

use jiff::Timestamp;

use super::rounds::Uncounted;
use super::verdict::Judgement;
use crate::agent::decode::{Format, Report, sum};
use crate::agent::promise::{
    Heard, Promise, doubt, leaves_undone, may_be_blocked, promises_in_sentence, says_unchanged,
};
use crate::engine::boxed::Confinement;
use crate::engine::output_tail::printed;
use crate::events::{Attempt, Stretch};
use crate::names::Oid;
use crate::state::Verdict;

/// The outcome of the agent's run, before gates and git are considered.
#[derive(Default)]
pub(crate) struct Outcome {
    pub judgement: Judgement,
    /// Time of the agent's end; later gates do not count as its time.
    pub ended: Timestamp,
    pub exit_code: Option<i32>,
    pub report: Option<Report>,
    /// The agent's name for people.
    pub agent: Option<String>,
    /// The box in which it ran.
    pub confined: Confinement,
    /// The last lines of the agent's output.
    pub tail: String,
    /// The part of the log with that output.
    pub output: Option<Stretch>,
    /// The prefix of files that the agent creates for its own use in the top directory.
    pub litter: Option<&'static str>,
    /// The cost of the review, if there was one.
    pub review: Option<Spent>,
    /// Number of processes of the agent.
    pub rounds: u32,
    /// True if an earlier round said something about its story, or the attempt ticked some boxes of it and left others
    /// open: silence is then no consent, even if the gates pass.
    pub is_closed: bool,
    /// The work that was left after a round, in the words of each round that named some.
    pub left: Vec<String>,
    /// The attempt as its own work tree made it, if it ran beside others.
    pub beside: Option<Beside>,
}

/// An attempt that was made beside others, in a work tree of its own.
pub(crate) struct Beside {
    /// Its record there.
    pub attempt: Attempt,
    /// The reason of its failure for the next prompt, and for people.
    pub reason: (Option<String>, Option<String>),
    /// The checkpoint at which the attempt began.
    pub base: Oid,
    /// The number of its side.
    pub slot: u16,
    /// The tree that the attempt promised.
    pub own: Oid,
    /// The tree that is judged, if it was merged with the work of other attempts since.
    pub merged: Option<Oid>,
    /// A text about the stories that were completed since.
    pub published: String,
    /// The commit that keeps the work, if the work is not in the work tree of the loop.
    pub kept: Option<Oid>,
}

impl Beside {
    /// Returns whether this verdict leaves promised work in its side, to be judged again.
    pub fn is_left_by(&self, verdict: Verdict) -> bool {
        verdict == Verdict::Interrupted && self.attempt.verdict == Verdict::Complete
    }
}

impl Outcome {
    /// Returns the tools that the agent was not allowed to use.
    pub fn denied(&self) -> &[String] {
        self.report.as_ref().map_or(&[], |report| &report.denied)
    }

    /// Returns whether the outcome was reported by an agent, and not by the user.
    pub fn is_of_agent(&self) -> bool {
        self.report.is_some()
    }

    /// Returns whether a review of the work began and did not end.
    pub fn is_unreviewed(&self) -> bool {
        let judgement = &self.judgement;
        self.review.is_some() && (judgement.unjudged.is_some() || judgement.signal.is_some())
    }

    /// Returns the reason with which an agent promised that it failed.
    pub fn said_failure(&self) -> Option<&str> {
        match &self.report.as_ref()?.heard {
            Heard::Promise(Promise::Failed(reason)) if self.judgement.verdict == Verdict::Failed => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// Returns whether an agent exited with success, without a valid promise, and without a denied tool.
    pub fn is_unsaid(&self) -> bool {
        let is_free = |report: &Report| report.suspected.is_none() && report.denied.is_empty();
        self.judgement.verdict == Verdict::NoSignal
            && self.exit_code == Some(0)
            && self.report.as_ref().is_some_and(is_free)
    }

    /// Returns whether, besides, its message leaves open whether the story is done: it has no promise in any form, and
    /// does not say that the agent is blocked or that work is left.
    pub fn is_left_open(&self) -> bool {
        let says_nothing = |report: &Report| report.heard == Heard::Nothing;
        self.is_unsaid() && !self.says_undone() && self.report.as_ref().is_some_and(says_nothing)
    }

    /// Returns whether the agent's message may say that it is blocked, or that work is left.
    pub fn says_undone(&self) -> bool {
        let says = |report: &Report| {
            let text = &report.message.text;
            may_be_blocked(text) || leaves_undone(text)
        };
        self.report.as_ref().is_some_and(says)
    }

    /// Returns the promise that does not count, if the agent exited with success: inside an unconditional sentence, or
    /// denied by the words around it.
    pub fn uncounted(&self) -> Option<Uncounted> {
        let report = self.report.as_ref().filter(|_| self.is_unsaid())?;
        match report.heard {
            Heard::Denied => Some(Uncounted::Denied),
            Heard::InSentence if promises_in_sentence(&report.message.text) => Some(Uncounted::InSentence),
            _ => None,
        }
    }

    /// Returns the line of the agent's message that makes its promise doubtful.
    pub fn doubt(&self) -> Option<String> {
        let report = self.report.as_ref()?;
        doubt(&report.message.text, report.format == Format::Text)
    }

    /// Returns whether the agent explained that the story was done before.
    pub fn says_unchanged(&self) -> bool {
        let report = self.report.as_ref();
        report.is_some_and(|report| says_unchanged(&report.message.text))
    }

    /// Returns the cost of the attempt as the agent reports it, in dollars, rounded to millionths.
    pub fn cost(&self) -> Option<f64> {
        self.report.as_ref()?.cost_usd.map(rounded)
    }

    /// Returns whether the agent's service was never used, as far as is known.
    pub fn never_began(&self) -> bool {
        matches!(self.judgement.verdict, Verdict::NotStarted | Verdict::Auth)
    }

    /// Returns the outcome reported by an agent whose process is not git-ralph's; the attempt's log has its message.
    pub fn said(judgement: Judgement, report: Report, tail: String, log: &File) -> Self {
        Self {
            report: Some(report),
            tail,
            output: printed(log, Some(0)),
            ..Self::by_hand(judgement)
        }
    }

    /// Returns the outcome declared by the user.
    pub fn by_hand(judgement: Judgement) -> Self {
        Self {
            judgement,
            ended: Timestamp::now(),
            rounds: 1,
            ..Self::default()
        }
    }
}

/// Returns an amount of dollars, rounded to millionths.
fn rounded(cost: f64) -> f64 {
    (cost * 1e6).round() / 1e6
}

/// The cost of the reviews of an attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// The reviewer's name, or that of its program.
    pub reviewer: String,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

impl Spent {
    /// Adds the cost of a further review.
    pub fn add(&mut self, report: &Report) {
        if let Some(cost) = report.cost_usd {
            self.cost_usd = Some(rounded(self.cost_usd.unwrap_or(0.0) + cost));
        }
        self.input_tokens = sum(self.input_tokens, report.input_tokens);
        self.output_tokens = sum(self.output_tokens, report.output_tokens);
    }
}
