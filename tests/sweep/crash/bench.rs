//! One step, cut off again and again in the same place of the file system, and the judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::grounds::dated;
use super::steps::{Done, Step};
use super::{counted, timed};
use crate::support::copy::Copy;
use crate::support::sandbox::PROGRAM;
use crate::support::{CHANGE, Cmd, Output, Print, Sandbox, git, search_path, write_program};

/// Counts the calls of git, and at one of them kills the process that called it.
const SHIM: &str = r#"#!/bin/sh
set -C
n=1
until { true >"$SHIM_COUNT/$n"; } 2>/dev/null; do n=$((n + 1)); done
[ $n = "$SHIM_AT" ] || exec "$SHIM_GIT" "$@"
case $SHIM_WHEN in
after) "$SHIM_GIT" "$@" >/dev/null 2>&1 ;;
locked)
    # The real index is only ever read by git.
    case $GIT_INDEX_FILE in
    '' | */.git/index) ;;
    *) : >|"$GIT_INDEX_FILE.lock" ;;
    esac
    case " $* " in
    *' update-ref '*) : >|.git/HEAD.lock; : >|.git/packed-refs.lock
        mkdir -p .git/refs/heads/ralph; : >|.git/refs/heads/ralph/add-login.lock ;;
    *' symbolic-ref '*) : >|.git/HEAD.lock ;;
    esac ;;
esac
kill -KILL $PPID
exit 1
"#;

/// On which side of a git call git-ralph dies.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Git has not run.
    Before,
    /// Git has done all of it.
    After,
    /// Git died too, before it did anything but lock.
    Locked,
}

/// A step and how it ends undisturbed.
pub struct Bench {
    /// Where it happens.
    pub sandbox: Sandbox,
    /// How many times it calls git.
    pub git_calls: usize,
    /// Its exit code.
    pub code: i32,
    /// How long it takes.
    pub took: Duration,
    step: &'static Step,
    args: Vec<String>,
    /// Whether there is a loop before the step.
    has_loop: bool,
    start: Copy,
    before: Print,
    after: (Print, Value),
}

impl Bench {
    /// Prepares the step and goes through it once.
    pub fn new(step: &'static Step) -> Self {
        let sandbox = step.sandbox(&doomed_program());
        let start = Copy::of(&sandbox.top);
        let before = print(&sandbox, step);
        let mut args: Vec<String> = step.args.iter().map(ToString::to_string).collect();
        if let Some(script) = step.script() {
            args.extend(["--".to_owned(), sandbox.agent(&script)]);
        }
        let shim = sandbox.outside("shim/git");
        fs::create_dir(shim.parent().unwrap()).unwrap();
        write_program(&shim, SHIM);
        let mut bench = Self {
            step,
            args,
            has_loop: false,
            start,
            after: (before.clone(), Value::Null),
            before,
            sandbox,
            git_calls: 0,
            code: 0,
            took: Duration::ZERO,
        };
        let output;
        bench.has_loop = bench.status().code == 0;
        bench.restore();
        (output, bench.took) = timed(|| bench.command().run());
        bench.code = output.code;
        bench.after = (print(&bench.sandbox, step), stands(&bench.status()));
        bench.restore();
        bench.shimmed(0, When::Before).run().exits(bench.code);
        bench.git_calls = fs::read_dir(bench.sandbox.outside("count")).unwrap().count();
        bench
    }

    /// Brings the repository back to where the step begins.
    pub fn restore(&self) {
        fs::remove_dir_all(&self.sandbox.top).unwrap();
        self.start.write(&self.sandbox.top);
    }

    /// The step's command.
    pub fn command(&self) -> Cmd {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        dated(self.sandbox.direct(&args))
    }

    /// The command that is killed: that of an earlier version, if `GIT_RALPH_SWEEP_EARLIER` names its program, which has
    /// begun the loop too. What it left is completed by this one.
    fn doomed(&self) -> Cmd {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        dated(self.sandbox.cmd(&doomed_program())).args(args)
    }

    /// The step's command where no file can grow beyond so many blocks of 512 bytes.
    pub fn limited(&self, blocks: u32) -> Cmd {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        dated(self.sandbox.cmd("sh"))
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_git-ralph")])
            .args(args)
    }

    /// Runs the step's command on a file system of its own, a small one in memory with so many KiB left, and
    /// brings what came of it back. `None` where we may not mount one.
    pub fn on_full_disk(&self, left: u32) -> Option<Output> {
        const SCRIPT: &str = r#"set -e
top=$1 left=$2
shift 2
mount -t tmpfs -o size=48m none "$top" 2>/dev/null || exit 99
cp -a "$top.saved/." "$top/"
dd if=/dev/zero of="$top/.git/filler" bs=64k 2>/dev/null || :
dd if=/dev/zero of="$top/.git/filler" bs=1k oflag=append conv=notrunc 2>/dev/null || :
truncate -s -"$left"k "$top/.git/filler"
cd "$top"
code=0
"$@" || code=$?
rm .git/filler
cp -a "$top" "$top.after"
exit $code"#;
        let top = &self.sandbox.top;
        let beside = |ending: &str| self.sandbox.outside(&format!("repo.{ending}"));
        for dir in [beside("saved"), beside("after")] {
            let _ = fs::remove_dir_all(dir);
        }
        let copied = self.sandbox.cmd("cp").args(["-a"]).args([top, &beside("saved")]);
        copied.run().exits(0);
        let own: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let output = dated(self.sandbox.cmd("unshare"))
            .dir(&self.sandbox.outside("home"))
            .args(["--mount", "sh", "-c", SCRIPT, "sh"])
            .args([top.as_os_str(), left.to_string().as_ref()])
            .args([env!("CARGO_BIN_EXE_git-ralph")])
            .args(own)
            .run();
        if !beside("after").is_dir() {
            return None;
        }
        fs::remove_dir_all(top).unwrap();
        fs::rename(beside("after"), top).unwrap();
        Some(output)
    }

    /// What is wrong with how the step ended where it could not be done: it must be an error, and say so, and leave
    /// nobody at work.
    pub fn unclear(&self, output: &Output, place: &str) -> Option<String> {
        let says = |words: &str| output.stderr.contains(words);
        let clear = match output.code {
            // A person has to make room.
            7 => says("error: cannot write"),
            1 => says("error: "),
            // The attempt failed by it, and is kept.
            3 => says("(os error "),
            _ => false,
        };
        if !clear && output.code != self.code {
            return Some(format!(
                "{} {place}: no clear error:\n{}",
                self.step.name, output.stderr
            ));
        }
        let alive = self.sandbox.alive();
        (!alive.is_empty()).then(|| format!("{} {place}: still alive: {alive:?}", self.step.name))
    }

    fn shimmed(&self, at: usize, when: When) -> Cmd {
        let count = self.sandbox.outside("count");
        let _ = fs::remove_dir_all(&count);
        fs::create_dir(&count).unwrap();
        let dirs = std::iter::once(self.sandbox.outside("shim")).chain(search_path());
        let command = if at == 0 { self.command() } else { self.doomed() };
        command
            .env("PATH", std::env::join_paths(dirs).unwrap())
            .env("SHIM_GIT", git())
            .env("SHIM_COUNT", count)
            .env("SHIM_AT", at.to_string())
            .env("SHIM_WHEN", format!("{when:?}").to_lowercase())
    }

    /// Kills at the n-th call of git.
    pub fn killed_at_git(&self, place: usize, when: When) -> Option<String> {
        self.restore();
        let output = self.shimmed(place, when).run();
        let what = format!(
            "killed {when:?} git call {place} of {} (exit {})",
            self.git_calls, output.code
        );
        self.judge(&what)
    }

    /// How often the step calls each of these system calls.
    pub fn file_calls(&self, calls: &str) -> BTreeMap<String, usize> {
        self.restore();
        let trace = self.sandbox.outside("trace");
        let args = ["-qq", "-o", trace.to_str().unwrap(), "-e"];
        let cmd = self.traced(&args, &format!("trace={calls}"), env!("CARGO_BIN_EXE_git-ralph"));
        cmd.run().exits(self.code);
        let counts = counted(&fs::read_to_string(&trace).unwrap());
        assert!(counts.len() > 2, "strace saw nothing: {counts:?}");
        counts
    }

    /// Kills at the n-th call of a system call.
    pub fn killed_at_call(&self, name: &str, place: usize) -> Option<String> {
        self.restore();
        let trace = format!("trace={name}");
        let args = ["-qq", "-o", "/dev/null", "-e", &trace, "-e"];
        let inject = format!("inject={name}:signal=KILL:when={place}");
        let cmd = self.traced(&args, &inject, &doomed_program());
        let output = cmd.run();
        self.judge(&format!("killed at {name} {place} (exit {})", output.code))
    }

    /// Lets the n-th call of a system call fail. It is none of ours if the program has not begun by then,
    /// and what is told to stay may stay.
    pub fn failed_at_call(&self, name: &str, place: usize, errno: &str) -> Option<String> {
        self.restore();
        let trace = format!("trace={name}");
        let args = ["-qq", "-o", "/dev/null", "-e", &trace, "-e"];
        let inject = format!("inject={name}:error={errno}:when={place}");
        let output = self.traced(&args, &inject, &doomed_program()).run();
        if output.stderr.contains("error while loading shared libraries") {
            return None;
        }
        if output.stderr.contains("the loop's work tree stays, because") {
            return None;
        }
        let place = format!("{errno} at {name} {place} (exit {})", output.code);
        self.unclear(&output, &place)
            .or_else(|| Some(format!("{}\nit said: {}", self.judge(&place)?, output.stderr)))
    }

    fn traced(&self, args: &[&str], last: &str, program: &str) -> Cmd {
        let own: Vec<&str> = self.args.iter().map(String::as_str).collect();
        dated(self.sandbox.cmd("strace"))
            .args(args)
            .args([last, program])
            .args(own)
    }

    fn status(&self) -> Output {
        dated(self.sandbox.direct(&["status", CHANGE, "--json"])).run()
    }

    /// After the step was cut off: the next command, then the same command again. Says what is wrong.
    pub fn judge(&self, place: &str) -> Option<String> {
        let mut wrong = Vec::new();
        let status = self.status();
        let now = print(&self.sandbox, self.step);
        let code = match self.step.done {
            Done::Status(says) => (status.code == 0 && says(&status.json())).then_some(None),
            Done::Looks(code) => (now == self.after.0).then_some(Some(code)),
        };
        // Not done: it had not begun, and can be done now. Done: some can be said again.
        if code.is_none() && !self.step.has_middle {
            let said = format!(
                "not as before the step (status: exit {}: {})",
                status.code, status.stderr
            );
            wrong.extend(differences(&said, &self.before, &now));
        }
        if let Some(code) = code.unwrap_or(Some(self.code)) {
            let again = self.command().run();
            if again.code != code {
                wrong.push(format!("again: exit {}: {}", again.code, again.stderr));
            }
        }
        wrong.extend(differences(
            "not as undisturbed",
            &self.after.0,
            &print(&self.sandbox, self.step),
        ));
        let status = self.status();
        let mut expected = self.after.1.clone();
        if is_by_earlier() && status.json()["closed"].is_null() {
            // It was killed between its last state and its event, and only the event says how the loop was closed.
            expected["closed"] = serde_json::Value::Null;
        }
        if status.json()["by_promise_alone"].is_null() {
            // The events say it, and a full disk has no room for them.
            expected["by_promise_alone"] = serde_json::Value::Null;
            expected["by_word"] = serde_json::Value::Null;
            expected["doubtful"] = serde_json::Value::Null;
            expected["without_promise"] = serde_json::Value::Null;
        }
        if status.code != 0 || stands(&status) != expected {
            wrong.push(format!("status: {}\ninstead of {}", status.stdout, self.after.1));
        }
        let log = self.sandbox.direct(&["log", CHANGE, "--json"]).run();
        if log.code != 0 {
            wrong.push(format!("log: exit {}: {}", log.code, log.stderr));
        } else if let Some(story) = complete_twice(&log.json()) {
            wrong.push(format!("log: story {story} is complete twice: {}", log.stdout));
        }
        let mut locks = locks(&self.sandbox.top.join(".git"));
        let ours = [
            ".start.lock".to_owned(),
            format!("{CHANGE}.lock"),
            format!(".{CHANGE}.worktree.lock"),
        ];
        locks.retain(|lock| ours.iter().all(|name| !lock.ends_with(name)));
        if !locks.is_empty() {
            wrong.push(format!("locks are left: {locks:?}"));
        }
        let alive = self.sandbox.alive();
        if !alive.is_empty() {
            wrong.push(format!("still alive: {alive:?}"));
        }
        (!wrong.is_empty()).then(|| format!("{} {place}:\n{}", self.step.name, wrong.join("\n")))
    }
}

/// Finds a story that a log has as complete more than once: only one of these attempts has a checkpoint.
fn complete_twice(log: &serde_json::Value) -> Option<String> {
    let mut seen = BTreeSet::new();
    let attempts = log["attempts"].as_array()?.iter();
    let complete = attempts.filter(|attempt| attempt["verdict"] == "complete");
    let mut stories = complete.filter_map(|attempt| attempt["story"].as_str());
    stories.find(|story| !seen.insert(*story)).map(str::to_owned)
}

/// The program that is killed.
fn doomed_program() -> String {
    std::env::var("GIT_RALPH_SWEEP_EARLIER").unwrap_or_else(|_| PROGRAM.to_owned())
}

/// What has to be the same: all, but of a step that makes an attempt the kept ones, which have numbers and
/// an interrupted one more. The message of a checkpoint names its attempt and its time: of the loop's branch the trees
/// and the subjects count.
fn print(sandbox: &Sandbox, step: &Step) -> Print {
    let mut print = sandbox.print();
    let tips = [
        format!("refs/heads/ralph/{CHANGE}"),
        format!("refs/ralph/{CHANGE}/tip"),
    ];
    let lines = print
        .refs
        .lines()
        .map(|line| match tips.iter().find(|tip| line.starts_with(*tip)) {
            Some(tip) => {
                let history = sandbox.git_cmd(&["log", "--format=%T %s", tip]).run().stdout;
                format!("{tip} {}", history.replace('\n', ", "))
            }
            None => line.to_owned(),
        });
    print.refs = lines.map(|line| format!("{line}\n")).collect();
    if step.is_of_own_work_tree() {
        // It holds the index of a work tree that was just made, with the times of its files.
        let refs = print.refs.lines().filter(|line| !line.contains("/anchor "));
        print.refs = refs.map(|line| format!("{line}\n")).collect();
    }
    if ["own_submodule_finish", "pull_submodule"].contains(&step.name) {
        let look = "cd lib; git rev-parse HEAD; git status --porcelain --branch";
        print.head += &sandbox.cmd("sh").args(["-c", look]).run().stdout;
    }
    if is_by_earlier() {
        // Earlier versions kept no stash entries before an attempt.
        let refs = print.refs.lines().filter(|line| !line.contains("/stash "));
        print.refs = refs.map(|line| format!("{line}\n")).collect();
    }
    if step.makes_attempts() {
        let refs = print.refs.lines().filter(|line| !line.contains("/attempts/"));
        print.refs = refs.map(|line| format!("{line}\n")).collect();
    }
    print
}

fn differences(what: &str, wanted: &Print, found: &Print) -> Option<String> {
    if wanted == found {
        return None;
    }
    let mut text = what.to_owned();
    let paths: std::collections::BTreeSet<&PathBuf> = wanted.files.keys().chain(found.files.keys()).collect();
    for path in paths {
        let (was, is) = (wanted.files.get(path), found.files.get(path));
        if was != is {
            text += &format!("\n  {}: {is:?} instead of {was:?}", path.display());
        }
    }
    for (kind, was, is) in [
        ("index", &wanted.index, &found.index),
        ("HEAD", &wanted.head, &found.head),
        ("refs", &wanted.refs, &found.refs),
    ] {
        if was != is {
            text += &format!("\n  {kind}:\n{is}  instead of\n{was}");
        }
    }
    Some(text)
}

/// Lock files below a directory.
fn locks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
    found
}

/// Whether the program that is killed is an earlier version.
fn is_by_earlier() -> bool {
    std::env::var_os("GIT_RALPH_SWEEP_EARLIER").is_some()
}

/// Where the loop stands. An attempt that is made again after a kill has a number of its own.
fn stands(status: &Output) -> serde_json::Value {
    let mut status = status.json();
    if let Some(current) = status["current"].as_object_mut() {
        current.remove("attempt");
    }
    // Its message names the attempt and its time.
    if let Some(status) = status.as_object_mut() {
        status.remove("checkpoint");
        // It names the attempt; and a kill before the reason was noted is a reason of its own, which nothing notes.
        if status["unreviewed"].is_string() {
            status.insert("unreviewed".to_owned(), true.into());
            status.remove("stopped");
        }
    }
    status
}
