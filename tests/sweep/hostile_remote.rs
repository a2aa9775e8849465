//! Anybody who may push to a remote can put anything there in the place of a loop. It is told, and that is all.

use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote, StateCommit};

/// A remote with two loops, `add-login` and `whole`, of which the first has a failed attempt and a checkpoint.
fn with_two_loops() -> Remote {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    let dir = one.dir.join("openspec/changes/whole");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    one.git(&["add", "-A"]);
    one.git(&["commit", "-q", "-m", "another change"]);
    one.git(&["push", "-q", "origin", "main"]);
    let sandbox = &remote.sandbox;
    one.ralph(&["start", CHANGE]).exits(0);
    let failing = sandbox.agent("echo x >>f; failed 'not yet'");
    one.ralph(&["next", CHANGE, "--", &failing]).exits(3);
    let agent = sandbox.completing("echo x >>f");
    one.ralph(&["retry", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    one.ralph(&["finish", CHANGE, "--keep"]).exits(0);
    one.git(&["checkout", "-q", "main"]);
    one.ralph(&["start", "whole"]).exits(0);
    one.ralph(&["push", "whole"]).exits(0);
    remote
}

type Deed = Box<dyn Fn(&Remote, &mut StateCommit)>;

/// Replaces a text that is there.
fn swap(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}: {text}");
    text.replacen(from, to, 1)
}

/// Replaces what follows the first `key = ` in the state.
fn with(key: &'static str, value: &'static str) -> Deed {
    Box::new(move |_, state| {
        let text = state.text("state.toml");
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{key} = ")))
            .unwrap();
        let text = swap(text, line, &format!("{key} = {value}"));
        state.set("state.toml", text);
    })
}

/// Replaces a field of the message.
fn saying(field: &'static str, value: &'static str) -> Deed {
    Box::new(move |_, state| {
        let line = state
            .message
            .lines()
            .find(|line| line.starts_with(&format!("Ralph-{field}:")));
        state.message = swap(&state.message, line.unwrap(), &format!("Ralph-{field}: {value}"));
    })
}

fn in_file(file: &'static str, from: &'static str, to: &'static str) -> Deed {
    Box::new(move |_, state| state.edit(file, |text| swap(text, from, to)))
}

/// Makes another commit the checkpoint, in the message, in the state and among the parents.
fn checkpoint(state: &mut StateCommit, commit: &str, tree: &str) {
    let field = |name: &str| {
        let text = state.text("state.toml");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")));
        line.unwrap().trim_matches('"').to_owned()
    };
    let (old, old_tree) = (field("checkpoint"), field("checkpoint_tree"));
    let text = state
        .text("state.toml")
        .replace(&old, commit)
        .replace(&old_tree, tree);
    state.set("state.toml", text);
    state.message = state.message.replace(&old, commit);
    for parent in &mut state.parents {
        if *parent == old {
            commit.clone_into(parent);
        }
    }
}

/// Makes a checkpoint on top of the old one with one file of this name.
fn named(remote: &Remote, state: &mut StateCommit, mode: &str, name: &str) {
    let blob = remote.object("blob", "x");
    let bytes = (0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap());
    let entry = format!("{mode} {name}\0").into_bytes().into_iter().chain(bytes);
    let tree = remote.object("tree", entry.collect::<Vec<u8>>());
    let below = remote.git(&["rev-parse", "ralph/add-login"]);
    let text = format!("tree {tree}\nparent {below}author E <e@e> 0 +0000\ncommitter E <e@e> 0 +0000\n\nx");
    let commit = remote.object("commit", text);
    checkpoint(state, &commit, &tree);
}

const MISSING: &str = "0123456789012345678901234567890123456789";

/// What may be in the place of a state, and what is said of it.
fn deeds() -> Vec<(&'static str, &'static str, Deed)> {
    let long = "x".repeat(300);
    vec![
        (
            "other text",
            "message is not",
            Box::new(|_, state| state.message = String::from("hello\n")),
        ),
        ("other change", "message is not", saying("Change", "whole")),
        (
            "generation",
            "message is not",
            saying("Generation", "18446744073709551615"),
        ),
        (
            "renewed",
            "message is not",
            saying("Renewed", "9999-12-30T22:00:00Z"),
        ),
        ("phase", "different things", saying("Phase", "exhausted")),
        ("checkpoint", "different things", saying("Checkpoint", MISSING)),
        (
            "huge message",
            "too large",
            Box::new(|_, state| state.message.push_str(&"x".repeat(5 << 20))),
        ),
        (
            "no files",
            "has no state.toml",
            Box::new(|_, state| state.tree.clear()),
        ),
        (
            "a tree",
            "has no events.jsonl",
            Box::new(|remote, state| {
                let tree = remote.git(&["rev-parse", "main^{tree}"]);
                state.tree[0].0 = format!("040000 tree {}", tree.trim());
            }),
        ),
        (
            "a link",
            "has no events.jsonl",
            Box::new(|_, state| {
                state.tree[0].0 = state.tree[0].0.replacen("100644", "120000", 1);
            }),
        ),
        (
            "no TOML",
            "cannot read the state",
            Box::new(|_, state| state.set("state.toml", "x = [\n")),
        ),
        (
            "no text",
            "no text",
            Box::new(|_, state| state.set("state.toml", b"\xff\xfe".to_vec())),
        ),
        (
            "huge state",
            "too large",
            Box::new(|_, state| state.set("state.toml", vec![b'\n'; 17 << 20])),
        ),
        (
            "huge refs",
            "too large",
            Box::new(|_, state| state.set("refs", vec![b'\n'; 5 << 20])),
        ),
        (
            "huge events",
            "too large",
            Box::new(|_, state| state.set("events.jsonl", vec![b'\n'; 65 << 20])),
        ),
        ("other loop", "of another loop", with("change", "\"whole\"")),
        ("branch", "of another loop", with("branch", "\"main\"")),
        (
            "evil name",
            "cannot read the state",
            with("change", "\"../../x\""),
        ),
        (
            "original",
            "no valid name",
            with("original_branch", "\"../../x\""),
        ),
        ("newer", "newer git-ralph", with("version", "99")),
        (
            "started",
            "no possible time",
            with("started", "\"9999-12-30T22:00:00Z\""),
        ),
        ("unchanged", "too high", with("unchanged", "4294967295")),
        (
            "list in .git",
            "in no place",
            in_file("state.toml", "openspec/changes/add-login/tasks.md", ".git/config"),
        ),
        (
            "list elsewhere",
            "is not in the repository",
            in_file("state.toml", "openspec/changes/add-login/tasks.md", "/etc/passwd"),
        ),
        (
            "list above",
            "is not in the repository",
            in_file("state.toml", "openspec/changes/add-login/tasks.md", "../../x"),
        ),
        (
            "files",
            "other files",
            with("checkpoint_tree", "\"4b825dc642cb6eb9a060e54bf8d69288fbee4904\""),
        ),
        (
            "beginning",
            "did not come with it",
            in_file(
                "state.toml",
                "initial = \"",
                "initial = \"0123456789012345678901234567890123456789\" #",
            ),
        ),
        (
            "refs above",
            "something else than attempts",
            in_file("refs", "attempts/1/1", "attempts/../../x/1"),
        ),
        (
            "refs of others",
            "something else than attempts",
            in_file("refs", "attempts/1/1", "state"),
        ),
        (
            "a number",
            "something else than attempts",
            in_file("refs", "attempts/1/1", "attempts/1/4294967295"),
        ),
        (
            "an event's file",
            "cannot be one",
            in_file("events.jsonl", "attempts/1.1.log", "../../../../etc/passwd"),
        ),
        (
            "an event's number",
            "cannot be one",
            in_file("events.jsonl", "\"attempt\":1", "\"attempt\":4294967295"),
        ),
        (
            "no commit",
            "cannot fetch 'add-login' from origin",
            Box::new(|_, state| checkpoint(state, MISSING, MISSING)),
        ),
        (
            "no descendant",
            "does not descend",
            Box::new(|remote, state| {
                let tree = remote.git(&["rev-parse", "main^{tree}"]);
                let orphan = remote.object(
                    "commit",
                    format!("tree {tree}author E <e@e> 0 +0000\ncommitter E <e@e> 0 +0000\n\nx"),
                );
                checkpoint(state, &orphan, tree.trim());
            }),
        ),
        (
            ".git",
            "cannot be checked out",
            Box::new(|remote, state| named(remote, state, "100644", ".git")),
        ),
        (
            "..",
            "cannot be checked out",
            Box::new(|remote, state| named(remote, state, "100644", "..")),
        ),
        (
            "long name",
            "cannot be checked out",
            Box::new(move |remote, state| named(remote, state, "100644", &long)),
        ),
    ]
}

/// Everything that a pull could change.
fn seen(clone: &Clone<'_>) -> String {
    let loops = fs::read_dir(clone.dir.join(".git/ralph")).into_iter().flatten();
    let mut files: Vec<String> = loops
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.retain(|name| {
        std::path::Path::new(name)
            .extension()
            .is_some_and(|end| end == "toml")
    });
    let head = clone.git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
    let attempts = clone.dir.join(".git/ralph/add-login/events.jsonl").exists();
    format!(
        "{head}{}{}{files:?}{attempts}",
        clone.git(&["for-each-ref"]),
        clone.git(&["status", "--porcelain"])
    )
}

fn is_told_and_left(clone: &Clone<'_>, what: &str, says: &str) {
    let before = seen(clone);
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    let changes = queue["changes"].as_array().unwrap();
    let whole = changes.iter().find(|entry| entry["change"] == "whole").unwrap();
    assert_eq!(whole["free"], true, "{what}: {queue}");
    clone.ralph(&["queue", "--conflicts"]).exits(0);
    let pulled = clone.ralph(&["pull", CHANGE]);
    assert_eq!(pulled.code, 1, "{what}: {}", pulled.stderr);
    assert!(pulled.stderr.contains(says), "{what}: {}", pulled.stderr);
    assert!(pulled.stderr.contains("hint: "), "{what}: {}", pulled.stderr);
    let taken = clone.ralph(&["pull", CHANGE, "--take", "--force"]);
    assert_eq!(taken.code, 1, "{what}: {}", taken.stderr);
    assert_eq!(seen(clone), before, "{what}");
}

#[test]
fn commands_report_and_leave_an_invalid_state() {
    let remote = with_two_loops();
    let clone = remote.clone("other", &[]);
    let good = remote.state(CHANGE);
    for (what, says, deed) in deeds().into_iter().step_by(crate::stride(12, 1)) {
        let mut forged = good.clone();
        deed(&remote, &mut forged);
        remote.put_state(CHANGE, &forged);
        is_told_and_left(&clone, what, says);
    }
    let tree = remote.git(&["rev-parse", "main^{tree}"]);
    let blob = remote.git(&["rev-parse", "main:README.md"]);
    let tagger = "tagger E <e@e> 0 +0000\n\nx\n";
    let main = remote.git(&["rev-parse", "main"]);
    let tag = remote.object("tag", format!("object {main}type commit\ntag x\n{tagger}"));
    for (what, oid) in [("tree", tree.trim()), ("blob", blob.trim()), ("tag", &tag)] {
        remote.point(CHANGE, oid);
        is_told_and_left(&clone, what, "it is no commit");
    }
    // What belongs to one machine is not taken over, whatever it says.
    let mut forged = good.clone();
    forged.edit("state.toml", |text| format!("{text}\n[here]\nworktree = \"/\"\nwaits_until = \"2200-01-01T00:00:00Z\"\nstopped = \"x\"\n[[slots]]\nn = 1\nrun = \"1\"\nsince = \"2026-01-01T00:00:00Z\"\npid = 1\n"));
    forged.message = forged
        .message
        .replace("Ralph-Lease: 900", "Ralph-Lease: 9223372036854775807");
    remote.put_state(CHANGE, &forged);
    clone.ralph(&["pull", CHANGE]).exits(0);
    let status = clone.ralph(&["status", CHANGE, "--json"]).exits(0).json();
    assert_eq!(status["phase"], "ready", "{status}");
    clone.ralph(&["log", CHANGE]).exits(0);
    clone.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
}

#[test]
fn worker_skips_an_invalid_state_and_does_the_rest() {
    let remote = with_two_loops();
    let clone = remote.clone("other", &[]);
    let good = remote.state(CHANGE);
    let damaged: Deed = Box::new(|_, state| checkpoint(state, MISSING, MISSING));
    let deeds = [
        saying("Generation", "-1"),
        with("unchanged", "4294967295"),
        damaged,
    ];
    for (number, deed) in deeds.into_iter().enumerate().step_by(crate::stride(3, 1)) {
        let mut forged = good.clone();
        deed(&remote, &mut forged);
        remote.put_state(CHANGE, &forged);
        let agent = remote.sandbox.completing("echo x >>f");
        let run = clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(7);
        assert_eq!(
            run.stderr.matches("passed over add-login: ").count(),
            1,
            "{}",
            run.stderr
        );
        assert_eq!(remote.git(&["show", "ralph/whole:f"]), "x\n", "{number}");
        assert!(!clone.dir.join(".git/ralph/add-login.toml").exists());
    }
}

#[test]
fn error_reports_a_remote_that_lists_refs_without_end() {
    let remote = Remote::new();
    let clone = remote.clone("other", &[]);
    let oid = "0123456789012345678901234567890123456789";
    // As a host would say it that speaks version 0: the length of the line, an object and a ref.
    let line = |name: &str| format!("{:04x}{oid} {name}\n", 4 + 40 + 1 + name.len() + 1);
    let (plain, list) = (line("refs/ralph/add-login/state"), remote.sandbox.outside("list"));
    let many: String = (0..100_001)
        .map(|at| line(&format!("refs/ralph/c{at}/state")))
        .collect();
    fs::write(&list, many).unwrap();
    let endless = format!("yes '{}'", plain.trim());
    let many = format!("cat '{}'; printf 0000; cat >/dev/null", list.display());
    let program = remote.sandbox.outside("upload-pack");
    let answers = [
        ("sleep 600".to_owned(), "it did not answer within 10 seconds"),
        (endless, "took more than 512 MiB of memory, and was ended"),
        (many, "it lists more than 100000 refs"),
    ];
    for (script, says) in answers.into_iter().step_by(crate::stride(3, 1)) {
        crate::support::write_program(&program, &format!("#!/bin/sh\n{script}\n"));
        clone.git(&["config", "remote.origin.uploadpack", program.to_str().unwrap()]);
        clone.git(&[
            "config",
            "ralph.commandTimeout",
            if says.contains("second") { "10s" } else { "10m" },
        ]);
        for args in [
            &["queue"][..],
            &["pull", CHANGE],
            &["run", "--any", "--keep", "--", "false"],
        ] {
            let told = clone.ralph(args).exits(1);
            assert!(
                told.stderr.contains("cannot read the remote origin\n"),
                "{}",
                told.stderr
            );
            assert!(told.stderr.contains(says), "{args:?}: {}", told.stderr);
            // Git selects the refs of one loop itself.
            if !says.contains("second") {
                break;
            }
        }
    }
}
