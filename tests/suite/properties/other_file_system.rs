//! A work tree on another file system than the repository: nothing can be renamed from one to the other.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assert_fs::TempDir;

use crate::support::Sandbox;
use crate::support::temporary::MEMORY;

/// A sandbox whose work tree is a linked one on another file system, and what removes it. `None`, and says so, where
/// there is no other.
#[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
fn elsewhere() -> Option<(Sandbox, TempDir)> {
    let mut sandbox = Sandbox::new();
    let here = sandbox.top.metadata().unwrap().dev();
    let places = [PathBuf::from(MEMORY), env::temp_dir()];
    let mut others = places.iter().filter_map(|place| TempDir::new_in(place).ok());
    let Some(other) = others.find(|dir| dir.path().metadata().unwrap().dev() != here) else {
        eprintln!("{MEMORY} is no file system of its own: left out");
        return None;
    };
    let top = other.path().join("tree");
    sandbox.git(&["worktree", "add", "-q", top.to_str().unwrap()]);
    sandbox.top = top;
    Some((sandbox, other))
}

const SCRIPT: &str =
    "mkdir -p p/target empty; echo x >p/m.log; echo x >p/target/o; ln -s /etc p/link; mkfifo p/pipe
    chmod 500 p; rm README.md; mkfifo README.md; git clone -q . vendor";

#[test]
fn failed_attempt_moves_its_files_to_the_trash() {
    let Some((sandbox, _other)) = elsewhere() else {
        return;
    };
    sandbox.write("data/a.log", "mine\n");
    let before = sandbox.files();
    sandbox.start();
    sandbox.step("next", &sandbox.failing(SCRIPT)).exits(3);
    assert_eq!(sandbox.files(), before);
    let common = sandbox.git(&["rev-parse", "--git-common-dir"]);
    let trash = sandbox.top.join(common).join("ralph/add-login/trash/1.1");
    assert_eq!(fs::read_to_string(trash.join("p/target/o")).unwrap(), "x\n");
    assert_eq!(fs::read_link(trash.join("p/link")).unwrap(), Path::new("/etc"));
    assert_eq!(trash.join("p").metadata().unwrap().mode() & 0o777, 0o500);
    sandbox
        .step(
            "retry",
            &sandbox.completing("echo x >x; mkdir e; mkdir p; echo x >p/m; echo x >p/m.log"),
        )
        .exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}
