//! Pipes and sockets in the place of files that git opens: git would wait for a pipe for ever. Those of an attempt are moved
//! away, others are named; and one signal ends a git that waits.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::sandbox::PROGRAM;
use crate::support::{CHANGE, Sandbox, wait_until};

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
    RULES.iter().chain(OF_GIT).copied()
}

/// Puts a pipe in this place.
fn put_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    mkfifo(path, Mode::S_IRWXU).unwrap();
}

#[test]
fn those_of_an_attempt_are_moved_away_and_nothing_waits() {
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
fn links_of_an_attempt_to_them_are_moved_away_and_nothing_waits() {
    std::thread::scope(|scope| {
        for place in OF_GIT {
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
fn those_of_an_attempt_that_kills_git_ralph_are_moved_away_or_named() {
    std::thread::scope(|scope| {
        for place in places() {
            scope.spawn(move || {
                let sandbox = Sandbox::new();
                sandbox.start();
                let agent = sandbox.agent(&format!(
                    "rm -f {place}; mkdir -p $(dirname {place}); mkfifo {place}; kill -9 $PPID"
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
fn others_are_named_with_the_command_that_removes_them() {
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

#[test]
fn a_device_is_named_before_a_git_reads_it() {
    for place in [
        ".git/HEAD",
        ".git/commondir",
        ".git/info/exclude",
        ".git/packed-refs",
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let path = sandbox.top.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink("/dev/zero", &path).unwrap();
        // If a git were run, it would fill the memory.
        let script = format!("ulimit -v 4000000; exec '{PROGRAM}' status");
        sandbox
            .cmd("sh")
            .args(["-c", &script])
            .run()
            .exits(1)
            .says(&format!("{place} is a device: git would never come to its end"))
            .says(&format!("hint: rm {}", path.display()));
        fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        if place == ".git/info/exclude" {
            sandbox.direct(&["status"]).run().exits(0);
        }
    }
}

#[test]
fn sockets_are_no_obstacle() {
    for place in [".gitignore", ".git/packed-refs", ".git/info/exclude"] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let socket = sandbox.outside("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        fs::create_dir_all(sandbox.top.join(".git/info")).unwrap();
        let agent = sandbox.failing(&format!("rm -f {place}; mv {} {place}", socket.display()));
        sandbox
            .step("next", &agent)
            .exits(3)
            .says("was no file; it is moved");
        sandbox.ralph(&["abort"]).exits(0);
    }
}

/// Installs a git whose commands that only read do this first.
fn install_reader(sandbox: &Sandbox, first: &str) {
    let real = sandbox.git_program();
    let script = format!(
        "case \" $* \" in *' ls-files '*|*' status '*|*' diff-'*) {first} ;; esac\nexec '{}' \"$@\"",
        real.display()
    );
    sandbox.install("git", &script);
}

#[test]
fn the_first_signal_ends_a_git_that_only_reads() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let begun = sandbox.outside("begun");
        install_reader(&sandbox, &format!("echo >'{}'; exec sleep 100", begun.display()));
        let agent = sandbox.completing("echo x >x");
        let running = sandbox.direct(&["next", "--", &agent]).start();
        wait_until("a git reads", || begun.exists());
        running.signal(signal);
        let end = running.end();
        assert_eq!(end.code, code, "{}", end.stderr);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        sandbox.ralph(&["status"]).exits(0);
    }
}

#[test]
fn it_also_ends_a_git_that_begins_after_it() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let (begun, late) = (sandbox.outside("begun"), sandbox.outside("late"));
    install_reader(
        &sandbox,
        &format!(
            "[ ! -e '{late}' ] || exec sleep 100; echo >'{begun}'; until [ -e '{late}' ]; do sleep 0.05; done",
            begun = begun.display(),
            late = late.display()
        ),
    );
    let agent = sandbox.completing("echo x >x");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_until("a git reads", || begun.exists());
    running.signal(Signal::SIGTERM);
    fs::write(&late, "").unwrap();
    let end = running.end();
    assert_eq!(end.code, 143, "{}", end.stderr);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    sandbox.ralph(&["status"]).exits(0);
}
