//! The tree that gates and reviewers judge is kept before they start, and it is what is committed, whatever they do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::held_tests::IS_HELD;
use crate::support::{CHANGE, Sandbox, wait_for};

/// Ends git-ralph, which is above the runner of this process, as the system does when memory runs out.
pub(super) const KILL: &str = "p=$$; while [ $p -gt 1 ]; do p=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$p/status)
[ \"$(cat /proc/$p/comm)\" = git-ralph ] && ! grep -q run-attempt /proc/$p/cmdline && { kill -9 $p; break; }
done; exec sleep 1000";

/// A loop whose gate acts once there is work, and not before.
fn gated(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let gate = sandbox.agent(&format!("test -e new || exit 0\n{script}"));
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    sandbox
}

/// A loop with a reviewer that acts and then accepts.
fn reviewed(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let reviewer = sandbox.agent(&format!("cat >\"$notes/review\"\n{script}\naccept"));
    sandbox.configure("ralph.review", &reviewer);
    sandbox.start();
    sandbox
}

fn works(sandbox: &Sandbox) -> String {
    sandbox.completing("mkdir w; echo mine >new; echo mine >w/f; echo mine >>README.md")
}

/// Whether the tree of a commit has what the attempt wrote.
fn has_work(sandbox: &Sandbox, commit: &str) {
    for path in ["new", "w/f"] {
        assert_eq!(
            sandbox.git(&["show", &format!("{commit}:{path}")]),
            "mine",
            "{path}"
        );
    }
    let readme = sandbox.git(&["show", &format!("{commit}:README.md")]);
    assert!(readme.ends_with("mine"), "{readme}");
}

/// Ways to take work away that a gate or a reviewer has.
const HARMS: &[&str] = &[
    "git clean -fdq",
    "git stash -qu; git stash drop -q",
    "git checkout -q .; git clean -fdq",
    "rm new; mkfifo new",
    "rm new; git init -q new",
    "rm -r w; echo file >w",
    "rm new; git gc -q --prune=now",
    "git reset -q --hard; git clean -fdq; git prune",
    "mkdir -p .git/info; echo '*' >.git/info/exclude",
    "echo '*' >.gitignore",
    "git init -q w; git -C w add -A; git -C w -c user.name=w -c user.email=w@e commit -qm w; git add w; rm new",
];

#[test]
fn gates_take_nothing_from_a_checkpoint() {
    for harm in HARMS {
        let sandbox = gated(&format!("{{ {harm}; }} >/dev/null 2>&1; true"));
        let output = sandbox.step("next", &works(&sandbox)).exits(0);
        has_work(&sandbox, "HEAD");
        assert!(output.stderr.contains("put back"), "{harm}: {}", output.stderr);
        let hides =
            |line: &str| line.contains("left out") || line.contains("takes in") && line.contains("new");
        assert!(!output.stderr.lines().any(hides), "{harm}: {}", output.stderr);
    }
}

#[test]
fn work_that_a_rule_of_gates_hides_is_not_called_changed() {
    let sandbox = gated("grep -q new .gitignore || echo new >>.gitignore");
    let agent = sandbox.completing("echo mine >new; echo other >.gitignore");
    let said = sandbox
        .step("next", &agent)
        .exits(0)
        .says("hid files, which are put back: new");
    assert!(!said.stderr.contains("after they were judged"), "{}", said.stderr);
    assert_eq!(sandbox.git(&["show", "HEAD:new"]), "mine");
}

#[test]
fn gates_that_fail_take_nothing_from_what_is_kept() {
    for harm in HARMS {
        let sandbox = gated(&format!("{{ {harm}; }} >/dev/null 2>&1; false"));
        sandbox.step("next", &works(&sandbox)).exits(3);
        has_work(&sandbox, "refs/ralph/add-login/attempts/1/1");
        sandbox.is_at_checkpoint();
    }
}

#[test]
fn a_reviewer_takes_nothing_from_a_checkpoint() {
    for harm in HARMS {
        let sandbox = reviewed(&format!("{{ {harm}; }} >/dev/null 2>&1"));
        sandbox.step("next", &works(&sandbox)).exits(0);
        has_work(&sandbox, "HEAD");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{harm}");
    }
}

#[test]
fn the_judged_work_is_kept_if_git_ralph_is_killed_while_it_is_judged() {
    for is_gate in [true, false] {
        for harm in HARMS {
            let script = format!("{{ {harm}; }} >/dev/null 2>&1\n{KILL}");
            let sandbox = if is_gate {
                gated(&script)
            } else {
                reviewed(&script)
            };
            let agent = works(&sandbox);
            sandbox.direct(&["next", "--", &agent]).run().exits(137);
            sandbox.ralph(&["status", CHANGE]).exits(0);
            sandbox.nothing_is_alive();
            has_work(&sandbox, "refs/ralph/add-login/attempts/1/1");
            sandbox.is_at_checkpoint();
            let judged = ["for-each-ref", "refs/ralph/add-login/judged"];
            assert_eq!(sandbox.git(&judged), "");
        }
    }
}

#[test]
fn a_reviewers_changes_that_git_does_not_see_are_undone() {
    let sandbox = Sandbox::new();
    sandbox.configure("filter.strip.clean", "sed /^output/d");
    sandbox.configure("core.autocrlf", "true");
    sandbox.write(".gitattributes", "*.nb filter=strip\n");
    sandbox.write("old.nb", "code\noutput 1\n");
    sandbox.write("lines.txt", "a\nb\n");
    sandbox.write("secret", "key\n");
    sandbox.cmd("chmod").args(["600", "secret"]).run().exits(0);
    fs::create_dir(sandbox.top.join("empty")).unwrap();
    let reviewer = sandbox.agent(
        "cat >\"$notes/review\"; rm new.nb secret lines.txt; sed -i /output/d old.nb; chmod 755 README.md; rmdir empty made
        accept",
    );
    sandbox.configure("ralph.review", &reviewer);
    sandbox.start();
    let agent = sandbox.completing("printf 'code\\noutput 2\\n' >new.nb; mkdir made");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.read("old.nb"), "code\noutput 1\n");
    assert_eq!(sandbox.read("new.nb"), "code\noutput 2\n");
    assert_eq!(sandbox.read("lines.txt"), "a\nb\n");
    let mode = |path: &str| sandbox.top.join(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("secret"), mode("README.md")), (0o600, 0o644));
    assert!(sandbox.top.join("empty").is_dir() && sandbox.top.join("made").is_dir());
}

#[test]
fn new_files_of_gates_stay_out_of_checkpoints() {
    let sandbox = Sandbox::new();
    let gate =
        sandbox.agent("mkdir -p cache; echo $(cat new* 2>/dev/null | wc -l) >cache/a; echo built >out; true");
    sandbox.configure("ralph.verify", &gate);
    let output = sandbox.start();
    output.says(
        "the gates made new files, which stay out of the checkpoint: cache/a, out; to ignore them, add to .gitignore: /cache/a, /out\n",
    );
    let refs = sandbox.git(&[
        "for-each-ref",
        "refs/ralph/add-login/attempts",
        "refs/ralph/add-login/start-gates",
    ]);
    assert_eq!(refs, "");
    let output = sandbox.step("next", &sandbox.completing("echo 1 >new1")).exits(0);
    assert!(!output.stderr.contains("new files"), "{}", output.stderr);
    // A file that the attempt itself writes is its work.
    sandbox
        .step("next", &sandbox.completing("echo 2 >new2; echo mine >out"))
        .exits(0);
    sandbox
        .step("next", &sandbox.failing("echo 3 >new3; rm -r cache"))
        .exits(3);
    assert_eq!(sandbox.read("cache/a"), "2\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? cache/");
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "ralph/add-login"]);
    let files: Vec<&str> = files.lines().collect();
    assert!(
        files.contains(&"new1") && files.contains(&"new2") && files.contains(&"out"),
        "{files:?}"
    );
    assert!(!files.contains(&"cache/a"), "{files:?}");
    let subjects = sandbox.subjects("ralph/add-login");
    assert!(
        subjects.iter().all(|subject| !subject.contains("edits before")),
        "{subjects:?}"
    );
    // What the user adds is the user's.
    sandbox.git(&["add", "cache/a"]);
    sandbox
        .step("retry", &sandbox.completing("echo 3 >new3"))
        .exits(0);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "ralph/add-login"]);
    assert!(files.contains("cache/a"), "{files}");
}

#[test]
fn a_formatting_gate_changes_the_checkpoint_and_the_work_before_it_is_kept() {
    let sandbox = gated("echo formatted >>new");
    let output = sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    output.says("files changed while gates ran, which goes into the checkpoint: new");
    assert_eq!(sandbox.git(&["show", "HEAD:new"]), "x\nformatted");
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/add-login/attempts",
    ]);
    assert_eq!(sandbox.git(&["show", &format!("{kept}:new")]), "x");
}

#[test]
fn a_change_after_the_gates_is_not_committed_with_the_story() {
    let sandbox = Sandbox::new();
    // Another process writes whenever git has read a file, from the second look after the gate on.
    let count = sandbox.notes.join("count");
    let filter = format!(
        "sh -c 'cat; [ ! -e {0} ] || {{ echo >>{0}; [ $(wc -l <{0}) -lt 2 ] || echo late >>z; }}'",
        count.display()
    );
    sandbox.configure("filter.busy.clean", &filter);
    sandbox.write(".git/info/attributes", "busy filter=busy\n");
    let gate = format!("[ ! -e busy ] || : >{}", count.display());
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    let output = sandbox
        .step("next", &sandbox.completing("echo x >busy; echo mine >z"))
        .exits(0);
    output.says("files changed after they were judged; the changes stay in the work tree, uncommitted: z");
    assert_eq!(sandbox.git(&["show", "HEAD:z"]), "mine");
    assert!(sandbox.read("z").starts_with("mine\nlate\n"));
}

#[test]
fn edits_during_the_second_run_of_gates_are_kept() {
    let sandbox = super::held_tests::project(2);
    let gate = sandbox.agent(&format!("./check.sh || exit 1; ! {IS_HELD} || {{ touch \"$notes/second\"; until test -e \"$notes/edited\"; do sleep 0.01; done; }}"));
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    let agent = sandbox.completing("echo 'echo 4 # more' >app.sh; echo '# x' >>tests/value.sh");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("second"));
    sandbox.write("README.md", "edited by the user\n");
    sandbox.write("mine.txt", "new\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.git(&["commit", "-qm", "a commit of the user's", "README.md"]);
    fs::write(sandbox.notes.join("edited"), "").unwrap();
    let output = running.end().exits(0);
    output
        .says("files changed while gates or a reviewer ran; they are put back: README.md")
        .says("its commits are kept: git log refs/ralph/add-login/attempts/1/1-");
    assert_eq!(
        (sandbox.read("mine.txt"), sandbox.read("staged.txt")),
        ("new\n".into(), "staged\n".into())
    );
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/add-login/attempts",
    ]);
    assert!(
        kept.lines()
            .any(|kept| sandbox.git(&["show", &format!("{kept}:README.md")]) == "edited by the user")
    );
}

#[test]
fn step_moves_back_a_repository_that_a_gate_moved() {
    let swap = "test -e \"$notes/done\" || { touch \"$notes/done\"; cp -r .git \"$notes/copy\"
        git config -f \"$notes/copy/config\" core.fsmonitor \"touch $notes/run; false\"
        mv .git \"$notes/was\"; echo \"gitdir: $notes/copy\" >.git; }";
    for is_gate in [true, false] {
        let sandbox = if is_gate { gated(swap) } else { reviewed(swap) };
        let output = sandbox.step("next", &works(&sandbox)).exits(0);
        output.says("; it is moved back");
        assert!(sandbox.top.join(".git").is_dir());
        has_work(&sandbox, "HEAD");
        sandbox.git(&["status"]);
        assert!(!sandbox.notes.join("run").exists());
    }
}

#[test]
fn plants_of_a_killed_gate_are_taken_away_before_git_runs() {
    let plants = "mkdir -p .git/hooks .git/info; printf '#!/bin/sh\\ntouch $notes/run' >.git/hooks/post-commit; chmod +x .git/hooks/post-commit
        git config core.fsmonitor \"touch $notes/run; false\"; git config filter.z.clean \"touch $notes/run; cat\"
        echo '* filter=z' >.gitattributes; echo '*' >.git/info/exclude";
    for is_gate in [true, false] {
        let script = format!("{plants}\n{KILL}");
        let sandbox = if is_gate {
            gated(&script)
        } else {
            reviewed(&script)
        };
        let agent = works(&sandbox);
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        sandbox.ralph(&["status", CHANGE]).exits(0);
        has_work(&sandbox, "refs/ralph/add-login/attempts/1/1");
        sandbox.configure("ralph.verify", "true");
        sandbox.configure("ralph.review", "");
        let agent = sandbox.completing("echo other >other");
        sandbox.step("next", &agent).exits(0);
        assert_eq!(sandbox.git(&["show", "HEAD:other"]), "other");
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        assert!(!sandbox.notes.join("run").exists());
    }
}

#[test]
fn a_review_by_hand_keeps_uncommitted_work() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    let reviewer = sandbox.agent(
        "cat >\"$notes/review\"; git reset -q --hard; git clean -fdq; git init -q nested; git -C nested -c user.name=x -c user.email=x commit -q --allow-empty -m x
        git add nested; git gc -q --prune=now; accept",
    );
    sandbox.write("README.md", "mine\n");
    sandbox.write("untracked", "mine\n");
    let output = sandbox.ralph(&["review", CHANGE, "--agent", &reviewer]).exits(0);
    output
        .says("to compare with what was there before: git diff refs/ralph/add-login/reviewed-")
        .says("repositories were added to the index during the review");
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/add-login/reviewed-*",
    ]);
    for path in ["README.md", "untracked"] {
        assert_eq!(sandbox.git(&["show", &format!("{kept}:{path}")]), "mine");
    }
    assert_eq!(sandbox.git(&["ls-files", "nested"]), "");
}

#[test]
fn edits_after_a_cut_off_step_are_kept() {
    for step in [
        &["finish", "--cleanup"][..],
        &["abort"],
        &["restore", "1@1"],
        &["next"],
        &["revert"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let work = "sed -i 's/^/attempt: /' README.md; echo n >new";
        let failing = sandbox.failing(work);
        match step[0] {
            "restore" => {
                sandbox.step("next", &failing).exits(3);
            }
            "next" => {}
            "revert" => {
                sandbox.write("README.md", "by hand\n");
            }
            _ => {
                sandbox.step("next", &sandbox.completing(work)).exits(0);
            }
        }
        if step[0] == "finish" {
            let (other, tree) = (sandbox.outside("other"), "main");
            sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), tree]);
            fs::write(other.join("moved"), "on main\n").unwrap();
            sandbox.git_cmd(&["add", "-A"]).dir(&other).run().exits(0);
            sandbox
                .git_cmd(&["commit", "-qm", "moved"])
                .dir(&other)
                .run()
                .exits(0);
            sandbox.git(&["worktree", "remove", "--force", other.to_str().unwrap()]);
        }
        // The first git that writes files of the work tree ends git-ralph instead.
        let git = sandbox.git_program();
        let armed = sandbox.notes.join("armed");
        fs::write(&armed, "").unwrap();
        sandbox.install(
            "git",
            &format!(
                "case \" $* \" in *\" checkout-index \"*|*\" read-tree \"*\" -u \"*) if rm {armed} 2>/dev/null; then kill -9 $PPID; exit 1; fi;; esac
                exec {git} \"$@\"",
                armed = armed.display(),
                git = git.display()
            ),
        );
        let killed = if step[0] == "next" {
            sandbox.direct(&["next", CHANGE, "--", &failing]).run()
        } else {
            sandbox.direct(step).run()
        };
        assert_eq!(killed.code, 137, "{step:?}: {}", killed.stderr);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        sandbox.write("README.md", "edited since\n");
        let status = sandbox.ralph(&["status", CHANGE]).exits(0);
        let status = status.says("neither as before it nor as after it: README.md");
        // Nothing runs, and nothing says that it does.
        assert!(!status.stdout.contains("is running"), "{}", status.stdout);
        let json = sandbox.ralph(&["status", CHANGE, "--json"]).exits(0).json();
        assert!(json["running"].is_null(), "{json}");
        assert_eq!(sandbox.read("README.md"), "edited since\n");
        sandbox
            .ralph(&["revert", CHANGE])
            .says("neither as before it nor as after it: README.md; that is kept");
        let kept = sandbox.git(&["show", "refs/ralph/add-login/replaced/1:README.md"]);
        assert_eq!(kept, "edited since");
        if matches!(step[0], "next" | "revert") {
            assert_eq!(sandbox.git(&["status", "--porcelain", "README.md"]), "");
        }
    }
}

#[test]
fn files_that_only_gates_made_hold_no_work_tree_back() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "ralph.verify",
        "mkdir -p cache; date +%N >cache/a; echo built >out",
    );
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    sandbox.step("next", &works(&sandbox)).exits(0);
    let output = sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    output.says("the loop's work tree is removed");
    let trash = sandbox.top.join(".git/ralph/add-login/trash/worktree");
    assert!(trash.join("out").exists() && trash.join("cache/a").exists());
    assert_eq!(sandbox.read("new"), "mine\n");
    assert!(!sandbox.top.join("out").exists());
}

#[test]
fn a_failed_attempt_leaves_files_that_only_gates_made_as_they_were() {
    for (step, after) in [("agent", 0o644), ("fail", 0o644), ("revert", 0o644)] {
        let sandbox = Sandbox::new();
        sandbox.configure(
            "ralph.verify",
            "[ -e snap ] || echo strict >snap; [ -e big ] || head -c 1500000 /dev/zero >big",
        );
        sandbox.start();
        let harm = "echo weak >snap; chmod +x snap; rm big; mkdir big; echo x >big/x; echo y >work";
        match step {
            "agent" => {
                sandbox.step("next", &sandbox.failing(harm)).exits(3);
            }
            _ => {
                sandbox.cmd("sh").args(["-c", harm]).run().exits(0);
                sandbox.ralph(&[step]);
            }
        }
        assert_eq!(sandbox.read("snap"), "strict\n", "{step}");
        let mode = |path: &str| sandbox.top.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("snap"), after, "{step}");
        assert_eq!(
            sandbox.top.join("big").metadata().unwrap().len(),
            1_500_000,
            "{step}"
        );
        let status = sandbox.git(&["status", "--porcelain"]);
        assert_eq!(status, "?? big\n?? snap", "{step}");
        let work = sandbox.completing("echo z >work");
        let output = sandbox
            .step(if step == "revert" { "next" } else { "retry" }, &work)
            .exits(0);
        assert!(!output.stderr.contains("your edits"), "{step}: {}", output.stderr);
        let files = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
        assert!(!files.contains("snap") && !files.contains("big"), "{files}");
    }
}

#[test]
fn a_removed_file_that_only_gates_made_is_kept_and_stays_removed() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "[ -e work ] || echo made >made");
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo x >work; rm made"))
        .exits(0);
    let kept = ["show", "refs/ralph/add-login/gate-files:made"];
    assert_eq!(sandbox.git(&kept), "made");
    sandbox.step("next", &sandbox.failing("echo y >work")).exits(3);
    assert!(!sandbox.top.join("made").exists());
    sandbox.is_at_checkpoint();
    // A mode alone is a change, too.
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "[ -e work ] || echo made >made");
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo x >work; chmod +x made"))
        .exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:made"]), "made");
}
