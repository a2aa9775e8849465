//! What comes before the steps that are cut off.

use std::path::PathBuf;

use crate::support::{CHANGE, Cmd, Sandbox, TASKS};

/// What the agents do: edits, new files, deletions, modes, links; no git.
pub const WORK: &str =
    "echo more >>README.md; rm src/lib.txt; mkdir -p new/er; echo new >new/er/file; chmod -x tool; \
     rm link; ln -s tool link; echo hid >>.gitignore; echo h >hid; rm -rf src/deep; echo now a file >src/deep
     echo more >>key; chmod 644 key; echo more >>tracked.nb; rmdir empty\n";

/// Date and time of all commits, so that their ids can be compared.
pub fn dated(cmd: Cmd) -> Cmd {
    cmd.env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
}

pub fn start(sandbox: &Sandbox) {
    dated(sandbox.direct(&["start", CHANGE])).run().exits(0);
}

pub fn fail(sandbox: &Sandbox) {
    let agent = sandbox.agent(&format!("{WORK}failed first"));
    dated(sandbox.direct(&["next", "--", &agent])).run().exits(3);
}

pub fn edit(sandbox: &Sandbox) {
    sandbox.write("src/lib.txt", "by hand\n");
    sandbox.write("by hand/new.txt", "new\n");
    std::fs::remove_file(sandbox.top.join("tool")).unwrap();
}

/// One story done, and one that failed.
pub fn failed_in_place(sandbox: &Sandbox) {
    start(sandbox);
    let agent = sandbox.agent("echo more >>README.md; complete");
    dated(sandbox.direct(&["next", "--", &agent])).run().exits(0);
    fail(sandbox);
}

/// A loop on a remote with a story that failed; here, only commits.
pub fn pushed(sandbox: &Sandbox) {
    sandbox.git(&["add", "-A"]);
    dated(sandbox.git_cmd(&["commit", "-q", "-m", "all"]))
        .run()
        .exits(0);
    let other = shared(sandbox);
    let there = |args: &[&str]| dated(sandbox.direct(args)).dir(&other).run();
    there(&["start", CHANGE]).exits(0);
    let agent = sandbox.agent(&format!("{WORK}failed first"));
    there(&["next", "--", &agent]).exits(3);
    there(&["push", "--remote", "origin"]).exits(0);
}

/// Makes a remote of the repository; returns another clone of it.
fn shared(sandbox: &Sandbox) -> PathBuf {
    let (bare, other) = (sandbox.outside("remote.git"), sandbox.outside("other"));
    sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    sandbox.git(&["clone", "-q", bare.to_str().unwrap(), other.to_str().unwrap()]);
    sandbox.configure("ralph.remote", bare.to_str().unwrap());
    other
}

/// A loop on a remote with a story that moved a submodule; here, only commits, that of the submodule too.
pub fn pushed_submodule(sandbox: &Sandbox) {
    add_submodule(sandbox);
    sandbox.git(&["add", "-A"]);
    dated(sandbox.git_cmd(&["commit", "-q", "-m", "all"]))
        .run()
        .exits(0);
    let other = shared(sandbox);
    let update = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
    ];
    sandbox.git_cmd(&update).dir(&other).run().exits(0);
    let there = |args: &[&str]| dated(sandbox.direct(args)).dir(&other).run();
    there(&["start", CHANGE]).exits(0);
    let agent = sandbox.agent(&format!("{MOVE_LIB}; complete"));
    there(&["next", "--", &agent]).exits(0);
    there(&["push", "--remote", "origin"]).exits(0);
    let lib = other.join("lib");
    sandbox.git(&["-C", "lib", "fetch", "-q", lib.to_str().unwrap(), "HEAD"]);
}

/// One story done, and edits after it.
pub fn worked(sandbox: &Sandbox) {
    start(sandbox);
    let agent = sandbox
        .agent("echo more >>README.md; mkdir new; echo new >new/file; chmod -x tool; rm large; complete");
    dated(sandbox.direct(&["next", "--", &agent])).run().exits(0);
    sandbox.write("src/lib.txt", "by hand\n");
    sandbox.write("last.txt", "last\n");
    assert!(sandbox.top.join(TASKS).exists());
}

/// In a work tree of the loop's own: one story done, and edits after it.
pub fn worked_in_own(sandbox: &Sandbox) {
    let start = ["start", CHANGE, "--worktree"];
    dated(sandbox.direct(&start)).run().exits(0);
    let agent = sandbox.agent(
        "echo more >>README.md; mkdir new; echo new >new/file; seq 9000 >new/large; rm old.txt; complete",
    );
    dated(sandbox.direct(&["next", CHANGE, "--", &agent]))
        .run()
        .exits(0);
    sandbox.write("target/trees/add-login/last.txt", "last\n");
    sandbox.write("target/trees/add-login/target/built", "built\n");
}

/// What an agent does to move the submodule.
const MOVE_LIB: &str = "echo more >>lib/a; git -C lib -c user.name=U -c user.email=u@e commit -qam more";

/// A submodule in `lib`; the same in each sandbox.
pub fn add_submodule(sandbox: &Sandbox) {
    let make = "export GIT_AUTHOR_NAME=U GIT_AUTHOR_EMAIL=u@e GIT_COMMITTER_NAME=U GIT_COMMITTER_EMAIL=u@e
        git init -q ../library; cd ../library; echo a >a; git add a; git commit -qm a; cd ../repo
        git -c protocol.file.allow=always submodule --quiet add ../library lib; git commit -qm lib";
    dated(sandbox.cmd("sh").args(["-ec", make])).run().exits(0);
}

/// In a work tree of the loop's own: a story for which a commit was made in the submodule.
pub fn worked_in_submodule(sandbox: &Sandbox) {
    dated(sandbox.direct(&["start", CHANGE, "--worktree"]))
        .run()
        .exits(0);
    let agent = sandbox.agent(&format!("{MOVE_LIB}; echo x >x; complete"));
    dated(sandbox.direct(&["next", CHANGE, "--", &agent]))
        .run()
        .exits(0);
}
