//! HEAD, branches and git's own files that a power cut or an agent left damaged.

use std::fs;

use crate::support::{CHANGE, Sandbox, TASKS};

/// What can be damaged without losing what belongs there.
const DAMAGES: [&str; 7] = [
    ": >.git/HEAD",
    "rm .git/HEAD",
    "echo 1234 >.git/HEAD",
    ": >.git/refs/heads/ralph/add-login",
    "echo 'ref: refs/heads/main' >.git/refs/heads/ralph/add-login",
    "rm .git/index; mkdir .git/index",
    "mkdir .git/index.lock",
];

fn damage(sandbox: &Sandbox, script: &str) {
    sandbox.cmd("sh").args(["-c", script]).run().exits(0);
}

#[test]
fn commands_repair_damage_made_between_steps() {
    for script in DAMAGES {
        let sandbox = Sandbox::dirty();
        let before = sandbox.print();
        sandbox.start();
        sandbox
            .step("next", &sandbox.completing("echo one >one"))
            .exits(0);
        sandbox.write("edit", "by hand\n");
        sandbox.git(&["add", "edit"]);
        sandbox.git(&["commit", "-qm", "by hand"]);
        let tip = sandbox.git(&["rev-parse", "HEAD"]);
        damage(&sandbox, script);
        sandbox.ralph(&["status"]).exits(0);
        sandbox.step("next", &sandbox.failing("echo two >two")).exits(3);
        sandbox.is_at_checkpoint();
        // The commit that a person made is still below.
        let below = sandbox.git(&["rev-list", "HEAD"]);
        assert!(below.contains(&tip), "{script}");
        sandbox.ralph(&["abort"]).exits(0);
        let mut after = sandbox.print();
        after.refs.clone_from(&before.refs);
        assert_eq!(after, before, "{script}");
    }
}

#[test]
fn head_of_a_loops_own_work_tree_is_put_back() {
    for script in [
        ": >$git/HEAD",
        "rm $git/HEAD",
        "echo 1234 >$git/HEAD",
        "rm $git/HEAD; mkdir $git/HEAD",
        "printf '[x\\n' >$git/config.worktree; git config extensions.worktreeConfig true",
    ] {
        let sandbox = Sandbox::new();
        sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
        damage(&sandbox, &format!("git=.git/worktrees/add-login; {script}"));
        if script.contains("config.worktree") {
            sandbox
                .ralph(&["abort", CHANGE])
                .exits(1)
                .says("config.worktree\nhint: repair what git names, then: git ralph status");
            sandbox.write(".git/worktrees/add-login/config.worktree", "");
        }
        sandbox.ralph(&["status", CHANGE]).exits(0);
        sandbox.ralph(&["abort", CHANGE]).exits(0);
        assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    }
}

#[test]
fn step_repairs_damage_made_by_an_attempt() {
    for script in DAMAGES.iter().chain(&[
        "rm .git/config; mkdir .git/config",
        ": >.git/refs/heads/main",
        "echo 1234 >.git/refs/ralph/add-login/start",
    ]) {
        let sandbox = Sandbox::started();
        let refs = sandbox.print().refs;
        let agent = sandbox.failing(&format!("echo two >two; {script}"));
        sandbox.step("next", &agent).exits(3);
        sandbox.is_at_checkpoint();
        let mut after = sandbox.print().refs;
        after = after
            .lines()
            .filter(|line| !line.contains("/attempts/"))
            .collect::<Vec<_>>()
            .join("\n")
            + "\n";
        assert_eq!(after, refs, "{script}");
        let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:two"]);
        assert_eq!(kept, "two", "{script}");
    }
}

#[test]
fn step_recreates_refs_that_keep_work_without_any_record() {
    let sandbox = Sandbox::dirty();
    let before = sandbox.print();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
    let refs = sandbox.print().refs;
    for (step, code, agent) in [
        ("retry", 3, sandbox.failing("rm -rf .git/ralph .git/refs/ralph")),
        (
            "retry",
            0,
            sandbox.completing("rm -rf .git/ralph .git/refs/ralph; echo y >y"),
        ),
    ] {
        sandbox
            .step(step, &agent)
            .exits(code)
            .says("refs/ralph/add-login/start was deleted during the attempt");
        let now = sandbox.print().refs;
        let missing: Vec<_> = refs
            .lines()
            .filter(|line| !line.contains("heads/") && !now.contains(line))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    sandbox.ralph(&["abort"]).exits(0);
    let mut after = sandbox.print();
    after.refs.clone_from(&before.refs);
    assert_eq!(after, before);
}

#[test]
fn a_damaged_head_is_not_guessed() {
    let sandbox = Sandbox::started();
    sandbox.git(&["checkout", "-q", "main"]);
    let before = sandbox.read(TASKS);
    fs::write(sandbox.top.join(".git/HEAD"), "").unwrap();
    sandbox
        .ralph_cmd(&["status"])
        .run()
        .exits(1)
        .says("git cannot read the repository ")
        .says("hint: name the branch that you were on in it: echo 'ref: refs/heads/<branch>' >");
    assert_eq!(fs::read(sandbox.top.join(".git/HEAD")).unwrap(), b"");
    fs::write(sandbox.top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(sandbox.read(TASKS), before);
    fs::remove_file(sandbox.top.join(".git/config")).unwrap();
    fs::create_dir(sandbox.top.join(".git/config")).unwrap();
    sandbox
        .ralph(&["status"])
        .exits(1)
        .says("config.damaged && git init");
}

#[test]
fn error_does_not_call_a_refused_repository_missing() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.repositoryFormatVersion", "99"]);
    sandbox
        .ralph(&["status"])
        .exits(1)
        .says("git cannot read the repository ")
        .says("99");
}

#[test]
fn a_state_that_does_not_fit_the_repository_completes_nothing() {
    for name in ["checkpoint", "checkpoint_tree"] {
        let sandbox = Sandbox::started();
        sandbox.write("work", "mine\n");
        let before = sandbox.print();
        let state = fs::read_to_string(sandbox.state_file()).unwrap();
        let value = sandbox.state()["loop"][name].as_str().unwrap().to_owned();
        let line = format!("\n{name} = \"{value}\"");
        assert!(state.contains(&line));
        let damaged = state.replace(&line, &line.replace(&value, &"1".repeat(40)));
        fs::write(sandbox.state_file(), damaged).unwrap();
        sandbox
            .ralph(&["complete"])
            .exits(1)
            .says("does not fit the repository")
            .says("&& git ralph start add-login --resume");
        assert_eq!(sandbox.print(), before, "{name}");
        let saved = sandbox.state_file().with_extension("toml.damaged");
        fs::rename(sandbox.state_file(), saved).unwrap();
        sandbox.ralph(&["start", "add-login", "--resume"]).exits(0);
        sandbox.ralph(&["complete"]).exits(0);
    }
}

#[test]
fn error_names_a_branch_in_the_way() {
    let sandbox = Sandbox::started();
    let script = "git branch -m ralph/add-login x; git branch ralph";
    sandbox.cmd("sh").args(["-c", script]).run().exits(0);
    for verb in [
        &["next", "--", "true"][..],
        &["revert"],
        &["abort"],
        &["finish", "--cleanup"],
    ] {
        sandbox
            .ralph(verb)
            .exits(1)
            .says("there is a branch ralph")
            .says("hint: git branch -m ralph ");
    }
    sandbox.git(&["branch", "-m", "ralph", "other"]);
    sandbox.git(&["branch", "-m", "x", "ralph/add-login"]);
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn error_names_a_branch_that_an_attempt_put_in_the_way() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.guard", "false");
    sandbox.start();
    let agent = sandbox
        .failing("echo x >x; git checkout -q --detach; git branch -D ralph/add-login; git branch ralph");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("there is a branch ralph");
    sandbox.git(&["branch", "-m", "ralph", "other"]);
    sandbox.ralph(&["status"]).exits(0).says("was interrupted");
    sandbox.is_at_checkpoint();
}

#[test]
fn error_names_a_damaged_original_branch_and_a_remedy() {
    let sandbox = Sandbox::new();
    let main = sandbox.git(&["rev-parse", "main"]);
    sandbox.start();
    let file = sandbox.top.join(".git/refs/heads/main");
    fs::write(&file, "1234\n").unwrap();
    let hint = format!("rm {} && git branch main {main}", file.display());
    sandbox.ralph(&["abort"]).exits(7).says(&hint);
    sandbox.cmd("sh").args(["-c", &hint]).run().exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[test]
fn what_keeps_git_from_reading_the_repository_is_put_right() {
    for (misdeed, told) in [
        (
            "git pack-refs --all --prune; find . -type d -empty -delete",
            "refs was deleted; it is made again",
        ),
        (
            "git pack-refs --all --prune; echo garbage >>.git/packed-refs",
            "has lines with which git does not read all refs",
        ),
        (
            "git pack-refs --all --prune; echo \"$(git rev-parse HEAD) refs/heads/../../x\" >>.git/packed-refs",
            "has lines with which git does not read all refs",
        ),
        ("mv .git/ralph .git/gone.$$; echo x >.git/ralph", "it is moved to"),
        (
            "ln -sf refs/heads/ralph/add-login .git/refs/heads/other",
            "the branch other was damaged",
        ),
        (
            "git pack-refs --all --prune; (head -1 .git/packed-refs; grep -v '^#' .git/packed-refs | LC_ALL=C sort -k2 -r) >.git/p; mv .git/p .git/packed-refs",
            "has lines with which git does not read all refs",
        ),
        (
            "echo 'ref: refs/heads/main' >.git/refs/heads/main",
            "the branch main was damaged",
        ),
        (
            "git pack-refs --all --prune; rm -rf .git/refs; touch .git/refs",
            "it is moved to",
        ),
        (
            "GIT_CONFIG_COUNT=0 git symbolic-ref refs/heads/main refs/heads/ralph/add-login",
            "the branch main was made to follow refs/heads/ralph/add-login",
        ),
        (
            "GIT_CONFIG_COUNT=0 git symbolic-ref refs/heads/other refs/heads/main",
            "the branch other was made to follow refs/heads/main",
        ),
        ("rm -rf .git/logs; touch .git/logs", "it is moved to"),
        ("rm -rf .git/logs/refs; touch .git/logs/refs", "it is moved to"),
        ("rm -rf .git/refs/tags; echo x >.git/refs/tags", "it is moved to"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.git(&["branch", "other"]);
        let other = sandbox.git(&["rev-parse", "other"]);
        let before = sandbox.files();
        sandbox.start();
        sandbox
            .step(
                "next",
                &sandbox.failing(&format!("echo bad >>README.md; {misdeed}")),
            )
            .exits(3)
            .says(told);
        sandbox
            .step(
                "retry",
                &sandbox.completing(&format!("echo good >>README.md; {misdeed}")),
            )
            .exits(0)
            .says(told);
        assert_eq!(sandbox.git(&["rev-parse", "other"]), other, "{misdeed}");
        sandbox.git(&["fsck", "--strict"]);
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert_eq!(
            sandbox.git(&["rev-parse", "main", "other"]),
            format!("{other}\n{other}")
        );
        assert_eq!(sandbox.files(), before, "{misdeed}");
    }
}

#[test]
fn lines_that_name_no_commit_are_taken_out_of_the_list_of_shallow_ones() {
    for (promise, code) in [("complete", 0), ("failed red", 3)] {
        let sandbox = Sandbox::started();
        let agent = sandbox.agent(&format!(
            "echo x >x; echo x >.git/shallow; echo 1234567890123456789012345678901234567890 >>.git/shallow; {promise}"
        ));
        sandbox.step("next", &agent).exits(code);
        for verb in ["status", "log", "abort"] {
            sandbox.ralph(&[verb, CHANGE]).exits(0);
        }
    }
}

#[test]
fn a_tag_whose_object_is_pruned_stops_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "-a", "annotated", "-m", "words"]);
    sandbox.git(&["branch", "other"]);
    sandbox.start();
    let files = sandbox.files();
    let misdeed = "unset GIT_CONFIG_COUNT; git tag -d annotated; git branch -q -D other
        git reflog expire --expire=now --all; git gc -q --prune=now; echo bad >>README.md";
    sandbox
        .step("next", &sandbox.failing(misdeed))
        .exits(3)
        .says("the tag annotated was deleted during the attempt")
        .says("it cannot be put back: git has that object no more")
        .says("the branch other was deleted");
    assert_eq!(sandbox.files(), files);
    sandbox.git(&["rev-parse", "other"]);
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn a_repository_that_was_moved_is_moved_back() {
    for above in [false, true] {
        let sandbox = Sandbox::new();
        if above {
            let outer = sandbox.top.parent().unwrap();
            sandbox.git_cmd(&["init", "-q"]).dir(outer).run().exits(0);
        }
        sandbox.start();
        for instead in [
            "true",
            "echo gitdir: elsewhere >.git",
            "git init -q",
            "ln -s moved .git",
        ] {
            let agent = sandbox.failing(&format!("echo x >x; mv .git moved; {instead}"));
            sandbox
                .step("next", &agent)
                .exits(3)
                .says("/moved; it is moved back");
            assert!(!sandbox.top.join(".git").is_symlink());
            sandbox.is_at_checkpoint();
            sandbox.ralph(&["abort"]).exits(0);
            sandbox.start();
        }
    }
}

#[test]
fn a_packed_ref_to_no_object_does_not_stay() {
    let nothing = "1234567890123456789012345678901234567890";
    for (promise, code) in [("complete", 0), ("failed red", 3)] {
        let sandbox = Sandbox::new();
        sandbox.git(&["tag", "v1"]);
        sandbox.git(&["pack-refs", "--all"]);
        sandbox.start();
        let tags = || sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/tags"]);
        let before = tags();
        let script = format!(
            "sed 's,.* refs/tags/v1,{nothing} refs/tags/v1,' .git/packed-refs >p
            for tag in w x; do echo {nothing} refs/tags/$tag >>p; done
            mv p .git/packed-refs; echo {nothing} >.git/refs/tags/x; echo >work; {promise}"
        );
        sandbox.step("next", &sandbox.agent(&script)).exits(code);
        assert_eq!(tags(), before);
        for verb in ["status", "log", "abort", "start"] {
            sandbox.ralph(&[verb, CHANGE]).exits(0);
        }
    }
}

#[test]
fn commit_that_is_packed_below_a_damaged_ref_is_not_lost() {
    let nothing = "1234567890123456789012345678901234567890";
    for (promise, code) in [("complete", 0), ("failed red", 3)] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let script = format!(
            "git -c user.name=U -c user.email=u@e commit-tree -m mine 'HEAD^{{tree}}' >\"$notes/mine\"
            git update-ref refs/heads/mine $(cat \"$notes/mine\"); git pack-refs --all
            echo {nothing} >.git/refs/heads/mine; echo >work; {promise}"
        );
        let agent = sandbox.agent(&script);
        sandbox.step("next", &agent).exits(code);
        assert_eq!(sandbox.git(&["rev-parse", "mine"]), sandbox.noted("mine").trim());
    }
}

#[test]
fn refs_to_no_object_are_named_with_a_command_that_helps() {
    let nothing = "1234567890123456789012345678901234567890";
    let sandbox = Sandbox::new();
    sandbox.write(".git/refs/heads/lost", &format!("{nothing}\n"));
    sandbox.write(".git/refs/ralph/other/attempts/1/1", &format!("{nothing}\n"));
    let refused = sandbox.ralph(&["start", CHANGE]).exits(1);
    let (_, hint) = refused.stderr.split_once("to go on without: ").unwrap();
    sandbox.cmd("sh").args(["-c", hint]).run().exits(0);
    sandbox.start();
}

#[test]
fn a_symbolic_branch_of_the_user_stays_symbolic() {
    let nothing = "1234567890123456789012345678901234567890";
    for (misdeed, told) in [
        ("git branch -q -D follower", "deleted during the attempt"),
        ("git branch -q -D other follower", "deleted during the attempt"),
        ("git update-ref --no-deref refs/heads/follower HEAD", "was set to"),
        (
            "git symbolic-ref refs/heads/follower refs/heads/main",
            "made to follow",
        ),
        (
            "git symbolic-ref refs/heads/follower refs/heads/none",
            "was damaged",
        ),
        (&format!("echo {nothing} >.git/refs/heads/follower"), "was set to"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.git(&["branch", "other"]);
        sandbox.git(&["symbolic-ref", "refs/heads/follower", "refs/heads/other"]);
        let format = "--format=%(refname) %(symref) %(objectname)";
        let branches = || sandbox.git(&["for-each-ref", format, "refs/heads/other", "refs/heads/follower"]);
        let before = branches();
        sandbox.start();
        let agent = sandbox.failing(&format!("unset GIT_CONFIG_COUNT; {misdeed}; echo >work"));
        let told_of = sandbox.step("next", &agent).exits(3).says(told);
        assert_eq!(told_of.stderr.matches("branch follower").count(), 1, "{misdeed}");
        assert_eq!(branches(), before, "{misdeed}");
    }
}

#[test]
fn file_that_leads_git_away_is_named() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.write(".git/commondir", "nowhere\n");
    for verb in ["status", "abort", "log"] {
        let said = sandbox.direct(&[verb]).run();
        said.exits(1)
            .says("git finds no repository here, because ")
            .says("hint: rm ");
    }
    fs::remove_file(sandbox.top.join(".git/commondir")).unwrap();
    sandbox.ralph(&["abort"]).exits(0);
}
