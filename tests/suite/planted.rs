//! What somebody put in the place of a file of git-ralph's: a link, a pipe, a device. Nothing is waited for, and nothing
//! elsewhere is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::{CHANGE, Sandbox};

/// Files of a loop, from the loops' directory on.
const OWN: &[&str] = &[
    "add-login.toml",
    "add-login.lock",
    "add-login/prompt.md",
    "add-login/events.jsonl",
    "add-login/learnings.md",
    "add-login/refs.toml",
    "add-login/unversioned/ignored",
    "add-login/unversioned/directories",
    "add-login/trash",
    "add-login/attempts",
];

fn started() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.failing("echo x >f");
    sandbox.step("next", &agent).exits(3);
    sandbox
}

fn replace(path: &Path, put: impl FnOnce(&Path)) {
    let is_dir = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let _ = if is_dir {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    put(path);
}

#[test]
fn a_link_leads_nowhere() {
    for name in OWN {
        let sandbox = started();
        let elsewhere = sandbox.outside("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let file = elsewhere.join("file");
        fs::write(&file, "of the user\n").unwrap();
        let is_dir = name.ends_with("trash") || name.ends_with("attempts");
        let target = if is_dir { &elsewhere } else { &file };
        replace(&sandbox.top.join(".git/ralph").join(name), |path| {
            symlink(target, path).unwrap();
        });
        let agent = sandbox.failing("echo y >f");
        for args in [
            &["status"][..],
            &["log"],
            &["retry", "--", &agent],
            &["revert"],
            &["abort"],
        ] {
            sandbox.ralph(args);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "of the user\n", "{name}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn a_pipe_or_a_device_is_not_waited_for() {
    let pipe = |path: &Path| mkfifo(path, Mode::S_IRWXU).unwrap();
    let device = |path: &Path| symlink("/dev/zero", path).unwrap();
    let ways: [&dyn Fn(&Path); 2] = [&pipe, &device];
    for name in OWN {
        for way in ways {
            let sandbox = started();
            replace(&sandbox.top.join(".git/ralph").join(name), way);
            let agent = sandbox.failing("echo y >f");
            // Each must end by itself, in whatever way.
            for args in [
                &["status"][..],
                &["status", "--short"],
                &["log"],
                &["retry", "--", &agent],
            ] {
                sandbox.ralph(args);
            }
        }
    }
}

#[test]
fn a_planted_prompt_is_replaced() {
    let sandbox = started();
    let prompt = sandbox.top.join(".git/ralph").join(CHANGE).join("prompt.md");
    replace(&prompt, |path| mkfifo(path, Mode::S_IRWXU).unwrap());
    let agent = sandbox.completing("echo y >f");
    sandbox.step("retry", &agent).exits(0);
    assert!(prompt.symlink_metadata().unwrap().is_file());
}
