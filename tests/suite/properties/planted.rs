//! A pipe in the place of a file of git-ralph's: it is replaced, and whoever waits for it can be ended. What is done in
//! each place is a sweep.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

fn started() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.failing("echo x >f");
    sandbox.step("next", &agent).exits(3);
    sandbox
}

#[test]
fn a_planted_prompt_is_replaced() {
    let sandbox = started();
    let prompt = sandbox
        .top
        .join(".git/ralph")
        .join(CHANGE)
        .join("slots/1/prompt.md");
    fs::remove_file(&prompt).unwrap();
    mkfifo(&prompt, Mode::S_IRWXU).unwrap();
    let agent = sandbox.completing("echo y >f");
    sandbox.step("retry", &agent).exits(0);
    assert!(prompt.symlink_metadata().unwrap().is_file());
}

/// Waits until somebody reads from a pipe; gives the end that keeps it waiting for more.
fn wait_for_a_reader(pipe: &Path) -> File {
    let flags = OFlag::O_NONBLOCK.bits();
    let open = || OpenOptions::new().write(true).custom_flags(flags).open(pipe);
    let mut writer = None;
    wait_until("the pipe is read", || {
        writer = open().ok();
        writer.is_some()
    });
    writer.unwrap()
}

#[test]
fn signals_stop_a_command_that_blocks_on_a_pipe() {
    let sandbox = started();
    // One of git's own files, which git itself would wait for.
    let refs = sandbox.top.join(".git/packed-refs");
    let _ = fs::remove_file(&refs);
    mkfifo(&refs, Mode::S_IRWXU).unwrap();
    let agent = sandbox.failing("echo y >f");
    let running = sandbox.direct(&["retry", "--", &agent]).start();
    let _writer = wait_for_a_reader(&refs);
    // Two of a kind that come at once may be one.
    running.signal(Signal::SIGINT);
    running.signal(Signal::SIGTERM);
    let code = running.end().code;
    assert!(matches!(code, 130 | 143), "{code}");
}

#[test]
fn one_signal_ends_a_command_that_only_reads() {
    let sandbox = started();
    let begun = sandbox.outside("begun");
    let script = format!(
        "echo $$ >'{0}.new'; mv '{0}.new' '{0}'; exec sleep 100",
        begun.display()
    );
    sandbox.install("git", &script);
    let running = sandbox.direct(&["status", CHANGE]).start();
    wait_for(&begun);
    running.signal(Signal::SIGTERM);
    running.end().exits(143);
    for pid in sandbox.alive() {
        let _ = kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL);
    }
}

#[test]
fn objects_that_an_attempt_puts_elsewhere_are_kept_here() {
    for verdict in ["failed red", "complete"] {
        let sandbox = Sandbox::started();
        let script = format!(
            "mkdir \"$notes/alt\"; cp -r .git/objects/. \"$notes/alt\"; echo work >new
            echo \"$notes/alt\" >.git/objects/info/alternates
            GIT_OBJECT_DIRECTORY=\"$notes/alt\" git hash-object -w new; {verdict}"
        );
        sandbox
            .step("next", &sandbox.agent(&script))
            .says("objects/info/alternates was");
        fs::remove_dir_all(sandbox.notes.join("alt")).unwrap();
        sandbox.git(&["fsck", "--strict"]);
        let kept = if verdict == "complete" {
            "HEAD:new"
        } else {
            "refs/ralph/add-login/attempts/1/1:new"
        };
        assert_eq!(sandbox.git(&["show", kept]), "work");
    }
}
