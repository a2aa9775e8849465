//! Gates and reviewers that do what an agent may do. The agent's work is kept, whatever comes of the story, and `abort`
//! brings back what was there before the loop, but for refs that a gate moved: these are named.

use super::misdeeds::{MISDEEDS, Misdeed};
use super::states::STATES;
use super::{CHANGE, Case};
use crate::support::Sandbox;
use crate::{nothing_of, stride};

/// What the agent makes.
const WORK: &str = "the work of the agent";

/// Who does it.
#[derive(Clone, Copy, Debug)]
enum Misdoer {
    Gate,
    Reviewer,
}

#[test]
fn a_gate_does_it() {
    sweep(Misdoer::Gate);
}

#[test]
fn a_reviewer_does_it() {
    sweep(Misdoer::Reviewer);
}

fn sweep(misdoer: Misdoer) {
    let mut found = Vec::new();
    let states = ["mixed", "linked_worktree", "modules"];
    let states = states.map(|name| STATES.iter().find(|state| state.name == name).unwrap());
    let only = std::env::var("GIT_RALPH_MISDEED").ok();
    let step = if only.is_some() {
        1
    } else {
        stride(6 * states.len(), 4)
    };
    for (place, misdeed) in MISDEEDS.iter().enumerate() {
        let is_wanted = only.as_ref().is_none_or(|only| *only == misdeed.name);
        for (number, state) in states.iter().enumerate() {
            if (place + number) % step == 0 && is_wanted {
                found.extend(Case::new(Sandbox::new(), state, misdeed, false).judge_misdoer(misdoer));
            }
        }
    }
    nothing_of(&found);
}

/// The script of a process that does the misdeed and is content.
fn script(misdoer: Misdoer, misdeed: &Misdeed) -> String {
    let verdict = match misdoer {
        Misdoer::Gate => "",
        Misdoer::Reviewer => "echo \"$said\"",
    };
    format!(
        "said=$(cat | grep -o '<verdict>ACCEPT [a-z0-9]*</verdict>')
         g() {{ git -c core.hooksPath=/dev/null -c commit.gpgsign=false -c user.name=Agent -c user.email=agent@example.org \"$@\"; }}
         ( {} ) >/dev/null 2>&1
         {verdict}
         exit 0",
        misdeed.script
    )
}

impl Case {
    fn judge_misdoer(mut self, misdoer: Misdoer) -> Option<String> {
        self.go_through_with(misdoer);
        (!self.wrong.is_empty()).then(|| {
            let (state, misdeed) = (self.state.name, self.misdeed.name);
            format!("{state} x {misdeed} by a {misdoer:?}:\n{}", self.wrong.join("\n"))
        })
    }

    fn go_through_with(&mut self, misdoer: Misdoer) {
        let (outside, before) = (self.outside(), self.sandbox.print());
        let output = self.ralph(&["start", CHANGE]).run();
        if output.code != 0 {
            self.wrong.push(format!("start: {}", output.stderr));
            return;
        }
        let key = match misdoer {
            Misdoer::Gate => "ralph.verify",
            Misdoer::Reviewer => "ralph.review",
        };
        let program = self.sandbox.agent(&script(misdoer, self.misdeed));
        self.sandbox.configure(key, &program);
        let agent = self
            .sandbox
            .completing(&format!("cat >/dev/null; echo '{WORK}' >by-agent"));
        let output = self.ralph(&["next", "--", &agent]).run();
        if ![0, 3, 7].contains(&output.code) {
            self.wrong
                .push(format!("next: exit {}: {}", output.code, output.stderr));
        }
        let alive = self.sandbox.alive();
        if !alive.is_empty() {
            self.wrong.push(format!("still alive: {alive:?}"));
        }
        self.sandbox.git(&["config", "--unset", key]);
        self.is_work_kept(&output.stderr);
        let told = output.stderr;
        let output = self.ralph(&["abort"]).run();
        if output.code != 0 {
            self.wrong
                .push(format!("abort: exit {}: {}", output.code, output.stderr));
            return;
        }
        let now = self.sandbox.print();
        self.same_files("revert", &before.files, &now.files);
        if now.head != before.head {
            self.wrong
                .push(format!("HEAD: {} instead of {}", now.head, before.head));
        }
        // A gate is a command of the user's: a ref that it moves stays there, and is named.
        let is_named = |line: &str| {
            let name = line.split(' ').next().and_then(|name| name.rsplit('/').next());
            matches!(misdoer, Misdoer::Gate)
                && name.is_some_and(|name| told.contains(&format!(" {name} was moved from ")))
        };
        for line in before.refs.lines() {
            let is_there = now.refs.lines().any(|other| other == line) || is_named(line);
            if !is_there && self.limit(line).is_none() {
                self.wrong.push(format!("gone or moved: {line}"));
            }
        }
        if outside != self.outside() {
            self.wrong
                .push("something outside of the repository was written".to_owned());
        }
    }

    /// The agent's file is in a commit that a ref keeps, or still in its place.
    fn is_work_kept(&mut self, told: &str) {
        let oid = self
            .sandbox
            .cmd("sh")
            .args(["-c", &format!("echo '{WORK}' | git hash-object --stdin")]);
        let oid = oid.run().stdout;
        let kept = self.seeing(&["rev-list", "--objects", "--all", "--reflog"]);
        if !kept.lines().any(|line| line.starts_with(oid.trim())) {
            self.wrong.push(format!("the agent's work is not kept: {told}"));
        }
    }
}
