//! Keys in git's configuration, which are not seen in the box (`ralph.box`).

use std::fs;
use std::path::Path;

use crate::support::{CHANGE, Sandbox};

/// A repository with keys wherever git finds settings; `None` if there are no boxes.
fn with_keys() -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return None;
    }
    sandbox.configure("http.https://host/.extraHeader", "Authorization: KEY-header");
    sandbox.configure("remote.origin.url", "https://me:KEY-remote@host/x");
    sandbox.configure("include.path", "more.cfg");
    sandbox.write(
        ".git/more.cfg",
        "[github]\n\ttoken = KEY-included\n[a]\n\tb = c\n",
    );
    let home = sandbox.outside("home");
    fs::create_dir_all(home.join(".config/git")).unwrap();
    // More than a pipe takes at once.
    let long = "# a line that only makes it long\n".repeat(1500);
    let text = format!("{long}[http]\n\textraHeader = KEY-home\n[user]\n\tname = Me\n");
    fs::write(home.join("dotfile"), text).unwrap();
    std::os::unix::fs::symlink("dotfile", home.join(".gitconfig")).unwrap();
    fs::write(home.join(".config/git/config"), "[x]\n\tpassword = KEY-xdg\n").unwrap();
    Some(sandbox)
}

/// What a process looks for, and whether its git works.
const LOOK: &str = "grep -rhaos 'KEY-[a-z]\\+' \"$(git rev-parse --git-common-dir)\" \"$HOME\" >>found
    git status --short >/dev/null && git config a.b >>works && git remote get-url origin >>works
    git config --file \"$HOME/.gitconfig\" user.name >>works
    git config http.https://host/.extraHeader >>found; true";

#[test]
fn keys_in_gits_configuration_are_not_seen() {
    let Some(sandbox) = with_keys() else { return };
    // Another loop, and its copies.
    let other = format!("--worktree={}", sandbox.outside("other").display());
    sandbox.ralph(&[
        "start",
        &other,
        "--stories",
        "openspec/changes/add-login/tasks.md",
        "other",
    ]);
    let copy = ".git/ralph/other/slots/1/git-files/common/config";
    sandbox.write(copy, &sandbox.read(".git/config"));
    let before = sandbox.read(".git/config");
    sandbox.start();
    let agent = sandbox.completing(LOOK);
    sandbox
        .ralph(&["next", "--box", "--verify", LOOK, "--", &agent])
        .exits(0);
    assert_eq!(sandbox.read("found"), "");
    let once = "c\nhttps://host/x\nMe\n";
    assert_eq!(sandbox.read("works"), once.repeat(2));
    assert_eq!(sandbox.read(".git/config"), before);
    sandbox.configure("ralph.box", "on");
    let doctor = sandbox.ralph(&["doctor"]).stdout;
    assert!(doctor.contains("without the keys in them: "), "{doctor}");
    // The user can say otherwise.
    let shown = format!("read:{}", sandbox.top.join(".git/config").display());
    sandbox.configure("ralph.boxAllow", &shown);
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(0);
    assert!(sandbox.read("found").contains("KEY-header"));
}

#[test]
fn keys_are_not_seen_from_work_trees_and_submodules() {
    let Some(sandbox) = with_keys() else { return };
    sandbox.add_submodule();
    sandbox.configure("extensions.worktreeConfig", "true");
    let submodules = sandbox.top.join(".git/modules");
    let first = fs::read_dir(&submodules).unwrap().next().unwrap().unwrap().path();
    let add = |file: &Path| {
        let text = fs::read_to_string(file).unwrap_or_default();
        fs::write(file, text + "[http]\n\textraHeader = KEY-inner\n").unwrap();
    };
    add(&first.join("config"));
    let own = sandbox.outside("own");
    let place = format!("--worktree={}", own.display());
    sandbox.ralph(&["start", &place, CHANGE]).exits(0);
    add(&sandbox.top.join(".git/worktrees/own/config.worktree"));
    let agent = sandbox.completing(LOOK);
    let next = sandbox.direct(&["next", "--box", "--", &agent]);
    next.dir(&own).run().exits(0);
    assert_eq!(fs::read_to_string(own.join("found")).unwrap(), "");
    assert_eq!(
        fs::read_to_string(own.join("works")).unwrap(),
        "c\nhttps://host/x\nMe\n"
    );
}

#[test]
fn git_works_in_the_box_however_many_files_have_keys() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.configure("http.https://host/.extraHeader", "Authorization: KEY");
    for number in 0..12 {
        let name = format!("more-{number}.cfg");
        let long = if number == 11 {
            "# long\n".repeat(20_000)
        } else {
            String::new()
        };
        let text = format!("{long}[github]\n\ttoken = KEY-{number}\n[n{number}]\n\ta = b\n");
        sandbox.write(&format!(".git/{name}"), &text);
        sandbox.git(&["config", "--add", "include.path", &name]);
    }
    sandbox.start();
    let look = "git status --short >/dev/null && git config n0.a >>works && git config n11.a >>works
        git config http.https://host/.extraHeader >>found; true";
    let agent = sandbox.completing(look);
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(0);
    assert_eq!(sandbox.read("works"), "b\nb\n");
    assert_eq!(sandbox.read("found"), "");
}
