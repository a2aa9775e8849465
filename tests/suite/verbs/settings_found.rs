//! What `doctor` and `--dry-run` say of settings with which a run would stop.

use crate::support::{CHANGE, Sandbox};

/// A value for each setting whose text is not checked where it is read, and the words about it.
const WRONG: &[(&str, &str, &str)] = &[
    ("ralph.agent", "'x", "the shell cannot read `'x`"),
    ("ralph.retryAgent", "'x", "the shell cannot read `'x`"),
    ("ralph.fallbackAgent", "'x", "the shell cannot read `'x`"),
    ("ralph.review", "'x", "the shell cannot read `'x`"),
    ("ralph.verify", "'x", "the shell cannot read `'x`"),
    (
        "ralph.verify",
        "no-such test",
        "cannot find the program 'no-such'",
    ),
    (
        "ralph.worktreeSetup",
        "./no-such",
        "cannot find the program './no-such'",
    ),
    ("ralph.notify", "no-such", "cannot find the program 'no-such'"),
    (
        "ralph.agent.mine.command",
        "no-such -p",
        "cannot find the program 'no-such'",
    ),
    ("ralph.agent.mine.args", "'x", "the shell cannot read `mine 'x`"),
    (
        "ralph.prompt",
        "README.md",
        "'README.md' has no variable, so the agent does not learn its story",
    ),
    (
        "ralph.worktreeCopy",
        ":(bad)x",
        "git cannot read it as pathspecs: fatal: Invalid pathspec magic 'bad'",
    ),
    ("ralph.worktreeCopy", "none", "no ignored file matches none"),
    ("ralph.worktreeDir", "README.md", "README.md is no directory"),
    #[cfg(target_os = "linux")]
    ("ralph.worktreeDir", "/proc/x", "/proc cannot be written"),
    (
        "ralph.worktreeDir",
        "README.md/trees",
        "README.md is no directory",
    ),
    ("ralph.tests", "none", "no file matches none"),
    ("ralph.tests", "README.md", "has no effect without ralph.verify"),
    ("ralph.gateScripts", "none", "no file matches none"),
    ("ralph.heldBy", "review", "has no effect without ralph.review"),
    (
        "ralph.boxAllow",
        "read:/none",
        "names /none, which does not exist",
    ),
    ("ralph.verify", "./src", "cannot find the program './src'"),
    (
        "ralph.reviewPrompt",
        "none.md",
        "cannot read the template 'none.md'",
    ),
    ("ralph.remote", "nosuch", "there is no remote 'nosuch'"),
    ("ralph.commandTimeout", "0", "is no limit"),
    (
        "ralph.lease",
        "1s",
        "is 1s: if a run is held up for longer, another run takes its loop",
    ),
    (
        "ralph.storiesCommand",
        "true",
        "has no effect without ralph.adapter=command",
    ),
    (
        "ralph.doneCommand",
        "true",
        "has no effect without ralph.adapter=command",
    ),
    (
        "ralph.doneCommand",
        "afer:true x",
        "cannot find the program 'afer:true'",
    ),
    (
        "ralph.doneCommand",
        "after:true",
        "has no effect without ralph.adapter=command",
    ),
];

#[test]
fn doctor_and_a_dry_run_name_values_with_which_a_run_would_stop() {
    let sandbox = Sandbox::new();
    sandbox.install("claude", "true");
    sandbox.git(&["remote", "add", "origin", "../other"]);
    for (key, value, words) in WRONG {
        sandbox.configure(key, value);
        for args in [&["doctor"][..], &["start", CHANGE, "--dry-run"]] {
            let said = sandbox.ralph(args);
            let all = said.stdout + &said.stderr;
            let line = all
                .lines()
                .position(|line| line.contains(key) && line.contains(words));
            let hint = line
                .and_then(|line| all.lines().nth(line + 1))
                .unwrap_or_default();
            assert!(hint.starts_with("hint: "), "{args:?}, {key}={value}: {all}");
        }
        sandbox.git(&["config", "--unset", key]);
    }
    sandbox.configure("ralph.prompt", "none.md");
    let found = sandbox.ralph(&["doctor"]).exits(1);
    assert!(
        found.stdout.contains("ralph.prompt: cannot read the template"),
        "{}",
        found.stdout
    );
    sandbox.git(&["config", "--unset", "ralph.prompt"]);
    for (key, value) in [
        ("ralph.verify", "cd . && KEY=1 test -d ."),
        ("ralph.notify", "printf '%s' \"$RALPH_MESSAGE\""),
        ("ralph.remote", "origin"),
        ("ralph.remote", "https://example.org/r.git"),
        ("ralph.remote", ".."),
    ] {
        sandbox.configure(key, value);
        let said = sandbox.ralph(&["start", CHANGE, "--dry-run"]).exits(0);
        assert!(!said.stderr.contains(key), "{key}={value}: {}", said.stderr);
        sandbox.git(&["config", "--unset", key]);
    }
}

#[test]
fn doctor_names_wrong_numbers_and_examines_the_rest() {
    let sandbox = Sandbox::new();
    sandbox.install("claude", "true");
    sandbox.configure("ralph.agent.cluade.args", "--model x");
    let found = sandbox.ralph(&["doctor"]).exits(0).stdout;
    assert!(found.contains("unknown agent cluade"), "{found}");
    assert!(!found.contains("nothing has to be repaired"), "{found}");
    for (key, value) in [
        ("ralph.maxRetries", "some"),
        ("ralph.maxAttempts", "few"),
        ("ralph.prompt", "none.md"),
    ] {
        sandbox.configure(key, value);
    }
    let found = sandbox.ralph(&["doctor"]).exits(1).stdout;
    for words in [
        "the setting ralph.maxRetries is 'some'",
        "also wrong: ralph.maxAttempts=few",
        "ralph.prompt: cannot read the template",
        "unknown agent cluade",
        "change add-login",
    ] {
        assert!(found.contains(words), "{words}: {found}");
    }
}

#[test]
fn limits_of_nothing_are_refused() {
    let sandbox = Sandbox::new();
    for key in ["ralph.maxAttempts", "ralph.maxCost"] {
        sandbox.configure(key, "0");
        sandbox.ralph(&["run"]).exits(1).says("is '0', but must be");
        sandbox.git(&["config", "--unset", key]);
    }
}

#[test]
fn a_setting_that_is_only_empty_is_named_and_counts_as_not_set() {
    let sandbox = Sandbox::new();
    sandbox.install("claude", "true");
    for key in ["ralph.verify", "ralph.agent.claude.command", "ralph.idleTimeout"] {
        sandbox.configure(key, "");
        let named = format!("{key} is empty, which counts as not set: git config {key} <value>");
        for args in [&["doctor"][..], &["start", CHANGE, "--dry-run"]] {
            let said = sandbox.ralph(args).exits(0);
            let all = said.stdout + &said.stderr;
            assert_eq!(all.matches(&named).count(), 1, "{all}");
        }
        let preview = sandbox.ralph(&["start", CHANGE, "--dry-run"]).exits(0).stdout;
        assert!(preview.contains("time limit without output: 30m"), "{preview}");
        // It cancels a value before it, or is before one.
        sandbox.git(&[
            "config",
            "--add",
            key,
            if key.ends_with("out") { "1h" } else { "true" },
        ]);
        let said = sandbox.ralph(&["start", CHANGE, "--dry-run"]).exits(0);
        assert!(!said.stderr.contains("is empty"), "{}", said.stderr);
        sandbox.git(&["config", "--unset-all", key]);
    }
}

#[test]
fn an_error_that_a_setting_causes_names_the_setting() {
    let sandbox = Sandbox::new();
    for (key, words) in [
        ("ralph.stories", "or: git config ralph.stories <path>"),
        (
            "ralph.prompt",
            "git config --show-origin --get-regexp '^ralph\\.(review)?prompt$'",
        ),
    ] {
        sandbox.configure(key, "none.md");
        sandbox
            .ralph(&["start", CHANGE, "--dry-run"])
            .exits(1)
            .says(words);
        sandbox.git(&["config", "--unset", key]);
    }
}
