//! What a remote answers, and what it says of a loop at any moment: a failure that passes is no refusal, and nothing is called
//! done that is not there.

use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

/// Has the first push of each ref from a clone come to nothing, with these words of git.
fn fails_once(clone: &Clone<'_>, status: &str, words: &str) {
    let sandbox = &clone.remote.sandbox;
    let git = sandbox.git_program();
    let script = format!(
        "case \" $* \" in *' push '*)
             for ref do :; done
             if mkdir \"$notes/failed-${{ref##*/}}\" 2>/dev/null; then
                 printf '{status}\\n' \"$ref\"; echo '{words}' >&2; exit 1; fi ;;
         esac; exec '{0}' \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
}

/// Has the first look of each kind come to nothing, with these words of git; each look is noted.
fn looks_fail_once(clone: &Clone<'_>, words: &str) {
    let sandbox = &clone.remote.sandbox;
    let git = sandbox.git_program();
    let script = format!(
        "for verb in ls-remote fetch; do
             case \" $* \" in *\" $verb \"*)
                 echo $verb >>\"$notes/looks\"
                 if mkdir \"$notes/failed-$verb\" 2>/dev/null; then echo '{words}' >&2; exit 128; fi ;;
             esac
         done; exec '{}' \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
}

#[test]
fn command_repeats_a_broken_lookup_but_not_a_refused_one() {
    for (words, code, looks) in [
        ("fatal: unable to access: Empty reply from server", 0, None),
        ("fatal: repository not found", 1, Some("ls-remote\n")),
    ] {
        let remote = Remote::new();
        let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
        one.ralph(&["start", CHANGE]).exits(0);
        one.ralph(&["push", CHANGE]).exits(0);
        looks_fail_once(&other, words);
        let sandbox = &remote.sandbox;
        sandbox
            .direct(&["pull", CHANGE])
            .dir(&other.dir)
            .run()
            .exits(code);
        if let Some(looks) = looks {
            assert_eq!(sandbox.noted("looks"), looks, "{words}");
        }
        assert_eq!(sandbox.notes.join("failed-fetch").exists(), code == 0, "{words}");
    }
}

#[test]
fn run_repeats_a_push_after_a_transient_error() {
    for (status, words) in [
        (
            "",
            "fatal: unable to access: The requested URL returned error: 503",
        ),
        (
            "",
            "error: RPC failed; fetch-pack: unexpected disconnect; early EOF",
        ),
        (
            "!\\t%s\\t[remote rejected] (failed to update ref)",
            "remote: error: cannot lock ref",
        ),
        (
            "!\\t%s\\t[remote rejected] (unpacker error)",
            "remote: fatal: no space left on device",
        ),
        (
            "!\\t%s\\t[remote failure] (remote failed to report status)",
            "fatal: the remote end hung up",
        ),
    ] {
        let remote = Remote::new();
        let clone = remote.clone("one", &[]);
        fails_once(&clone, status, words);
        let agent = remote.sandbox.completing("echo x >>f");
        let args = ["run", CHANGE, "--keep", "--", &agent];
        remote.sandbox.direct(&args).dir(&clone.dir).run().exits(0);
        let failed = fs::read_dir(&remote.sandbox.notes).unwrap();
        let failed = failed.filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with("failed-")
        });
        assert_eq!(failed.count(), 2, "{words}");
        assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
        let states = remote.git(&["log", "--format=%B", "refs/ralph/add-login/state"]);
        assert!(!states.contains("Ralph-Blocked"), "{states}");
    }
}

#[test]
fn remote_branch_gets_the_work_before_the_state_says_done() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let git = sandbox.git_program();
    // The push of the branch with the last checkpoint ends its run, twice, and then fails for a while. Each looks at what the
    // remote says meanwhile.
    let script = format!(
        "case \" $* \" in *' push '*:refs/heads/*)
             for ref do :; done
             n=$(cat \"$notes/pushes\" 2>/dev/null || echo 0)
             if test \"$('{0}' log -1 --format=%s \"${{ref%%:*}}\")\" = 'checkpoint: 3'; then
                 '{0}' -C '{1}' log -1 --format=%B refs/ralph/add-login/state >>\"$notes/said\"
                 echo $((n + 1)) >\"$notes/pushes\"
                 test $n -gt 1 || kill -9 $PPID
                 test $n -gt 6 || {{ echo 'fatal: 503' >&2; exit 1; }}
             fi ;;
         esac; exec '{0}' \"$@\"",
        git.display(),
        remote.bare.display()
    );
    sandbox.install("git", &script);
    let agent = sandbox.completing("echo x >>f");
    let args = ["run", CHANGE, "--keep", "--", &agent];
    let said = || {
        let record = remote.git(&["log", "-1", "--format=%B", "refs/ralph/add-login/state"]);
        let field = |name: &str| {
            let line = record.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        (
            field("Ralph-Phase:"),
            field("Ralph-Holder:"),
            field("Ralph-Checkpoint:"),
        )
    };
    for run in 0.. {
        let code = sandbox.direct(&args).dir(&clone.dir).run().code;
        let (phase, holder, checkpoint) = said();
        let is_done = phase == "finished" || phase == "complete" && holder.is_empty();
        let tip = remote.git(&[
            "for-each-ref",
            "--format=%(objectname)",
            "refs/heads/ralph/add-login",
        ]);
        assert!(
            !is_done || tip.trim() == checkpoint,
            "{phase}: {checkpoint}, branch {tip}"
        );
        if code == 0 {
            assert_eq!((phase.as_str(), run), ("finished", 2));
            break;
        }
        assert!(code == 137 && run < 10, "{code}");
    }
    let meanwhile = fs::read_to_string(sandbox.notes.join("said")).unwrap();
    assert!(!meanwhile.contains("Ralph-Phase: finished"), "{meanwhile}");
    // A branch that was lost afterwards, or stayed behind, is mended by the next push and by the next run.
    let tip = remote.git(&["rev-parse", "ralph/add-login"]);
    for (again, code) in [(&["push", CHANGE][..], 0), (&args, 5)] {
        for old in ["main", "0000000000000000000000000000000000000000"] {
            remote.git(&["update-ref", "refs/heads/ralph/add-login", old]);
            let other = remote.clone(&format!("{}-{}", again[0], &old[..4]), &[]);
            let there = if code == 0 { &clone } else { &other };
            there.ralph(again).exits(code);
            assert_eq!(
                remote.git(&["rev-parse", "ralph/add-login"]),
                tip,
                "{again:?} {old}"
            );
        }
    }
}

#[test]
fn new_loop_continues_the_remote_state_of_a_finished_one() {
    let remote = Remote::new();
    let (clone, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = remote.sandbox.completing("echo x >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    // It began beside the one that will be finished.
    other.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&run).exits(0);
    other.ralph(&run).exits(5);
    let first = remote.git(&["rev-parse", "ralph/add-login"]);
    clone.git(&["checkout", "-q", "main"]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&run).exits(0);
    let states = remote.git(&[
        "log",
        "--first-parent",
        "--format=%s",
        "refs/ralph/add-login/state",
    ]);
    let ends = states
        .lines()
        .filter(|subject| subject.starts_with("ralph: ") && subject.ends_with(" finished"));
    assert!(ends.count() >= 2, "{states}");
    let tip = clone.git(&["rev-parse", "ralph/add-login"]);
    assert_eq!(remote.git(&["rev-parse", "ralph/add-login"]), tip);
    assert_ne!(tip, first);
    assert_eq!(
        remote.git(&["merge-base", "refs/ralph/add-login/state", first.trim()]),
        first
    );
}
