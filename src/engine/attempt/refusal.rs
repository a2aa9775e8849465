//! Errors of an attempt: its agent cannot be named, found or used.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;

use crate::agent::{AgentCommand, presets};
use crate::error::advice::{hint, lines, list};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::fs::is_seen_as_file;
use crate::names::closest;
use crate::names::{typed, typed_path};
use crate::sandbox::Trouble;
use crate::state::Verdict;

refusals! {
/// The reason why no attempt was made, or why another would not help.
#[derive(Debug, thiserror::Error)]
pub enum AttemptRefusal {
    #[error("no agent is configured")]
    NoAgent(String)
        => |(command)| hint(format!(
            "git ralph {command} -- <agent command>, or: git config ralph.agent <name>; known agents: git ralph doctor"
        ));
    #[error("cannot find the agent '{name}'")]
    AgentMissing {
        name: String,
        /// True if the top directory has a file of this name.
        is_here: bool,
    }
        => |name, is_here| {
            let known: Vec<String> = presets::ALL.iter().map(|preset| preset.name.to_owned()).collect();
            match closest(name, &known) {
                _ if *is_here => hint(format!("did you mean './{name}'?")),
                Some(meant) => hint(format!("did you mean '{meant}'? Known agents: git ralph doctor")),
                None => hint("install it, or choose one that is here: git ralph doctor lists them, and git config ralph.agent <name> sets it"),
            }
        };
    #[error("the agent '{0}' is not executable")]
    AgentNotExecutable(String)
        => "chmod +x {name}", (name);
    /// The agent cannot work at all: more attempts would not help.
    #[error("the agent could not work on story {story}: {verdict}{}", reason.as_ref().map(|r| format!(" ({r})")).unwrap_or_default())]
    AgentUnable {
        log: PathBuf,
        story: String,
        verdict: Verdict,
        reason: Option<String>,
        advice: Option<String>,
    }
        => |log, advice| {
            let advice = advice.as_deref().unwrap_or("fix the cause");
            let log = typed_path(log);
            hint(format!(
                "{advice}, then run the same command again; output of the agent: {log}"
            ))
        };
    #[error("an agent's session is working on {} (last active {silent:#} ago)", story.as_ref().map_or_else(|| format!("'{change}'"), |story| format!("story {story} of '{change}'")))]
    SessionAtWork {
        change: String,
        story: Option<String>,
        /// Time since the last call of one of its hooks, in whole seconds.
        silent: SignedDuration,
    }
        => Busy, "let it end, or if it is gone, add --force to the same command; what it did: git ralph status {change}", change;
    /// Gates of the command line that began the loop, which are not run after git-ralph was killed.
    #[error(
        "the gates of '{change}' are not certain: git-ralph was killed during an attempt, which could have changed them{}",
        list(" (recorded: ", gates, ")")
    )]
    UnprovenGates { change: String, gates: Vec<String> }
        => |gates| {
            let gate = gates.first().map_or("", String::as_str);
            hint(format!(
                "if they are yours: git config --add ralph.verify {}; or give --verify <command> to each step",
                typed(gate)
            ))
            .exit(Exit::Person)
        };
    /// Git's words about the values of a setting.
    #[error("git cannot read {key} as pathspecs:{}", lines(words.lines()))]
    BadPathspecs { key: String, words: String }
        => "to see them: git config --get-all {key}; what a pathspec is: git help glossary", key;
    /// `ralph.noSignal=gates`, and there are no gates.
    #[error("ralph.noSignal is 'gates', and there is neither a gate nor a reviewer to judge an attempt")]
    NothingJudges
        => "git config --add ralph.verify '<command>', or: git config ralph.review <agent>, or as by default: git config ralph.noSignal retry";
    /// An attempt failed for want of changes of held files, for this reason.
    #[error("story {story} failed, {why}")]
    NeedsTests {
        change: String,
        story: String,
        why: String,
    }
        => Person, "if it is right: git ralph retry {change} --allow-test-changes; if not: git ralph retry {change}, or git ralph run {change} to go on", change;
    /// A gate or a hook refused what the user called complete; the work tree stays.
    #[error("story {story} is not complete: {}", first_line(reason))]
    NotComplete {
        change: String,
        story: String,
        reason: String,
    }
        => "your changes are kept; fix them, then: git ralph complete {change}; to count it as failed and undo it: git ralph fail {change}", change;
    /// `ralph.box=require` or `--box`, and none can be made.
    #[error("a box is required (ralph.box), and there is none: {0}")]
    NoBox(Trouble)
        => |(trouble)| trouble.advice();
    /// The reviewer was asked twice, and gave no verdict about an attempt.
    #[error("{}", first_line(why))]
    NoVerdict {
        change: String,
        /// The attempt, as `<story>@<number>`.
        attempt: String,
        /// Who gave none, and why.
        why: String,
        log: PathBuf,
    }
        => Person, "fix the cause (its output: {log}), then run the same command again; the work: git ralph diff {change} {attempt}; other ways: git ralph status {change}", log, change, attempt;
    /// A reviewer that the user asked gave no verdict.
    #[error("the reviewer {reviewer} gave no verdict: {}", first_line(reason))]
    NoOpinion {
        reviewer: String,
        reason: String,
        log: PathBuf,
    }
        => "fix the cause, then run the same command again; its output: {log}", log;
    /// The program of the reviewer cannot be found.
    #[error("cannot find the reviewer '{0}'")]
    ReviewerMissing(String)
        => "install it, or name another: git config ralph.review <name>";
    /// Review is on, but no reviewer is configured.
    #[error("no reviewer is configured")]
    NoReviewer
        => "git ralph review --agent <name>, or: git config ralph.review <name>; known agents: git ralph doctor";
    /// There is no checkpoint to review.
    #[error("no story of '{0}' has a checkpoint yet")]
    NothingToReview(String)
        => "git ralph next {change}", (change);
    #[error(
        "{stories} stories in a row were reported complete, but git sees no change outside the story list"
    )]
    NothingChanged { change: String, stories: u32 }
        => Person, "check that the agent may write files (git ralph log {change}), then run the same command again", change;
}
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl AttemptRefusal {
    /// Returns whether another agent could make the attempt.
    pub fn is_about_agent(&self) -> bool {
        match self {
            Self::AgentMissing { .. } | Self::AgentNotExecutable(_) => true,
            Self::AgentUnable { verdict, .. } => !verdict.counts(),
            _ => false,
        }
    }

    /// Refuses an agent whose program cannot be run from the top directory.
    pub fn of_missing(agent: &AgentCommand, top: &Path) -> Option<Self> {
        let name = agent.missing_program(top)?;
        let is_here = is_seen_as_file(&top.join(&name));
        Some(if is_here && name.contains('/') {
            Self::AgentNotExecutable(name)
        } else {
            Self::AgentMissing { name, is_here }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::advice::Advise;

    #[test]
    fn refusal_does_not_call_an_existing_file_missing() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("agent.sh"), "#!/bin/sh\n").unwrap();
        let hint_for = |name: &str| {
            let agent = AgentCommand::Args(vec![name.into()]);
            let refusal = AttemptRefusal::of_missing(&agent, top.path()).unwrap();
            (refusal.to_string(), refusal.advice().hint.unwrap())
        };
        let text = |words: &str, hint: &str| (words.to_owned(), hint.to_owned());
        assert_eq!(
            hint_for("./agent.sh"),
            text("the agent './agent.sh' is not executable", "chmod +x ./agent.sh")
        );
        assert_eq!(
            hint_for("agent.sh"),
            text("cannot find the agent 'agent.sh'", "did you mean './agent.sh'?")
        );
        assert_eq!(
            hint_for("./other.sh"),
            text(
                "cannot find the agent './other.sh'",
                "install it, or choose one that is here: git ralph doctor lists them, and git config ralph.agent <name> sets it"
            )
        );
    }
}
