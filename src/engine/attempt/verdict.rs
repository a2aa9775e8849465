//! Judges an attempt by the agent's end and its report.
//!
//! The order decides: time limit or interruption, not started, an error that the agent reports, a missing end, and only
//! then the promise. Pure.

use std::time::Duration;

use super::backoff::Unavailable;
use crate::agent::decode::{Fault, FaultKind, Report};
use crate::agent::process::{Ending, TREE_REMOVED};
use crate::agent::promise::{Heard, Promise};
use crate::events::Basis;
use crate::names::typed;
use crate::signal;
use crate::state::Verdict;

/// Exit codes with which a shell reports that a program is missing or cannot be run.
const NOT_FOUND: &[i32] = &[126, 127];
/// Exit codes of programs that crashed: a panic of Rust, and a signal as a shell reports it.
const CRASHES: &[i32] = &[101, 132, 134, 135, 136, 137, 139];

/// The reason of a story that was accepted without a promise.
const UNPROMISED: &str = "accepted without a promise (ralph.noSignal)";

/// The judgement of an attempt, apart from gates and git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub verdict: Verdict,
    /// The reason; for `no signal` it is shown and logged, but not put into the next prompt.
    pub reason: Option<String>,
    /// Seconds until the agent's service answers again, if it said so.
    pub retry_after: Option<u64>,
    /// Time that the agent spent waiting for its service, or an upper bound of it.
    pub waited: Duration,
    /// The signal that asked git-ralph to stop.
    pub signal: Option<i32>,
    /// Advice for the user, if no retry helps.
    pub advice: Option<String>,
    /// True if the agent made a promise in a form that does not count; the next prompt says why.
    pub wrong_form: bool,
    /// The remaining work, in the agent's words, if the agent asked for another process.
    pub left: Option<String>,
    /// True if the agent's last message has no promise, so that only gates or a reviewer confirm its work.
    pub unpromised: bool,
    /// The further basis of the verdict beside the promise.
    pub also: Option<Basis>,
    /// The reason why the work could not be judged, if it was not accepted for that.
    pub unjudged: Option<Unjudged>,
    /// The files that earlier attempts changed, if the gates fail only with the user's approved versions of them.
    pub only_by_user: Option<String>,
    /// True if the gates failed with the original tests.
    pub with_held_tests: bool,
}

/// The reason why work could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unjudged {
    /// The reviewer of this name gave no verdict.
    NoVerdict(String),
    /// A limit of the loop is reached, or a service is unavailable for longer than one allows; the text says which.
    Limited(String),
    /// `git ralph stop` ended the attempt between two rounds, or during a wait for a service.
    Asked,
    /// The agent's program crashed.
    Crashed,
}

impl Judgement {
    /// Returns a judgement with its reason.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::bare(verdict)
        }
    }

    /// Returns the judgement that the story is complete.
    pub fn complete() -> Self {
        Self::bare(Verdict::Complete)
    }

    /// Returns whether an answer of the agent decided the verdict, and not its work alone.
    pub fn was_asked(&self) -> bool {
        self.also.is_some_and(|also| also != Basis::Doubtful)
    }

    /// Returns the judgement that the story is complete without a promise if gates and reviewers accept it.
    pub fn unpromised() -> Self {
        Self {
            unpromised: true,
            ..Self::new(Verdict::Complete, UNPROMISED)
        }
    }

    /// Returns the judgement that work is left, without a promise that the story is done.
    fn left(left: &str, exit: &str) -> Self {
        let colon = if left.is_empty() { "" } else { ": " };
        Self {
            left: Some(left.to_owned()),
            wrong_form: true,
            ..Self::new(
                Verdict::NoSignal,
                format!("the agent printed CONTINUE{exit}{colon}{left}"),
            )
        }
    }

    /// Returns the judgement that a signal asked git-ralph to stop.
    pub fn interrupted(signal: i32) -> Self {
        Self {
            signal: Some(signal),
            ..Self::new(
                Verdict::Interrupted,
                format!("stopped by {}", signal::name(signal)),
            )
        }
    }

    /// Returns the judgement that an internal error ended the attempt, which does not count.
    pub fn broken(why: &str) -> Self {
        Self::new(Verdict::Interrupted, why)
    }

    /// Returns the judgement of work that cannot be judged now; the attempt does not count.
    pub fn unjudged(why: Unjudged, reason: impl Into<String>) -> Self {
        Self {
            unjudged: Some(why),
            ..Self::new(Verdict::Interrupted, reason)
        }
    }

    /// Returns the report about the agent's service if it did not answer.
    pub fn unavailable(&self) -> Option<Unavailable> {
        let is_away =
            matches!(self.verdict, Verdict::RateLimited | Verdict::Overloaded) && self.unjudged.is_none();
        is_away.then(|| Unavailable {
            reason: self.reason.clone().unwrap_or_else(|| self.verdict.to_string()),
            retry_after: self.retry_after,
            waited: self.waited,
        })
    }

    /// Returns a judgement without a reason.
    pub fn bare(verdict: Verdict) -> Self {
        Self {
            verdict,
            ..Self::default()
        }
    }
}

/// Judges an attempt by the end and the report of the agent with this name.
pub(crate) fn judge(ending: &Ending, report: &Report, name: Option<&str>) -> Judgement {
    match ending {
        Ending::Interrupted(signal) => return Judgement::interrupted(*signal),
        Ending::TimedOut(why, limit) => return timed_out(why, *limit, report),
        Ending::NotStarted(error) => return Judgement::new(Verdict::NotStarted, error.to_string()),
        Ending::Exited(code) if NOT_FOUND.contains(code) && !is_promise(report) => {
            let why = format!("exit code {code}: the command was not found or cannot be run");
            return Judgement::new(Verdict::NotStarted, why);
        }
        Ending::Killed(signal) => {
            let why = format!("the agent was ended by signal {signal}");
            return if report.ended {
                Judgement::new(Verdict::AgentError, why)
            } else {
                Judgement::unjudged(Unjudged::Crashed, why)
            };
        }
        Ending::RunnerKilled(signal) => {
            return Judgement::new(
                Verdict::Failed,
                format!("the runner of the attempt was ended by signal {signal}"),
            );
        }
        Ending::RunnerPanicked => {
            return Judgement::broken("an error of git-ralph's own ended the runner of the attempt");
        }
        Ending::WorkTreeRemoved(code) => {
            let judged = judge(&Ending::Exited(*code), report, name);
            return match judged.verdict {
                Verdict::Complete | Verdict::NoSignal => Judgement::broken(TREE_REMOVED),
                _ => judged,
            };
        }
        Ending::Exited(_) => {}
    }
    if let Some(fault) = &report.fault {
        return fault_verdict(fault);
    }
    let code = match ending {
        Ending::Exited(code) if *code != 0 => Some(code),
        _ => None,
    };
    // The last output of an agent that exits with success is not an error message.
    if code.is_some()
        && !is_promise(report)
        && let Some(fault) = &report.suspected
    {
        return fault_verdict(fault);
    }
    let exit = code.map_or_else(String::new, |code| format!(" (exit code {code})"));
    let last_line = code.and(report.last_line.as_ref());
    let last_line = last_line.map_or_else(String::new, |line| format!(": {line}"));
    let may_crash = code.is_some_and(|code| CRASHES.contains(code) || report.last_line.is_none());
    if !report.ended && report.is_other && may_crash {
        return Judgement::unjudged(
            Unjudged::Crashed,
            format!("the agent ended without its output{exit}{last_line}"),
        );
    }
    if !report.ended && report.is_other {
        return other_format(report, name, code.is_some(), &format!("{exit}{last_line}"));
    }
    if !report.ended {
        let why = format!("the agent's output ends in the middle{exit}{last_line}");
        return Judgement::unjudged(Unjudged::Crashed, why);
    }
    match &report.heard {
        Heard::Promise(Promise::Complete) => Judgement::complete(),
        Heard::Promise(Promise::Failed(reason)) if reason.is_empty() => {
            Judgement::new(Verdict::Failed, "the agent gave no reason")
        }
        Heard::Promise(Promise::Failed(reason)) => Judgement::new(Verdict::Failed, reason.clone()),
        Heard::Promise(Promise::Continue(left)) => Judgement::left(left, &exit),
        heard => no_signal(heard, &exit, &last_line),
    }
}

/// Judges an attempt whose agent made no promise, or made it in a form that does not count.
fn no_signal(heard: &Heard, exit: &str, last_line: &str) -> Judgement {
    let why = match heard {
        Heard::InSentence => {
            format!("the promise was inside a sentence; it must be on a line of its own{exit}")
        }
        Heard::Denied => format!(
            "words around the promise can be read as its opposite{exit}; end with a finished sentence, and then the promise as the last line"
        ),
        Heard::InThoughts => format!("the promise stood in thoughts, not in the message{exit}"),
        Heard::Repeated => {
            format!("the promise stood in a quotation or a diff, not on a line of its own{exit}")
        }
        Heard::Unknown(text) => format!("the promise was neither COMPLETE nor FAILED but '{text}'{exit}"),
        Heard::InJson => format!(
            "the agent printed JSON of a format that git-ralph does not know{exit}; have it print text instead"
        ),
        Heard::Promise(_) | Heard::Nothing | Heard::NoNonce => {
            format!("the agent's last message has no promise{exit}{last_line}")
        }
    };
    Judgement {
        wrong_form: matches!(
            heard,
            Heard::InSentence | Heard::Denied | Heard::InThoughts | Heard::Repeated | Heard::Unknown(_)
        ),
        ..Judgement::new(Verdict::NoSignal, why)
    }
}

/// Judges an attempt that reached a time limit. The last message of an agent that keeps retrying its service says why.
fn timed_out(why: &str, limit: Duration, report: &Report) -> Judgement {
    let known = |fault: &&Fault| {
        use FaultKind::{Auth, Billing, Network, Overloaded, PlanLimit, RateLimited};
        matches!(
            fault.kind,
            Auth | Billing | Network | Overloaded | PlanLimit | RateLimited
        )
    };
    let mut faults = [&report.fault, &report.suspected].into_iter().flatten();
    match faults.find(known) {
        Some(fault) if !is_promise(report) => {
            let judgement = fault_verdict(fault);
            let reason = format!("{why}; its last words: {}", fault.message);
            Judgement {
                reason: Some(reason),
                waited: limit,
                ..judgement
            }
        }
        _ => Judgement::new(Verdict::TimedOut, why),
    }
}

/// Judges an attempt whose agent printed nothing in the expected format.
fn other_format(report: &Report, name: Option<&str>, has_failed: bool, exit: &str) -> Judgement {
    let format = report.format;
    let name = typed(name.unwrap_or("<name>"));
    Judgement {
        advice: Some(if has_failed {
            format!("check ralph.agent.{name}.args and ralph.agent.{name}.command")
        } else {
            format!("git config ralph.agent.{name}.format auto")
        }),
        ..Judgement::new(
            Verdict::Interrupted,
            format!("not one line of the agent's output is of the format '{format}'{exit}"),
        )
    }
}

fn is_promise(report: &Report) -> bool {
    matches!(report.heard, Heard::Promise(_))
}

fn fault_verdict(fault: &Fault) -> Judgement {
    let (verdict, advice) = match fault.kind {
        FaultKind::Auth => (Verdict::Auth, Some("sign in to the agent")),
        FaultKind::Billing if fault.retry_after.is_none() => (
            Verdict::Auth,
            Some("check the plan or the credit of the agent's account"),
        ),
        // A limit ends, with or without a known time.
        FaultKind::Billing | FaultKind::PlanLimit | FaultKind::RateLimited => (Verdict::RateLimited, None),
        FaultKind::Overloaded | FaultKind::Network => (Verdict::Overloaded, None),
        FaultKind::UnknownModel => (
            Verdict::NotStarted,
            Some("name a model that the agent's account can use"),
        ),
        FaultKind::Setup => (
            Verdict::NotStarted,
            Some("start the agent once yourself in this directory, and do what it asks for"),
        ),
        FaultKind::ContextTooLong | FaultKind::Other => (Verdict::AgentError, None),
    };
    Judgement {
        retry_after: fault.retry_after,
        advice: advice.map(ToOwned::to_owned),
        ..Judgement::new(verdict, fault.message.clone())
    }
}

#[cfg(test)]
mod tests;
