//! A storm over loops on one remote: several workers, most in shallow clones, that are killed, or stopped for longer than
//! their lease and then wake up. Whatever happens, each story is done once, the states of a loop are one line, each
//! checkpoint descends from the one before, no clone loses sight of a commit, and in the end nothing is left to do and each
//! branch has the last checkpoint. The same holds where a slow host loses requests and answers, where one says in texts and
//! pages that it is too busy, and where one falls silent. In a control group git pushes without expecting anything, and a
//! run that lost its loop overwrites what another one did.
//!
//! `GIT_RALPH_SEED=<number>` does the storm of that seed again; a failure names its seed.

mod http;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use self::http::{Manner, Served};
use crate::support::Sandbox;
use crate::{nothing_of, whole};

/// The repository of the remote.
const REMOTE: &str = "remote.git";
/// The lease of the workers, in milliseconds.
const LEASE: u64 = 3000;
/// Time in which every change must be done.
const LIMIT: Duration = Duration::from_secs(900);

/// A storm: its workers, its changes, and the seed of its accidents.
#[derive(Clone, Copy)]
struct Storm {
    workers: u64,
    changes: usize,
    stories: usize,
    seed: u64,
}

/// A small generator of numbers that depend on a seed alone.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

impl Storm {
    fn change(number: usize) -> String {
        format!("change-{number}")
    }

    /// Makes the remote, with the changes on its branch.
    fn remote(self, sandbox: &Sandbox) -> PathBuf {
        let bare = sandbox.outside(REMOTE);
        sandbox.git(&["rm", "-rq", "openspec"]);
        for number in 0..self.changes {
            let stories: String = (1..=self.stories)
                .map(|story| format!("## {story}. Story\n- [ ] {story}.1 do it\n\n"))
                .collect();
            let path = format!("openspec/changes/{}/tasks.md", Self::change(number));
            sandbox.write(&path, &stories);
        }
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "changes"]);
        for number in 0..3 {
            sandbox.git(&[
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                &format!("history {number}"),
            ]);
        }
        let path = bare.to_str().unwrap();
        sandbox.git(&["clone", "-q", "--bare", ".", path]);
        bare
    }

    /// Works until nothing is left to do, with accidents.
    fn work(
        self,
        sandbox: &Sandbox,
        url: &str,
        agent: &str,
        worker: u64,
        begun: Instant,
    ) -> Result<(), String> {
        let clone = sandbox.outside(&format!("worker-{worker}"));
        let depth = match worker % 3 {
            0 => "--depth=1",
            1 => "--depth=2",
            _ => "--no-tags",
        };
        let bare = format!("file://{}", sandbox.outside(REMOTE).display());
        sandbox.git(&["clone", "-q", depth, &bare, clone.to_str().unwrap()]);
        let git = |args: &[&str]| sandbox.git_cmd(args).dir(&clone).run();
        git(&["remote", "set-url", "origin", url]).exits(0);
        // Work of the user's that is nowhere else.
        git(&["branch", "mine"]).exits(0);
        let own = git(&[
            "-c",
            "user.name=U",
            "-c",
            "user.email=u@e",
            "commit-tree",
            "-p",
            "mine",
            "-m",
            "mine",
            "HEAD^{tree}",
        ])
        .exits(0);
        git(&["update-ref", "refs/heads/mine", own.stdout.trim()]).exits(0);
        let seen = || git(&["rev-list", "mine"]).exits(0).stdout;
        let before = seen();
        let mut dice = Dice(self.seed.wrapping_mul(1000).wrapping_add(worker));
        let lease = format!("ralph.lease={}s", LEASE / 1000);
        let args = [
            "-c",
            &lease,
            "-c",
            "ralph.commandTimeout=20s",
            "ralph",
            "run",
            "--any",
            "--remote",
            "origin",
            "--keep",
            "--",
            agent,
        ];
        while begun.elapsed() < LIMIT {
            let running = sandbox.git_cmd(&args).dir(&clone).start();
            let accident = dice.roll(3);
            thread::sleep(Duration::from_millis(100 + dice.roll(2000)));
            match accident {
                0 => running.signal_group(Signal::SIGKILL),
                1 => {
                    running.signal_group(Signal::SIGSTOP);
                    thread::sleep(Duration::from_millis(LEASE + LEASE / 2 + dice.roll(1000)));
                    running.signal_group(Signal::SIGCONT);
                }
                _ => {}
            }
            let output = running.end();
            let lost: Vec<_> = before.lines().filter(|oid| !seen().contains(oid)).collect();
            if !lost.is_empty() {
                return Err(format!("worker {worker} no longer sees {lost:?}"));
            }
            match output.code {
                5 => {
                    let fsck = git(&["fsck", "--no-dangling", "--connectivity-only"]);
                    let is_whole = fsck.code == 0;
                    return if is_whole { Ok(()) } else { Err(fsck.stderr) };
                }
                0 | 75 | 137 => {}
                // A host that says nothing for longer than a lease allows ends a run, and one that is busy when a worker wakes
                // up whose time for the push has passed; whoever began it begins it again.
                1 if url.starts_with("http:")
                    && ["did not answer", "cannot push"]
                        .iter()
                        .any(|words| output.stderr.contains(words)) => {}
                other => return Err(format!("worker {worker} ended with {other}:\n{}", output.stderr)),
            }
        }
        Err(format!("worker {worker} found no end"))
    }

    /// Lets the workers work on the remote at `url`; returns what is wrong afterwards.
    fn rage(self, sandbox: &Sandbox, bare: &Path, url: &str) -> Vec<String> {
        let agent = sandbox.completing("sleep 0.$(($$ % 4)); echo \"$RALPH_STORY\" >>\"work-$RALPH_CHANGE\"");
        let begun = Instant::now();
        let mut wrong: Vec<String> = thread::scope(|scope| {
            let agent = &agent;
            let begin = |worker| scope.spawn(move || self.work(sandbox, url, agent, worker, begun));
            let workers: Vec<_> = (0..self.workers).map(begin).collect();
            let ends = workers.into_iter().map(|worker| worker.join().unwrap());
            ends.filter_map(Result::err).collect()
        });
        for number in 0..self.changes {
            let change = Self::change(number);
            if let Err(what) = self.look(sandbox, bare, &change) {
                wrong.push(format!("seed {}, {change}: {what}", self.seed));
            }
        }
        wrong
    }

    /// Looks at the history of a change on the remote.
    fn look(self, sandbox: &Sandbox, bare: &Path, change: &str) -> Result<(), String> {
        let git = |args: &[&str]| {
            let output = sandbox.git_cmd(args).dir(bare).run();
            (output.code, output.stdout)
        };
        let state = format!("refs/ralph/{change}/state");
        let (code, log) = git(&["log", "--first-parent", "--format=%H%n%P%n%B%x00", &state]);
        if code != 0 {
            return Err("it has no state".to_owned());
        }
        let entries: Vec<&str> = log.split('\0').map(str::trim).collect();
        let states: Vec<_> = entries
            .iter()
            .filter(|entry| entry.contains("Ralph-Generation:"))
            .collect();
        let field = |entry: &str, name: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let mut below = None;
        for entry in states.iter().rev() {
            let mut lines = entry.lines();
            let oid = lines.next().unwrap_or_default();
            let (generation, previous) = (field(entry, "Ralph-Generation:"), field(entry, "Ralph-Previous:"));
            let checkpoint = field(entry, "Ralph-Checkpoint:");
            let (number, known, from) = below
                .clone()
                .unwrap_or((0, "none".to_owned(), checkpoint.clone()));
            if generation != (number + 1).to_string() || previous != known {
                return Err(format!("state {generation} follows {number}"));
            }
            if git(&["merge-base", "--is-ancestor", &from, &checkpoint]).0 != 0 {
                return Err(format!("checkpoint {checkpoint} does not descend from {from}"));
            }
            below = Some((number + 1, oid.to_owned(), checkpoint));
        }
        let (_, _, checkpoint) = below.unwrap_or_default();
        let last = states.first().copied().copied().unwrap_or_default();
        if field(last, "Ralph-Phase:") != "finished" || !field(last, "Ralph-Holder:").is_empty() {
            return Err(format!("it ends with {last}"));
        }
        let (_, tip) = git(&["rev-parse", &format!("refs/heads/ralph/{change}")]);
        if tip.trim() != checkpoint {
            return Err(format!(
                "its branch is at {}, its checkpoint at {checkpoint}",
                tip.trim()
            ));
        }
        let (_, subjects) = git(&["log", "--format=%s", &checkpoint]);
        let done = subjects
            .lines()
            .filter_map(|subject| subject.strip_prefix("checkpoint: "));
        let mut done: Vec<&str> = done.collect();
        done.reverse();
        let wanted: Vec<String> = (1..=self.stories).map(|story| story.to_string()).collect();
        if done != wanted {
            return Err(format!("stories {done:?}"));
        }
        let (_, work) = git(&["show", &format!("{checkpoint}:work-{change}")]);
        if work.lines().collect::<Vec<_>>() != wanted {
            return Err(format!("work {work:?}"));
        }
        let unique: BTreeSet<&str> = done.into_iter().collect();
        assert_eq!(unique.len(), self.stories);
        Ok(())
    }
}

fn seeds() -> Vec<u64> {
    match std::env::var("GIT_RALPH_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    {
        Some(seed) => vec![seed],
        None if whole() => vec![1, 2],
        None => vec![1],
    }
}

#[test]
fn workers_do_each_story_once_despite_faults() {
    let mut wrong = Vec::new();
    for seed in seeds() {
        let storm = Storm {
            workers: if whole() { 6 } else { 3 },
            changes: if whole() { 5 } else { 2 },
            stories: if whole() { 4 } else { 3 },
            seed,
        };
        let sandbox = Sandbox::new();
        let bare = storm.remote(&sandbox);
        let url = format!("file://{}", bare.display());
        wrong.extend(storm.rage(&sandbox, &bare, &url));
    }
    nothing_of(&wrong);
}

#[test]
fn slow_host_neither_loses_nor_repeats_work() {
    rage_at_a_host(Manner::Slow, whole());
}

#[test]
fn busy_host_neither_loses_nor_repeats_work() {
    if whole() {
        rage_at_a_host(Manner::Busy, false);
    }
}

#[test]
fn silent_host_neither_loses_nor_repeats_work() {
    if whole() {
        rage_at_a_host(Manner::Silence, false);
    }
}

/// A storm at a host that fails in this manner, a large or a small one.
#[track_caller]
fn rage_at_a_host(manner: Manner, is_large: bool) {
    let mut wrong = Vec::new();
    for seed in seeds() {
        let storm = Storm {
            workers: if is_large { 4 } else { 2 },
            changes: if is_large { 3 } else { 1 },
            stories: if is_large { 4 } else { 3 },
            seed,
        };
        let sandbox = Sandbox::new();
        let bare = storm.remote(&sandbox);
        sandbox
            .git_cmd(&["config", "http.receivepack", "true"])
            .dir(&bare)
            .run()
            .exits(0);
        let host = Served::new(&sandbox.git_program(), bare.parent().unwrap(), manner, seed);
        wrong.extend(storm.rage(&sandbox, &bare, &host.url(REMOTE)));
        assert!(host.faults() > 1, "the host had {} faults only", host.faults());
    }
    nothing_of(&wrong);
}

/// Pushes whatever the remote has: what a program does that takes a lease and then pushes its work without it.
const UNFENCED: &str = r#"
for arg do
    shift
    case $arg in
    --force-with-lease=*/state:*) continue ;;
    *:*/state) arg=+$arg ;;
    esac
    set -- "$@" "$arg"
done
exec "$GIT_OF_THE_TEST" "$@"
"#;

/// Has a run work on a loop that is taken from it, and gone on with elsewhere, before its agent ends. Returns the state on
/// the remote that the other one left, and the one that is there in the end.
fn taken_while_it_worked(sandbox: &Sandbox) -> (String, String) {
    let storm = Storm {
        workers: 2,
        changes: 1,
        stories: 2,
        seed: 0,
    };
    let bare = storm.remote(sandbox);
    let clone = |name: &str| {
        let dir = sandbox.outside(name);
        sandbox.git(&["clone", "-q", bare.to_str().unwrap(), dir.to_str().unwrap()]);
        dir
    };
    let (one, other) = (clone("one"), clone("other"));
    let slow = "touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo mine >f";
    let slow = sandbox.completing(slow);
    let run = ["run", "change-0", "--remote", "origin", "--keep", "--", &slow];
    let running = sandbox.direct(&run).dir(&one).start();
    crate::support::wait_for(&sandbox.notes.join("there"));
    let quick = sandbox.completing("echo theirs >f");
    let there = |args: &[&str]| sandbox.direct(args).dir(&other).run().exits(0);
    there(&["pull", "change-0", "--remote", "origin", "--take", "--force"]);
    there(&["next", "change-0", "--", &quick]);
    there(&["push", "change-0", "--remote", "origin"]);
    let state = || {
        sandbox
            .git_cmd(&["rev-parse", "refs/ralph/change-0/state"])
            .dir(&bare)
            .run()
            .stdout
    };
    let theirs = state();
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end();
    (theirs, state())
}

#[test]
fn a_run_that_lost_its_loop_lands_nothing_and_without_the_fence_it_would() {
    let (theirs, end) = taken_while_it_worked(&Sandbox::new());
    assert_eq!(theirs, end);
    // The control group.
    let sandbox = Sandbox::new();
    let git = sandbox.git_program();
    let script = UNFENCED.replace("\"$GIT_OF_THE_TEST\"", &format!("'{}'", git.display()));
    sandbox.install("git", &script);
    let (theirs, end) = taken_while_it_worked(&sandbox);
    assert_ne!(
        theirs, end,
        "without a fence nothing was overwritten: the test shows nothing"
    );
}

#[test]
fn work_of_an_agent_whose_loop_was_taken_is_kept() {
    let sandbox = Sandbox::new();
    let storm = Storm {
        workers: 2,
        changes: 1,
        stories: 2,
        seed: 0,
    };
    let bare = storm.remote(&sandbox);
    let clone = |name: &str| {
        let dir = sandbox.outside(name);
        sandbox.git(&["clone", "-q", bare.to_str().unwrap(), dir.to_str().unwrap()]);
        dir
    };
    let (one, other) = (clone("one"), clone("other"));
    let slow = sandbox.completing("echo mine >mine; touch \"$notes/there\"; while :; do sleep 0.05; done");
    let lease = ["-c", "ralph.lease=15s", "ralph"];
    let run = [
        &lease[..],
        &["run", "change-0", "--remote", "origin", "--", &slow],
    ]
    .concat();
    let running = sandbox.git_cmd(&run).dir(&one).start();
    crate::support::wait_for(&sandbox.notes.join("there"));
    let take = [
        "ralph", "pull", "change-0", "--remote", "origin", "--take", "--force",
    ];
    sandbox.git_cmd(&take).dir(&other).run().exits(0);
    let output = running.end().exits(75);
    assert!(
        output.stderr.contains("this run lost 'change-0'"),
        "{}",
        output.stderr
    );
    let kept = sandbox
        .git_cmd(&["show", "refs/ralph/change-0/attempts/1/1:mine"])
        .dir(&one)
        .run();
    assert_eq!(kept.exits(0).stdout, "mine\n");
    let log = sandbox
        .git_cmd(&["ralph", "log", "change-0", "--json"])
        .dir(&one)
        .run()
        .exits(0);
    assert_eq!(log.json()["attempts"][0]["verdict"], "interrupted");
    assert_eq!(
        log.json()["attempts"][0]["reason"],
        "stopped by the loss of its lease"
    );
    assert!(fs::metadata(one.join("mine")).is_err());
}
