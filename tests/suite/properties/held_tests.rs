//! Tests held to what they were: ways of weakening what judges the work, and what honest work may do.

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;

use crate::support::{CHANGE, Sandbox, TASKS};

/// The gate of the project: it runs the tests of a list after a file of settings, if there is one.
const CHECK: &str = "#!/bin/sh
set -e
[ ! -f tests/setup.sh ] || . ./tests/setup.sh
for t in $(cat tests/list); do
    [ ! -x \"tests/$t\" ] || \"tests/$t\"
done
";

pub const VALUE: &str = "#!/bin/sh
[ \"$(sh app.sh)\" = \"$(cat tests/expected)\" ]
";

/// A project whose tests are known; `stories` are open.
pub fn project(stories: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut list = String::new();
    for n in 1..=stories {
        let _ = write!(list, "## {n}. Story\n- [ ] {n}.1 Do it\n\n");
    }
    sandbox.write(TASKS, &list);
    sandbox.write("check.sh", CHECK);
    sandbox.write("tests/value.sh", VALUE);
    sandbox.write("tests/list", "value.sh\n");
    sandbox.write("tests/expected", "4\n");
    sandbox.write("app.sh", "echo 4\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["update-index", "--chmod=+x", "check.sh", "tests/value.sh"]);
    sandbox.git(&["commit", "-q", "-m", "project"]);
    sandbox.git(&["checkout", "-q", "HEAD", "--", "check.sh", "tests"]);
    let chmod = ["+x", "check.sh", "tests/value.sh"];
    sandbox.cmd("chmod").args(chmod).run().exits(0);
    sandbox.configure("ralph.verify", "./check.sh");
    sandbox.configure("ralph.tests", "tests");
    sandbox
}

/// Succeeds in a run of gates with the tests as they were.
pub const IS_HELD: &str =
    "{ [ -n \"$RALPH_STORY\" ] && git diff --quiet $RALPH_CHECKPOINT $RALPH_TREE -- tests; }";

/// Breaks the work.
const BROKEN: &str = "echo 'echo 5' >app.sh; ";

#[test]
fn the_reason_names_the_files_and_shows_the_gate() {
    let sandbox = project(2);
    sandbox.configure("ralph.verify", "./check.sh || { echo it is red; exit 3; }");
    sandbox.start();
    let agent = sandbox.completing(&format!(
        "{BROKEN} rm tests/list; echo >tests/new; touch tests/list"
    ));
    sandbox.step("next", &agent).exits(3).says(
        "the gates pass only with what the attempt made of tests/list (changed), tests/new (new); with the tests as they \
         were at the last checkpoint, the gate `./check.sh || { echo it is red; exit 3; }` failed (exit code 3)",
    )
    .says("if the story is to change tests, let it: --allow-test-changes");
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("it is red"), "{prompt}");
    assert!(!prompt.contains("allow-test-changes"), "{prompt}");
    assert_eq!(sandbox.verdict(), "gate_failed");
    let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:tests/list"]);
    assert_eq!(kept, "");
    let events = sandbox.read(".git/ralph/add-login/events.jsonl");
    let held = events.lines().filter(|line| line.contains("\"held\":true"));
    assert_eq!(held.count(), 2, "{events}");
}

#[test]
fn hidden_new_test_still_counts_as_new() {
    let sandbox = project(3);
    sandbox.configure("ralph.newTests", "refuse");
    sandbox.write("tests/mine.sh", "mine\n");
    sandbox.write(".git/info/exclude", "mine.sh\n");
    sandbox.start();
    let hides = "printf 'more.sh\\n!*.log\\n' >>.gitignore; echo new >tests/more.sh; chmod 750 tests/more.sh";
    sandbox
        .step("next", &sandbox.completing(hides))
        .exits(3)
        .says("(ralph.testChanges): tests/more.sh (new, and ignored by rules that were not there)");
    sandbox.is_at_checkpoint();
    assert!(!sandbox.top.join("tests/more.sh").exists());
    // Apart from it the gates pass: it stays, and is in no checkpoint.
    sandbox.configure("ralph.newTests", "apart");
    sandbox.step("retry", &sandbox.completing(hides)).exits(0).says(
        "these tests changed; the gates also pass with them as they were: tests/more.sh (new, and ignored by rules that \
         were not there)",
    );
    assert_eq!(sandbox.read("tests/more.sh"), "new\n");
    let mode = sandbox.top.join("tests/more.sh").metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o750);
    let tracked = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD", "tests"]);
    assert_eq!(tracked, "tests/expected\ntests/list\ntests/value.sh");
    assert_eq!(sandbox.read("tests/mine.sh"), "mine\n");
    // From then on it is ignored like any other file.
    sandbox.configure("ralph.newTests", "refuse");
    let agent = sandbox.completing("echo newer >tests/more.sh; echo x >>app.txt");
    sandbox.step("next", &agent).exits(0);
    // With `allow`, it is told.
    sandbox.configure("ralph.newTests", "allow");
    let agent = sandbox.completing("echo other.sh >>.gitignore; echo new >tests/other.sh");
    sandbox.step("next", &agent).exits(0).says(
        "these tests changed, which is allowed: tests/other.sh (new, and ignored by rules that were not there)",
    );
    let tracked = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD", "tests"]);
    assert!(!tracked.contains("other"), "{tracked}");
}

#[test]
fn output_and_checkpoint_name_changed_tests_whose_originals_passed() {
    let sandbox = project(3);
    sandbox.start();
    // Nothing is run twice where no test changed.
    let agent = sandbox.completing("echo '# more' >>app.sh");
    let output = sandbox.step("next", &agent).exits(0);
    assert!(!output.stderr.contains("as they were"), "{}", output.stderr);
    let agent = sandbox.completing("echo '# more' >>tests/value.sh; echo >tests/new");
    sandbox.step("next", &agent).exits(0).says(
        "these tests changed; the gates also pass with them as they were: tests/new (new), tests/value.sh (changed)",
    );
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Ralph-Rests-On: promise, gates, tests\n"),
        "{message}"
    );
    assert!(message.contains("s with the tests as they were)"), "{message}");
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(
        log.contains("the gates pass with the tests as they were"),
        "{log}"
    );
    // From then on those of the user are held too.
    let agent = sandbox.completing("echo '# more' >>app.sh");
    sandbox.step("next", &agent).exits(0).says(
        "these tests changed; the gates also pass with them as you last approved them: tests/value.sh (changed)",
    );
}

#[test]
fn changes_can_be_allowed_or_refused() {
    let sandbox = project(4);
    sandbox.configure("ralph.testChanges", "refuse");
    sandbox.configure("ralph.newTests", "refuse");
    sandbox.start();
    let said = "these tests must stay as they were (ralph.testChanges): ";
    for (step, script, name) in [
        ("next", "echo '# x' >>tests/value.sh", "tests/value.sh (changed)"),
        ("retry", "rm tests/list; touch app", "tests/list (deleted)"),
        ("retry", "echo >tests/new", "tests/new (new)"),
    ] {
        let agent = sandbox.completing(script);
        let list = sandbox.step(step, &agent).exits(3);
        assert!(
            list.stderr.contains(&format!("{said}{name}")) || name.contains("deleted"),
            "{}",
            list.stderr
        );
    }
    sandbox.configure("ralph.testChanges", "allow");
    sandbox.git(&["config", "--unset", "ralph.newTests"]);
    let agent = sandbox.completing(&format!("{BROKEN} echo 5 >tests/expected; echo >tests/new"));
    sandbox
        .step("retry", &agent)
        .exits(0)
        .says("these tests changed, which is allowed: tests/expected (changed), tests/new (new)");
    let rests_on = |sandbox: &Sandbox| sandbox.attempts().last().unwrap()["rests_on"].to_string();
    let allowed = r#"["promise","gates","test-changes-allowed"]"#;
    assert_eq!(rests_on(&sandbox), allowed);
    // The script of the gate is nobody's test.
    let agent = sandbox.completing("echo 'echo 6' >app.sh; echo '#!/bin/sh' >check.sh");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("made of check.sh (changed)");
    sandbox.configure("ralph.testChanges", "held");
    sandbox
        .ralph(&["retry", "--allow-test-changes", "--", &agent])
        .exits(0)
        .says("these tests changed, which is allowed: check.sh (changed)");
    assert_eq!(rests_on(&sandbox), allowed);
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Ralph-Rests-On: promise, gates, test-changes-allowed\n"),
        "{message}"
    );
}

#[test]
fn user_can_allow_test_changes() {
    let sandbox = project(2);
    sandbox.start();
    sandbox.write("app.sh", "echo 5\n");
    sandbox.write("tests/expected", "5\n");
    sandbox
        .ralph(&["complete"])
        .exits(1)
        .says("the gates pass only with what the attempt made of tests/expected (changed)");
    assert_eq!(
        (sandbox.read("app.sh"), sandbox.read("tests/expected")),
        ("echo 5\n".to_owned(), "5\n".to_owned())
    );
    sandbox.ralph(&["complete", "--allow-test-changes"]).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:tests/expected"]), "5");
}

#[test]
fn start_and_doctor_warn_of_test_settings_without_effect() {
    let sandbox = project(1);
    sandbox.git(&["config", "--unset", "ralph.verify"]);
    sandbox
        .start()
        .says("ralph.tests has no effect without ralph.verify");
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.git(&["config", "--add", "ralph.tests", "nowhere/"]);
    let doctor = sandbox.ralph(&["doctor"]).stdout;
    assert!(
        doctor.contains("ralph.tests: no file matches nowhere/"),
        "{doctor}"
    );
    assert!(
        doctor.contains("ralph.tests has no effect without ralph.verify"),
        "{doctor}"
    );
    let refs = sandbox.git(&["for-each-ref"]);
    sandbox.git(&["config", "--add", "ralph.tests", ":(bad)x"]);
    let agent = sandbox.agent("echo >\"$notes/ran\"");
    for args in [&["start", CHANGE][..], &["run", CHANGE, "--", &agent]] {
        sandbox.ralph(args).exits(1).says(
            "error: git cannot read ralph.tests as pathspecs:\n  fatal: Invalid pathspec magic 'bad' in ':(bad)x'",
        );
    }
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    assert!(!sandbox.notes.join("ran").exists());
}

#[test]
fn gate_that_writes_held_tests_does_not_count() {
    let sandbox = project(1);
    let gate = format!("! {IS_HELD} || echo 5 >tests/expected; ./check.sh");
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    let agent = sandbox.completing(&format!("{BROKEN} echo 5 >tests/expected"));
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("the gates changed test files while they ran with the original tests, so their result does not count: tests/expected");
}

/// A gate that goes on in the second run as this line says.
pub fn gate_then(sandbox: &Sandbox, line: &str) {
    let gate = format!("./check.sh || exit 1; ! {IS_HELD} || {{ {line}; }}");
    sandbox.configure("ralph.verify", &gate);
}

/// Attempts a story whose gate fails once in the second run, and then passes; returns the agent.
pub fn gate_fails_once(sandbox: &Sandbox) -> String {
    let once = sandbox.notes.join("once");
    let once = once.display();
    gate_then(
        sandbox,
        &format!("[ -e '{once}' ] || {{ touch '{once}'; exit 1; }}"),
    );
    sandbox.start();
    let agent = sandbox.completing("echo '# more' >>tests/value.sh");
    sandbox.step("next", &agent).exits(0).says("passed only at run 2");
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("s, at run 2 with the tests as they were)"),
        "{message}"
    );
    agent
}

#[test]
fn retries_and_limits_of_gates_apply_to_the_second_run() {
    let sandbox = project(2);
    sandbox.configure("ralph.verifyRetries", "1");
    let agent = gate_fails_once(&sandbox);
    sandbox.configure("ralph.verifyTimeout", "10s");
    gate_then(&sandbox, "sleep 1000");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("with the tests as they were at the last checkpoint, the gate");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
}

/// What an attempt at story 1 does to a test that has nothing to do with it, and what makes use of it in story 2.
const STEPS: &[(&str, &str)] = &[
    ("echo true >tests/value.sh", "echo 'echo 5' >app.sh"),
    ("git rm -q tests/value.sh", "echo 'echo 5' >app.sh"),
    (
        "printf '#!/bin/sh\\nsh tests/value.sh || true\\n' >check.sh",
        "echo 'echo 5' >app.sh",
    ),
];

#[test]
fn two_stories_do_not_weaken_a_test_together() {
    for (first, second) in STEPS {
        let sandbox = project(3);
        sandbox.start();
        sandbox.step("next", &sandbox.completing(first)).exits(0);
        let refused = sandbox.step("next", &sandbox.completing(second)).exits(3);
        refused.says("with these files as the user last approved them, the gate");
        assert_eq!(sandbox.verdict(), "gate_failed", "{first}");
        sandbox.is_at_checkpoint();
        let honest = sandbox.step("retry", &sandbox.completing("echo x >new")).exits(0);
        honest.says("as you last approved them");
        let rests_on = sandbox.attempts().last().unwrap()["rests_on"].to_string();
        assert!(rests_on.contains("\"tests\""), "{first}: {rests_on}");
    }
}

#[test]
fn a_test_that_two_stories_change_is_held_to_both_versions() {
    let sandbox = project(3);
    sandbox.start();
    let agent = sandbox.completing("echo '# more' >>tests/value.sh; echo x >>new");
    sandbox.step("next", &agent).exits(0);
    let output = sandbox.step("next", &agent).exits(0);
    output
        .says("the gates also pass with them as they were: tests/value.sh (changed)")
        .says("the gates also pass with them as you last approved them: tests/value.sh (changed)");
    let agent = sandbox
        .completing("echo '# more' >>tests/value.sh; echo new >tests/new; echo tests/new >>.gitignore");
    sandbox.step("next", &agent).exits(0);
    sandbox.is_at_checkpoint();
}

#[test]
fn renamed_test_is_held_at_its_old_path() {
    let comment = "# The value is what is expected.\n".repeat(20);
    for (renames, in_one) in [
        (
            "git mv tests/value.sh tests/other.sh; sed -i '1aexit 0' tests/other.sh",
            true,
        ),
        // Names that the gate does not run.
        (
            "git mv tests/value.sh tests/value.txt; echo true >tests/new.sh",
            true,
        ),
        (
            "mkdir tests/old; mv tests/value.sh tests/old; echo true >tests/new.sh",
            true,
        ),
        ("mv tests/value.sh tests/.value.sh; echo true >tests/new.sh", true),
        ("mv tests/value.sh tests/a.sh; echo true >tests/new.sh", false),
    ] {
        let sandbox = project(4);
        sandbox.configure("ralph.verify", "for t in tests/*.sh; do sh $t || exit 1; done");
        sandbox.write("tests/value.sh", &format!("{VALUE}{comment}"));
        sandbox.start();
        sandbox.step("next", &sandbox.completing(renames)).exits(0);
        if !in_one {
            let on = "mv tests/a.sh tests/a.txt";
            sandbox.step("next", &sandbox.completing(on)).exits(0);
        }
        sandbox
            .step("next", &sandbox.completing("echo 'echo 5' >app.sh"))
            .exits(3)
            .says("tests/value.sh (deleted)");
        sandbox.step("retry", &sandbox.completing("echo x >new")).exits(0);
    }
}

#[test]
fn renamed_test_that_is_in_the_way_of_the_old_one_is_absent() {
    // As a compiler that refuses what is defined twice, and as a helper that others include.
    for gate in [
        "test $(grep -l VALUE tests/* | wc -l) -le 1 && sh tests/[vo]*.sh",
        "for t in tests/*.sh; do sh $t || exit 1; done",
    ] {
        let sandbox = project(3);
        sandbox.configure("ralph.verify", gate);
        sandbox.write("tests/value.sh", &format!("# VALUE\n{VALUE}"));
        sandbox.start();
        let renames = "git mv tests/value.sh tests/other.sh";
        sandbox.step("next", &sandbox.completing(renames)).exits(0);
        let adds = "printf '. tests/other.sh\n' >tests/uses.sh";
        sandbox.step("next", &sandbox.completing(adds)).exits(0);
        sandbox
            .step("next", &sandbox.completing("echo x >new"))
            .exits(0)
            .says("as you last approved them");
    }
}

#[test]
fn test_that_an_attempt_added_hides_none_of_the_user() {
    for (adds, allowed, code) in [
        ("echo 'exit 0' >tests/first.sh", &[][..], 3),
        ("echo 'exit 0' >tests/first.sh", &["--allow-test-changes"], 0),
        ("echo 'test -e app.sh' >tests/next.sh", &[], 3),
    ] {
        let sandbox = project(4);
        // As a runner whose configuration says which tests run.
        sandbox.configure("ralph.verify", "for t in tests/*.sh; do . ./$t; done");
        sandbox.start();
        let agent = sandbox.completing(adds);
        let args = [&["next"], allowed, &["--", &agent]].concat();
        sandbox.ralph(&args).exits(0);
        sandbox
            .step("next", &sandbox.completing("echo 'echo 5' >app.sh"))
            .exits(code);
        if code == 3 {
            sandbox
                .step("retry", &sandbox.completing("echo x >new"))
                .exits(0)
                .says("the gates also pass with them as you last approved them: tests/");
        }
    }
}

#[test]
fn added_test_is_held_to_its_first_version() {
    let sandbox = project(4);
    sandbox.configure("ralph.verify", "for t in tests/*.sh; do sh $t || exit 1; done");
    sandbox.start();
    let adds = "echo 'test -e part' >tests/part.sh; echo x >part";
    sandbox.step("next", &sandbox.completing(adds)).exits(0);
    let weakens = "echo true >tests/part.sh";
    sandbox.step("next", &sandbox.completing(weakens)).exits(0);
    sandbox
        .step("next", &sandbox.completing("rm part"))
        .exits(3)
        .says("tests/part.sh (changed)");
}

#[test]
fn test_changes_by_the_user_become_the_held_version() {
    let weaken = "echo true >tests/value.sh";
    let breaks = "echo 'echo 5' >app.sh";
    // Edits before a command that was typed.
    let sandbox = project(3);
    sandbox.start();
    sandbox.write("tests/value.sh", "true\n");
    sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    sandbox.step("next", &sandbox.completing(breaks)).exits(0);
    // An attempt that was allowed to.
    let sandbox = project(3);
    sandbox.start();
    let agent = sandbox.completing(weaken);
    let allowed = ["next", CHANGE, "--allow-test-changes", "--", &agent];
    sandbox.ralph(&allowed).exits(0);
    sandbox.step("next", &sandbox.completing(breaks)).exits(0);
    // What is found between two attempts of one run approves nothing.
    let sandbox = project(2);
    sandbox.hook(
        "ralph-post-checkpoint",
        &format!("[ \"$RALPH_STORY\" != 1 ] || {weaken}"),
    );
    sandbox.start();
    let agent = sandbox.completing(&format!(
        "if test $RALPH_STORY = 1; then echo x >new; else {breaks}; fi"
    ));
    let run = ["run", CHANGE, "--max-retries=0", "--", &agent];
    sandbox
        .ralph(&run)
        .exits(4)
        .says("as the user last approved them");
}

#[test]
fn evidence_names_tests_only_if_they_were_compared() {
    let rests_on = |sandbox: &Sandbox| sandbox.attempts().last().unwrap()["rests_on"].to_string();
    let sandbox = project(2);
    sandbox.git(&["config", "ralph.tests", "no-such-directory"]);
    sandbox
        .start()
        .says("warning: ralph.tests: no file matches no-such-directory");
    sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    assert_eq!(rests_on(&sandbox), "[\"promise\",\"gates\"]");
    sandbox.git(&["config", "--unset", "ralph.tests"]);
    sandbox
        .step("next", &sandbox.completing("echo '# more' >>check.sh"))
        .exits(0);
    assert_eq!(rests_on(&sandbox), "[\"promise\",\"gates\",\"gate-script\"]");
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(
        log.contains("the gates pass with their scripts as they were"),
        "{log}"
    );
}
