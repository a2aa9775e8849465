//! `git ralph diff`: what the loop did, and what one attempt did, failed ones too.

use std::fs;
use std::path::PathBuf;

use crate::support::{CHANGE, Running, Sandbox, wait_for};

fn with_two_attempts() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("echo wrong > wrong.txt"))
        .exits(3);
    sandbox
        .step("retry", &sandbox.completing("echo right > right.txt"))
        .exits(0);
    sandbox
}

#[test]
fn an_attempt_is_compared_with_the_checkpoint_before_it() {
    let sandbox = with_two_attempts();
    let failed = sandbox.ralph(&["diff", "1@1"]).exits(0).stdout;
    assert!(
        failed.contains("+wrong") && !failed.contains("+right"),
        "{failed}"
    );
    let latest = sandbox.ralph(&["diff", "add-login", "1"]).exits(0).stdout;
    assert!(
        latest.contains("+right") && !latest.contains("+wrong"),
        "{latest}"
    );
    let stat = sandbox.ralph(&["diff", "--stat", "1@2"]).exits(0).stdout;
    assert!(stat.contains("right.txt") && !stat.contains("+right"), "{stat}");
}

#[test]
fn the_whole_loop_is_compared_with_its_beginning() {
    let sandbox = with_two_attempts();
    sandbox
        .step("next", &sandbox.completing("echo more > more.txt"))
        .exits(0);
    let all = sandbox.ralph(&["diff"]).exits(0).stdout;
    assert!(
        all.contains("+right") && all.contains("+more") && !all.contains("+wrong"),
        "{all}"
    );
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(
        sandbox.ralph(&["diff"]).exits(0).stdout,
        all,
        "also when it is finished"
    );
}

#[test]
fn diff_reports_an_unknown_or_invalid_attempt() {
    let sandbox = with_two_attempts();
    sandbox
        .ralph(&["diff", "1@9"])
        .exits(1)
        .says("there is no saved attempt 1@9");
    sandbox.ralph(&["diff", "1@x"]).exits(1).says("<story>@<number>");
}

#[test]
fn log_suggests_no_diff_for_an_attempt_without_a_change() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.agent("echo hello")).exits(3);
    let shown = sandbox.ralph(&["diff", "1@1"]).exits(0);
    assert_eq!(shown.stdout, "");
    shown.says("git sees no change");
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(
        log.contains("git sees no change") && !log.contains("diff"),
        "{log}"
    );
}

#[test]
fn commands_say_that_git_sees_no_change_of_an_ignored_file() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("rm .env")).exits(3);
    for command in ["log", "diff 1@1", "report --markdown"] {
        let words: Vec<&str> = command.split(' ').collect();
        let shown = sandbox.ralph(&words).exits(0);
        let all = format!("{}{}", shown.stdout, shown.stderr);
        assert!(all.contains("git sees no change"), "{command}: {all}");
    }
}

#[test]
fn a_program_gets_the_commits_and_the_files() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing("echo x >new")).exits(3);
    let diff = sandbox.ralph(&["diff", "1@1", "--json"]).exits(0).json();
    assert_eq!(
        diff["files"],
        serde_json::json!([{ "path": "new", "status": "A" }])
    );
    let kept = sandbox.git(&["rev-parse", "refs/ralph/add-login/attempts/1/1"]);
    assert_eq!((&diff["change"], &diff["to"]), (&CHANGE.into(), &kept.into()));
    sandbox
        .ralph(&["diff", "foo"])
        .exits(1)
        .says("'foo' is not a story with an attempt, or a change\nhint: attempts: git ralph log add-login");
}

#[test]
fn an_attempt_of_an_earlier_loop_is_shown_when_it_is_named() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing("echo x >new")).exits(3);
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.start();
    let shown = sandbox.ralph(&["diff", "1@1"]).exits(0).stdout;
    assert!(shown.contains("+++ b/new"), "{shown}");
}

/// Begins an attempt that does this, and then waits for the file that is returned.
fn waiting(sandbox: &Sandbox, work: &str) -> (PathBuf, Running) {
    let go = sandbox.outside("go");
    let agent = sandbox.failing(&format!(
        "{work}; touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done",
        go.display()
    ));
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    (go, running)
}

#[test]
fn diff_of_a_sparse_index_makes_no_object() {
    let sandbox = Sandbox::new();
    sandbox.write("elsewhere/file", "x\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "elsewhere"]);
    sandbox.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "openspec"]);
    sandbox.start();
    let (go, running) = waiting(&sandbox, "mkdir new; echo x >new/n; git init -q inside");
    let json = sandbox.ralph(&["diff", "@", "--json"]).exits(0);
    json.says("not shown, because they are repositories: inside/");
    let objects = || sandbox.git(&["count-objects", "-v"]);
    let before = objects();
    let shown = sandbox.ralph(&["diff", "--stat", "@"]).exits(0);
    assert!(shown.stdout.contains("new/n"), "{}", shown.stdout);
    shown.says("not shown, because they are repositories: inside/");
    assert_eq!(objects(), before);
    sandbox.git_cmd(&["fsck", "--full"]).run().exits(0);
    fs::write(&go, "").unwrap();
    running.end().exits(3);
}

#[test]
fn diff_of_an_attempt_that_has_changed_nothing_says_so() {
    let sandbox = Sandbox::started();
    let (go, running) = waiting(&sandbox, "true");
    let shown = sandbox.ralph(&["diff", "@"]).exits(0);
    assert_eq!(shown.stdout, "");
    shown.says("no file has changed yet");
    fs::write(&go, "").unwrap();
    running.end().exits(3);
}

#[test]
fn output_of_the_run_is_no_change_of_the_attempt() {
    let sandbox = Sandbox::started();
    let go = sandbox.outside("go");
    let agent = sandbox.failing(&format!(
        "echo x >new; touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done",
        go.display()
    ));
    let script = format!("git ralph next {CHANGE} -- {agent} 2>err.out | tee run.out >/dev/null");
    let running = sandbox.cmd("sh").args(["-c", &script]).start();
    wait_for(&go.with_extension("there"));
    let shown = sandbox.ralph(&["diff", "--stat", "@"]).exits(0).stdout;
    assert!(shown.contains(" new |") && !shown.contains(".out"), "{shown}");
    fs::write(&go, "").unwrap();
    running.end();
    let kept = sandbox.ralph(&["diff", "--stat", "1@1"]).exits(0).stdout;
    assert_eq!(kept, shown);
}

#[test]
fn running_attempt_is_compared_with_its_checkpoint() {
    for strategy in ["branch", "stash"] {
        let sandbox = Sandbox::dirty();
        sandbox.ralph(&["start", CHANGE, "--strategy", strategy]).exits(0);
        sandbox
            .step("next", &sandbox.completing("echo first >first"))
            .exits(0);
        let (go, running) = waiting(&sandbox, "echo second >'a b'");
        let index = fs::read(sandbox.top.join(".git/index")).unwrap();
        for attempt in ["2", "2@1", "2@", "@"] {
            let shown = sandbox.ralph(&["diff", attempt]).exits(0).stdout;
            assert!(
                shown.contains("+second") && !shown.contains("+first"),
                "{strategy} {attempt}: {shown}"
            );
        }
        let all = sandbox.ralph(&["diff"]).exits(0).stdout;
        assert!(all.contains("+second") && all.contains("+first"), "{all}");
        let stat = sandbox.ralph(&["diff", "--stat", "@"]).exits(0).stdout;
        assert!(stat.contains("1 file changed"), "{stat}");
        let json = sandbox.ralph(&["diff", "2@1", "--json"]).exits(0).json();
        let files = serde_json::json!([{ "path": "a b", "status": "A" }]);
        assert_eq!((&json["to"], &json["files"]), (&serde_json::Value::Null, &files));
        assert!(
            fs::read(sandbox.top.join(".git/index")).unwrap() == index,
            "the index was changed"
        );
        fs::write(&go, "").unwrap();
        running.end().exits(3);
    }
}

#[test]
fn diff_says_that_the_commits_of_a_pruned_loop_are_gone() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
    sandbox.ralph(&["abort"]).exits(0);
    let prune = "git for-each-ref --format='delete %(refname)' refs/ralph | git update-ref --stdin";
    sandbox.cmd("sh").args(["-c", prune]).run().exits(0);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    for args in [&["diff", CHANGE, "1@1"][..], &["diff", CHANGE, "1@1", "--json"]] {
        sandbox
            .ralph(args)
            .exits(1)
            .says("git does not have these commits of 'add-login' any more")
            .says("hint: git ralph log add-login");
    }
}

#[test]
fn diff_of_a_loop_with_a_box_runs_no_program() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.write("show.sh", "true\n");
    sandbox.write(".gitattributes", "*.x diff=x\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "attributes"]);
    sandbox.configure("diff.x.textconv", "sh show.sh");
    sandbox.configure("diff.external", "sh show.sh");
    sandbox.start();
    let ran = sandbox.outside("ran");
    let script = format!("echo new >a.x; echo 'echo x >>{}; cat' >show.sh", ran.display());
    sandbox
        .ralph(&["next", "--box", "--", &sandbox.completing(&script)])
        .exits(0);
    for args in [&["diff"][..], &["diff", "--stat"], &["diff", "1@1"]] {
        assert!(sandbox.ralph(args).exits(0).stdout.contains("a.x"));
        assert!(!ran.exists(), "{args:?}");
    }
    let (go, running) = waiting(&sandbox, "echo more >>a.x");
    assert!(sandbox.ralph(&["diff", "@"]).exits(0).stdout.contains("+more"));
    fs::write(&go, "").unwrap();
    running.end().exits(3);
    assert!(!ran.exists());
}

#[test]
fn log_of_a_workflow_finds_no_command_in_a_difference() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("printf ' ::add-mask::x\\n##[error]y\\n' >new");
    sandbox.step("next", &agent).exits(0);
    let in_workflow = |args: &[&str]| sandbox.direct(args).env("GITHUB_ACTIONS", "true");
    let shown = in_workflow(&["diff"]).run().exits(0).stdout;
    let begin = shown.lines().next().unwrap();
    let token = begin.strip_prefix("::stop-commands::").unwrap();
    assert_eq!(shown.lines().last(), Some(format!("::{token}::").as_str()));
    assert!(shown.contains("+##[error]y"), "{shown}");
    let report = in_workflow(&["report", "--markdown"]).run().exits(0).stdout;
    assert!(report.contains("add-mask") && !report.contains("##["), "{report}");
}
