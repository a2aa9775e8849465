//! The steps that are cut off: what comes before each, its command line, and when it counts as done.

use serde_json::Value;

use self::Done::{Looks, Status};
use super::grounds::{
    WORK, add_submodule, dated, edit, fail, failed_in_place, pushed, pushed_submodule, start, worked,
    worked_in_own, worked_in_submodule,
};
use crate::support::sandbox::PROGRAM;
use crate::support::{CHANGE, Sandbox};

/// One step.
pub struct Step {
    /// Its name, for people and for the tests.
    pub name: &'static str,
    /// Brings the repository to where the step begins.
    pub prepare: fn(&Sandbox),
    /// What follows `git-ralph`.
    pub args: &'static [&'static str],
    /// What its agent does, if it has one.
    pub agent: Option<&'static str>,
    /// Whether it may leave something behind that is neither before nor after it (a checkpoint of edits,
    /// an aborted loop that is not begun anew).
    pub has_middle: bool,
    /// How one sees that it is done.
    pub done: Done,
}

/// How one sees that a step is done.
pub enum Done {
    /// The loop's status says so.
    Status(fn(&Value) -> bool),
    /// Only files, index and refs tell; the same command then ends with this exit code and changes nothing.
    Looks(i32),
}

/// What a reviewer does that shall only look: edits, a commit, a branch, and a verdict.
const REVIEWER: &str = "said=$(grep -o '<verdict>ACCEPT [a-z0-9]*</verdict>'); echo spoilt >README.md; rm -rf new; echo spoilt >tool; chmod 600 src/deep
     echo x >by-reviewer; \"${SHIM_GIT:-git}\" -c core.hooksPath=/dev/null add -A
     GIT_AUTHOR_DATE=2026-01-02T03:04:05Z GIT_COMMITTER_DATE=2026-01-02T03:04:05Z \"${SHIM_GIT:-git}\" -c core.hooksPath=/dev/null commit -qm spoilt
     echo y >>by-reviewer; echo \"$said\"";

/// What git does not keep: bytes that a filter drops, permissions, an empty directory; and a file that a full disk can cut.
const UNKEPT: &str = r"git config filter.strip.clean 'sed /^output/d'; echo '*.nb filter=strip' >.gitattributes
     printf 'code\noutput 8 hours\n' >tracked.nb; echo key >key; chmod 600 key; mkdir empty; chmod 700 empty
     git add tracked.nb; seq 9000 >large";

/// Every step.
pub const STEPS: &[Step] = &[
    Step {
        name: "start",
        prepare: |_| {},
        args: &["start", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "ready"),
    },
    Step {
        name: "next_complete",
        prepare: start,
        args: &["next"],
        agent: Some("complete"),
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "next_after_edits",
        prepare: |sandbox| {
            start(sandbox);
            edit(sandbox);
        },
        args: &["next"],
        agent: Some("complete"),
        has_middle: true,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "complete",
        prepare: |sandbox| {
            start(sandbox);
            edit(sandbox);
        },
        args: &["complete"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "next_failed",
        prepare: start,
        args: &["next"],
        agent: Some("failed red"),
        has_middle: false,
        done: Status(|status| status["phase"] == "failed"),
    },
    Step {
        name: "retry",
        prepare: |sandbox| {
            start(sandbox);
            fail(sandbox);
        },
        args: &["retry"],
        agent: Some("failed again"),
        has_middle: false,
        done: Status(|status| status["current"]["reason"] == "again"),
    },
    Step {
        name: "revert",
        prepare: |sandbox| {
            start(sandbox);
            edit(sandbox);
        },
        args: &["revert"],
        agent: None,
        has_middle: false,
        done: Looks(0),
    },
    Step {
        name: "finish",
        prepare: worked,
        args: &["finish", "--cleanup", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "finish_moved",
        prepare: |sandbox| {
            worked(sandbox);
            let side = sandbox.outside("side");
            let path = side.to_str().unwrap();
            sandbox.git(&["worktree", "add", "-q", path, "main"]);
            std::fs::write(side.join("theirs.txt"), "theirs\n".repeat(6000)).unwrap();
            std::fs::write(side.join("old.txt"), "old\nand theirs\n").unwrap();
            for args in [&["add", "-A"][..], &["commit", "-q", "-m", "theirs"]] {
                dated(sandbox.git_cmd(args)).dir(&side).run().exits(0);
            }
            sandbox.git(&["worktree", "remove", path]);
        },
        args: &["finish", "--cleanup", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "fail",
        prepare: |sandbox| {
            start(sandbox);
            edit(sandbox);
        },
        args: &["fail", "red"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "failed"),
    },
    Step {
        name: "skip",
        prepare: start,
        args: &["skip"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["current"]["id"] == "2"),
    },
    Step {
        name: "restore",
        prepare: |sandbox| {
            start(sandbox);
            fail(sandbox);
        },
        args: &["restore", "1@1"],
        agent: None,
        has_middle: false,
        done: Looks(1),
    },
    Step {
        name: "redo",
        prepare: |sandbox| {
            start(sandbox);
            for file in ["one", "two"] {
                let agent = sandbox.agent(&format!("echo {file} >{file}; complete"));
                dated(sandbox.direct(&["next", "--", &agent])).run().exits(0);
                if file == "one" {
                    sandbox.write("edited", "by the user\n");
                }
            }
        },
        args: &["redo", "1", "--force"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "ready" && status["stories_done"] == 0),
    },
    Step {
        name: "abort",
        prepare: worked,
        args: &["abort"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "restart",
        prepare: worked,
        args: &["start", CHANGE, "--restart"],
        agent: None,
        has_middle: true,
        done: Status(|status| status["phase"] == "ready" && status["stories_done"] == 0),
    },
    Step {
        name: "resume",
        prepare: |sandbox| {
            worked(sandbox);
            std::fs::remove_file(sandbox.state_file()).unwrap();
        },
        args: &["start", CHANGE, "--resume"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "ready"),
    },
    Step {
        name: "finish_keep",
        prepare: worked,
        args: &["finish", "--keep", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "prune",
        prepare: |sandbox| {
            start(sandbox);
            fail(sandbox);
            dated(sandbox.direct(&["finish", "--cleanup"])).run().exits(0);
            sandbox.configure("ralph.keepAttempts", "1h");
            let log = sandbox.top.join(".git/ralph/add-login/attempts/1.1.log");
            let file = std::fs::File::options().append(true).open(log).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        },
        args: &["prune"],
        agent: None,
        has_middle: true,
        done: Looks(0),
    },
    Step {
        name: "pull",
        prepare: pushed,
        args: &["pull", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "failed"),
    },
    Step {
        name: "pull_submodule",
        prepare: pushed_submodule,
        args: &["pull", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "stash_start",
        prepare: |_| {},
        args: &["start", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "ready"),
    },
    Step {
        name: "stash_complete",
        prepare: start,
        args: &["next"],
        agent: Some("complete"),
        has_middle: true,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "stash_failed",
        prepare: start,
        args: &["next"],
        agent: Some("\"${SHIM_GIT:-git}\" -c core.hooksPath=/dev/null stash drop -q; failed red"),
        has_middle: true,
        done: Status(|status| status["phase"] == "failed"),
    },
    Step {
        name: "stash_retry",
        prepare: |sandbox| {
            start(sandbox);
            fail(sandbox);
            sandbox.write("by hand.txt", "an edit makes another entry\n");
        },
        args: &["retry"],
        agent: Some("\"${SHIM_GIT:-git}\" -c core.hooksPath=/dev/null commit -qam agent; complete"),
        has_middle: true,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "stash_finish",
        prepare: failed_in_place,
        args: &["finish", "--cleanup", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "stash_abort",
        prepare: failed_in_place,
        args: &["abort"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "own_start",
        prepare: |_| {},
        args: &["start", CHANGE, "--worktree"],
        agent: None,
        // A work tree that was begun is removed by the same command, not by any.
        has_middle: true,
        done: Status(|status| status["phase"] == "ready"),
    },
    Step {
        name: "own_finish",
        prepare: worked_in_own,
        args: &["finish", "--cleanup", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "own_abort",
        prepare: worked_in_own,
        args: &["abort", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "own_submodule_start",
        prepare: |_| {},
        args: &["start", CHANGE, "--worktree"],
        agent: None,
        has_middle: true,
        done: Status(|status| status["phase"] == "ready"),
    },
    Step {
        name: "own_submodule_finish",
        prepare: worked_in_submodule,
        args: &["finish", "--cleanup", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "held_tests",
        prepare: |sandbox| {
            sandbox.configure("ralph.verify", "echo gate; [ ! -e hid ] || rm -f src/x");
            for pathspec in ["README.md", "src", "new", "key", "*.nb"] {
                sandbox.git(&["config", "--add", "ralph.tests", pathspec]);
            }
            start(sandbox);
        },
        args: &["next"],
        agent: Some("complete"),
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "gated",
        prepare: |sandbox| {
            let takes = "rm -rf key new; echo >>README.md";
            sandbox.configure("ralph.verify", &format!("[ ! -e hid ] || {{ {takes}; }}"));
            start(sandbox);
        },
        args: &["next"],
        agent: Some("complete"),
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "reviewed",
        prepare: |sandbox| {
            let reviewer = sandbox.agent(REVIEWER);
            sandbox.configure("ralph.review", &reviewer);
            start(sandbox);
        },
        args: &["next"],
        agent: Some("complete"),
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "unreviewed",
        prepare: |sandbox| {
            sandbox.configure("ralph.review", &sandbox.agent("exit 3"));
            start(sandbox);
        },
        args: &["next"],
        agent: Some("complete"),
        has_middle: true,
        done: Status(|status| status["unreviewed"].is_string()),
    },
    Step {
        name: "judged_again",
        prepare: |sandbox| {
            let reviewer = format!("[ -e \"$HOME/open\" ] || exit 3; {REVIEWER}");
            sandbox.configure("ralph.review", &sandbox.agent(&reviewer));
            start(sandbox);
            let agent = sandbox.agent(&format!("{WORK}complete"));
            sandbox.step("next", &agent).exits(7);
            std::fs::write(sandbox.outside("home/open"), "").unwrap();
        },
        args: &["next"],
        agent: Some("complete"),
        has_middle: false,
        done: Status(|status| status["stories_done"] == 1),
    },
    Step {
        name: "own_finish_keep",
        prepare: worked_in_own,
        args: &["finish", "--keep", CHANGE],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
    Step {
        name: "own_finish_into",
        prepare: |sandbox| {
            sandbox.git(&["worktree", "add", "-q", "-b", "side", "target/side"]);
            worked_in_own(sandbox);
        },
        args: &["finish", "--cleanup", CHANGE, "--into", "target/side"],
        agent: None,
        has_middle: false,
        done: Status(|status| status["phase"] == "finished"),
    },
];

/// The steps that end a loop.
pub fn endings() -> impl Iterator<Item = &'static Step> {
    let ends = |step: &&Step| step.args.iter().any(|word| ["finish", "abort"].contains(word));
    STEPS.iter().filter(ends)
}

/// The step of a name.
pub fn named(name: &str) -> &'static Step {
    STEPS.iter().find(|step| step.name == name).unwrap()
}

impl Step {
    /// A sandbox where the step begins.
    pub fn sandbox(&self, program: &str) -> Sandbox {
        let mut sandbox = self.ground();
        program.clone_into(&mut sandbox.program);
        (self.prepare)(&sandbox);
        PROGRAM.clone_into(&mut sandbox.program);
        sandbox
    }

    /// The repository before the loop.
    fn ground(&self) -> Sandbox {
        if self.is_of_own_work_tree() {
            // Below the top, where it is part of the prints.
            let sandbox = Sandbox::new();
            sandbox.configure("ralph.worktreeDir", "target/trees");
            sandbox.configure("ralph.worktreeSetup", "echo SECRET=2 >.env; echo x >prepared");
            if self.name.starts_with("own_submodule_") {
                add_submodule(&sandbox);
            }
            return sandbox;
        }
        let moved = self.name == "finish_moved";
        // A file that the user deleted and the other branch edited would be a conflict.
        let sandbox = if moved { Sandbox::new() } else { Sandbox::dirty() };
        sandbox.cmd("sh").args(["-c", UNKEPT]).run().exits(0);
        if self.name.starts_with("stash_") {
            sandbox.configure("ralph.strategy", "stash");
            sandbox.write("README.md", "stashed\n");
            dated(sandbox.git_cmd(&["stash", "-q"])).run().exits(0);
            dated(sandbox.git_cmd(&["stash", "apply", "-q", "--index"]))
                .run()
                .exits(0);
        }
        sandbox
    }

    /// Returns true if its loop has a work tree of its own.
    pub fn is_of_own_work_tree(&self) -> bool {
        self.name.starts_with("own_")
    }

    /// Whether it makes an attempt, or keeps something as one.
    pub fn makes_attempts(&self) -> bool {
        self.agent.is_some() || ["complete", "fail", "revert"].contains(&self.name)
    }

    /// The script of its agent.
    pub fn script(&self) -> Option<String> {
        self.agent
            .map(|promise| format!("cat >/dev/null\n{WORK}{promise}"))
    }
}
