//! What git-ralph 0.2.0 left when it was killed: the next command of this version makes its plans, and undoes its attempts.

use std::fs;
use std::path::Path;

use crate::support::{CHANGE, Sandbox};

/// A plan, and what has come of it after the next command.
struct Case {
    /// The name of its archive in `tests/fixtures/0.2.0`.
    plan: &'static str,
    /// What the next command says that it completes.
    step: &'static str,
    /// The phase of the loop, the stories that are done, and how the loop was closed.
    loop_: (&'static str, Option<u64>, Option<&'static str>),
    /// The branch that HEAD names, and the subjects of its commits.
    branch: (&'static str, &'static str),
    /// What `git status --porcelain` says, a word of two letters and a path each.
    changes: &'static str,
    /// `README.md` and `src/lib.txt`.
    contents: (&'static str, &'static str),
}

const MINE: &str = "read\nmine\n";
const MORE: &str = "read\nmine\nmore\n";

const CASES: &[Case] = &[
    Case {
        plan: "start",
        step: "start",
        loop_: ("ready", Some(0), None),
        branch: ("ralph/add-login", "initial state, base"),
        changes: "",
        contents: (MINE, "lib\n"),
    },
    Case {
        plan: "checkpoint",
        step: "a checkpoint",
        loop_: ("ready", Some(1), None),
        branch: ("ralph/add-login", "checkpoint: 1, initial state, base"),
        changes: "",
        contents: (MINE, "hand\n"),
    },
    Case {
        plan: "revert",
        step: "going back to the checkpoint",
        loop_: ("ready", Some(0), None),
        branch: ("ralph/add-login", "initial state, base"),
        changes: "",
        contents: (MINE, "lib\n"),
    },
    Case {
        plan: "restore",
        step: "restore",
        loop_: ("failed", Some(0), None),
        branch: ("ralph/add-login", "initial state, base"),
        changes: " M README.md, ?? wrong.txt",
        contents: ("read\nmine\nwrong\n", "lib\n"),
    },
    Case {
        plan: "abort",
        step: "abort",
        loop_: ("finished", None, Some("abort")),
        branch: ("main", "base"),
        changes: " M README.md, A  staged.txt, ?? mine.txt",
        contents: (MINE, "lib\n"),
    },
    Case {
        plan: "keep",
        step: "finish",
        loop_: ("finished", None, Some("keep")),
        branch: ("ralph/add-login", "checkpoint: 1, initial state, base"),
        changes: " M src/lib.txt, ?? hand.txt",
        contents: (MORE, "hand\n"),
    },
    Case {
        plan: "cleanup",
        step: "finish",
        loop_: ("finished", None, Some("cleanup")),
        branch: ("main", "base"),
        changes: " M README.md,  M openspec/changes/add-login/tasks.md,  M src/lib.txt, ?? hand.txt, ?? mine.txt, \
                  ?? new/, ?? staged.txt",
        contents: (MORE, "hand\n"),
    },
    Case {
        plan: "save",
        step: "saving the state before an attempt",
        loop_: ("ready", Some(0), None),
        branch: ("main", "base"),
        changes: " M README.md,  M src/lib.txt, A  staged.txt, ?? hand.txt, ?? mine.txt",
        contents: (MINE, "hand\n"),
    },
    Case {
        plan: "close",
        step: "finish",
        loop_: ("finished", None, Some("cleanup")),
        branch: ("main", "base"),
        changes: " M README.md,  M openspec/changes/add-login/tasks.md,  M src/lib.txt, A  staged.txt, ?? hand.txt, \
                  ?? mine.txt, ?? new/",
        contents: (MORE, "hand\n"),
    },
    Case {
        plan: "leave",
        step: "finish",
        loop_: ("finished", None, Some("cleanup")),
        branch: ("main", "all, base"),
        changes: " M README.md,  M openspec/changes/add-login/tasks.md,  M src/lib.txt, ?? hand.txt, ?? new/",
        contents: (MORE, "hand\n"),
    },
    Case {
        plan: "adopt",
        step: "pull",
        loop_: ("failed", Some(0), None),
        branch: ("ralph/add-login", "initial state, all, base"),
        changes: "",
        contents: (MINE, "lib\n"),
    },
];

#[test]
fn commands_carry_out_a_step_planned_by_0_2_0() {
    let found: Vec<String> = CASES.iter().flat_map(wrong).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn pull_and_push_accept_a_loop_pushed_by_0_2_0() {
    let sandbox = unpacked("adopt");
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.ralph(&["pull", "add-login"]).exits(0);
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["original_branch"]),
        (&"failed".into(), &"main".into())
    );
    assert_eq!(sandbox.attempts()[0]["reason"], "red");
    sandbox.ralph(&["push", "add-login"]).exits(0);
    let state = "refs/ralph/add-login/state:state.toml";
    let pushed = sandbox.git(&["--git-dir=../remote.git", "show", state]);
    assert!(pushed.starts_with("version = 4\n"), "{pushed}");
}

#[test]
fn a_command_that_looks_overwrites_no_edit_since_a_step_was_cut_off() {
    let mut wrong = Vec::new();
    for case in CASES {
        for look in [
            &["log"][..],
            &["status"],
            &["stories"],
            &["diff", "--stat"],
            &["report", "--json"],
        ] {
            let sandbox = unpacked(case.plan);
            sandbox.write("README.md", "edited since\n");
            let args = [&look[..1], &["add-login"], &look[1..]].concat();
            let looked = sandbox.direct(&args).run();
            let refs = [
                "for-each-ref",
                "--format=%(refname)",
                "refs/ralph/add-login/replaced",
            ];
            let kept = sandbox.git(&refs);
            let is_kept = kept.lines().any(|name| {
                let shown = sandbox.git_cmd(&["show", &format!("{name}:README.md")]).run();
                looked.stderr.contains(name)
                    && looked.stderr.contains("README.md")
                    && shown.stdout == "edited since\n"
            });
            if sandbox.read("README.md") != "edited since\n" && !is_kept {
                wrong.push(format!("{} {look:?}: {}", case.plan, looked.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong after the next command, a line each.
fn wrong(case: &Case) -> Vec<String> {
    let sandbox = unpacked(case.plan);
    let status = sandbox
        .direct(&["status", "add-login", "--json"])
        .run()
        .exits(0)
        .says(&format!(
            "an earlier git-ralph was cut off; {} is completed now",
            case.step
        ));
    let status_json = status.json();
    let stands = (
        status_json["phase"].as_str().unwrap_or_default(),
        status_json["stories_done"].as_u64(),
        status_json["closed"].as_str(),
    );
    let lines = |text: String| text.trim_end().replace('\n', ", ");
    let head = sandbox.git(&["symbolic-ref", "--short", "HEAD"]);
    let subjects = lines(sandbox.git(&["log", "--format=%s"]));
    let changes = lines(sandbox.git_cmd(&["status", "--porcelain"]).run().exits(0).stdout);
    let contents = (sandbox.read("README.md"), sandbox.read("src/lib.txt"));
    let mut found = Vec::new();
    let mut differ = |what: &str, is: String, wanted: String| {
        if is != wanted {
            found.push(format!("{}: {what}: {is} instead of {wanted}", case.plan));
        }
    };
    differ("loop", format!("{stands:?}"), format!("{:?}", case.loop_));
    differ("HEAD", head.trim_end().to_owned(), case.branch.0.to_owned());
    differ("commits", subjects, case.branch.1.to_owned());
    differ("changes", changes, case.changes.to_owned());
    differ("files", format!("{contents:?}"), format!("{:?}", case.contents));
    // Once is enough.
    let again = sandbox.direct(&["status", "add-login"]).run().exits(0);
    differ(
        "again",
        again.stderr.contains("cut off").to_string(),
        "false".to_owned(),
    );
    found
}

/// Returns a sandbox whose repository is what the archive has.
fn unpacked(plan: &str) -> Sandbox {
    let mut sandbox = Sandbox::empty();
    let top = sandbox.outside("earlier");
    fs::create_dir(&top).unwrap();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/0.2.0/{plan}.tar.gz"));
    sandbox
        .cmd("tar")
        .dir(&top)
        .args(["-xzf".as_ref(), archive.as_os_str()])
        .run()
        .exits(0);
    relocate(&top, &top.to_string_lossy());
    sandbox.top = top.join("repo");
    sandbox
}

/// Puts the directory into the place of `@TOP@`, in all text files.
fn relocate(dir: &Path, top: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            relocate(&path, top);
        } else if let Ok(text) = fs::read_to_string(&path)
            && text.contains("@TOP@")
        {
            fs::write(&path, text.replace("@TOP@", top)).unwrap();
        }
    }
}

/// Puts the files of the slot into the loop's own directory, where 0.2.0 has them; if an upgrade is cut off, some are on
/// their way to the slot again.
fn as_before_slots(sandbox: &Sandbox, is_cut_off: bool) {
    let dir = sandbox.top.join(format!(".git/ralph/{CHANGE}"));
    let (slot, half) = (dir.join("slots/1"), dir.join("slots/.1"));
    if is_cut_off {
        fs::create_dir(&half).unwrap();
    }
    for (number, entry) in fs::read_dir(&slot).unwrap().enumerate() {
        let entry = entry.unwrap();
        let to = if is_cut_off && number % 2 == 0 {
            &half
        } else {
            &dir
        };
        fs::rename(entry.path(), to.join(entry.file_name())).unwrap();
    }
    fs::write(dir.join("work.index.lock"), "").unwrap();
    fs::remove_dir(slot).unwrap();
    if !is_cut_off {
        fs::remove_dir(dir.join("slots")).unwrap();
    }
}

#[test]
fn commands_undo_an_attempt_begun_by_0_2_0() {
    for is_cut_off in [false, true] {
        let sandbox = Sandbox::dirty();
        sandbox.write(".git/info/exclude", "secret\n");
        sandbox.write("secret", "a key\n");
        let begin = sandbox.files();
        sandbox.start();
        sandbox
            .step("next", &sandbox.completing("echo one >one"))
            .exits(0);
        let (files, config) = (sandbox.files(), sandbox.read(".git/config"));
        let agent = sandbox.agent(
            "git config user.name other; git tag t; rm -rf secret src; chmod 700 one; echo x >x; kill -9 $(ps -o ppid= -p $PPID)",
        );
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        as_before_slots(&sandbox, is_cut_off);
        sandbox
            .ralph(&["status"])
            .exits(0)
            .says("attempt 1 of story 2 was interrupted; it does not count")
            .says("the tag t was made during the attempt");
        assert_eq!(sandbox.files(), files);
        assert_eq!(sandbox.read(".git/config"), config);
        assert_eq!(sandbox.verdict(), "interrupted");
        let events = sandbox.read(&format!(".git/ralph/{CHANGE}/events.jsonl"));
        assert!(
            events.contains("\"ref\":\"refs/tags/t\""),
            "the log of the guard was read"
        );
        let dir = sandbox.top.join(format!(".git/ralph/{CHANGE}"));
        let left = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.filter_map(|name| name.into_string().ok()).collect();
        left.sort();
        // What the loop has once.
        assert_eq!(
            left,
            ["attempts", "events.jsonl", "original.index", "slots", "trash"]
        );
        assert!(!dir.join("slots/.1").exists());
        sandbox
            .step("next", &sandbox.completing("echo two >two"))
            .exits(0);
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), begin);
    }
}
