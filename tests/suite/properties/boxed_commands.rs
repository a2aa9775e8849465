//! Commands of trackers and hooks in the box (`ralph.box=all`), and without the one that is required.

use std::fs;

use crate::support::Sandbox;

/// A tracker whose commands try to write outside of the work tree; returns what they have written.
fn tracker(sandbox: &Sandbox) -> impl Fn() -> Vec<&'static str> {
    let home = sandbox.outside("home");
    let acts = |name: &str| {
        let (home, git) = (home.display(), sandbox.top.join(".git").display().to_string());
        format!("(echo x >'{home}/{name}'; echo x >'{git}/{name}') 2>/dev/null")
    };
    let list = "test -e marks.txt && done=true || done=false; echo '{\"id\":\"1\",\"title\":\"One\",\"done\":'$done'} {\"id\":\"2\",\"title\":\"Two\"}'";
    sandbox.configure("ralph.adapter", "command");
    sandbox.configure("ralph.storiesCommand", &format!("{}; {list}", acts("list")));
    let done = format!(
        "{}; echo $RALPH_STORY $KEPT_TOKEN $LOST_TOKEN >>marks.txt",
        acts("done")
    );
    sandbox.configure("ralph.doneCommand", &done);
    let after = format!("after:{}; :", acts("closed"));
    sandbox.git(&["config", "--add", "ralph.doneCommand", &after]);
    let git = sandbox.top.join(".git");
    move || {
        let is_there = |name: &&str| home.join(name).exists() || git.join(name).exists();
        let all = ["list", "done", "closed"];
        all.into_iter().filter(is_there).collect()
    }
}

#[test]
fn setting_makes_commands_of_trackers_run_in_the_box() {
    let first = Sandbox::new();
    if !first.has_boxes() {
        return;
    }
    for (is_boxed, written) in [(true, &[][..]), (false, &["list", "done", "closed"])] {
        let sandbox = Sandbox::new();
        let acts = tracker(&sandbox);
        sandbox.configure("ralph.box", if is_boxed { "all" } else { "require" });
        sandbox.configure("ralph.boxAllow", "env:KEPT_TOKEN");
        let ralph = |args: &[&str]| {
            let cmd = sandbox.ralph_cmd(args).env("KEPT_TOKEN", "kept");
            cmd.env("LOST_TOKEN", "lost").run()
        };
        ralph(&["start", "work"]).exits(0);
        ralph(&["stories", "work"]).exits(0);
        let agent = sandbox.completing("echo x >x");
        ralph(&["next", "--", &agent]).exits(0);
        // What it writes into the work tree is part of the checkpoint.
        let marks = sandbox.git(&["show", "HEAD:marks.txt"]);
        assert_eq!(marks, if is_boxed { "1 kept" } else { "1 kept lost" });
        assert_eq!(acts(), written);
        sandbox.nothing_is_alive();
    }
}

/// No box can be made, and each that is tried is noted.
fn without_boxes(sandbox: &Sandbox) {
    let tried = sandbox.notes.join("tried");
    let script = format!("echo >>'{}'; echo 'bwrap: no' >&2; exit 1", tried.display());
    sandbox.install("bwrap", &script);
}

#[test]
fn command_of_a_tracker_does_not_run_without_a_required_box() {
    let sandbox = Sandbox::new();
    without_boxes(&sandbox);
    let acts = tracker(&sandbox);
    // As this setting was before `ralph.box=all`.
    sandbox.configure("ralph.boxCommands", "true");
    let no = "a box is required (ralph.box), and there is none: bwrap cannot make it: no";
    sandbox.configure("ralph.box", "require");
    sandbox.ralph(&["stories", "work"]).exits(1).says(no);
    sandbox.ralph(&["start", "work"]).exits(1).says(no);
    assert_eq!(acts(), [] as [&str; 0]);
    sandbox.configure("ralph.box", "off");
    sandbox.ralph(&["start", "work"]).exits(0);
    assert_eq!(acts(), ["list"]);
    fs::remove_file(sandbox.outside("home").join("list")).unwrap();
    fs::remove_file(sandbox.top.join(".git/list")).unwrap();
    // What is typed holds for them too.
    let agent = sandbox.completing("echo x >x");
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(1).says(no);
    assert_eq!(acts(), [] as [&str; 0]);
}

#[test]
fn hook_does_not_run_without_a_required_box() {
    let sandbox = Sandbox::started();
    without_boxes(&sandbox);
    let ran = sandbox.notes.join("ran");
    for hook in ["ralph-pre-checkpoint", "ralph-pre-finish", "ralph-post-finish"] {
        sandbox.hook(hook, &format!("echo {hook} >>'{}'", ran.display()));
    }
    sandbox.configure("ralph.box", "all");
    let no = "a box is required (ralph.box), and there is none: bwrap cannot make it: no";
    sandbox.write("work", "mine\n");
    sandbox.ralph(&["complete"]).exits(1).says(no);
    assert_eq!(sandbox.status()["phase"], "ready");
    assert_eq!(sandbox.read("work"), "mine\n");
    sandbox.ralph(&["finish", "--keep"]).exits(1).says(no);
    assert!(!ran.exists(), "{}", sandbox.noted("ran"));
    assert_eq!(sandbox.noted("tried").lines().count(), 2);
    // Nothing is left of the calls: without the box they go on.
    sandbox.configure("ralph.box", "off");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.noted("ran"), "ralph-pre-checkpoint\n");
}
