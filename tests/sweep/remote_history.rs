//! A clone may have a part of the history only. Whatever comes from a remote, none of that part is hidden afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::support::CHANGE;
use crate::support::print::files;
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
fn commands_with_a_remote_hide_no_history() {
    let remote = with_loops();
    let agent = remote.sandbox.completing("echo x >>f");
    let loops = remote.git(&["for-each-ref", "--format=update %(refname) %(objectname)"]);
    let clones = [
        &["--depth=1"][..],
        &["--depth=3"],
        &["--depth=3", "--filter=blob:none"],
        &["--filter=blob:none"],
        &[],
    ];
    for args in clones.into_iter().step_by(crate::stride(4, 1)) {
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

/// What git has of a clone: everything in its directory but what git-ralph keeps there.
fn git_files(clone: &Clone<'_>) -> BTreeMap<PathBuf, String> {
    let mut files = files(&clone.dir.join(".git"));
    files.retain(|path, _| !path.starts_with("ralph"));
    files
}

#[test]
fn loops_are_listed_by_their_commits_alone() {
    let remote = with_loops();
    let list = |clone: &Clone<'_>| {
        let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
        let of = |entry: &serde_json::Value| {
            let keys = ["change", "phase", "done", "generation"];
            keys.map(|key| entry[key].to_string()).join(" ")
        };
        let mut list: Vec<String> = queue["changes"].as_array().unwrap().iter().map(of).collect();
        list.sort();
        list
    };
    let wanted = [
        "\"add-login\" \"ready\" 1 1",
        "\"early\" \"ready\" 0 1",
        "\"late\" \"ready\" 0 1",
    ];
    let is_here = |clone: &Clone<'_>, what: &str| {
        let name = format!("refs/ralph/{CHANGE}/state");
        let oid = remote.git(&["rev-parse", &format!("{name}{what}")]);
        let look = clone.cmd(&["cat-file", "-e", oid.trim()]);
        look.env("GIT_NO_LAZY_FETCH", "1").run().code == 0
    };
    // A host that gives no parts of loops is asked for the same, and gives more.
    let hosts = [("true", "2"), ("true", "0"), ("false", "2")];
    for (filter, protocol) in hosts.into_iter().step_by(crate::stride(3, 1)) {
        remote.git(&["config", "uploadpack.allowFilter", filter]);
        for args in [&["--depth=1"][..], &["--filter=blob:none"], &[]] {
            let name = format!("list{}{filter}{protocol}", args.join(""));
            let clone = remote.clone(&name, args);
            clone.git(&["config", "protocol.version", protocol]);
            let before = git_files(&clone);
            assert_eq!(list(&clone), wanted, "{name}");
            assert!(git_files(&clone) == before, "{name}");
            // What is kept is the commits themselves: nothing else is believed.
            let kept = clone.dir.join(".git/ralph/.listed");
            let text = fs::read_to_string(&kept).unwrap();
            assert!(text.contains("Ralph-Phase: ready"), "{text}");
            fs::write(&kept, text.replace("Ralph-Stories: 0/", "Ralph-Stories: 1/")).unwrap();
            assert_eq!(list(&clone), wanted, "{name}, forged");
            assert!(!is_here(&clone, "") && !is_here(&clone, "^{tree}"), "{name}");
        }
    }
    // What is compared comes here, and only that.
    let clone = remote.clone("conflicts", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    let other = remote.clone("other", &[]);
    other.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    let queue = clone.ralph(&["queue", "--json", "--conflicts"]).exits(0).json();
    let entries = queue["changes"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["change"] == CHANGE).unwrap();
    assert_eq!(entry["conflicts_with"], serde_json::json!([]), "{queue}");
    assert!(is_here(&clone, ""));
}
