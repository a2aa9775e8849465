//! SIGKILL before and after each git call and each change that git-ralph makes to files itself: the
//! next command brings the repository to where the step had not begun or was done, and the same
//! command again ends as if nothing had happened.
//!
//! No code of the product knows of this: a `git` first on `PATH` counts its calls and kills its parent,
//! and strace kills at the n-th call of each kind that changes a file.

mod bench;
mod grounds;
mod steps;

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use self::bench::{Bench, When};
use self::steps::{STEPS, Step};
use crate::{every, nothing_of, stride, whole};

/// System calls by which git-ralph changes files.
const CHANGES: &str = "write,pwrite64,copy_file_range,sendfile,rename,renameat,renameat2,unlink,unlinkat,rmdir,fsync,\
     fdatasync,mkdir,mkdirat,chmod,fchmod,fchmodat,utimensat,ftruncate,symlink,symlinkat,link,linkat";

/// System calls by which git-ralph looks at files.
const LOOKS: &str = "openat,read,statx,newfstatat,getdents64,readlink";

/// How many full disks there are: each has a page more room than the one before.
const ROOMS: usize = 25;

/// The places to try out of `count`, numbered from 1; which ones differs by `seed`.
fn selected(count: usize, seed: usize, step: usize) -> impl Iterator<Item = usize> {
    (1 + seed % step..=count).step_by(step)
}

/// Kills around every git call of a step, then around every change of a file.
fn sweep(step: &'static Step) {
    if !whole() && !has_turn(step, 0) {
        return;
    }
    let bench = Bench::new(step);
    let mut found = Vec::new();
    let mut sides = vec![When::Before, When::After, When::Locked];
    // It works on loops that are closed, or on two work trees: whose lock is there nobody can tell, and git names it.
    let has_others = step.name == "prune" || step.is_of_own_work_tree();
    sides.truncate(if has_others { 2 } else { 3 });
    for (seed, when) in sides.into_iter().enumerate() {
        for place in selected(bench.git_calls, seed * 5 + step.name.len(), stride(30, 10)) {
            found.extend(bench.killed_at_git(place, when));
        }
    }
    nothing_of(&found);
}

fn sweep_files(step: &'static Step) {
    if !installed("strace") || (!whole() && !has_turn(step, 1)) {
        return;
    }
    let bench = Bench::new(step);
    let mut found = Vec::new();
    let mut seed = step.name.len();
    for (name, count) in bench.file_calls(CHANGES) {
        for place in selected(count, seed, stride(40, 20)) {
            found.extend(bench.killed_at_call(&name, place));
        }
        seed += count;
    }
    nothing_of(&found);
}

/// Whether a step belongs to the small selection: half of them around git, the others around files.
fn has_turn(step: &Step, turn: usize) -> bool {
    STEPS
        .iter()
        .position(|other| other.name == step.name)
        .is_some_and(|place| place % 2 == turn)
}

/// Whether a program is there; says so when what needs it is left out.
#[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("{program} is not installed: what needs it is left out");
    }
    found
}

macro_rules! sweeps {
    ($($name:ident)*) => {
        pub const SWEPT: &[&str] = &[$(stringify!($name)),*];
        $(mod $name {
            #[test]
            fn kill_around_git_commands_loses_nothing() {
                super::sweep(super::steps::named(stringify!($name)));
            }

            #[test]
            fn kill_around_file_changes_loses_nothing() {
                super::sweep_files(super::steps::named(stringify!($name)));
            }
        })*
    };
}

sweeps! {
    start next_complete next_after_edits complete next_failed retry revert finish finish_moved fail skip restore redo
    abort restart resume finish_keep prune pull pull_submodule
    stash_start stash_complete stash_failed stash_retry stash_finish stash_abort
    own_start own_finish own_abort own_submodule_start own_submodule_finish
    held_tests gated reviewed unreviewed judged_again own_finish_keep own_finish_into
}

#[test]
fn every_step_is_swept() {
    let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
    assert_eq!(names, SWEPT);
}

#[test]
fn kill_at_any_time_loses_nothing() {
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    let mut found = Vec::new();
    let times = if whole() { 5 } else { 1 };
    let steps = STEPS
        .iter()
        .skip(usize::from(!whole()))
        .step_by(if whole() { 1 } else { 3 });
    for step in steps {
        let bench = Bench::new(step);
        for _ in 0..times {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let after = bench.took * u32::try_from(random % 1100).unwrap() / 1000;
            bench.restore();
            let running = bench.command().start();
            // Chance is the point here: nothing waits for anything to have happened.
            std::thread::sleep(after);
            running.signal_group(Signal::SIGKILL);
            running.wait_for_its_end();
            found.extend(bench.judge(&format!("killed after {after:?}")));
        }
    }
    nothing_of(&found);
}

/// A limit on the size of files is what a full disk looks like, for git and for git-ralph.
#[test]
fn a_full_disk_loses_nothing() {
    let mut found = Vec::new();
    let sizes: [u32; 8] = [0, 1, 2, 3, 4, 6, 8, 16];
    for (turn, step) in STEPS.iter().enumerate().step_by(if whole() { 1 } else { 3 }) {
        let bench = Bench::new(step);
        for place in selected(sizes.len(), turn, stride(4, 2)) {
            let blocks = sizes[place - 1];
            bench.restore();
            let output = bench.limited(blocks).run();
            let place = format!("with files of {blocks} blocks at most (exit {})", output.code);
            found.extend(bench.unclear(&output, &place));
            found.extend(bench.judge(&place));
        }
    }
    nothing_of(&found);
}

/// The real thing: a file system with little room left, where we may mount one.
#[test]
fn a_disk_without_room_loses_nothing() {
    let steps = STEPS.iter().step_by(if whole() { 1 } else { 6 });
    without_room(steps, stride(12, 8));
}

#[test]
fn a_disk_without_room_loses_nothing_in_any_ending() {
    without_room(steps::endings(), stride(ROOMS, 3));
}

/// Takes each step with so little room, every `step`-th of the rooms that there are.
#[track_caller]
fn without_room(steps: impl Iterator<Item = &'static Step>, step: usize) {
    let mut found = Vec::new();
    for (turn, bench) in steps.map(Bench::new).enumerate() {
        for room in selected(ROOMS, 7 * turn, step) {
            bench.restore();
            let left = 4 * u32::try_from(room - 1).unwrap();
            let Some(output) = bench.on_full_disk(left) else {
                return;
            };
            let place = format!("with {left} KiB left (exit {})", output.code);
            found.extend(bench.unclear(&output, &place));
            found.extend(bench.judge(&place));
        }
    }
    nothing_of(&found);
}

/// A look at a file that the system refuses (a bad disk, a network that is away, too many open files) shows nothing: it does not
/// show that nothing is there.
#[test]
fn failed_lookup_does_not_count_as_a_missing_file() {
    // Which look the n-th one is differs from run to run: it is for a search, not for a gate.
    if !every() || !installed("strace") {
        return;
    }
    let mut found = Vec::new();
    for (turn, step) in STEPS.iter().enumerate() {
        let bench = Bench::new(step);
        let mut seed = turn;
        for (name, count) in bench.file_calls(LOOKS) {
            for place in selected(count, seed, 40) {
                found.extend(bench.failed_at_call(&name, place, "EIO"));
            }
            seed += count;
        }
    }
    nothing_of(&found);
}

/// A lock that nobody seems to hold, where no step was cut off: it is not ours to remove.
#[test]
fn lock_in_the_way_is_reported_and_loses_nothing() {
    let locks = [
        "index.lock",
        "HEAD.lock",
        "refs/heads/ralph/add-login.lock",
        "packed-refs.lock",
        "config.lock",
        "refs/ralph/add-login/start.lock",
        "refs/ralph/add-login/finished.lock",
        "refs/ralph/add-login/attempts/1/1.lock",
    ];
    let mut found = Vec::new();
    for (turn, step) in STEPS.iter().enumerate().step_by(if whole() { 1 } else { 4 }) {
        let bench = Bench::new(step);
        for place in selected(locks.len(), turn, stride(2, 3)) {
            let lock = locks[place - 1];
            bench.restore();
            let path = bench.sandbox.top.join(".git").join(lock);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let output = bench.command().run();
            let place = format!("with {lock} (exit {})", output.code);
            if output.code != bench.code && !output.stderr.contains(lock) {
                found.push(format!(
                    "{} {place}: the lock is not named:\n{}",
                    step.name, output.stderr
                ));
            }
            let _ = fs::remove_file(&path);
            found.extend(bench.judge(&place));
        }
    }
    nothing_of(&found);
}

/// How many calls of each kind a trace holds.
fn counted(trace: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in trace.lines() {
        if let Some((name, _)) = line.split_once('(')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Runs something and says how long it took.
fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = what();
    (result, begin.elapsed())
}
