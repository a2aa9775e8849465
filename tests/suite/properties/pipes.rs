//! Sockets and devices in the place of files that git opens, and a git that waits: one signal ends it. What pipes in each
//! place do is a sweep.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use nix::sys::signal::Signal;

use crate::support::sandbox::PROGRAM;
use crate::support::{Sandbox, wait_until};

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
            .says(&format!("{place} is a device: git would never finish reading it"))
            .says(&format!("hint: rm {}", path.display()));
        fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        if place == ".git/info/exclude" {
            sandbox.direct(&["status"]).run().exits(0);
        }
    }
}

#[test]
fn sockets_block_no_command() {
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
fn first_signal_also_ends_a_git_that_begins_later() {
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
