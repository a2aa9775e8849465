//! A clone may have a part of the history only. Whatever comes from a remote, none of that part is hidden afterwards.

use std::collections::BTreeSet;
use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

/// The commits that the user's refs reach.
fn commits(clone: &Clone<'_>) -> BTreeSet<String> {
    let listed = clone.git(&["rev-list", "--all", "--reflog"]);
    listed.lines().map(ToOwned::to_owned).collect()
}

fn commit(clone: &Clone<'_>, name: &str) {
    fs::write(clone.dir.join(name), name).unwrap();
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", name]);
}

/// A remote with one loop that began at the tip of the branch, one that began below it, and one that was made in a
/// shallow clone.
fn with_loops() -> Remote {
    let remote = Remote::new();
    remote.git(&["config", "uploadpack.allowFilter", "true"]);
    let one = remote.clone("one", &[]);
    for change in ["early", "late"] {
        let dir = one.dir.join(format!("openspec/changes/{change}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    }
    for number in 0..5 {
        commit(&one, &format!("f{number}"));
    }
    let agent = remote.sandbox.completing("echo \"$RALPH_STORY\" >>done");
    one.ralph(&["start", "early"]).exits(0);
    one.ralph(&["push", "early"]).exits(0);
    one.ralph(&["finish", "early", "--keep"]).exits(0);
    one.git(&["checkout", "-q", "main"]);
    for number in 5..8 {
        commit(&one, &format!("f{number}"));
    }
    one.git(&["push", "-q", "origin", "main"]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let shallow = remote.clone("two", &["--depth=1"]);
    shallow.ralph(&["start", "late"]).exits(0);
    shallow.ralph(&["push", "late"]).exits(0);
    remote
}

#[test]
fn nothing_that_comes_from_a_remote_hides_history() {
    let remote = with_loops();
    let agent = remote.sandbox.completing("echo x >>f");
    let loops = remote.git(&["for-each-ref", "--format=update %(refname) %(objectname)"]);
    for args in [
        &["--depth=1"][..],
        &["--depth=3"],
        &["--depth=3", "--filter=blob:none"],
        &["--filter=blob:none"],
        &[],
    ] {
        let name = format!("clone{}", args.join(""));
        let clone = remote.clone(&name, args);
        for number in 0..3 {
            commit(&clone, &format!("mine{number}"));
        }
        clone.git(&["branch", "other", "HEAD~3"]);
        for verb in [
            &["queue"][..],
            &["pull", CHANGE],
            &["push", CHANGE],
            &["finish", CHANGE, "--keep"],
            &["run", "--any", "--keep", "--", &agent],
        ] {
            let before = commits(&clone);
            clone.ralph(verb).exits(0);
            let seen = commits(&clone);
            let lost: Vec<_> = before.difference(&seen).collect();
            assert!(lost.is_empty(), "{args:?} {verb:?}: {lost:?}");
            clone.git(&["gc", "-q", "--prune=now"]);
            let fsck = clone.cmd(&["fsck", "--no-dangling"]).run().exits(0);
            assert_eq!(fsck.stdout, "", "{args:?} {verb:?}: {}", fsck.stderr);
            let kept = commits(&clone);
            let lost: Vec<_> = before.difference(&kept).collect();
            assert!(lost.is_empty(), "{args:?} {verb:?} and gc: {lost:?}");
        }
        assert_eq!(clone.git(&["log", "-1", "--format=%s", "main"]), "mine2\n");
        let back = remote
            .sandbox
            .git_cmd(&["update-ref", "--stdin"])
            .dir(&remote.bare);
        back.reading(loops.clone()).run().exits(0);
    }
}
