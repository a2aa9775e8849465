//! What an attempt does to the repository itself: commits, branches, HEAD, index and git's own files. A
//! failed one is undone there too, and a complete one must not have lost a checkpoint.

use super::undone::{fails_without_a_trace, kept};
use crate::support::{CHANGE, Sandbox};

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
fn branches_and_tags_that_a_failed_attempt_moved_or_deleted_come_back() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    sandbox.git(&["tag", "v1"]);
    // What the guard does not stop.
    sandbox.configure("ralph.guard", "false");
    sandbox.start();
    let refs = |pattern: &str| sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)", pattern]);
    let before = refs("refs/heads") + &refs("refs/tags");
    let mess = "echo x > x; git add -A; git commit -qm x; git branch -f main HEAD; git branch -D other; git tag -d v1";
    sandbox
        .step("next", &sandbox.failing(mess))
        .exits(3)
        .says("the branch main was moved from ")
        .says("the branch other was deleted during the attempt")
        .says("the tag v1 was deleted during the attempt");
    assert_eq!(refs("refs/heads") + &refs("refs/tags"), before);
    let kept = sandbox.git(&[
        "for-each-ref",
        "--contains=refs/ralph/add-login/attempts/1/1^",
        "--format=%(refname)",
    ]);
    assert!(kept.contains("refs/ralph/add-login/attempts/1/1"), "{kept}");
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
        let sandbox = Sandbox::new();
        // What the guard does not stop.
        sandbox.configure("ralph.guard", "false");
        sandbox.start();
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
        ("merge", "a git merge is in progress"),
        ("rebase", "a git rebase is in progress"),
    ] {
        let sandbox = Sandbox::started();
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
fn checkpoint_takes_the_work_from_another_branch() {
    let sandbox = Sandbox::started();
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
fn work_in_the_stash_is_no_finished_story() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.emptyStory", "confirm");
    sandbox.start();
    // The agent is not asked about an unchanged tree: it is clear where the work is.
    sandbox
        .step(
            "next",
            &sandbox.completing("echo call >>\"$notes/calls\"; echo x >> README.md; git stash"),
        )
        .exits(3)
        .says("put into the stash");
    assert_eq!(sandbox.noted("calls"), "call\n");
    let entry = sandbox.git(&["rev-parse", "--short=10", "refs/stash"]);
    sandbox
        .step(
            "retry",
            &sandbox.completing("cat >\"$notes/prompt\"; echo y >> README.md"),
        )
        .exits(0);
    let prompt = sandbox.noted("prompt");
    assert!(
        prompt.contains(&format!("'git stash apply {}'", entry.trim())),
        "{prompt}"
    );
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
fn step_repairs_a_damaged_index_and_stale_locks() {
    fails_without_a_trace("echo garbage >.git/index; echo x >x");
    fails_without_a_trace("rm .git/index; echo x >x");
    fails_without_a_trace("echo x >x; git add x; : >.git/index.lock");
    fails_without_a_trace("git update-index --assume-unchanged README.md; echo x >>README.md");
    fails_without_a_trace("git update-index --skip-worktree README.md; rm README.md");
}

#[test]
fn flags_do_not_hide_finished_work() {
    let sandbox = Sandbox::started();
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
fn planted_hooks_and_settings_do_not_matter() {
    fails_without_a_trace(
        "mkdir -p .git/hooks; for h in reference-transaction post-index-change post-checkout pre-commit; do printf '#!/bin/sh\nexit 1\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done; echo x >x",
    );
}

#[test]
fn failed_attempt_restores_deleted_files_of_the_loop() {
    fails_without_a_trace("rm -rf .git/ralph; echo x >x");
}

/// The standard repository with work of the user's, and a linked work tree inside it in which a loop is started.
fn work_tree_inside() -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/inner\n");
    sandbox.git(&["commit", "-qam", "ignore"]);
    sandbox.git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    sandbox.write("README.md", "precious\n");
    sandbox.write("untracked", "mine\n");
    let inner = sandbox.top.join("inner");
    sandbox.ralph_cmd(&["start", CHANGE]).dir(&inner).run().exits(0);
    (sandbox, inner)
}

#[test]
fn a_work_tree_that_loses_its_git_file_is_not_mistaken_for_the_one_above() {
    for (harm, promise) in [
        ("rm .git", "complete"),
        ("mv .git elsewhere", "failed it"),
        ("rm .git; git init -q; echo y >y; git add y", "failed it"),
        ("rm .git; ln -s ../.git .git", "complete"),
        ("d=$PWD; cd ..; rm -rf \"$d\"", "failed it"),
    ] {
        let (sandbox, inner) = work_tree_inside();
        let before = sandbox.print();
        let agent = sandbox.agent(&format!("echo x >x; {harm}; {promise}"));
        let output = sandbox
            .ralph_cmd(&["next", CHANGE, "--", &agent])
            .dir(&inner)
            .run();
        let output = output.says("no longer led to the repository");
        assert_eq!(output.code, if promise == "complete" { 0 } else { 3 }, "{harm}");
        let after = sandbox.print();
        assert_eq!((after.head, after.index), (before.head, before.index), "{harm}");
        assert_eq!(sandbox.read("README.md"), "precious\n", "{harm}");
        assert_eq!(sandbox.read("untracked"), "mine\n", "{harm}");
        let status = sandbox
            .git_cmd(&["status", "--porcelain"])
            .dir(&inner)
            .run()
            .exits(0);
        assert_eq!(status.stdout, "", "{harm}");
        let branch = sandbox.git_cmd(&["branch", "--show-current"]).dir(&inner).run();
        assert_eq!(branch.stdout, "ralph/add-login\n");
    }
}

#[test]
fn step_touches_nothing_if_the_repository_is_gone() {
    for (gone, harm) in [
        (".git", "cp -r .git moved; until rm -rf .git; do :; done"),
        (".git/objects", "mv .git/objects moved"),
    ] {
        let sandbox = Sandbox::started();
        let agent = sandbox.completing(&format!("echo x >x; {harm}"));
        let output = sandbox.direct(&["next", "--", &agent]).run().exits(7);
        output
            .says(&format!("{gone} was moved, replaced or deleted"))
            .says("move it back");
        assert!(!sandbox.top.join(gone).exists());
        assert_eq!(sandbox.read("x"), "x\n");
        std::fs::rename(sandbox.top.join("moved"), sandbox.top.join(gone)).unwrap();
        sandbox.ralph(&["status"]).exits(0);
        sandbox.is_at_checkpoint();
        let kept = "refs/ralph/add-login/attempts/1/1:x";
        assert_eq!(sandbox.git(&["show", kept]), "x");
    }
}

#[test]
fn step_restores_refs_that_keep_work_for_any_verdict() {
    let sandbox = Sandbox::started();
    sandbox
        .step("next", &sandbox.failing("echo precious >p"))
        .exits(3);
    let refs = || sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/ralph"]);
    let before = refs();
    let harm =
        "rm -rf .git/refs/ralph; git pack-refs --all; sed -i /refs.ralph/d .git/packed-refs; echo y >y";
    let says = "attempts/1/1 was deleted during the attempt (it was at";
    sandbox
        .step("retry", &sandbox.completing(harm))
        .exits(0)
        .says(says);
    assert_eq!(refs(), before);
    sandbox.step("next", &sandbox.failing(harm)).exits(3).says(says);
    assert!(refs().starts_with(&before[..before.find(' ').unwrap()]));
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:p"]),
        "precious"
    );
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn notes_and_other_refs_come_back_and_replacements_go_away() {
    let sandbox = Sandbox::new();
    sandbox.git(&["notes", "add", "-m", "mine"]);
    sandbox.git(&["update-ref", "refs/custom/keep", "HEAD"]);
    let refs = || {
        sandbox.git(&[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/notes",
            "refs/custom",
            "refs/replace",
        ])
    };
    let before = refs();
    sandbox.start();
    let harm = "git update-ref -d refs/notes/commits; git update-ref -d refs/custom/keep
        git replace main $(git commit-tree -m evil HEAD^{tree}); echo x >x";
    let agent = sandbox.failing(harm);
    sandbox
        .ralph(&["next", "--", &agent])
        .exits(3)
        .says("it is taken away");
    assert_eq!(refs(), before);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "main"]), "first");
}

#[test]
fn step_repairs_a_damaged_index_beside_a_submodule() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.start();
    let agent = sandbox.completing("echo x >x; echo junk >.git/index");
    sandbox.step("next", &agent).exits(0);
    sandbox.is_at_checkpoint();
}

#[test]
fn step_leaves_refs_of_other_loops_alone() {
    let sandbox = Sandbox::new();
    sandbox.git(&["update-ref", "refs/ralph/other/start", "HEAD"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    sandbox.configure("ralph.guard", "false");
    sandbox.start();
    let refs = || {
        sandbox.git(&[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/ralph/other",
        ])
    };
    // As a loop in another work tree does meanwhile.
    let meanwhile = "git update-ref refs/ralph/other/start main; git update-ref refs/ralph/other/anchor main";
    for (step, end) in [("next", "failed red"), ("retry", "echo x >x; complete")] {
        let agent = sandbox.agent(&format!(
            "{meanwhile}; git rev-parse main >\"$notes/main\"; {end}"
        ));
        let output = sandbox.step(step, &agent);
        assert!(!output.stderr.contains("refs/ralph/other"), "{}", output.stderr);
        let main = sandbox.noted("main");
        let main = main.trim();
        assert_eq!(
            refs(),
            format!("refs/ralph/other/anchor {main}\nrefs/ralph/other/start {main}")
        );
    }
}

#[test]
fn an_index_that_was_cut_short_loses_nothing() {
    let whole = Sandbox::started();
    let length = std::fs::metadata(whole.top.join(".git/index")).unwrap().len();
    // One in its head, one in an entry, one in its end.
    let cuts = [4, length / 2, length - 1];
    for cut in cuts {
        let sandbox = Sandbox::started();
        let harm = format!("echo w >work; rm old.txt 2>/dev/null; truncate -s {cut} .git/index");
        let before = sandbox.files();
        sandbox.step("next", &sandbox.failing(&harm)).exits(3);
        assert_eq!(sandbox.files(), before, "{cut}");
        assert_eq!(kept(&sandbox, "work"), "w");
        sandbox.is_at_checkpoint();
        sandbox.step("retry", &sandbox.completing(&harm)).exits(0);
        assert_eq!(sandbox.git(&["show", "HEAD:work"]), "w", "{cut}");
        sandbox.is_at_checkpoint();
        let work = sandbox.files();
        sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
        assert_eq!(sandbox.files(), work, "{cut}");
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), before, "{cut}");
    }
}

#[test]
fn step_makes_a_cut_index_from_the_checkpoint_without_its_copy() {
    fails_without_a_trace("rm -rf .git/ralph; echo x >x; truncate -s 100 .git/index");
}

#[test]
fn replacements_deceive_neither_a_checkpoint_nor_an_abort() {
    let sandbox = Sandbox::started();
    let harm =
        "rm notes/untracked.txt; git add -A; git replace $(git rev-parse HEAD^{tree}) $(git write-tree)
        evil=$(echo evil | git hash-object -w --stdin); git replace $(git rev-parse HEAD:README.md) $evil
        git replace $(git rev-parse HEAD:tool) $evil";
    let files = sandbox.files();
    let output = sandbox.step("next", &sandbox.completing(harm)).exits(0);
    let output = output.says("it is taken away");
    assert!(!output.stderr.contains("made refs/ralph"), "{}", output.stderr);
    assert_eq!(sandbox.git(&["replace", "-l"]), "");
    sandbox.is_at_checkpoint();
    sandbox.step("next", &sandbox.failing(harm)).exits(3);
    assert_eq!(sandbox.git(&["replace", "-l"]), "");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn replacement_ref_of_the_user_stays() {
    let sandbox = Sandbox::new();
    let other = sandbox.git(&["commit-tree", "-m", "other", "HEAD^{tree}"]);
    sandbox.git(&["replace", "HEAD", &other]);
    let list = sandbox.git(&["replace", "-l"]);
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox
        .step("next", &sandbox.failing("echo y >y; git replace -d main"))
        .exits(3);
    assert_eq!(sandbox.git(&["replace", "-l"]), list);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["replace", "-l"]), list);
}

#[test]
fn head_stays_in_a_rebase_of_the_user() {
    let sandbox = Sandbox::started();
    let rebase = sandbox
        .git_cmd(&["rebase", "-q", "-i", "HEAD"])
        .env("GIT_SEQUENCE_EDITOR", "echo break >");
    rebase.run().exits(0);
    let agent = sandbox.completing("true");
    let output = sandbox
        .step("next", &agent)
        .exits(1)
        .says("a rebase is in progress");
    assert!(!output.stderr.contains("put back"), "{}", output.stderr);
    assert_eq!(sandbox.git_cmd(&["symbolic-ref", "-q", "HEAD"]).run().code, 1);
}

#[test]
fn step_finds_an_unfinished_cherry_pick_with_reftables() {
    let mut sandbox = Sandbox::new();
    let top = sandbox.outside("tables");
    let made = sandbox
        .git_cmd(&["clone", "-q", "--ref-format=reftable", ".", top.to_str().unwrap()])
        .run();
    if made.code != 0 {
        // An older git.
        return;
    }
    sandbox.top = top;
    sandbox.configure("user.name", "A User");
    sandbox.configure("user.email", "user@example.org");
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.write("README.md", "other\n");
    sandbox.git(&["commit", "-qam", "other"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("README.md", "main\n");
    sandbox.git(&["commit", "-qam", "main"]);
    sandbox.start();
    let agent =
        sandbox.completing("git cherry-pick other >/dev/null 2>&1; git checkout -q --theirs .; git add -A");
    let says = "a git cherry-pick is in progress; finish it, or abort it";
    sandbox.step("next", &agent).exits(3).says(says);
    let left = sandbox.git_cmd(&["rev-parse", "-q", "--verify", "CHERRY_PICK_HEAD"]);
    assert_eq!(left.run().code, 1);
    sandbox.is_at_checkpoint();
}
