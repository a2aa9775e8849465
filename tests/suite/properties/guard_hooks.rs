//! The user's own hooks inside the guard: they run as they do without one.

use std::fs;

use super::guard::{all, outcomes, put_hook, tries};
use crate::support::{CHANGE, Sandbox, search_path, write_program};

/// A text with a word for every object id but that of nothing.
fn without_oids(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let (id, end) = word.split_at(word.len() - 1);
        let is_id = id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let shown = if is_id && id != "0".repeat(40) { "oid" } else { id };
        words.push_str(shown);
        words.push_str(end);
    }
    words
}

#[test]
fn hooks_of_the_user_run_as_without_a_guard() {
    // From where git is told of them, and where they are.
    for (configured, dir) in [
        (None, ".git/hooks"),
        (Some("../my hooks"), "../my hooks"),
        (Some(".husky/_"), ".husky/_"),
    ] {
        let commands = "export NOTES; git commit -q --allow-empty -m 'a message'
             git commit -q --amend --allow-empty -m 'another message'; git checkout -q -b \"$1\"; git tag t-\"$1\"
             git checkout -q ralph/add-login; git branch -q -D \"$1\"; git tag -d t-\"$1\" >/dev/null";
        let run = |guard: bool| {
            let sandbox = Sandbox::new();
            sandbox.configure("ralph.guard", if guard { "true" } else { "false" });
            if let Some(configured) = configured {
                sandbox.configure("core.hooksPath", configured);
            }
            for name in [
                "pre-commit",
                "prepare-commit-msg",
                "commit-msg",
                "post-commit",
                "post-rewrite",
                "post-checkout",
                "reference-transaction",
            ] {
                put_hook(&sandbox.top.join(dir), name, 0o755);
            }
            put_hook(&sandbox.top.join(dir), "post-index-change", 0o644);
            sandbox.start();
            let agent = sandbox.completing(&format!(
                "NOTES=$notes; export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'\n\
                 set -- mine\n{commands}"
            ));
            sandbox.step("next", &agent).exits(0);
            let mut seen = String::new();
            let mut names: Vec<_> = fs::read_dir(&sandbox.notes)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            names.sort();
            for path in names {
                let name = path.file_name().unwrap().to_str().unwrap();
                seen.push_str(&format!("{name}: {}\n", fs::read_to_string(&path).unwrap()));
            }
            without_oids(&seen.replace(sandbox.outside("").to_str().unwrap(), "/"))
        };
        let without = run(false);
        for hook in [
            "commit-msg: ",
            "pre-commit: ",
            "reference-transaction: ",
            "post-rewrite: ",
        ] {
            assert!(without.contains(hook), "{hook} in {without}");
        }
        assert!(!without.contains("post-index-change"), "{without}");
        assert_eq!(run(true), without, "{configured:?}");
    }
}

#[test]
fn hook_of_the_user_can_refuse_under_the_guard() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.top.join(".git/hooks");
    for name in ["pre-commit", "reference-transaction"] {
        put_hook(&hooks, name, 0o755);
    }
    sandbox.start();
    let tried = tries(
        &sandbox,
        "export NOTES=$notes
         touch \"$notes/fail-pre-commit\"; t git commit --allow-empty -m x; rm \"$notes/fail-pre-commit\"
         touch \"$notes/fail-reference-transaction\"; t git tag no; t git commit --allow-empty -m x
         rm \"$notes/fail-reference-transaction\"
         t git commit --allow-empty -m x; t git tag yes",
    );
    let said: Vec<bool> = outcomes(&tried).into_iter().map(|(_, ok)| ok).collect();
    assert_eq!(said, [false, false, false, true, true], "{tried}");
}

#[test]
fn guard_runs_hooks_that_the_attempt_adds() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let tells = sandbox.outside("tells");
    put_hook(&tells, "hook", 0o755);
    let install =
        |dir: &str, name: &str| format!("mkdir -p {dir}; cp \"{}/hook\" {dir}/{name}", tells.display());
    let tried = tries(
        &sandbox,
        &format!(
            "export NOTES=$notes; t git commit -q --allow-empty -m none
             {}; {}; t git tag zero; t git commit -q --allow-empty -m 'in .git'; t git tag one
             command git config core.hooksPath .husky/_
             t git commit -q --allow-empty -m 'no longer'; t git tag two
             {}; {}; t git commit -q --allow-empty -m 'in .husky'; t git tag three
             chmod -x .husky/_/*; t git commit -q --allow-empty -m 'not to be run'; t git tag four
             command git config --unset core.hooksPath
             printf '[core]\\n\\thooksPath = .more\\n' >../more; command git config include.path ../../more
             {}; t git tag five
             command git config --unset include.path; t git tag six
             command git config --global core.hooksPath .more; t git tag seven",
            install(".git/hooks", "commit-msg"),
            install(".git/hooks", "reference-transaction"),
            install(".husky/_", "commit-msg"),
            install(".husky/_", "reference-transaction"),
            install(".more", "reference-transaction"),
        ),
    );
    all(&tried, true);
    let noted = sandbox.noted("commit-msg");
    let ran: Vec<_> = noted.lines().filter(|line| line.contains("commit-msg")).collect();
    assert_eq!(
        ran,
        [
            ".git/hooks/commit-msg commit-msg .git/COMMIT_EDITMSG",
            ".husky/_/commit-msg commit-msg .git/COMMIT_EDITMSG"
        ]
    );
    let transactions = sandbox.noted("reference-transaction");
    for (tag, wanted) in [("one", true), ("two", false), ("three", true), ("four", false)] {
        assert_eq!(
            transactions.contains(&format!("refs/tags/{tag}")),
            wanted,
            "{tag}"
        );
    }
}

#[test]
fn push_hook_runs_if_pushing_is_allowed() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside("remote");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    put_hook(&sandbox.outside("push hooks"), "pre-push", 0o755);
    sandbox.start();
    let tried = tries(
        &sandbox,
        "export NOTES=$notes; command git clone -q -b main . ../clone; cd ../clone
         command git config core.hooksPath '../push hooks'; t git push ../remote main",
    );
    all(&tried, true);
    let noted = sandbox.noted("pre-push");
    assert!(noted.contains("pre-push ../remote ../remote"), "{noted}");
    assert!(noted.contains("refs/heads/main"), "{noted}");
}

#[test]
fn newer_gits_get_configured_hooks() {
    let sandbox = Sandbox::new();
    let tools = sandbox.outside("tools");
    fs::create_dir(&tools).unwrap();
    let real = search_path()
        .into_iter()
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let shim = format!(
        "#!/bin/sh\ncase \" $* \" in *' version '*) echo 'git version 2.54.0'; exit ;; esac\nexec '{}' \"$@\"\n",
        real.display()
    );
    write_program(&tools.join("git"), &shim);
    sandbox.start();
    // As git runs a command of its configuration.
    let agent = sandbox.completing(
        "command=$(git config hook.git-ralph.command); git config --get-regexp '^(hook|core.hooks)' >\"$notes/settings\"
         configured() { printf \"$1\" | sh -c \"$command \\\"\\$@\\\"\" hook $2 $3 2>\"$notes/said\"; echo $? >>\"$notes/codes\"; }
         zero=0000000000000000000000000000000000000000; main=$(git rev-parse main); head=$(git rev-parse HEAD)
         configured \"$zero $head refs/heads/main\\n\" prepared; cp \"$notes/said\" \"$notes/main\"
         configured \"$zero $head refs/heads/new\\n\" prepared
         configured \"$zero $head refs/heads/main\\n\" preparing
         configured \"$zero $head refs/heads/main\\n\" aborted
         configured '' origin ../remote; cp \"$notes/said\" \"$notes/push\"",
    );
    let path = std::env::join_paths(std::iter::once(tools).chain(search_path())).unwrap();
    let next = sandbox.direct(&["next", "--", &agent]).env("PATH", path);
    next.run().exits(0);
    let settings = sandbox.noted("settings");
    let script = sandbox.top.join(".git/ralph/add-login/slots/1/hooks/git-ralph");
    let wanted = format!(
        "hook.git-ralph.command '{}'\nhook.git-ralph.event reference-transaction\nhook.git-ralph.event pre-push\n",
        script.display()
    );
    assert_eq!(settings, wanted);
    assert_eq!(sandbox.noted("codes"), "1\n0\n0\n0\n1\n");
    assert!(sandbox.noted("main").contains("the branch main was there before"));
    assert!(sandbox.noted("push").contains("nothing is pushed"));
}

#[test]
fn gate_that_refuses_the_directory_of_the_guard_is_explained() {
    let sandbox = Sandbox::new();
    let gate = "test -z \"$(git config core.hooksPath)\" || { echo core.hooksPath is set; exit 1; }";
    let start = ["start", CHANGE, "--verify", gate];
    sandbox
        .ralph(&start)
        .exits(1)
        .says("needs it unset: git config ralph.guard false");
    sandbox.configure("ralph.guard", "false");
    sandbox.ralph(&start).exits(0);
}

#[test]
fn rebase_that_the_guard_refuses_says_how_to_leave_it() {
    let sandbox = Sandbox::started();
    sandbox.git(&["branch", "upstream", "main"]);
    let upstream = sandbox.git(&["commit-tree", "-p", "main", "-m", "up", "main^{tree}"]);
    sandbox.git(&["update-ref", "refs/heads/upstream", upstream.trim()]);
    let agent = sandbox.completing("git rebase upstream >&2; echo x >new");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("after a refused rebase, git rebase --abort")
        .says("a git rebase is in progress; abort it; ralph/add-login must keep its checkpoint");
    let agent =
        sandbox.completing("git rebase upstream >&2; git rebase --abort; git merge upstream; echo x >new");
    sandbox.step("retry", &agent).exits(0);
}
