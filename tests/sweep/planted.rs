//! What somebody put in the place of a file of git-ralph's: a link, a pipe, a device. Nothing is waited for, and nothing
//! elsewhere is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::Sandbox;

/// Files of a loop, from the loops' directory on.
const OWN: &[&str] = &[
    "add-login.toml",
    "add-login.lock",
    "add-login/slots/1/prompt.md",
    "add-login/events.jsonl",
    "add-login/learnings.md",
    "add-login/slots/1/refs-before.toml",
    "add-login/slots/1/unversioned/ignored",
    "add-login/slots/1/unversioned/directories",
    "add-login/slots",
    "add-login/slots/1",
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
fn planted_link_leads_no_write_outside() {
    for name in OWN.iter().step_by(crate::stride(7, 1)) {
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
    for name in OWN.iter().step_by(crate::stride(7, 1)) {
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
fn attempt_redirects_no_write_and_blocks_nothing() {
    let harms = [
        "rm -rf .git/ralph/add-login/trash .git/ralph/add-login/attempts
         ln -s ../../../../elsewhere .git/ralph/add-login/trash; ln -s ../../../../elsewhere .git/ralph/add-login/attempts",
        "rm -rf .git/ralph/add-login; ln -s ../../../elsewhere .git/ralph/add-login",
        "rm -rf .git/ralph; ln -s ../../elsewhere .git/ralph",
        "rm -rf .git/ralph/add-login/slots; ln -s ../../../../elsewhere .git/ralph/add-login/slots",
        "rm -rf .git/ralph/add-login/slots/1; ln -s ../../../../../elsewhere .git/ralph/add-login/slots/1",
        "rm -rf .git/ralph/add-login/slots/1/unversioned; ln -s ../../../../../../elsewhere .git/ralph/add-login/slots/1/unversioned",
        "rm -f .git/ralph/add-login/slots/1/checkpoint.index; mkfifo .git/ralph/add-login/slots/1/checkpoint.index",
        "git pack-refs --all; rm .git/packed-refs; mkfifo .git/packed-refs",
        "rm .git/index; mkfifo .git/index",
        "rm .git/refs/heads/main; mkfifo .git/refs/heads/main",
    ];
    for harm in harms.into_iter().step_by(crate::stride(5, 1)) {
        let sandbox = Sandbox::new();
        let elsewhere = sandbox.outside("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let before = sandbox.files();
        sandbox.start();
        let agent = sandbox.failing(&format!("mkfifo pipe; echo x >>README.md; {harm}"));
        sandbox.step("next", &agent).exits(3);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{harm}");
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), before, "{harm}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{harm}");
    }
}
