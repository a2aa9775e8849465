//! Stories that are put off until the others are through (`ralph.onFailure=later`).

use crate::support::{CHANGE, Sandbox};

#[test]
fn a_story_that_fails_can_be_tried_again_after_the_others() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.onFailure", "later");
    // The first story needs the second one.
    let needs = "cat >\"$notes/prompt$RALPH_STORY.$RALPH_ATTEMPT\"; echo x >x$RALPH_STORY; case $RALPH_STORY in 1) test -e x2 && complete || failed 'x2 is missing';; *) complete;; esac";
    let run = |agent: &str| {
        let args = ["run", CHANGE, "--max-retries", "1", "--json", "--", agent];
        sandbox.ralph(&args)
    };
    let output = run(&sandbox.agent(needs)).exits(0);
    let verdicts: Vec<(String, u64, String)> = sandbox
        .attempts()
        .iter()
        .map(|attempt| {
            let text = |name: &str| attempt[name].as_str().unwrap().to_owned();
            (
                text("story"),
                attempt["attempt"].as_u64().unwrap(),
                text("verdict"),
            )
        })
        .collect();
    let expected = [
        ("1", 1, "failed"),
        ("1", 2, "failed"),
        ("2", 1, "complete"),
        ("3", 1, "complete"),
        ("1", 3, "complete"),
    ];
    let expected = expected.map(|(story, attempt, verdict)| (story.to_owned(), attempt, verdict.to_owned()));
    assert_eq!(verdicts, expected);
    assert!(
        output.stdout.contains("\"max_retries\":1,\"deferred\":true"),
        "{}",
        output.stdout
    );
    assert!(
        !output.stdout.contains("\"event\":\"error\""),
        "{}",
        output.stdout
    );
    assert_eq!(sandbox.status()["phase"], "complete");
    let prompt = sandbox.noted("prompt1.3");
    assert!(prompt.contains("> x2 is missing"), "{prompt}");
    assert!(
        prompt.contains("refs/ralph/add-login/attempts/1/2 | git apply"),
        "{prompt}"
    );
}

#[test]
fn a_story_that_fails_again_after_the_others_stops_the_run() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.onFailure", "later");
    let agent = sandbox.agent("echo x >x$RALPH_STORY; test $RALPH_STORY = 2 && failed no || complete");
    let run = [
        "run",
        CHANGE,
        "--max-retries",
        "0",
        "--json",
        "--cleanup",
        "--",
        &agent,
    ];
    let output = sandbox.ralph(&run).exits(4);
    let errors = output.stdout.matches("\"kind\":\"max_retries_exceeded\"").count();
    assert_eq!(errors, 1, "{}", output.stdout);
    assert!(
        output.stdout.contains("\"reason\":\"no\",\"attempts\":1"),
        "{}",
        output.stdout
    );
    // Like a loop that stops: it is open, and the story can be retried or skipped.
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["current"]["id"]),
        (&"exhausted".into(), &"2".into())
    );
    assert_eq!(sandbox.attempts().len(), 4);
    // Where nothing else was completed meanwhile, it is not tried again.
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.onFailure", "later");
    let fails = sandbox.failing("echo x >x");
    let run = ["run", CHANGE, "--max-retries", "0", "--", &fails];
    sandbox
        .ralph(&run)
        .exits(4)
        .says("story 1 failed, no retries left; it is put off until the others are through");
    assert_eq!(sandbox.attempts().len(), 3);
    assert_eq!(sandbox.status()["current"]["id"], "1");
    sandbox.ralph(&["skip"]).exits(0);
    assert_eq!(sandbox.status()["phase"], "exhausted");
}

#[test]
fn a_story_that_is_put_off_is_listed_as_failed_and_next_names_run() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.onFailure", "later");
    // The run ends while the first story is put off.
    let agent = sandbox.agent(
        "case $RALPH_STORY in 1) failed no;; 2) git ralph stop >/dev/null 2>&1; echo x >x; complete;; esac",
    );
    let run = ["run", CHANGE, "--max-retries", "0", "--", &agent];
    sandbox.ralph(&run).exits(6);
    sandbox.step("next", &sandbox.completing("echo x >y")).exits(0);
    let status = sandbox.status();
    assert_eq!(
        (&status["put_off"], &status["skipped"]),
        (&["1"][..].into(), &serde_json::json!([]))
    );
    assert_eq!(status["phase"], "exhausted");
    for (command, said) in [
        ("status", "2 of 3 stories are complete, 1 put off (1)"),
        (
            "status",
            "(use \"git ralph run add-login\" to try the failed stories again)",
        ),
        ("stories", "(failed, put off)"),
        ("status --short", "2/3 (1 put off)"),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let output = sandbox.ralph(&words).exits(0).stdout;
        assert!(output.contains(said), "{output}");
    }
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    assert_eq!(report["stories"][0]["state"], "failed", "{report}");
    sandbox
        .step("next", &agent)
        .exits(5)
        .says("nothing left to do: 2 of 3 stories are complete; failed: 1")
        .says("hint: git ralph run add-login");
    // Also without the setting, a story that was put off is not given up silently.
    sandbox.git(&["config", "--unset", "ralph.onFailure"]);
    sandbox
        .ralph(&["run", CHANGE, "--", &sandbox.completing("echo x >z")])
        .exits(0);
    assert_eq!(sandbox.status()["phase"], "complete");
}

#[test]
fn run_does_not_offer_to_put_off_a_story_once_more() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "TODO.md",
        "- [ ] 1. One\n- [ ] 2. Two (after 1)\n- [ ] 3. Three\n",
    );
    let agent = sandbox.agent(
        "echo $RALPH_STORY >>\"$notes/log\"; echo x >x$RALPH_STORY; test $RALPH_STORY = 1 && failed no || complete",
    );
    let run = |later: &str| {
        let options = ["--stories=TODO.md", "--max-retries=0", later, "--", &agent];
        sandbox.ralph(&[&["run", "todo"], &options[..]].concat())
    };
    let hint = "git ralph run todo --on-failure later";
    run("--on-failure=stop").exits(4).says(hint);
    let ended = run("--on-failure=later").exits(4);
    assert_eq!(sandbox.noted("log"), "1\n3\n1\n");
    assert!(!ended.stderr.contains(hint), "{}", ended.stderr);
}

#[test]
fn stories_that_wait_for_a_skipped_failure_end_a_run_with_4() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "TODO.md",
        "- [ ] 1. One\n- [ ] 2. Two (after 1)\n- [ ] 3. Three\n",
    );
    let agent = sandbox.agent("echo x >x$RALPH_STORY; test $RALPH_STORY = 1 && failed no || complete");
    let run = [
        "run",
        "todo",
        "--stories=TODO.md",
        "--max-retries=0",
        "--on-failure=skip",
        "--",
        &agent,
    ];
    for _ in 0..2 {
        sandbox
            .ralph(&run)
            .exits(4)
            .says("every remaining story waits for another: 2 waits for 1")
            .says("(use \"git ralph skip --undo todo 1\" to take up a skipped story again)");
    }
    let many = [
        &[
            "run",
            "todo",
            CHANGE,
            "--on-failure=skip",
            "--max-retries=0",
            "--keep",
            "--",
        ],
        &[&*sandbox.completing("echo x >x$RALPH_STORY")] as &[&str],
    ];
    sandbox.ralph(&many.concat()).exits(4);
    assert_eq!(sandbox.status()["closed"], "keep");
    // Without a failure, nobody but the user can let it go on.
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] 1. One\n- [ ] 2. Two (after 1)\n");
    sandbox.ralph(&["start", "todo", "--stories=TODO.md"]).exits(0);
    sandbox.ralph(&["skip", "todo", "1"]).exits(0);
    sandbox
        .ralph(&["run", "todo", "--", &agent])
        .exits(7)
        .says("every remaining story waits for another: 2 waits for 1");
}

#[test]
fn story_that_all_others_wait_for_is_not_offered_to_be_put_off() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] 1. One\n- [ ] 2. Two (after 1)\n");
    let agent = sandbox.failing("true");
    let run = sandbox.ralph(&[
        "run",
        "todo",
        "--stories=TODO.md",
        "--max-retries=0",
        "--",
        &agent,
    ]);
    let ended = run.exits(4);
    assert!(!ended.stderr.contains("--on-failure later"), "{}", ended.stderr);
}
