//! `git ralph prune --remote`: what is finished goes from a remote, and only that.

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

const REF: &str = "refs/ralph/add-login/state";
const NOW: &str = "ralph.keepAttempts=1ms";

fn states(remote: &Remote) -> String {
    remote.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"])
}

/// A clone in which the loop was run to its end.
fn finished<'r>(remote: &'r Remote, name: &str) -> Clone<'r> {
    let clone = remote.clone(name, &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    clone.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    clone
}

fn prune(clone: &Clone<'_>, args: &[&str]) -> crate::support::Output {
    clone.cmd(&[&["-c", NOW, "ralph", "prune"], args].concat()).run()
}

#[test]
fn prune_removes_an_old_finished_loop_whose_work_is_on_a_branch() {
    let remote = Remote::new();
    let clone = finished(&remote, "one");
    let other = remote.clone("other", &["--depth=1"]);
    for args in [&["--remote"][..], &[CHANGE, "--remote", "origin"]] {
        let all = [&["prune"], args].concat();
        clone
            .ralph(&all)
            .exits(0)
            .says("nothing is older than ralph.keepAttempts");
    }
    assert_eq!(states(&remote), format!("{REF}\n"));
    let oid = remote.git(&["rev-parse", REF]);
    let line = |verb: &str| format!("{verb} {REF} {oid}");
    prune(&other, &["--remote", "--dry-run"])
        .exits(0)
        .says(&line("would remove"))
        .says("origin was not asked whether it lets them go");
    assert_eq!(states(&remote), format!("{REF}\n"));
    // Its work is nowhere else.
    let tip = remote.git(&["rev-parse", "ralph/add-login"]);
    remote.git(&["update-ref", "-d", "refs/heads/ralph/add-login"]);
    prune(&other, &["--remote"])
        .exits(0)
        .says("add-login stays: its last checkpoint is on no branch, here or on origin");
    assert_eq!(states(&remote), format!("{REF}\n"));
    // A branch on top of it that this clone has not seen yet.
    let on_top = remote
        .sandbox
        .git_cmd(&[
            "commit-tree",
            "-p",
            tip.trim(),
            "-m",
            "merged",
            &format!("{}^{{tree}}", tip.trim()),
        ])
        .dir(&remote.bare)
        .env("GIT_COMMITTER_NAME", "E")
        .env("GIT_COMMITTER_EMAIL", "e@e")
        .env("GIT_AUTHOR_NAME", "E")
        .env("GIT_AUTHOR_EMAIL", "e@e")
        .run()
        .exits(0)
        .stdout;
    remote.git(&["update-ref", "refs/heads/merged", on_top.trim()]);
    let json = prune(&other, &["--remote", "origin", "--json"]).exits(0).json();
    assert_eq!(json["removed"], 1, "{json}");
    assert_eq!(json["refs"][0]["ref"], REF);
    assert_eq!(states(&remote), "");
    assert_eq!(remote.git(&["rev-parse", "merged"]), on_top);
}

#[test]
fn prune_keeps_loops_that_are_unfinished_moved_or_invalid() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let other = remote.clone("other", &[]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    prune(&other, &[CHANGE, "--remote"])
        .exits(1)
        .says("loop 'add-login' on origin is not finished: nothing was removed");
    prune(&other, &["--remote"])
        .exits(0)
        .says("nothing is older than ralph.keepAttempts");
    prune(&other, &["nowhere", "--remote"])
        .exits(1)
        .says("has no loop 'nowhere'");
    let agent = sandbox.completing("echo x >>f");
    clone.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    let good = remote.git(&["rev-parse", REF]);
    let main = remote.git(&["rev-parse", "main"]);
    remote.point(CHANGE, main.trim());
    prune(&other, &["--remote"])
        .exits(0)
        .says("add-login stays: cannot read the state");
    assert_eq!(remote.git(&["rev-parse", REF]), main);
    remote.point(CHANGE, good.trim());
    // Somebody moves it while it is looked at.
    let git = sandbox.git_program();
    let script = format!(
        "case \" $* \" in *' push '*) '{0}' -C '{1}' update-ref {REF} main ;; esac; exec '{0}' \"$@\"",
        git.display(),
        remote.bare.display()
    );
    sandbox.install("git", &script);
    let args = ["prune", "--remote"];
    let direct = sandbox.direct(&args).dir(&other.dir).env("GIT_CONFIG_COUNT", "1");
    let direct = direct.env("GIT_CONFIG_KEY_0", "ralph.keepAttempts");
    direct
        .env("GIT_CONFIG_VALUE_0", "1ms")
        .run()
        .exits(0)
        .says("add-login stays: it has moved meanwhile");
    assert_eq!(remote.git(&["rev-parse", REF]), main);
}

#[test]
fn run_can_repeat_a_finished_change_after_its_loop_was_removed() {
    let remote = Remote::new();
    let other = remote.clone("other", &[]);
    finished(&remote, "one");
    other.ralph(&["start", CHANGE]).exits(0);
    let agent = remote.sandbox.completing("echo y >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    let hint =
        "git -c ralph.keepAttempts=1s ralph prune add-login --remote origin, then: git ralph start add-login";
    other.ralph(&run).exits(5).says(hint);
    other.ralph(&["push", CHANGE]).exits(5).says(hint);
    prune(&other, &[CHANGE, "--remote", "origin"]).exits(0);
    // The branch has the work of the first.
    remote.git(&["branch", "-m", "ralph/add-login", "first"]);
    other.ralph(&run).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "y\ny\ny\n");
    assert_eq!(remote.git(&["show", "first:f"]), "x\nx\nx\n");
}
