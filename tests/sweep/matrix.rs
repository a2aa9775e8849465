//! Every state of a user's tree, everything an agent may do to it, and both verdicts.
//!
//! After `failed` everything equals the checkpoint, byte for byte. After `complete` the commit is the work
//! tree without what was ignored at the start. After `finish --cleanup` no file was touched, nothing is
//! staged, the branch is gone. Nothing outside of the repository is ever written.
//!
//! `GIT_RALPH_MISDEED=<name>` tries that one alone, in each state and with both verdicts.

mod in_place;
pub mod misdeeds;
mod misdoers;
pub mod states;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use self::in_place::Place;
use self::misdeeds::{CLOSING, LIMITS, MISDEEDS, Misdeed};
use self::states::{STATES, State};
use crate::support::print::files;
use crate::support::sandbox::PROGRAM;
use crate::support::{CHANGE, Cmd, Print, Sandbox};
use crate::{nothing_of, stride};

/// The settings that git needs to see a repository through whatever an agent has set.
const CLEAR_SIGHT: [&str; 12] = [
    "-c",
    "core.bare=false",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.sparseCheckout=false",
    "-c",
    "core.fsmonitor=false",
    // Together they make git lose entries of indexes that are written.
    "-c",
    "core.splitIndex=false",
    "-c",
    "index.skipHash=false",
];

/// One combination.
struct Case {
    sandbox: Sandbox,
    state: &'static State,
    misdeed: &'static Misdeed,
    wrong: Vec<String>,
}

/// Returns the misdeeds that are tried in the state of this number, with the verdict: every `bounded`-th of a bounded sweep,
/// others in each state.
fn selection(state: usize, bounded: usize) -> impl Iterator<Item = (&'static Misdeed, bool)> {
    let only = std::env::var("GIT_RALPH_MISDEED").ok();
    let step = match only {
        Some(_) => 1,
        None => stride(4 * STATES.len(), bounded),
    };
    let verdicts = MISDEEDS
        .iter()
        .flat_map(|misdeed| [(misdeed, false), (misdeed, true)]);
    let is_wanted = move |misdeed: &Misdeed| only.as_ref().is_none_or(|only| *only == misdeed.name);
    verdicts
        .enumerate()
        .filter(move |(place, (misdeed, _))| (place + state).is_multiple_of(step) && is_wanted(misdeed))
        .map(|(_, case)| case)
}

/// Goes through the misdeeds in one state; a selection of them that differs from state to state.
fn sweep(name: &str) {
    let number = STATES.iter().position(|state| state.name == name).unwrap();
    let state = &STATES[number];
    let mut found = Vec::new();
    for (misdeed, complete) in selection(number, 10) {
        let Some(sandbox) = state.sandbox() else {
            return;
        };
        found.extend(Case::new(sandbox, state, misdeed, false).judge(complete));
    }
    nothing_of(&found);
}

macro_rules! states {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            sweep(stringify!($name));
        })*

        #[test]
        fn every_state_is_swept() {
            let names: Vec<_> = STATES.iter().map(|state| state.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

states! {
    clean mixed links crlf modes hooks names detached unborn subdirectory linked_worktree lossy_filter
    flagged sparse nested ignored_only special_files split_index many_files lying_monitor stale_settings environment no_identity
    attributes_at_home strict_umask shared_umask widened_umask narrowed_umask modules large_files of_a_container
}

#[test]
fn permissions_block_no_step() {
    let mut found = Vec::new();
    let states = ["clean", "mixed", "modes", "subdirectory", "linked_worktree"];
    let states = states.map(|name| STATES.iter().find(|state| state.name == name).unwrap());
    let step = stride(states.len(), 2);
    for (place, misdeed) in CLOSING.iter().enumerate() {
        for (number, state) in states.iter().enumerate() {
            for complete in [false, true] {
                if (place + number + usize::from(complete)) % step != 0 {
                    continue;
                }
                let Some(sandbox) = Sandbox::unprivileged() else {
                    return;
                };
                let case = Case::new(sandbox, state, misdeed, false);
                // What only got other permissions is seen by its times.
                case.sandbox.git_cmd(&["update-index", "-q", "--refresh"]).run();
                found.extend(case.judge(complete));
            }
        }
    }
    nothing_of(&found);
}

#[test]
fn a_guard_makes_nothing_worse() {
    let mut found = Vec::new();
    let states = ["hooks", "linked_worktree", "environment", "mixed"];
    let states = states.map(|name| STATES.iter().find(|state| state.name == name).unwrap());
    let step = stride(8 * states.len(), 4);
    for (place, misdeed) in MISDEEDS.iter().enumerate() {
        for (number, state) in states.iter().enumerate() {
            for complete in [false, true] {
                if (2 * place + number + usize::from(complete)) % step == 0 {
                    found.extend(Case::new(Sandbox::new(), state, misdeed, true).judge(complete));
                }
            }
        }
    }
    nothing_of(&found);
}

impl Case {
    /// Without a guard, what an agent may do is really done.
    fn new(sandbox: Sandbox, state: &'static State, misdeed: &'static Misdeed, guard: bool) -> Self {
        sandbox.configure("ralph.guard", if guard { "true" } else { "false" });
        let outside = sandbox.outside("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("lib.txt"), "outside\n").unwrap();
        let script = format!(
            "set -e\numask {}\n{}\n{}",
            state.umask,
            states::COMMON,
            state.script
        );
        sandbox.cmd("sh").args(["-c", &script]).run().exits(0);
        state.give(&sandbox);
        Self {
            sandbox,
            state,
            misdeed,
            wrong: Vec::new(),
        }
    }

    fn ralph(&self, args: &[&str]) -> Cmd {
        let top = &self.sandbox.top;
        let dir = top.join(self.state.dir);
        let umask = match args {
            ["start", ..] => self.state.umask,
            _ => self.state.later_umask,
        };
        let script = format!("umask {umask}; exec \"$@\"");
        let mut cmd = self
            .sandbox
            .cmd("sh")
            .args(["-c", &script, "sh", PROGRAM])
            .args(args)
            .dir(if dir.is_dir() { &dir } else { top });
        for (name, value) in self.state.env {
            cmd = cmd.env(name, value);
        }
        cmd
    }

    /// Goes through start, one attempt and finish; says what is wrong.
    fn judge(mut self, complete: bool) -> Option<String> {
        self.go_through(complete);
        let verdict = if complete { "complete" } else { "failed" };
        (!self.wrong.is_empty()).then(|| {
            format!(
                "{} x {} x {verdict}:\n{}",
                self.state.name,
                self.misdeed.name,
                self.wrong.join("\n")
            )
        })
    }

    fn go_through(&mut self, complete: bool) {
        let outside = self.outside();
        let head = self.head();
        let found = files(&self.sandbox.top);
        let place = Place::of(self);
        let output = self.ralph(&["start", CHANGE]).run();
        if output.code != 0 {
            self.wrong
                .push(format!("start: exit {}: {}", output.code, output.stderr));
            return;
        }
        self.same_files("start touched", &found, &files(&self.sandbox.top));
        let in_place = self.is_stash();
        if in_place {
            self.is_in_place("start", &place, &[]);
        }
        let checkpoint = self.sandbox.print();
        let promise = if complete { "complete" } else { "failed red" };
        let agent = self.sandbox.agent(&format!(
            "cat >/dev/null\ng() {{ git -c core.hooksPath=/dev/null -c commit.gpgsign=false \
             -c user.name=Agent -c user.email=agent@example.org \"$@\"; }}\n( {} ) >/dev/null 2>&1\n{promise}",
            self.misdeed.script
        ));
        let output = self.ralph(&["next", "--", &agent]).run();
        match (output.code, complete) {
            (0, true) if in_place => self.is_kept_in_place(),
            (0, true) => self.is_complete(),
            // What was done to the repository can make a failure of a complete story.
            (3, _) => self.is_reverted(&checkpoint, in_place),
            _ => self
                .wrong
                .push(format!("next: exit {}: {}", output.code, output.stderr)),
        }
        if output.code == 3 && complete && !self.misdeed.fails {
            self.wrong.push(format!("judged failed: {}", output.stderr));
        }
        let alive = self.sandbox.alive();
        if !alive.is_empty() {
            self.wrong.push(format!("still alive: {alive:?}"));
        }
        let entry = format!("On {}: ralph:{CHANGE}:1", in_place::on(&head));
        if in_place {
            let entries = [entry.as_str()];
            let is_left = output.code == 3;
            self.is_in_place("next", &place, &entries[..usize::from(is_left)]);
        }
        if self.wrong.is_empty() {
            self.is_finished(&head, in_place);
        }
        if in_place && self.wrong.is_empty() {
            self.is_in_place("finish", &place, &[]);
        }
        if outside != self.outside() {
            self.wrong
                .push("something outside of the repository was written".to_owned());
        }
    }

    /// Whether the loop leaves HEAD in its place.
    fn is_stash(&self) -> bool {
        self.seeing(&["config", "ralph.strategy"]) == "stash\n"
    }

    fn is_reverted(&mut self, checkpoint: &Print, in_place: bool) {
        let now = self.sandbox.print();
        self.same_files("revert", &checkpoint.files, &now.files);
        if self.limit("index").is_none() && now.index != checkpoint.index {
            let text = format!("index:\n{}instead of\n{}", now.index, checkpoint.index);
            self.wrong.push(text);
        }
        if now.head != checkpoint.head {
            self.wrong.push(format!("HEAD: {}", now.head));
        }
        let refs: BTreeSet<&str> = now.refs.lines().collect();
        for line in checkpoint.refs.lines() {
            let is_stash = in_place && line.starts_with("refs/stash");
            if !refs.contains(line) && !is_stash && self.limit(line).is_none() {
                self.wrong.push(format!("gone or moved: {line}"));
            }
        }
        let kept = format!("refs/ralph/{CHANGE}/attempts/1/1");
        if !refs.iter().any(|line| line.starts_with(&kept)) {
            self.wrong.push("the attempt is not kept".to_owned());
        }
        let status = self.seeing(&["status", "--porcelain", "--untracked-files=all"]);
        if !in_place && !status.is_empty() && !self.state.status_differs {
            self.wrong.push(format!("status: {status}"));
        }
    }

    fn is_complete(&mut self) {
        if self.head() != format!("refs/heads/ralph/{CHANGE}") {
            self.wrong.push(format!("HEAD: {}", self.head()));
        }
        let subject = self.seeing(&["log", "-1", "--format=%s"]);
        if subject != "checkpoint: 1\n" {
            self.wrong.push(format!("the last commit is {subject}"));
        }
        // An index that was never used knows neither flags nor times: git looks at every byte.
        let index = self.sandbox.outside("notes/fresh.index");
        let _ = fs::remove_file(&index);
        let fresh = |args: &[&str]| {
            let cmd = self.sandbox.git_cmd(&CLEAR_SIGHT).args(args);
            cmd.env("GIT_INDEX_FILE", &index).run()
        };
        fresh(&["read-tree", "HEAD"]).exits(0);
        fresh(&["update-index", "-q", "--refresh"]);
        let differ = fresh(&["diff-files", "--name-status"]).exits(0).stdout;
        let others = fresh(&["ls-files", "--others", "-z"]).exits(0).stdout;
        let ignored = fresh(&["ls-files", "--others", "--ignored", "--exclude-standard", "-z"]);
        let ignored: BTreeSet<&str> = ignored.stdout.split('\0').collect();
        let committed = fresh(&["ls-files", "-z"]).exits(0).stdout;
        if !differ.is_empty() && self.limit("commit").is_none() {
            self.wrong
                .push(format!("the commit is not the work tree: {differ}"));
        }
        for path in others.split('\0').filter(|path| !path.is_empty()) {
            let allowed = was_ignored(path) || ignored.contains(path) || path.ends_with('/');
            if !allowed && self.limit(path).is_none() {
                self.wrong.push(format!("not committed: {path}"));
            }
        }
        for path in committed.split('\0').filter(|path| was_ignored(path)) {
            self.wrong
                .push(format!("ignored at the start, but committed: {path}"));
        }
        let status = self.seeing(&["status", "--porcelain", "--untracked-files=all"]);
        let unexpected = |line: &&str| !was_ignored(&line[3..]) && !self.state.status_differs;
        let left: Vec<&str> = status.lines().filter(unexpected).collect();
        if !left.is_empty() && self.limit("status").is_none() {
            self.wrong.push(format!("status: {left:?}"));
        }
    }

    fn is_finished(&mut self, head: &str, in_place: bool) {
        let found = files(&self.sandbox.top);
        let output = self.ralph(&["finish", "--cleanup", CHANGE]).run();
        if output.code != 0 {
            self.wrong
                .push(format!("finish: exit {}: {}", output.code, output.stderr));
            return;
        }
        self.same_files("finish touched", &found, &files(&self.sandbox.top));
        if self.head() != head {
            self.wrong.push(format!("HEAD after finish: {}", self.head()));
        }
        let branch = format!("refs/heads/ralph/{CHANGE}");
        let left = self.seeing(&["for-each-ref", &branch]);
        if !left.is_empty() {
            self.wrong.push(format!("the branch is left: {left}"));
        }
        if in_place {
            return;
        }
        let staged = if self.state.name == "unborn" {
            self.seeing(&["ls-files"])
        } else {
            self.seeing(&["diff-index", "--cached", "--name-status", "HEAD"])
        };
        if !staged.is_empty() {
            self.wrong.push(format!("staged after finish: {staged}"));
        }
    }

    /// The branch of HEAD, or its commit.
    fn head(&self) -> String {
        let branch = self.sandbox.git_cmd(&["symbolic-ref", "-q", "HEAD"]).run().stdout;
        let head = if branch.is_empty() {
            self.sandbox.git_cmd(&["rev-parse", "HEAD"]).run().stdout
        } else {
            branch
        };
        head.trim().to_owned()
    }

    /// What git answers, whatever is configured.
    fn seeing(&self, args: &[&str]) -> String {
        let colours = ["-c", "color.ui=false", "-c", "status.showUntrackedFiles=all"];
        let cmd = self.sandbox.git_cmd(&CLEAR_SIGHT).args(colours).args(args);
        cmd.run().stdout
    }

    /// Everything of the sandbox but the repository and what the test itself writes.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut found = files(&self.sandbox.outside(""));
        let inside = ["repo", "store", "notes", "agents", "cache"];
        found.retain(|path, _| !inside.iter().any(|dir| path.starts_with(dir)));
        found
    }

    fn same_files(&mut self, what: &str, was: &BTreeMap<PathBuf, String>, is: &BTreeMap<PathBuf, String>) {
        let paths: BTreeSet<&PathBuf> = was.keys().chain(is.keys()).collect();
        let short = |text: Option<&String>| text.map(|text| text.chars().take(60).collect::<String>());
        let mut differ = Vec::new();
        for path in paths {
            let known = self.limit(path.to_str().unwrap_or_default()).is_some() && what == "revert";
            let (was, is) = (was.get(path), is.get(path));
            let same = if self.limit("permission to write").is_some() {
                was.map(|text| writable(text)) == is.map(|text| writable(text))
            } else {
                was == is
            };
            if !same && !known {
                let path = path.display();
                differ.push(format!(
                    "{what}: {path}: {:?} instead of {:?}",
                    short(is),
                    short(was)
                ));
            }
        }
        self.wrong.extend(differ);
    }

    /// The reason why something cannot be asked for yet.
    fn limit(&self, what: &str) -> Option<&'static str> {
        LIMITS
            .iter()
            .find(|limit| {
                limit.misdeeds.contains(&self.misdeed.name)
                    && (limit.states.is_empty() || limit.states.contains(&self.state.name))
                    && limit.what.iter().any(|known| what.contains(known))
            })
            .map(|limit| limit.why)
    }
}

/// What is at a path, with the owner's, the group's and the others' permission to write.
fn writable(text: &str) -> String {
    let (mode, content) = text.split_once(' ').unwrap();
    format!("{:o} {content}", u32::from_str_radix(mode, 8).unwrap() | 0o222)
}

/// Whether the ignore rules of the standard repository cover a path.
fn was_ignored(path: &str) -> bool {
    let covers = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        name.ends_with(".log") || name == ".env" || name == ".venv" || name == "target"
    };
    Path::new(path.trim_matches('"')).iter().any(covers)
}
