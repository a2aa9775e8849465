//! Pipes in the place of files that git opens: git would wait for a pipe for ever. Those of an attempt are moved away, others
//! are named.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::{CHANGE, Sandbox};

/// Rules in the work tree.
const RULES: &[&str] = &[
    ".gitignore",
    "src/.gitignore",
    "new/deeper/.gitignore",
    ".gitattributes",
    "src/deep/er/.gitattributes",
    ".gitmodules",
    ".mailmap",
];

/// Files of git's.
const OF_GIT: &[&str] = &[
    ".git/HEAD",
    ".git/index",
    ".git/packed-refs",
    ".git/config",
    ".git/info/exclude",
    ".git/info/attributes",
    ".git/refs/heads/main",
    ".git/refs/heads/x",
    ".git/shallow",
    ".git/commondir",
    ".git/MERGE_HEAD",
    ".git/ORIG_HEAD",
    ".git/FETCH_HEAD",
    ".git/logs/HEAD",
    ".git/objects/info/alternates",
    ".git/hooks/pre-commit",
];

fn places() -> impl Iterator<Item = &'static str> {
    RULES.iter().chain(OF_GIT).copied().step_by(crate::stride(11, 1))
}

/// Puts a pipe in this place.
fn put_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    mkfifo(path, Mode::S_IRWXU).unwrap();
}

#[test]
fn pipes_of_an_attempt_are_moved_away_and_block_nothing() {
    std::thread::scope(|scope| {
        for place in places() {
            scope.spawn(move || {
                for (promise, codes) in [("complete", &[0, 3][..]), ("failed it", &[3])] {
                    let sandbox = Sandbox::new();
                    sandbox.start();
                    let agent = sandbox.agent(&format!(
                        "rm -f {place}; mkdir -p $(dirname {place}); mkfifo {place}; echo x >x; {promise}"
                    ));
                    let output = sandbox.step("next", &agent);
                    let shown = format!("{place}, {promise}: {}", output.stderr);
                    assert!(codes.contains(&output.code), "{shown}");
                    assert!(output.stderr.contains("was no file; it is moved"), "{shown}");
                    let now = sandbox.top.join(place).symlink_metadata();
                    assert!(!now.is_ok_and(|now| !now.is_file()), "{shown}");
                    sandbox.git(&["status"]);
                    // A branch that a complete attempt took away stays away.
                    let is_lost = place == ".git/refs/heads/main" && promise == "complete";
                    sandbox.ralph(&["abort"]).exits(if is_lost { 7 } else { 0 });
                }
            });
        }
    });
}

/// Git follows links in its own directory; one to a device would also fill the memory.
#[test]
fn links_to_pipes_are_moved_away_and_block_nothing() {
    std::thread::scope(|scope| {
        for place in OF_GIT.iter().step_by(crate::stride(8, 1)) {
            scope.spawn(move || {
                let sandbox = Sandbox::new();
                sandbox.git(&["config", "core.hooksPath", ".git/hooks"]);
                let off = sandbox.top.join(".git/hooks/post-merge");
                fs::create_dir_all(off.parent().unwrap()).unwrap();
                symlink("/dev/null", &off).unwrap();
                sandbox.start();
                let pipe = sandbox.outside("pipe");
                mkfifo(&pipe, Mode::S_IRWXU).unwrap();
                let agent = sandbox.failing(&format!(
                    "rm -f {place}; mkdir -p $(dirname {place}); ln -s '{}' {place}; echo x >x",
                    pipe.display()
                ));
                let output = sandbox.step("next", &agent).exits(3);
                output.says("was no file; it is moved");
                let now = sandbox.top.join(place).symlink_metadata();
                assert!(!now.is_ok_and(|now| !now.is_file()), "{place}");
                assert!(off.is_symlink(), "{place}");
                assert!(pipe.symlink_metadata().is_ok(), "{place}");
                sandbox.git(&["status"]);
                sandbox.ralph(&["abort"]).exits(0);
            });
        }
    });
}

#[test]
fn pipes_are_moved_away_or_named_if_the_attempt_kills_git_ralph() {
    std::thread::scope(|scope| {
        for place in places() {
            scope.spawn(move || {
                let sandbox = Sandbox::new();
                sandbox.start();
                let agent = sandbox.agent(&format!(
                    "rm -f {place}; mkdir -p $(dirname {place}); mkfifo {place}; kill -9 $(ps -o ppid= -p $PPID)"
                ));
                sandbox.direct(&["next", "--", &agent]).run().exits(137);
                let output = sandbox.direct(&["status", CHANGE]).run();
                let is_named = output.stderr.contains(place.trim_start_matches(".git/"));
                assert!(output.code == 0 || is_named, "{place}: {}", output.stderr);
            });
        }
    });
}

#[test]
fn error_names_pipes_of_the_user_and_the_command_that_removes_them() {
    std::thread::scope(|scope| {
        for place in places() {
            scope.spawn(move || {
                for is_started in [false, true] {
                    let sandbox = Sandbox::new();
                    if is_started {
                        sandbox.start();
                    }
                    put_pipe(&sandbox.top.join(place));
                    let agent = sandbox.completing("echo x >x");
                    let next = ["next", "--", &agent];
                    let commands = if is_started {
                        vec![&["status"][..], &next]
                    } else {
                        vec![&["start", CHANGE][..]]
                    };
                    for args in commands {
                        // It ends by itself.
                        let output = sandbox.direct(args).run();
                        let waits = output.stderr.contains("which is a pipe");
                        assert!(
                            !waits || output.stderr.contains("hint: rm ") && output.code == 1,
                            "{place}, {args:?}: {}",
                            output.stderr
                        );
                    }
                }
            });
        }
    });
}
