//! A failed attempt leaves nothing behind in the work tree, and takes nothing of the user's along.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Sandbox;

/// Lets an agent do something and fail, and asserts that nothing of it is left.
#[track_caller]
pub fn fails_without_a_trace(script: &str) -> Sandbox {
    let sandbox = Sandbox::started();
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

/// A file as the first attempt at the first story left it.
pub fn kept(sandbox: &Sandbox, path: &str) -> String {
    sandbox.git(&["show", &format!("refs/ralph/add-login/attempts/1/1:{path}")])
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
    let sandbox = Sandbox::started();
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
fn files_ignored_at_the_start_never_enter_a_checkpoint() {
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
fn failed_attempt_undoes_read_only_directories_and_pipes() {
    fails_without_a_trace("mkdir closed; echo x >closed/x; chmod 500 closed");
    fails_without_a_trace("rm README.md; mkfifo README.md; rm -r src; mkfifo src");
    fails_without_a_trace("rm -rf src; ln -s \"$notes\" src; echo x >\"$notes/mine\"");
}

#[test]
fn closed_files_and_directories_are_undone() {
    let sandbox = Sandbox::started();
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
fn failed_attempt_keeps_permissions_that_the_user_changed_before() {
    let sandbox = Sandbox::started();
    let path = sandbox.top.join("README.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let agent = sandbox.failing("chmod 644 README.md; echo x >>README.md");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn failed_attempt_restores_modes_empty_directories_and_ignored_files() {
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
fn failed_attempt_removes_files_that_git_does_not_list() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let files = sandbox.files();
    let sly = "mkfifo src/pipe pipe; echo '*' > src/.gitignore; echo x > src/hidden.txt";
    sandbox.step("next", &sandbox.failing(sly)).exits(3);
    assert_eq!(sandbox.files(), files);
    assert!(!sandbox.top.join("pipe").exists() && !sandbox.top.join("src/pipe").exists());
}

#[test]
fn names_that_are_no_text_are_undone_and_kept() {
    let script = "printf x >\"$(printf 'bad\\377name')\"; printf x >'two\nlines'; printf x >' leading'; mkdir 'q\"uote'; printf x >'q\"uote/-n'";
    fails_without_a_trace(script);
    let sandbox = Sandbox::started();
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
    let agent = sandbox.completing("git sparse-checkout disable; echo y >>x");
    sandbox.step("next", &agent).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn failed_attempt_restores_a_deleted_work_tree() {
    fails_without_a_trace("cd ..; for f in repo/* repo/.gitignore; do rm -rf \"$f\"; done");
}

#[test]
fn abort_restores_an_ignored_file_that_a_complete_story_deleted() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("rm .env; echo x >x");
    sandbox.step("next", &agent).exits(0);
    let agent = sandbox.failing("echo y >y");
    sandbox.step("next", &agent).exits(3);
    assert!(!sandbox.top.join(".env").exists());
    sandbox.write(".env", "SECRET=2\n");
    let agent = sandbox.failing("rm .env");
    sandbox.step("retry", &agent).exits(3);
    assert_eq!(sandbox.read(".env"), "SECRET=2\n");
    std::fs::remove_file(sandbox.top.join(".env")).unwrap();
    sandbox.ralph(&["abort"]).exits(0);
    assert!(sandbox.top.join(".env").exists());
}

#[test]
fn failed_attempt_restores_permissions_in_the_second_of_the_checkout() {
    // Git compares whole seconds: in one of these seconds it sees nothing.
    for _ in 0..4 {
        let sandbox = Sandbox::new();
        let lib = sandbox.top.join("src/lib.txt");
        sandbox.start();
        let agent = sandbox.failing("chmod 600 src/lib.txt; echo x >x");
        sandbox.step("next", &agent).exits(3);
        let mode = || fs::metadata(&lib).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o644);
        // And those that a person gave in such a second stay.
        fs::set_permissions(&lib, fs::Permissions::from_mode(0o640)).unwrap();
        sandbox.step("retry", &sandbox.failing("echo x >x")).exits(3);
        assert_eq!(mode(), 0o640);
    }
}

#[test]
fn bytes_that_git_does_not_see_are_kept_before_they_are_undone() {
    let sandbox = Sandbox::new();
    sandbox.configure("filter.strip.clean", "sed /OUT/d");
    sandbox.configure("filter.strip.smudge", "cat");
    sandbox.write(".git/info/attributes", "*.nb filter=strip\n");
    sandbox.write("n.nb", "code\nOUT 8h\n");
    sandbox.start();
    // A person runs the notebook again.
    sandbox.write("n.nb", "code\nOUT 9h\n");
    sandbox.step("next", &sandbox.failing("true")).exits(3);
    assert_eq!(sandbox.read("n.nb"), "code\nOUT 9h\n");
    let agent = sandbox.failing("printf 'code\\nOUT agent\\n' >n.nb");
    sandbox
        .step("retry", &agent)
        .exits(3)
        .says("bytes that git would not give back are kept");
    assert_eq!(sandbox.read("n.nb"), "code\nOUT 9h\n");
    sandbox.ralph(&["restore", "1@2"]).exits(0);
    assert_eq!(sandbox.read("n.nb"), "code\nOUT agent\n");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.read("n.nb"), "code\nOUT 8h\n");
    let kept = sandbox.read(".git/ralph/add-login/trash/abort/raw/n.nb");
    assert_eq!(kept, "code\nOUT agent\n");
}

#[test]
fn ignored_files_that_came_after_the_beginning_come_back_too() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.write("later.log", "mine\n");
    let agent = sandbox.completing("echo made >made.log; echo x >x");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &sandbox.failing("rm *.log")).exits(3);
    assert_eq!(sandbox.read("later.log"), "mine\n");
    assert_eq!(sandbox.read("made.log"), "made\n");
}

#[test]
fn permissions_stay_unchanged_if_their_record_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.write("key", "secret\n");
    let key = sandbox.top.join("key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(sandbox.top.join("empty")).unwrap();
    sandbox.git(&["add", "-N", "key"]);
    let index = sandbox.git(&["ls-files", "-s", "--debug"]);
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("rm -rf .git/ralph"))
        .exits(3);
    sandbox
        .step("retry", &sandbox.completing("rm -rf .git/ralph; echo x >x"))
        .exits(0);
    sandbox.step("next", &sandbox.failing("echo y >>x")).exits(3);
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(sandbox.top.join("empty").is_dir());
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["ls-files", "-s", "--debug"]), index);
}

#[test]
fn abort_restores_no_ignored_file_made_during_the_loop() {
    let sandbox = Sandbox::new();
    let files = sandbox.files();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo made >made.log; echo x >x"))
        .exits(0);
    sandbox
        .step("next", &sandbox.completing("rm made.log; echo y >>x"))
        .exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn failing_filter_does_not_prevent_the_undo() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/attributes", "*.nb filter=odd\n");
    sandbox.configure("filter.odd.clean", "cat");
    // Fails for what the agent writes alone.
    sandbox.configure("filter.odd.smudge", "sed '/agent/q1'");
    sandbox.configure("filter.odd.required", "true");
    sandbox.write("n.nb", "mine\n");
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("echo agent >n.nb"))
        .exits(3);
    assert_eq!(sandbox.read("n.nb"), "mine\n");
    assert_eq!(sandbox.read(".git/ralph/add-login/trash/1.1/raw/n.nb"), "agent\n");
    sandbox.is_at_checkpoint();
}

#[test]
fn conversions_and_a_sparse_checkout_go_together() {
    for rule in ["* text=auto\n", "out/* eol=crlf\n", "* ident\n"] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", rule);
        sandbox.write("out/deep/o", "o\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "more"]);
        sandbox.git(&["update-index", "--refresh"]);
        sandbox.git(&["sparse-checkout", "set", "src", "openspec"]);
        let files = sandbox.files();
        sandbox.start();
        assert_eq!(sandbox.files(), files, "{rule}");
        let agent = sandbox
            .failing("echo '*.x filter=none' >src/.gitattributes; rm .gitattributes; echo x >>src/lib.txt");
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.files(), files, "{rule}");
        let agent = sandbox.completing("git sparse-checkout disable; echo y >>out/deep/o");
        sandbox.step("retry", &agent).exits(0);
        sandbox.is_at_checkpoint();
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), files, "{rule}");
    }
}

#[test]
fn wrong_encoding_of_a_file_harms_no_other_file() {
    let harm = "echo '*.txt working-tree-encoding=UTF-16' >.gitattributes; echo x >>old.txt; mkdir new
        echo w >new/work; echo w >z";
    let sandbox = Sandbox::new();
    sandbox.start();
    let before = sandbox.files();
    sandbox.step("next", &sandbox.failing(harm)).exits(3);
    assert_eq!(sandbox.files(), before);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(kept(&sandbox, "new/work"), "w");
    // Neither is a checkpoint made that lacks the file, or that would give it back otherwise.
    sandbox
        .step("retry", &sandbox.completing(harm))
        .exits(3)
        .says("git cannot convert these files as their attributes say: old.txt");
    assert_eq!(sandbox.files(), before);
    let attempt = "refs/ralph/add-login/attempts/1/2";
    assert_eq!(sandbox.git(&["show", &format!("{attempt}:old.txt")]), "old\nx");
    // Not changed, but looked at: git would have to convert it.
    let touched = "echo '*.txt working-tree-encoding=UTF-16' >.gitattributes; touch old.txt";
    sandbox.step("retry", &sandbox.failing(touched)).exits(3);
    assert_eq!(sandbox.files(), before);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}
