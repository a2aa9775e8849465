//! `git ralph next`: what earns a checkpoint, what does not, and that a failed attempt leaves nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;

use crate::support::{CHANGE, COMPLETE, Cmd, Sandbox, TASKS, search_path, wait_for, wait_until};

fn started() -> Sandbox {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    sandbox
}

/// Lets an agent do something and fail, and asserts that nothing of it is left.
#[track_caller]
fn fails_without_a_trace(script: &str) -> Sandbox {
    let sandbox = started();
    let before = sandbox.print();
    let agent = sandbox.failing(script);
    sandbox.step("next", &agent).exits(3);
    let after = sandbox.print();
    assert_eq!(after.files, before.files);
    assert_eq!(after.index, before.index);
    assert_eq!(after.head, before.head);
    let kept = "refs/ralph/add-login/attempts/1/1";
    let refs = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("/attempts/"));
        lines.map(ToOwned::to_owned).collect()
    };
    assert_eq!(refs(&after.refs), refs(&before.refs));
    assert!(
        after.refs.contains(kept),
        "the attempt is not kept: {}",
        after.refs
    );
    sandbox.is_at_checkpoint();
    sandbox
}

fn kept(sandbox: &Sandbox, path: &str) -> String {
    sandbox.git(&["show", &format!("refs/ralph/add-login/attempts/1/1:{path}")])
}

#[test]
fn complete_makes_the_checkpoint() {
    let sandbox = started();
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let agent = sandbox.completing("echo new >new.txt; rm README.md; chmod +x src/lib.txt; echo x >x.log");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("1 of 3 stories are complete")
        .answers_nothing();
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%B"]).trim_end(),
        "checkpoint: 1"
    );
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^"]), before);
    sandbox.is_at_checkpoint();
    let changed = sandbox.git(&["diff", "--name-status", "HEAD^", "HEAD"]);
    assert_eq!(
        changed,
        "D\tREADME.md\nA\tnew.txt\nM\topenspec/changes/add-login/tasks.md\nM\tsrc/lib.txt"
    );
    assert_eq!(sandbox.read("x.log"), "x\n");
    assert_eq!(sandbox.status()["stories_done"], 1);
}

#[test]
fn a_checkpoint_is_made_even_when_nothing_changed() {
    let sandbox = Sandbox::new();
    sandbox.start();
    // The boxes are ticked by the agent of story 1 for the story after it.
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\]/[x]/' {TASKS}"));
    sandbox.step("next", &agent).exits(0);
    sandbox.write(TASKS, "## 9. Nothing\n- [ ] 9.1 To do\n");
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\]/[x]/' {TASKS}; git commit -qam all"));
    sandbox.step("next", &agent).exits(0);
    let log = sandbox.subjects("HEAD");
    assert_eq!(log[..2], ["checkpoint: 9", "all"]);
    assert_eq!(
        sandbox.git(&["rev-parse", "HEAD^{tree}"]),
        sandbox.git(&["rev-parse", "HEAD^^{tree}"])
    );
}

#[test]
fn the_agents_own_commits_stay_below() {
    let sandbox = started();
    let agent = sandbox.completing(
        "echo a >a; git add a; git commit -qm 'mine 1'; echo b >b; git add b; git commit -qm 'mine 2'; echo c >c",
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        sandbox.subjects("HEAD"),
        ["checkpoint: 1", "mine 2", "mine 1", "initial state", "first"]
    );
    assert_eq!(
        sandbox.git(&["diff", "--name-only", "HEAD^", "HEAD"]),
        format!("c\n{TASKS}")
    );
}

#[test]
fn the_users_hooks_signing_and_refs_of_odd_names_do_not_matter() {
    let sandbox = Sandbox::dirty();
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "prepare-commit-msg",
        "post-commit",
    ] {
        sandbox.hook(hook, "echo \"$0\" >>README.md; exit 1");
    }
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", "false"),
        ("merge.ff", "false"),
        ("color.ui", "always"),
        ("core.pager", "false"),
        ("commit.template", "no-such-file"),
        ("core.editor", "false"),
        ("status.short", "true"),
        ("core.autocrlf", "input"),
        ("diff.noprefix", "true"),
        ("log.showSignature", "true"),
    ] {
        sandbox.configure(key, value);
    }
    sandbox.git(&["tag", "ralph/add-login"]);
    sandbox.git(&["tag", "main"]);
    sandbox.write("HEAD", "a file\n");
    sandbox.write("main", "a file\n");
    sandbox.write("ralph/add-login", "a file\n");
    let tag = sandbox.git(&["rev-parse", "refs/tags/ralph/add-login"]);
    let before = sandbox.files();
    sandbox.start();
    let failing = sandbox.failing("echo x >HEAD; rm main; echo x >new");
    sandbox.step("next", &failing).exits(3);
    assert_eq!(sandbox.files(), before);
    let agent = sandbox.completing("echo more >>HEAD");
    sandbox.step("retry", &agent).exits(0);
    let tip = sandbox.git(&["rev-parse", "refs/heads/ralph/add-login"]);
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", "--no-show-signature", &tip]),
        "checkpoint: 1"
    );
    assert_eq!(sandbox.git(&["rev-parse", "refs/tags/ralph/add-login"]), tag);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.read("HEAD"), "a file\nmore\n");
    assert_eq!(sandbox.read("README.md"), "# Edited\n");
    let gone = sandbox.git_cmd(&["rev-parse", "-q", "--verify", "refs/heads/ralph/add-login"]);
    gone.run().exits(1);
}

#[test]
fn no_identity_does_not_matter() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "--unset", "user.name"]);
    sandbox.git(&["config", "--unset", "user.email"]);
    sandbox.configure("user.useConfigOnly", "true");
    sandbox.start();
    let agent = sandbox.completing("echo x >x");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%cn"]), "git-ralph");
}

#[test]
fn edits_files_directories_deletions_modes_and_links_are_undone() {
    let sandbox = fails_without_a_trace(
        "echo x >>README.md; mkdir -p new/deep; echo x >new/deep/file; rm -r src; chmod +x notes/untracked.txt
         chmod -x tool; ln -sfn elsewhere link; mkdir empty; rm 'staged new.txt'; mkdir 'staged new.txt'
         ln -s /etc out; printf '#!/bin/sh\\n#' >tool",
    );
    assert_eq!(kept(&sandbox, "new/deep/file"), "x");
    assert_eq!(kept(&sandbox, "README.md"), "# Edited\nx");
}

#[test]
fn only_files_that_differ_are_touched() {
    let sandbox = started();
    let before = sandbox.mtimes();
    let agent = sandbox.failing("echo x >>README.md; echo x >new");
    sandbox.step("next", &agent).exits(3);
    let after = sandbox.mtimes();
    let touched: Vec<_> = before
        .iter()
        .filter(|(path, time)| after[*path] != **time)
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert_eq!(touched, ["README.md"]);
}

#[test]
fn the_agents_commits_are_undone_and_kept() {
    let sandbox = fails_without_a_trace(
        "echo x >x; git add -A; git commit -qm mine; echo y >>x; git add x; echo z >>x; git tag -f keep-me HEAD >/dev/null; git tag -d keep-me >/dev/null",
    );
    let attempt = "refs/ralph/add-login/attempts/1/1";
    assert_eq!(kept(&sandbox, "x"), "x\ny\nz");
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", &format!("{attempt}^")]),
        "mine"
    );
}

#[test]
fn staged_files_are_undone() {
    fails_without_a_trace("echo x >x; git add x; git rm -q --cached README.md; git mv src moved");
}

#[test]
fn another_branch_and_a_detached_head_are_undone() {
    fails_without_a_trace("git checkout -q -f main; echo x >x");
    fails_without_a_trace("git checkout -q --detach; git commit -q --allow-empty -m lost; echo x >x");
    fails_without_a_trace("git checkout -q --orphan nothing; git rm -rfq .");
}

#[test]
fn an_amended_dropped_or_deleted_checkpoint_is_a_failure() {
    for (script, says) in [
        (
            "git commit -q --amend --allow-empty -m mine",
            "was rewritten or dropped",
        ),
        ("git reset -q --hard HEAD^", "was rewritten or dropped"),
        (
            "git checkout -q --detach; git branch -qD ralph/add-login",
            "was deleted",
        ),
    ] {
        let sandbox = started();
        let before = sandbox.print();
        let agent = sandbox.completing(&format!("echo x >x; {script}"));
        sandbox.step("next", &agent).exits(3).says(says);
        let after = sandbox.print();
        assert_eq!(
            (after.files, after.index, after.head),
            (before.files, before.index, before.head)
        );
        sandbox.is_at_checkpoint();
        let reason = sandbox.status()["current"]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(says), "{reason}");
    }
}

#[test]
fn an_unfinished_merge_or_rebase_is_a_failure() {
    for (operation, says) in [
        ("merge", "a git merge was left"),
        ("rebase", "a git rebase was left"),
    ] {
        let sandbox = started();
        let before = sandbox.print();
        let agent = sandbox.completing(&format!(
            "git checkout -q -b other HEAD^; git checkout -q -f other; echo other >README.md
             git commit -qam other; git checkout -q -f ralph/add-login; git {operation} other >/dev/null 2>&1
             git branch -qD other; true"
        ));
        sandbox.step("next", &agent).exits(3).says(says);
        let after = sandbox.print();
        assert_eq!(
            (after.files, after.index, after.head),
            (before.files, before.index, before.head)
        );
        sandbox.is_at_checkpoint();
    }
}

#[test]
fn work_done_off_the_branch_is_what_counts() {
    let sandbox = started();
    let agent = sandbox
        .completing("git checkout -q -b mine; echo x >x; git add x; git commit -qm 'on mine'; echo y >y");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("HEAD was on mine and is put back to ralph/add-login");
    sandbox.is_at_checkpoint();
    assert_eq!(
        (sandbox.read("x"), sandbox.read("y")),
        ("x\n".to_owned(), "y\n".to_owned())
    );
    assert_eq!(sandbox.subjects("mine")[0], "on mine");
    let agent = sandbox.completing("git checkout -q --detach; echo z >z; git add z; git commit -qm detached");
    sandbox.step("next", &agent).exits(0).says("HEAD was detached");
    assert_eq!(sandbox.subjects("HEAD")[..2], ["checkpoint: 2", "detached"]);
}

#[test]
fn a_nested_repository_of_the_agent_is_gone() {
    let sandbox = fails_without_a_trace(
        "mkdir nested; cd nested; git init -q; echo x >x; git add x; git -c user.name=A -c user.email=a@b commit -qm x",
    );
    assert_eq!(kept(&sandbox, "nested/x"), "x");
}

#[test]
fn files_hidden_by_ignore_rules_are_gone() {
    fails_without_a_trace(
        "echo hidden >.gitignore; echo x >hidden; echo more >src/.gitignore; echo x >src/more",
    );
    fails_without_a_trace(
        "mkdir -p .git/info; echo sly >>.git/info/exclude; echo x >sly; : >.git/info/exclude",
    );
}

#[test]
fn the_users_ignored_files_survive() {
    for script in [
        "git add -f .env; git commit -qm secrets; echo x >x",
        "git add -f .env; echo x >>README.md",
        ": >.gitignore; git add -A; git commit -qm all",
        "rm .gitignore; echo x >x",
    ] {
        let sandbox = fails_without_a_trace(script);
        assert_eq!(sandbox.read(".env"), "SECRET=1\n", "after {script}");
        let tree = sandbox.git(&["ls-tree", "--name-only", "HEAD"]);
        assert!(!tree.contains(".env"), "after {script}");
    }
}

#[test]
fn a_damaged_index_and_stale_locks_are_mended() {
    fails_without_a_trace("echo garbage >.git/index; echo x >x");
    fails_without_a_trace("rm .git/index; echo x >x");
    fails_without_a_trace("echo x >x; git add x; : >.git/index.lock");
    fails_without_a_trace("git update-index --assume-unchanged README.md; echo x >>README.md");
    fails_without_a_trace("git update-index --skip-worktree README.md; rm README.md");
}

#[test]
fn read_only_directories_and_pipes_are_no_obstacle() {
    fails_without_a_trace("mkdir closed; echo x >closed/x; chmod 500 closed");
    fails_without_a_trace("rm README.md; mkfifo README.md; rm -r src; mkfifo src");
    fails_without_a_trace("rm -rf src; ln -s \"$notes\" src; echo x >\"$notes/mine\"");
}

#[test]
fn stashes_and_cleaned_directories_are_undone() {
    let sandbox = fails_without_a_trace("echo x >>README.md; git stash -q; git stash drop -q");
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
    fails_without_a_trace("git clean -fdq; rm -rf ./*");
    fails_without_a_trace(
        "echo '* text eol=crlf' >.gitattributes; echo '* filter=none' >src/.gitattributes; echo x >>README.md",
    );
    fails_without_a_trace("git sparse-checkout set --no-cone src 2>/dev/null; echo x >x");
}

#[test]
fn closed_files_and_directories_are_undone() {
    let sandbox = started();
    let agent = sandbox.failing(
        "echo x >>README.md; chmod 000 README.md; mkdir -p d/e; echo x >d/e/x; chmod 000 d
         mkdir closed; echo x >closed/x; chmod 500 closed; mkdir -p bare/empty; chmod 500 bare",
    );
    sandbox.step("next", &agent).exits(3);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.read("README.md"), "# Edited\n");
    for gone in ["d", "closed", "bare"] {
        assert!(!sandbox.top.join(gone).exists(), "{gone} is still there");
    }
}

#[test]
fn permissions_that_an_attempt_took_or_gave_are_undone() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    let script =
        "echo key >key; chmod 600 key; mkdir -p empty/dir; chmod 700 empty; git update-index -q --refresh";
    sandbox.cmd("sh").args(["-c", script]).run().exits(0);
    sandbox.configure("ralph.maxRetries", "9");
    sandbox.start();
    let print = sandbox.print();
    for script in [
        "chmod 644 key; chmod 755 empty",
        "chmod 000 key README.md empty",
        "rm -r empty; echo x >src/new; chmod 555 src .",
        "mkdir -p new/deep; echo x >new/deep/x; chmod 000 new/deep; chmod 555 new; chmod 000 .",
        "chmod 000 .git/config; chmod -R a-w .git",
    ] {
        let ready = sandbox.status()["phase"] == "ready";
        let step = if ready { "next" } else { "retry" };
        sandbox.step(step, &sandbox.failing(script)).exits(3);
        assert_eq!(sandbox.print().files, print.files, "after {script}");
        sandbox.is_at_checkpoint();
    }
}

#[test]
fn names_that_are_no_text_are_undone_and_kept() {
    let script = "printf x >\"$(printf 'bad\\377name')\"; printf x >'two\nlines'; printf x >' leading'; mkdir 'q\"uote'; printf x >'q\"uote/-n'";
    fails_without_a_trace(script);
    let sandbox = started();
    let agent = sandbox.completing(script);
    sandbox.step("next", &agent).exits(0);
    sandbox.is_at_checkpoint();
    let files = sandbox.files();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn line_endings_survive() {
    for value in ["true", "input"] {
        let sandbox = Sandbox::new();
        sandbox.configure("core.autocrlf", value);
        sandbox.configure("core.safecrlf", "true");
        sandbox.write("crlf.txt", "a\r\nb\r\n");
        sandbox.write("mixed.txt", "a\r\nb\n");
        let (files, mtimes) = (sandbox.files(), sandbox.mtimes());
        sandbox.start();
        let agent = sandbox.failing("echo x >new");
        sandbox.step("next", &agent).exits(3);
        assert_eq!((sandbox.files(), sandbox.mtimes()), (files, mtimes));
        sandbox.is_at_checkpoint();
    }
}

#[test]
fn a_story_may_delete_files_whose_lines_git_converts() {
    let sandbox = Sandbox::new();
    sandbox.configure("core.autocrlf", "input");
    sandbox.start();
    let agent = sandbox.completing("rm old.txt; git rm -q --cached tool; echo tool >>.gitignore");
    sandbox.step("next", &agent).exits(0);
    let committed = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(!committed.contains("old.txt") && !committed.contains("tool"));
}

#[test]
fn a_users_sparse_checkout_stays_sparse() {
    let sandbox = Sandbox::new();
    // Git leaves files alone that it does not know to be unchanged.
    sandbox.git(&["update-index", "--refresh"]);
    sandbox.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/openspec/",
        "/README.md",
        "/.gitignore",
    ]);
    assert!(!sandbox.top.join("src").exists());
    let files = sandbox.files();
    sandbox.start();
    assert_eq!(sandbox.files(), files);
    assert!(
        sandbox
            .git(&["ls-tree", "-r", "--name-only", "HEAD"])
            .contains("src/lib.txt")
    );
    let agent = sandbox.failing("echo x >x; rm README.md");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.files(), files);
    let agent = sandbox.completing("echo x >x");
    sandbox.step("retry", &agent).exits(0);
    assert!(
        sandbox
            .git(&["ls-tree", "-r", "--name-only", "HEAD"])
            .contains("src/lib.txt")
    );
}

#[test]
fn the_directory_itself_can_go() {
    fails_without_a_trace("cd ..; for f in repo/* repo/.gitignore; do rm -rf \"$f\"; done");
}

#[test]
fn the_loops_own_files_can_go() {
    fails_without_a_trace("rm -rf .git/ralph; echo x >x");
}

#[test]
fn planted_hooks_and_settings_do_not_matter() {
    fails_without_a_trace(
        "mkdir -p .git/hooks; for h in reference-transaction post-index-change post-checkout pre-commit; do printf '#!/bin/sh\nexit 1\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done; echo x >x",
    );
}

#[test]
fn flags_do_not_hide_finished_work() {
    let sandbox = started();
    let agent = sandbox.completing(
        "git update-index --assume-unchanged README.md src/lib.txt; git update-index --skip-worktree tool
         echo work >README.md; echo work >tool",
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:README.md"]), "work");
    assert_eq!(sandbox.git(&["show", "HEAD:tool"]), "work");
    sandbox.is_at_checkpoint();
}

#[test]
fn edits_between_steps_are_a_checkpoint_of_their_own() {
    let sandbox = started();
    sandbox.write("by-hand.txt", "mine\n");
    sandbox.write("README.md", "# By hand\n");
    let agent = sandbox.failing("rm by-hand.txt; echo x >README.md");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("edits made since the last checkpoint are kept");
    assert_eq!(sandbox.read("by-hand.txt"), "mine\n");
    assert_eq!(sandbox.read("README.md"), "# By hand\n");
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: edits before 1");
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    sandbox.write("by-hand.txt", "committed\n");
    sandbox.git(&["commit", "-qam", "my own"]);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        sandbox.subjects("HEAD")[..3],
        ["checkpoint: 2", "checkpoint: edits before 2", "my own"]
    );
}

#[test]
fn head_elsewhere_needs_a_person() {
    let sandbox = started();
    sandbox.git(&["checkout", "-q", "main"]);
    let before = sandbox.print();
    let agent = sandbox.completing("true");
    sandbox
        .ralph(&["next", CHANGE, "--", &agent])
        .exits(7)
        .says("HEAD is on main, not on ralph/add-login")
        .says("hint: git checkout ralph/add-login");
    assert_eq!(sandbox.print(), before);
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    sandbox.git(&["commit", "-q", "--amend", "-m", "by hand"]);
    sandbox
        .step("next", &agent)
        .exits(7)
        .says("no longer contains its checkpoint");
}

#[test]
fn without_an_agent_nothing_happens() {
    let sandbox = started();
    let (print, state) = (sandbox.print(), sandbox.state());
    sandbox
        .ralph(&["next"])
        .exits(1)
        .says("no agent is named")
        .says("hint: git ralph next -- ");
    sandbox
        .step("next", "no-such-agent")
        .exits(1)
        .says("cannot be found");
    assert_eq!((sandbox.print(), sandbox.state()), (print, state));
}

#[test]
fn a_configured_agent_is_a_shell_line() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo \"$1\" >\"$notes/arg\"; cat >\"$notes/prompt\"");
    sandbox.configure("ralph.agent", &format!("{agent} 'a b'"));
    sandbox.start();
    sandbox.ralph(&["next"]).exits(0);
    assert_eq!(sandbox.noted("arg"), "a b\n");
    assert!(sandbox.noted("prompt").contains("1.1 Add the table"));
    let file = sandbox.completing("cp \"$1\" \"$notes/copy\"; wc -c >\"$notes/stdin\"");
    sandbox.ralph(&["next", "--", &file, "{prompt_file}"]).exits(0);
    assert!(sandbox.noted("copy").contains("2.1 Check the password"));
    assert_eq!(sandbox.noted("stdin").trim(), "0");
}

#[test]
fn no_story_left_is_exit_5() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("true");
    for _ in 0..3 {
        sandbox.step("next", &agent).exits(0);
    }
    let print = sandbox.print();
    for step in ["next", "retry"] {
        let output = sandbox.step(step, &agent).exits(5);
        output
            .says("no story is left to do: 3 of 3")
            .says("hint: git ralph finish --cleanup add-login");
    }
    assert_eq!(sandbox.print(), print);
}

#[test]
fn what_is_a_promise_and_what_is_not() {
    let cases = [
        ("true", "no_signal"),
        ("exit 3", "no_signal"),
        ("complete >&2", "no_signal"),
        ("complete; exit 1", "complete"),
        ("failed a; complete", "complete"),
        ("complete; failed b", "failed"),
        ("printf '<promise>COMPLETE</prom'", "no_signal"),
        ("printf 'done: <promise>COMPLETE</promise>'", "complete"),
        (
            "echo 'I shall print <promise>COMPLETE</promise> when I am done.'; echo bye",
            "no_signal",
        ),
        (
            "printf 'a\\377\\376b\\n<promise>COMPLETE</promise>\\n'",
            "complete",
        ),
        ("printf '\\377\\376\\n'", "no_signal"),
        ("echo '<promise>DONE</promise>'", "no_signal"),
        ("cat", "no_signal"),
        ("cat; complete", "complete"),
        ("printf '**<promise>COMPLETE</promise>**\\r\\n'", "complete"),
        (
            "printf '\\033[32m<promise>COMPLETE</promise>\\033[0m\\n'",
            "complete",
        ),
    ];
    let sandbox = Sandbox::new();
    let stories: String = (1..=cases.len()).map(|n| format!("- [ ] {n}. Story\n")).collect();
    sandbox.write(TASKS, &stories);
    sandbox.ralph(&["start", CHANGE, "--max-retries", "99"]).exits(0);
    let mut step = "next";
    for (script, verdict) in cases {
        let agent = sandbox.agent(&format!("echo x >>touched\n{script}"));
        let output = sandbox.step(step, &agent);
        let code = if verdict == "complete" { 0 } else { 3 };
        assert_eq!(output.code, code, "of {script}: {}", output.stderr);
        step = if code == 0 { "next" } else { "retry" };
    }
    let attempts = sandbox.attempts();
    let verdicts = attempts.iter().map(|attempt| attempt["verdict"].as_str());
    for ((script, wanted), verdict) in cases.iter().zip(verdicts) {
        assert_eq!(verdict, Some(*wanted), "of {script}");
    }
    sandbox.is_at_checkpoint();
}

#[test]
fn one_line_of_100_megabytes_is_nothing_special() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("head -c 100000000 /dev/zero | tr '\\0' x; echo");
    let quiet = sandbox.ralph(&["-q", "next", "--", &agent]).exits(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn the_final_message_of_claude_decides() {
    let line = |kind: &str, rest: &str| format!("{{\"type\":\"{kind}\",{rest}}}");
    let begin = line("system", "\"subtype\":\"init\",\"session_id\":\"s\"");
    let talk = line(
        "assistant",
        "\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"<promise>COMPLETE</promise>\"}]}",
    );
    let result = |text: &str| {
        let text = format!("\"subtype\":\"success\",\"is_error\":false,\"result\":\"{text}\"");
        line(
            "result",
            &format!("{text},\"total_cost_usd\":0.25,\"usage\":{{\"input_tokens\":7,\"output_tokens\":3}}"),
        )
    };
    let print = |lines: &[&str]| format!("cat <<'EOF'\n{}\nEOF", lines.join("\n"));

    let sandbox = Sandbox::new();
    sandbox.start();
    let red = sandbox.agent(&print(&[
        &begin,
        &talk,
        &result("<promise>FAILED: red</promise>"),
    ]));
    sandbox.step("next", &red).exits(3);
    let attempt = sandbox.attempts().pop().unwrap();
    assert_eq!(
        (&attempt["verdict"], &attempt["reason"]),
        (&"failed".into(), &"red".into())
    );
    assert_eq!(attempt["cost_usd"], 0.25);
    assert_eq!(
        (&attempt["input_tokens"], &attempt["output_tokens"]),
        (&7.into(), &3.into())
    );
    // Cut off: the result never came.
    let cut = sandbox.agent(&print(&[&begin, &talk]));
    let output = sandbox.step("retry", &cut);
    assert_ne!(output.code, 0, "{}", output.stderr);
    assert_eq!(sandbox.verdict(), "interrupted");
    sandbox.is_at_checkpoint();
    let green = sandbox.agent(&print(&[&begin, &talk, &result(&format!("Done.\\n{COMPLETE}"))]));
    sandbox.step("retry", &green).exits(0);
}

#[test]
fn an_agent_that_cannot_work_stops_the_loop() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("exec no-such-program-at-all");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("could not work on the story 1");
    assert_eq!(sandbox.verdict(), "not_started");
    assert_eq!(sandbox.status()["current"]["retries"], 0);
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn a_time_limit_ends_everything_the_agent_started() {
    let sandbox = started();
    let before = sandbox.files();
    let agent = sandbox.agent(
        "trap '' TERM
         setsid sh -c 'trap \"\" TERM; echo $$ >\"$0/grandchild\"; while :; do sleep 1; done' \"$notes\" &
         echo x >x; complete
         while :; do sleep 1; done",
    );
    let output = sandbox.ralph(&["next", "--timeout", "1s", "--", &agent]).exits(3);
    output
        .says("timed out")
        .says("ended after 1 seconds, its time limit");
    assert!(sandbox.notes.join("grandchild").exists());
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.verdict(), "timed_out");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn silence_ends_an_attempt_too() {
    let sandbox = started();
    let agent = sandbox.agent("echo hello; sleep 600");
    sandbox
        .ralph(&["next", "--idle-timeout", "1s", "--", &agent])
        .exits(3)
        .says("ended after 1 seconds without output");
    sandbox.nothing_is_alive();
}

#[test]
fn an_interruption_does_not_count() {
    let sandbox = started();
    let before = sandbox.files();
    let agent = sandbox.agent("echo x >x; echo >\"$notes/at-work\"; complete; sleep 600");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.files(), before);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.verdict(), "interrupted");
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["next"]),
        (&"ready".into(), &"next".into())
    );
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn ctrl_c_reaches_git_and_all_it_started() {
    let sandbox = started();
    let before = sandbox.files();
    let agent = sandbox.agent("echo x >x; rm README.md; echo >\"$notes/at-work\"; sleep 600");
    let running = sandbox.ralph_cmd(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    // As a terminal does: the whole group, git in front included.
    running.signal_group(Signal::SIGINT);
    running.end().exits(130);
    wait_until("git-ralph has ended", || sandbox.alive().is_empty());
    assert_eq!(sandbox.files(), before);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.verdict(), "interrupted");
}

#[test]
fn what_the_agent_leaves_running_is_ended() {
    let sandbox = started();
    let agent = sandbox.completing(
        "(while :; do echo x >>late; sleep 0.01; done) & setsid sleep 600 >/dev/null 2>&1 &\nsleep 0.1",
    );
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("processes running; they were ended");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
}

#[test]
fn a_large_prompt_and_an_agent_that_does_not_read_it() {
    let sandbox = Sandbox::new();
    let body = "word ".repeat(200_000);
    sandbox.write(
        TASKS,
        &format!("## 1. Long\n\n{body}\n\n- [ ] 1.1 One\n\n## 2. More\n- [ ] 2.1 Two\n"),
    );
    sandbox.start();
    let agent =
        sandbox.completing("head -c 2000000 /dev/zero | tr '\\0' x; cat | wc -c >\"$notes/size\"; echo");
    sandbox.ralph(&["-q", "next", "--", &agent]).exits(0);
    assert!(sandbox.noted("size").trim().parse::<usize>().unwrap() > body.len());
    sandbox.write(TASKS, &format!("## 3. Long\n\n{body}\n\n- [ ] 3.1 One\n"));
    let deaf = sandbox.completing("exec <&-");
    sandbox.ralph(&["-q", "next", "--", &deaf]).exits(0);
}

#[test]
fn the_agents_environment() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("env >\"$notes/env\"; cat \"$RALPH_PROMPT_FILE\" >\"$notes/prompt\"; echo use make >>\"$RALPH_LEARNINGS\"");
    let cmd = sandbox
        .git_cmd(&["-c", "ralph.maxRetries=5", "ralph", "next", "--", &agent])
        .env("GIT_DIR", sandbox.top.join(".git"));
    cmd.run().exits(0);
    let env = sandbox.noted("env");
    let has = |line: &str| env.lines().any(|have| have == line);
    assert!(has("RALPH_CHANGE=add-login") && has("RALPH_STORY=1"), "{env}");
    assert!(
        has("RALPH_STORY_TITLE=1. Database") && has("RALPH_ATTEMPT=1"),
        "{env}"
    );
    assert!(has("RALPH_BRANCH=ralph/add-login"), "{env}");
    assert!(
        env.lines().any(|line| line.starts_with("GIT_RALPH_RUN=")),
        "{env}"
    );
    for name in ["GIT_DIR=", "GIT_INDEX_FILE=", "GIT_WORK_TREE=", "GIT_PREFIX="] {
        assert!(!env.lines().any(|line| line.starts_with(name)), "{name} in {env}");
    }
    assert!(sandbox.noted("prompt").starts_with("# Story 1. Database"));
    assert!(sandbox.ralph(&["prompt"]).exits(0).stdout.contains("use make"));
}

#[test]
fn gates_must_succeed() {
    let sandbox = Sandbox::new();
    let gate = "for i in $(seq 1 60); do echo line $i; done; test -f wanted";
    sandbox.configure("ralph.verifyBaseline", "strict");
    sandbox.ralph(&["start", CHANGE, "--verify", gate]).exits(0);
    let agent = sandbox.completing("cat >\"$notes/prompt\"; echo x >x");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
    assert!(!sandbox.top.join("x").exists());
    sandbox.step("retry", &agent).exits(3);
    let prompt = sandbox.noted("prompt");
    assert!(
        prompt.contains("> line 60\n") && prompt.contains("> line 21\n"),
        "{prompt}"
    );
    assert!(!prompt.contains("> line 20\n"), "{prompt}");
    let agent = sandbox.completing("echo x >wanted");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");
}

#[test]
fn only_the_box_changes_in_the_list() {
    let odd = "\u{feff}# T\u{e4}sks\r\n\r\n## 1. One\r\n* [ ] 1.1 a\t\r\n    * [ ] nested \u{1f600}\r\n- [x] 1.2 b\r\n```\r\n- [ ] code\r\n```\r\n## 2. Two\r\n+ [ ] 2.1 c";
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, odd);
    fs::set_permissions(sandbox.top.join(TASKS), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.start();
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    let one = odd
        .replace("* [ ] 1.1", "* [x] 1.1")
        .replace("* [ ] nested", "* [x] nested");
    assert_eq!(sandbox.read(TASKS), one);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.read(TASKS), one.replace("+ [ ] 2.1", "+ [x] 2.1"));
    let mode = fs::metadata(sandbox.top.join(TASKS))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    sandbox.is_at_checkpoint();
}

#[test]
fn the_agent_may_tick_and_may_tick_others() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\] \\([12]\\)/[x] \\1/' {TASKS}"));
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the agent also ticked off: 2");
    assert_eq!(sandbox.status()["stories_done"], 2);
    let agent = sandbox.agent("echo $RALPH_STORY >\"$notes/story\"; complete");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("story"), "3\n");
}

#[test]
fn a_list_that_the_agent_destroys_is_a_failure_with_a_reason() {
    for script in [
        format!("rm {TASKS}"),
        format!("rm {TASKS}; mkdir {TASKS}"),
        format!("rm {TASKS}; mkfifo {TASKS}"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let list = sandbox.read(TASKS);
        let agent = sandbox.completing(&script);
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "failed");
        assert_eq!(sandbox.read(TASKS), list);
        let reason = sandbox.status()["current"]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(TASKS), "{reason}");
    }
}

#[test]
fn an_ignored_list_is_put_back_too() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.log", "## 1. One\n- [ ] 1.1 a\n\n## 2. Two\n- [ ] 2.1 b\n");
    sandbox
        .ralph(&["start", CHANGE, "--stories", "plan.log"])
        .exits(0);
    let list = sandbox.read("plan.log");
    let agent = sandbox.failing("sed -i 's/\\[ \\]/[x]/' plan.log");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("plan.log"), list);
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(sandbox.read("plan.log"), list.replace("[ ] 1.1", "[x] 1.1"));
}

/// A `git` that logs its arguments, first on `PATH`.
fn with_logged_git(sandbox: &Sandbox, cmd: Cmd) -> Cmd {
    let real = sandbox.cmd("sh").args(["-c", "command -v git"]).run().exits(0);
    let real = real.stdout.trim().to_owned();
    let bin = sandbox.outside("bin");
    fs::create_dir_all(&bin).unwrap();
    let log = sandbox.notes.join("git.log");
    let shim = format!(
        "#!/bin/sh\nprintf '%s ' \"$@\" >>'{}'\necho >>'{0}'\nexec '{real}' \"$@\"\n",
        log.display()
    );
    fs::write(bin.join("git"), shim).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let _ = fs::remove_file(&log);
    let dirs = std::iter::once(bin).chain(search_path());
    cmd.env("PATH", std::env::join_paths(dirs).unwrap())
}

/// The verbs of the git commands that ran.
fn logged(sandbox: &Sandbox) -> Vec<String> {
    let verb = |line: &str| {
        let mut words = line.split(' ');
        while let Some(word) = words.next() {
            match word {
                "-C" | "-c" => drop(words.next()),
                verb => return verb.to_owned(),
            }
        }
        String::new()
    };
    sandbox.noted("git.log").lines().map(verb).collect()
}

#[test]
fn no_step_runs_porcelain_and_each_runs_few_commands() {
    let sandbox = Sandbox::dirty();
    let completing = sandbox.completing("echo x >x");
    let failing = sandbox.failing("echo x >y");
    for (args, code, most) in [
        (&["start", CHANGE][..], 0, 25),
        (&["status", CHANGE], 0, 3),
        (&["next", "--", &completing], 0, 25),
        (&["next", "--", &failing], 3, 32),
        (&["finish", "--cleanup"], 0, 16),
    ] {
        with_logged_git(&sandbox, sandbox.direct(args)).run().exits(code);
        let verbs = logged(&sandbox);
        for porcelain in [
            "merge", "checkout", "commit", "reset", "clean", "switch", "restore", "stash", "branch",
        ] {
            assert!(
                !verbs.iter().any(|verb| verb == porcelain),
                "{porcelain} in {args:?}: {verbs:?}"
            );
        }
        assert!(
            verbs.len() <= most,
            "{} git commands in {args:?}: {verbs:?}",
            verbs.len()
        );
    }
}

#[test]
fn what_git_writes_for_us_is_on_disk_before_it_is_relied_upon() {
    let sandbox = Sandbox::dirty();
    let agent = sandbox.failing("echo x >x");
    for args in [&["start", CHANGE][..], &["next", "--", &agent]] {
        with_logged_git(&sandbox, sandbox.direct(args)).run();
        for line in sandbox.noted("git.log").lines() {
            let writes = [
                " add ",
                " commit-tree ",
                " update-ref ",
                " symbolic-ref -m",
                " write-tree",
            ];
            if writes.iter().any(|verb| line.contains(verb)) {
                assert!(line.contains("-c core.fsync=committed,reference "), "{line}");
                assert!(line.contains("-c gc.auto=0 "), "{line}");
            }
        }
    }
}

#[test]
fn branches_and_tags_that_a_failed_attempt_moved_or_deleted_come_back() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    sandbox.git(&["tag", "v1"]);
    sandbox.start();
    let refs = |pattern: &str| sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)", pattern]);
    let before = refs("refs/heads") + &refs("refs/tags");
    let mess = "echo x > x; git add -A; git commit -qm x; git branch -f main HEAD; git branch -D other; git tag -d v1";
    sandbox
        .step("next", &sandbox.failing(mess))
        .exits(3)
        .says("the attempt moved the branch main")
        .says("the attempt deleted the branch other")
        .says("the attempt deleted the tag v1");
    assert_eq!(refs("refs/heads") + &refs("refs/tags"), before);
    let kept = sandbox.git(&[
        "for-each-ref",
        "--contains=refs/ralph/add-login/attempts/1/1^",
        "--format=%(refname)",
    ]);
    assert!(kept.contains("refs/ralph/add-login/attempts/1/1"), "{kept}");
}

#[test]
fn work_in_the_stash_is_no_finished_story() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo x >> README.md; git stash"))
        .exits(3)
        .says("put into the stash");
    assert_eq!(sandbox.git(&["stash", "list"]).lines().count(), 1);
    sandbox
        .step("retry", &sandbox.completing("echo y >> README.md"))
        .exits(0);
}

#[test]
fn what_git_does_not_keep_comes_back() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::dirty();
    let mode = |path: &str| fs::metadata(sandbox.top.join(path)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(sandbox.top.join("README.md"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(sandbox.top.join("empty/dir")).unwrap();
    sandbox.start();
    let files = sandbox.files();
    let secret = sandbox.read(".env");
    sandbox
        .step("next", &sandbox.failing("rm -rf ./* .env; mkdir made"))
        .exits(3);
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.read(".env"), secret);
    assert_eq!(mode("README.md"), 0o600);
    assert!(sandbox.top.join("empty/dir").is_dir() && !sandbox.top.join("made").exists());
}

#[test]
fn bytes_that_git_would_not_give_back_come_back() {
    let sandbox = Sandbox::new();
    sandbox.configure("core.autocrlf", "true");
    sandbox.write("mixed.txt", "lf\ncrlf\r\n");
    sandbox.start();
    let files = sandbox.files();
    sandbox
        .step("next", &sandbox.failing("rm mixed.txt; echo x > README.md"))
        .exits(3);
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_was_ignored_when_the_loop_began_never_enters_a_checkpoint() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    sandbox
        .step(
            "next",
            &sandbox.completing(": > .gitignore; git add -A; git add -f .env"),
        )
        .exits(0)
        .says("git ignored it when the loop began");
    let tree = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(!tree.lines().any(|name| name == ".env"), "{tree}");
    assert!(sandbox.top.join(".env").exists());
}

#[test]
fn git_s_own_files_are_put_back() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let config = sandbox.read(".git/config");
    let sly = "git config core.hooksPath /tmp/evil; mkdir -p .git/info; echo sly >> .git/info/exclude; echo x > sly; \
        printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    sandbox
        .step("next", &sandbox.failing(sly))
        .exits(3)
        .says("it is put back");
    assert_eq!(sandbox.read(".git/config"), config);
    assert!(!sandbox.top.join("sly").exists() && !sandbox.top.join(".git/hooks/pre-commit").exists());
    sandbox.is_at_checkpoint();
}

#[test]
fn what_git_does_not_list_does_not_stay() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let files = sandbox.files();
    let sly = "mkfifo src/pipe pipe; echo '*' > src/.gitignore; echo x > src/hidden.txt";
    sandbox.step("next", &sandbox.failing(sly)).exits(3);
    assert_eq!(sandbox.files(), files);
    assert!(!sandbox.top.join("pipe").exists() && !sandbox.top.join("src/pipe").exists());
}

#[test]
fn permissions_that_a_person_changed_between_steps_are_no_attempts_to_take_along() {
    let sandbox = started();
    let path = sandbox.top.join("README.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let agent = sandbox.failing("chmod 644 README.md; echo x >>README.md");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
