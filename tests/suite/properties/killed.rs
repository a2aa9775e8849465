//! An agent that kills git-ralph could have written all that git-ralph knows of the attempt. Nothing of that decides what
//! is run, or is installed where something is run from. The sweep goes through all that it could write.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::judged::KILL;
use crate::support::{CHANGE, Sandbox};

#[test]
fn user_decides_about_changed_hooks_and_the_loop_continues() {
    for keep in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.hook("pre-push", "exit 0");
        sandbox.start();
        let agent =
            sandbox.agent("rm .git/hooks/pre-push; echo '#!/bin/sh' >.git/hooks/pre-commit; kill -9 $(ps -o ppid= -p $PPID)");
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        let recorded = format!(".git/ralph/{CHANGE}/slots/1/git-files/common/hooks/pre-push");
        for args in [&["status"][..], &["next"]] {
            sandbox
                .ralph(args)
                .exits(7)
                .says(".git/hooks/pre-push")
                .says("to put it back: cp -p ");
        }
        // What only takes away is done at once.
        assert!(!sandbox.top.join(".git/hooks/pre-commit").exists());
        if keep {
            fs::remove_file(sandbox.top.join(&recorded)).unwrap();
        } else {
            let args = ["-p", &recorded, ".git/hooks/pre-push"];
            sandbox.cmd("cp").args(args).run().exits(0);
        }
        let agent = sandbox.completing("echo x >x");
        sandbox.step("next", &agent).exits(0);
        assert_eq!(sandbox.top.join(".git/hooks/pre-push").exists(), !keep);
    }
}

#[test]
fn a_repository_is_found_again_whatever_the_attempt_said_of_its_place() {
    for setting in [
        "core.bare true",
        "core.worktree ../out",
        "core.repositoryformatversion 99",
    ] {
        let sandbox = Sandbox::started();
        let files = sandbox.files();
        let (key, _) = setting.split_once(' ').unwrap();
        let agent = sandbox.agent(&format!(
            "mkdir ../out; echo x >>README.md; git config {setting}; kill -9 $(ps -o ppid= -p $PPID)"
        ));
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        sandbox
            .ralph(&["status"])
            .exits(0)
            .says(&format!("they are put back: {key}"));
        assert_eq!(sandbox.files(), files, "{setting}");
        sandbox.ralph(&["abort"]).exits(0);
    }
}

#[test]
fn directories_of_git_are_restored_after_a_kill() {
    for misdeed in [
        "rm -rf .git/refs",
        "rm -rf .git/refs; touch .git/refs",
        "rm -rf .git/refs; mkfifo .git/refs",
        "rm -rf .git/refs/heads; touch .git/refs/heads",
        "rm -rf .git/refs/tags; touch .git/refs/tags",
        "rm -rf .git/refs/ralph; touch .git/refs/ralph",
        "rm -rf .git/refs/ralph/add-login; touch .git/refs/ralph/add-login",
        "rm -rf .git/logs; touch .git/logs",
        "rm -rf .git/logs/refs; touch .git/logs/refs",
        "rm -rf .git/logs/refs/heads/ralph; touch .git/logs/refs/heads/ralph",
        "echo x >.git/shallow",
    ] {
        let sandbox = Sandbox::new();
        sandbox.git(&["tag", "v1"]);
        let files = sandbox.files();
        sandbox.start();
        let agent = sandbox.agent(&format!(
            "echo x >>README.md; {misdeed}; kill -9 $(ps -o ppid= -p $PPID)"
        ));
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        for verb in ["status", "log", "abort"] {
            sandbox.ralph(&[verb, CHANGE]).exits(0);
        }
        assert_eq!(sandbox.files(), files, "{misdeed}");
        sandbox.git(&["tag", "v2", "v1"]);
    }
}

#[test]
fn lost_state_is_named_with_the_command_that_goes_on() {
    for (misdeed, says) in [
        (
            "rm -rf .git/ralph",
            "git ralph start add-login --resume (add --stories <list>",
        ),
        (
            "rm -rf .git/ralph; echo x >.git/ralph",
            "ralph.damaged, then begin each loop again",
        ),
    ] {
        let sandbox = Sandbox::started();
        // The state has the agent's process last.
        let agent = sandbox.agent(&format!(
            "until grep -q '^pid = ' .git/ralph/add-login.toml; do sleep 0.05; done; {misdeed}; kill -9 $(ps -o ppid= -p $PPID)"
        ));
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        let file = sandbox.top.join(".git/ralph");
        if !file.exists() {
            sandbox.ralph(&["status"]).exits(0).says(says);
        }
        for args in [["status", CHANGE], ["log", CHANGE], ["abort", CHANGE]] {
            sandbox.ralph(&args).exits(1).says(says);
        }
        if file.is_file() {
            fs::rename(&file, file.with_extension("damaged")).unwrap();
        }
        sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
        sandbox.ralph(&["abort"]).exits(0);
    }
}

#[test]
fn settings_that_run_nothing_come_back_after_a_kill() {
    let sandbox = Sandbox::new();
    let before = sandbox.read(".git/config");
    sandbox.start();
    let agent = sandbox.agent(
        "git config core.fsmonitor evil; git config core.autocrlf true; git config user.name Evil; kill -9 $(ps -o ppid= -p $PPID)",
    );
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox.ralph(&["status"]).exits(0);
    assert_eq!(sandbox.read(".git/config"), before);
    // One that can run something does not.
    sandbox.configure("filter.mine.clean", "cat");
    let agent = sandbox.agent("git config --unset filter.mine.clean; kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox
        .ralph(&["status"])
        .exits(7)
        .says(".git/config")
        .says("git diff --no-index ");
    assert_eq!(sandbox.read(".git/config"), before);
}

#[test]
fn header_that_the_next_job_writes_for_a_host_stays_after_a_kill() {
    let sandbox = Sandbox::new();
    let key = "http.https://host.example/.extraheader";
    sandbox.configure(key, "AUTHORIZATION: one");
    sandbox.start();
    let agent = sandbox.agent("kill -9 $(ps -o ppid= -p $PPID)");
    let kill = || drop(sandbox.direct(&["next", "--", &agent]).run().exits(137));
    kill();
    sandbox.configure(key, "AUTHORIZATION: two");
    sandbox.ralph(&["status"]).exits(0).says("they stay");
    assert_eq!(sandbox.git(&["config", key]), "AUTHORIZATION: two");
    kill();
    // One for every host does not, nor do other settings beside one.
    for (key, value) in [("http.extraheader", "x: y"), ("core.fsmonitor", "evil")] {
        sandbox.configure("http.https://host.example/.extraheader", "AUTHORIZATION: three");
        sandbox.configure(key, value);
        sandbox.ralph(&["status"]).exits(7).says(".git/config");
        sandbox.git(&["config", "--unset", key]);
    }
    sandbox.ralph(&["status"]).exits(0);
    assert_eq!(sandbox.git(&["config", key]), "AUTHORIZATION: three");
}

#[test]
fn user_must_type_options_of_the_start_again_after_a_kill() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >x");
    sandbox
        .ralph(&[
            "start",
            CHANGE,
            "--verify",
            "touch \"$RALPH_LEARNINGS.gate\"",
            "--",
            &agent,
        ])
        .exits(0);
    let killer = sandbox.agent("kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.direct(&["next", "--", &killer]).run().exits(137);
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("no longer used is the agent");
    sandbox
        .step("next", &agent)
        .exits(7)
        .says("the gates of 'add-login' are not certain")
        .says("git config --add ralph.verify 'touch");
    sandbox.ralph(&["complete"]).exits(7);
    assert_eq!(sandbox.status()["phase"], "ready");
    sandbox.configure("ralph.verify", "true");
    sandbox.ralph(&["next"]).exits(1).says("no agent is configured");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn overwritten_copies_change_nothing_while_git_ralph_lives() {
    let sandbox = Sandbox::new();
    sandbox.hook("pre-push", "exit 0");
    let config = sandbox.read(".git/config");
    sandbox.start();
    let agent = sandbox.failing(&format!(
        "d=.git/ralph/{CHANGE}/slots/1/git-files/common; rm .git/hooks/pre-push; echo evil >$d/hooks/pre-push
        echo evil >$d/hooks/pre-commit; echo '[core]fsmonitor=evil' >>$d/config"
    ));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
    assert!(!sandbox.top.join(".git/hooks/pre-commit").exists());
    assert_eq!(sandbox.read(".git/config"), config);
}

#[test]
fn the_hooks_that_git_ralph_installed_come_back() {
    let sandbox = Sandbox::new();
    let hook = ".git/ralph/.hooks/pre-commit";
    sandbox.write(hook, "#!/bin/sh\n");
    sandbox.start();
    let agent = sandbox.failing(&format!(
        "echo evil >>{hook}; echo evil >.git/ralph/.hooks/pre-push; echo /evil >.git/commondir"
    ));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read(hook), "#!/bin/sh\n");
    assert!(!sandbox.top.join(".git/ralph/.hooks/pre-push").exists());
    assert!(!sandbox.top.join(".git/commondir").exists());
}

/// Ends git-ralph in place of a git whose arguments match this pattern of a shell, or right after that git, once.
fn kill_at(sandbox: &Sandbox, pattern: &str, is_after: bool) {
    let armed = sandbox.notes.join("armed");
    fs::write(&armed, "").unwrap();
    let git = sandbox.git_program().display().to_string();
    let body = format!(
        "case \" $* \" in {pattern}) if rm {} 2>/dev/null; then {is_after} && {git} \"$@\"; kill -9 $PPID; exit 1; fi;; esac\n\
         exec {git} \"$@\"",
        armed.display()
    );
    sandbox.install("git", &body);
}

#[test]
fn status_keeps_a_commit_made_since_a_killed_finish() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo new >new"))
        .exits(0);
    // HEAD is back, and the index is not.
    kill_at(&sandbox, "*\" read-tree \"*|*\" update-index \"*", false);
    sandbox.direct(&["finish", "--cleanup"]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "the user's"]);
    let mine = sandbox.git(&["rev-parse", "HEAD"]);
    let status = sandbox.ralph(&["status", CHANGE]).exits(0);
    status.says(&format!(
        "the commit {} was made or checked out since",
        &mine[..10]
    ));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), mine);
    sandbox.ralph(&["next", CHANGE]).says("that is kept");
    assert_eq!(
        sandbox.git(&["rev-parse", "refs/ralph/add-login/replaced/1"]),
        mine
    );
    sandbox.ralph(&["status", CHANGE]).exits(0);
}

#[test]
fn a_finish_that_a_full_disk_stopped_completes_once_there_is_room() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let agent = sandbox.completing("seq 9 >new; seq 9 >README.md; echo x >>old.txt; echo y >>src/lib.txt");
    sandbox.step("next", &agent).exits(0);
    kill_at(&sandbox, "*\" read-tree \"*\" -u \"*", false);
    sandbox.direct(&["finish", "--cleanup", CHANGE]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    // What git leaves where it cannot write on.
    sandbox.write("new", "1\n2\n");
    sandbox.write("README.md", "");
    fs::remove_file(sandbox.top.join("old.txt")).unwrap();
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("only half written, and written again: README.md, new, old.txt");
    let nine = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    assert_eq!([sandbox.read("new"), sandbox.read("README.md")], [nine, nine]);
    assert_eq!(sandbox.read("old.txt"), "old\nx\n");
    assert!(sandbox.read("src/lib.txt").ends_with("y\n"));
}

#[test]
fn private_files_stay_private_through_a_killed_finish() {
    let sandbox = Sandbox::new();
    let key = sandbox.top.join("key");
    sandbox.write("key", "mine\n");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    sandbox.git(&["add", "key"]);
    sandbox.git(&["commit", "-qm", "key"]);
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let agent = sandbox.completing("echo more >>key; echo x >other; chmod 600 other");
    sandbox.step("next", &agent).exits(0);
    kill_at(&sandbox, "*\" read-tree \"*\" -u \"*", true);
    sandbox.direct(&["finish", "--cleanup", CHANGE]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    assert_eq!(sandbox.read("key"), "mine\nmore\n");
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    for name in ["key", "other"] {
        let found = fs::metadata(sandbox.top.join(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn new_file_that_git_has_only_begun_to_write_is_no_edit() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo new >new"))
        .exits(0);
    let side = sandbox.outside("side");
    sandbox.git(&["worktree", "add", "-q", side.to_str().unwrap(), "main"]);
    fs::write(side.join("theirs"), "theirs\n").unwrap();
    for args in [&["add", "-A"][..], &["commit", "-qm", "theirs"]] {
        sandbox.git_cmd(args).dir(&side).run().exits(0);
    }
    sandbox.git(&["worktree", "remove", side.to_str().unwrap()]);
    kill_at(&sandbox, "*\" read-tree \"*\" -u \"*", false);
    sandbox.direct(&["finish", "--cleanup"]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    // As a full disk leaves it.
    sandbox.write("theirs", "the");
    sandbox
        .ralph(&["status", CHANGE])
        .exits(0)
        .says("finish is completed now");
    assert_eq!(sandbox.read("theirs"), "theirs\n");
    assert_eq!(
        sandbox.git(&["for-each-ref", "refs/ralph/add-login/replaced"]),
        ""
    );
}

#[test]
fn status_shows_a_killed_finish_that_cannot_go_on() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    sandbox
        .step("next", &sandbox.completing("echo x >>README.md"))
        .exits(0);
    kill_at(&sandbox, "*\" read-tree \"*\" -u \"*", false);
    sandbox.direct(&["finish", "--cleanup", CHANGE]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    let before = sandbox.read("README.md");
    sandbox.write("README.md", "edited since\n");
    for verb in ["status", "log", "stories"] {
        let shown = sandbox.ralph(&[verb, CHANGE]).exits(0);
        shown.says("cut off in finish, which cannot go on: cannot write the work of the loop to");
    }
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(7);
    assert_eq!(sandbox.read("README.md"), "edited since\n");
    sandbox.write("README.md", &before);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert!(sandbox.read("README.md").ends_with("x\n"));
}

#[test]
fn a_commit_made_since_a_killed_step_is_kept_and_blocks_nothing() {
    for step in ["checkpoint", "revert"] {
        let sandbox = Sandbox::new();
        sandbox.start();
        kill_at(&sandbox, &format!("*\" update-ref \"*\"ralph: {step}\"*"), false);
        let agent = match step {
            "checkpoint" => sandbox.completing("echo new >new"),
            _ => sandbox.failing("echo new >new"),
        };
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        sandbox.write("README.md", "the user's\n");
        sandbox.git(&["commit", "-qm", "the user's", "README.md"]);
        let mine = sandbox.git(&["rev-parse", "HEAD"]);
        let status = sandbox.ralph(&["status", CHANGE]).exits(0);
        status.says(&format!(
            "the commit {} was made or checked out since",
            &mine[..10]
        ));
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), mine);
        let done = sandbox.ralph(&["revert"]).exits(0);
        done.says("git show refs/ralph/add-login/replaced/1");
        let kept = sandbox.git(&["for-each-ref", "--contains", &mine, "refs/ralph"]);
        assert!(kept.contains("replaced/1"), "{step}: {kept}");
        let checkpoint = sandbox.git(&["log", "-1", "--format=%s"]);
        assert_eq!(
            checkpoint == "checkpoint: 1",
            step == "checkpoint",
            "{checkpoint}"
        );
        sandbox.ralph(&["abort"]).exits(0);
    }
}

#[test]
fn files_that_an_attempt_hid_are_in_the_trash_after_a_killed_revert() {
    for options in [&[][..], &["--strategy", "stash"]] {
        let sandbox = Sandbox::new();
        sandbox.ralph(&[&["start", CHANGE], options].concat()).exits(0);
        let agent = sandbox.failing("echo hidden >notes.txt; echo '*.txt' >>.gitignore; echo x >>README.md");
        // The rule is gone, and the file is not in the trash yet.
        kill_at(
            &sandbox,
            "*\" checkout-index \"*|*\" read-tree \"*\" -u \"*",
            true,
        );
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        assert_eq!(sandbox.read("notes.txt"), "hidden\n");
        sandbox.ralph(&["status", CHANGE]).exits(0);
        let trash = sandbox.top.join(".git/ralph/add-login/trash/1.1/notes.txt");
        assert_eq!(fs::read_to_string(trash).unwrap(), "hidden\n");
        assert!(!sandbox.top.join("notes.txt").exists());
    }
}

#[test]
fn notes_in_the_file_of_an_attempt_that_was_cut_off_are_marked() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&format!("echo 'half true' >>\"$RALPH_LEARNINGS\"; {KILL}"));
    assert_eq!(sandbox.step("next", &agent).code, 137);
    sandbox.ralph(&["revert"]);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("[1@1, not accepted] half true\n"), "{prompt}");
}

#[test]
fn content_that_was_only_staged_after_a_kill_or_before_an_abort_is_kept() {
    for options in [&[][..], &["--worktree"], &["--strategy", "stash"]] {
        let sandbox = Sandbox::new();
        sandbox
            .ralph(&[&["start", CHANGE][..], options].concat())
            .exits(0);
        let at = match options {
            ["--worktree"] => sandbox.outside("repo.ralph/add-login"),
            _ => sandbox.top.clone(),
        };
        let is_stash = options.contains(&"stash");
        if !is_stash {
            let agent = sandbox.agent("echo agent >w; kill -9 $(ps -o ppid= -p $PPID)");
            let killed = sandbox.direct(&["next", "--", &agent]).dir(&at).run();
            assert_ne!(killed.code, 0);
        }
        fs::write(at.join("only"), "first\n").unwrap();
        sandbox.git_cmd(&["add", "only"]).dir(&at).run().exits(0);
        let blob = sandbox
            .git_cmd(&["rev-parse", ":only"])
            .dir(&at)
            .run()
            .exits(0)
            .stdout;
        fs::write(at.join("only"), "second\n").unwrap();
        let words: &[&str] = if is_stash { &["abort"] } else { &["revert"] };
        let told = "what is staged is in no checkpoint, and is kept: only; to see it: git show ";
        sandbox.direct(words).dir(&at).run().exits(0).says(told);
        let kept = sandbox.git(&["rev-list", "--objects", "--glob=refs/ralph/*/replaced/*"]);
        assert!(kept.contains(blob.trim()), "{options:?}: {kept}");
    }
}
