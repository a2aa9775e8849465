//! Attempts of more than one round: the agent asks for another process, or another process is asked about the work.

use nix::sys::signal::Signal;

use crate::support::{Sandbox, wait_until};

/// Returns an agent that runs one of these scripts in each round, the last one again and again.
pub(super) fn rounds(sandbox: &Sandbox, scripts: &[&str]) -> String {
    let mut script =
        "n=$(cat \"$notes/n\" 2>/dev/null || echo 1); echo $((n + 1)) >\"$notes/n\"; ".to_owned();
    script += "cat >\"$notes/prompt.$n\"; case $n in ";
    for (number, round) in scripts.iter().enumerate() {
        let pattern = if number + 1 == scripts.len() {
            "*".to_owned()
        } else {
            (number + 1).to_string()
        };
        script += &format!("{pattern}) {round};; ");
    }
    sandbox.agent(&(script + "esac"))
}

pub(super) const DONE: &str = "echo '<promise>COMPLETE</promise>'";

pub(super) fn last(sandbox: &Sandbox) -> serde_json::Value {
    sandbox.attempts().pop().unwrap()
}

#[test]
fn an_agent_that_prints_continue_gets_another_process_on_the_same_tree() {
    let sandbox = Sandbox::started();
    let agent = rounds(
        &sandbox,
        &[
            "echo one >first; echo '<promise>CONTINUE: the second file</promise>'",
            &format!("test -e first && echo two >second; {DONE}"),
        ],
    );
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("  round 2: the agent asked for another process; left to do: the second file");
    assert_eq!(
        (sandbox.read("first"), sandbox.read("second")),
        ("one\n".into(), "two\n".into())
    );
    let attempt = last(&sandbox);
    assert_eq!((&attempt["rounds"], &attempt["files"]), (&2.into(), &3.into()));
    assert_eq!(attempt["rests_on"], serde_json::json!(["promise"]));
    let prompt = sandbox.noted("prompt.2");
    assert!(
        prompt.starts_with(sandbox.noted("prompt.1").trim_end()),
        "{prompt}"
    );
    assert!(
        prompt.contains("- first (+1 -0)\n") && prompt.contains("> the second file\n"),
        "{prompt}"
    );
    let shown = sandbox.ralph(&["log"]).exits(0).stdout;
    let line = |start: &str, end: &str| {
        let mut lines = shown.lines().map(str::trim_start);
        lines.any(|line| line.starts_with(start) && line.ends_with(end))
    };
    assert!(line("round 1 (", ")"), "{shown}");
    let why = "): the agent asked for another process; left to do: the second file";
    assert!(line("round 2 (", why), "{shown}");
    let by_round = &attempt["by_round"];
    assert_eq!(by_round[0]["why"], serde_json::Value::Null, "{by_round}");
    assert_eq!(by_round[1]["why"], "continue", "{by_round}");
    assert_eq!(by_round[1]["left"], "the second file", "{by_round}");
    assert!(by_round[0]["duration"].is_number() && by_round[1]["duration"].is_number());
    for args in [&["report", "-o", "-"][..], &["report", "--markdown"]] {
        let report = sandbox.ralph(args).exits(0).stdout;
        assert!(
            report.contains("another process; left to do: the second file"),
            "{report}"
        );
    }
    // The log has both processes.
    let log = sandbox.read(".git/ralph/add-login/attempts/1.1.log");
    assert!(log.contains("CONTINUE") && log.contains("COMPLETE"), "{log}");
}

#[test]
fn rounds_that_change_nothing_or_never_end_fail_the_attempt() {
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.continue", "2");
    let more = "echo '<promise>CONTINUE: the rest</promise>'";
    sandbox
        .step("next", &rounds(&sandbox, &[more]))
        .exits(3)
        .says("failed after")
        .says("the agent printed CONTINUE, but git sees no change outside the story list: the rest");
    sandbox.is_at_checkpoint();
    sandbox
        .step("retry", &rounds(&sandbox, &[&format!("echo x >>made; {more}")]))
        .exits(3)
        .says("not done in 3 rounds: the rest");
    sandbox.is_at_checkpoint();
    // One record, one undo: what is kept has the work of all rounds.
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/2:made"]),
        "x\nx\nx"
    );
    assert_eq!(last(&sandbox)["rounds"], 3);
    assert!(
        sandbox
            .noted("prompt.1")
            .contains("<promise>CONTINUE: ...</promise>")
    );
    let prompts = ["prompt.2", "prompt.3", "prompt.4"].map(|name| sandbox.noted(name));
    let is_last = |prompt: String| prompt.contains("No other process of this attempt follows");
    assert_eq!(prompts.map(is_last), [false, false, true]);
    sandbox.configure("ralph.continue", "0");
    sandbox
        .step("retry", &rounds(&sandbox, &[&format!("echo x >>made; {more}")]))
        .exits(3)
        .says("the agent printed CONTINUE: the rest");
    assert!(last(&sandbox).get("rounds").is_none());
}

/// A loop with the default of `ralph.emptyStory`.
pub(super) fn confirming() -> Sandbox {
    let sandbox = Sandbox::started();
    sandbox.git(&["config", "--global", "--unset", "ralph.emptyStory"]);
    sandbox
}

#[test]
fn a_promise_without_a_changed_file_is_asked_about_once() {
    let sandbox = confirming();
    let shown = format!("echo 'README.md shows both tasks.'; {DONE}");
    let output = sandbox.step("next", &rounds(&sandbox, &[DONE, &shown])).exits(0);
    let output = output.says("  round 2: the agent promised, but git sees no change outside the story list; another process is asked");
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    assert_eq!(
        last(&sandbox)["rests_on"],
        serde_json::json!(["promise", "confirmed"])
    );
    assert_eq!(sandbox.status()["by_word"], serde_json::json!(["1"]));
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    let words = "1 of 3 stories are done in the list, 1 without a changed file, on the agent's word (1)";
    assert!(status.contains(words), "{status}");
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.ends_with("Ralph-Rests-On: promise, confirmed"),
        "{message}"
    );
    assert!(
        sandbox.noted("prompt.2").contains("git sees no change outside"),
        "{}",
        sandbox.noted("prompt.2")
    );
    // The last step says it too.
    sandbox.step("next", &sandbox.completing("echo 2 >2")).exits(0);
    let last_step = sandbox.step("next", &sandbox.completing("echo 3 >3")).exits(0);
    last_step.says(&words.replace("1 of 3", "3 of 3"));
    sandbox.ralph(&["redo", "3", "--force"]).exits(0);
    sandbox.write("3", "3\n");
    let by_hand = sandbox.ralph(&["complete"]).exits(0);
    by_hand.says(&words.replace("1 of 3", "3 of 3"));
    // It was not done: the second process does it.
    let sandbox = confirming();
    let agent = rounds(&sandbox, &[DONE, &format!("echo x >made; {DONE}")]);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(last(&sandbox)["rests_on"], serde_json::json!(["promise"]));
    assert_eq!(sandbox.read("made"), "x\n");
    // It says so by itself.
    let sandbox = confirming();
    let agent = rounds(
        &sandbox,
        &[&format!("echo '<unchanged>1.1: README.md</unchanged>'; {DONE}")],
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        last(&sandbox)["rests_on"],
        serde_json::json!(["promise", "unchanged-said"])
    );
    assert!(last(&sandbox).get("rounds").is_none());
    // Three in a row stop no loop.
    for _ in 0..2 {
        sandbox.step("next", &agent).exits(0);
    }
}

#[test]
fn a_promise_without_a_changed_file_that_names_nothing_fails() {
    let list = "openspec/changes/add-login/tasks.md";
    for words in [
        "It was all done before.".to_owned(),
        "<unchanged>1.1 was done before</unchanged>".to_owned(),
        "See src/nothing.html.".to_owned(),
        format!("All boxes of {list} are ticked."),
        "It is in 0123456789abcdef.".to_owned(),
    ] {
        let sandbox = confirming();
        let agent = rounds(&sandbox, &[&format!("echo '{words}'; {DONE}")]);
        sandbox
            .step("next", &agent)
            .exits(3)
            .says("it names no file or commit of the last checkpoint that shows the story done");
        assert_eq!(sandbox.verdict(), "failed", "{words}");
        assert_eq!(last(&sandbox)["rounds"], 2, "{words}");
        // The next process learns what is missing.
        let agent = rounds(&sandbox, &["echo '<promise>FAILED: no</promise>'"]);
        sandbox.step("retry", &agent).exits(3);
        let prompt = sandbox.noted("prompt.3");
        assert!(prompt.contains("it names no file or commit"), "{prompt}");
    }
    // A commit does as well.
    let sandbox = confirming();
    let shown = format!("git rev-parse --short HEAD; {DONE}");
    sandbox.step("next", &rounds(&sandbox, &[DONE, &shown])).exits(0);
}

#[test]
fn work_without_a_promise_is_asked_about_if_the_setting_says_so() {
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.noSignal", "ask");
    let work = "echo x >made; echo I have made it.";
    sandbox
        .step("next", &rounds(&sandbox, &[work, DONE]))
        .exits(0)
        .says("  round 2: the agent ended without a promise; another process is asked");
    assert_eq!(last(&sandbox)["rests_on"], serde_json::json!(["promise"]));
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.noSignal", "ask");
    sandbox.step("next", &rounds(&sandbox, &[work])).exits(3);
    assert_eq!(
        (sandbox.verdict(), &last(&sandbox)["rounds"]),
        ("no_signal".into(), &2.into())
    );
    sandbox.is_at_checkpoint();
    // Without work there is nothing to ask about.
    sandbox.step("retry", &sandbox.agent("echo Hello.")).exits(3);
    assert!(last(&sandbox).get("rounds").is_none());
}

#[test]
fn what_a_round_does_to_git_is_put_right_before_the_next_one() {
    let sandbox = Sandbox::started();
    let agent = rounds(
        &sandbox,
        &[
            "printf '#!/bin/sh\\ntouch \"$notes/ran\"\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; \
             git config core.fsmonitor true; git branch other; sed -i 's/- \\[ \\] 2.1/- [x] 2.1/' openspec/changes/add-login/tasks.md; \
             echo x >made; echo '<promise>CONTINUE: rest</promise>'",
            &format!(
                "test -e .git/hooks/post-checkout && echo left >\"$notes/left\"; git config core.fsmonitor >>\"$notes/left\"; \
                 cat openspec/changes/add-login/tasks.md >\"$notes/list\"; echo y >>made; {DONE}"
            ),
        ],
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("left"), "");
    assert!(
        sandbox.noted("list").contains("- [ ] 2.1"),
        "{}",
        sandbox.noted("list")
    );
    assert_eq!(sandbox.read("made"), "x\ny\n");
    // A branch that no guard refuses is reported once, at the end.
    assert_eq!(sandbox.git(&["branch", "--list", "other"]).trim(), "other");
}

#[test]
fn a_limit_or_a_request_between_two_rounds_ends_the_attempt_uncounted() {
    let more = "echo x >>made; echo '<promise>CONTINUE: rest</promise>'";
    let sandbox = Sandbox::started();
    let agent = rounds(
        &sandbox,
        &[&format!("git ralph stop add-login >/dev/null 2>&1; {more}")],
    );
    sandbox.step("next", &agent).exits(6);
    assert_eq!(sandbox.verdict(), "interrupted");
    sandbox.is_at_checkpoint();
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:made"]),
        "x"
    );
    sandbox.step("next", &sandbox.completing("echo x >made")).exits(0);
    let events = sandbox.read(".git/ralph/add-login/events.jsonl");
    let begun = events
        .lines()
        .rfind(|line| line.contains("attempt_started"))
        .unwrap();
    assert!(begun.contains("\"attempt\":2,\"retries\":0"), "{begun}");
}

const LIMITED: &str = "echo 'API Error: Request rejected (429)' >&2; exit 1";

#[test]
fn a_service_that_does_not_answer_in_a_later_round_costs_no_work() {
    let more = "echo one >>made; echo '<promise>CONTINUE: rest</promise>'";
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.maxWait", "0");
    let agent = rounds(&sandbox, &[more, LIMITED]);
    sandbox.step("next", &agent).exits(6).says("ralph.maxWait");
    sandbox.is_at_checkpoint();
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:made"]),
        "one"
    );
    assert_eq!(sandbox.verdict(), "interrupted");
    // Another agent repeats the round in the same work tree.
    let sandbox = Sandbox::started();
    let fallback = sandbox.completing("cat >\"$notes/prompt\"; echo two >>made");
    sandbox.configure("ralph.fallbackAgent", &fallback);
    let agent = rounds(&sandbox, &[more, LIMITED]);
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("retrying with ralph.fallbackAgent");
    assert_eq!(sandbox.read("made"), "one\ntwo\n");
    assert!(
        sandbox.noted("prompt").contains("> rest\n"),
        "{}",
        sandbox.noted("prompt")
    );
    assert_eq!(last(&sandbox)["rounds"], 2);
}

#[test]
fn a_kill_in_a_later_round_undoes_the_attempt_as_one_in_every_mode() {
    for args in [
        &["start", "add-login"][..],
        &["start", "add-login", "--strategy", "stash"],
        &["start", "add-login", "--worktree"],
    ] {
        let sandbox = Sandbox::dirty();
        sandbox.ralph(args).exits(0);
        let agent = rounds(
            &sandbox,
            &[
                "echo x >made; git tag mine; echo '<promise>CONTINUE: rest</promise>'",
                "echo y >>made; kill -9 $(ps -o ppid= -p $PPID); sleep 1000",
            ],
        );
        sandbox
            .direct(&["next", "add-login", "--", &agent])
            .run()
            .exits(137);
        sandbox.ralph(&["status", "add-login"]).exits(0);
        sandbox.ralph(&["revert", "add-login"]).exits(0);
        let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:made"]);
        assert_eq!(kept, "x\ny", "{args:?}");
        let log = sandbox.ralph(&["log", "add-login", "--json"]).exits(0).json();
        assert_eq!(log["attempts"][0]["verdict"], "interrupted", "{log}");
        assert_eq!(log["attempts"][0]["rounds"], 2, "{log}");
        // It does not count: the story can be tried as often as before.
        let agent = sandbox.completing("test ! -e made && echo z >made");
        sandbox
            .direct(&["next", "add-login", "--", &agent])
            .run()
            .exits(0);
        sandbox.ralph(&["abort", "add-login"]).exits(0);
    }
}

#[test]
fn a_round_may_pop_what_an_earlier_one_stashed() {
    let sandbox = Sandbox::started();
    sandbox.write("mine", "x\n");
    sandbox.git(&["stash", "-u", "-q"]);
    let mine = sandbox.git(&["rev-parse", "refs/stash"]);
    let agent = rounds(
        &sandbox,
        &[
            "echo x >kept; echo y >made; git stash push -q -u made; echo '<promise>CONTINUE: rest</promise>'",
            &format!("git stash pop -q; {DONE}"),
        ],
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.read("made"), "y\n");
    assert_eq!(sandbox.git(&["rev-parse", "refs/stash"]), mine);
}

#[test]
fn each_rounds_version_of_the_list_is_kept() {
    let sandbox = Sandbox::started();
    let list = "openspec/changes/add-login/tasks.md";
    let tick = format!(
        "sed -i 's/- \\[ \\] 2.1/- [x] 2.1/' {list}; echo x >made; echo '<promise>CONTINUE: rest</promise>'"
    );
    let rewrite = format!("printf '# Mine\\n\\nprecious\\n' >{list}; failed no");
    sandbox
        .step("next", &rounds(&sandbox, &[&tick, &rewrite]))
        .exits(3)
        .says("refs/ralph/add-login/attempts/1/1-list");
    let of = |name: &str| sandbox.git(&["show", &format!("refs/ralph/add-login/attempts/1/{name}:{list}")]);
    assert!(of("1").contains("precious"), "{}", of("1"));
    assert!(of("1-list").contains("- [x] 2.1"), "{}", of("1-list"));
    sandbox.is_at_checkpoint();
}

#[test]
fn a_denied_tool_or_a_silent_round_that_was_blocked_makes_no_story_complete() {
    let sandbox = confirming();
    let denied = r#"d='[]'; [ $n = 1 ] && d='[{"tool_name":"Write"}]'
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>","permission_denials":'$d'}'"#;
    sandbox
        .step("next", &rounds(&sandbox, &[denied]))
        .exits(3)
        .says("the agent was not allowed to use Write");
    assert!(last(&sandbox).get("rounds").is_none());
    for first in [
        "echo 'I am blocked: this is not done.'",
        "echo 'I will not print <promise>COMPLETE</promise> yet.'",
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.noSignal", "gates");
        sandbox.configure("ralph.verify", "true");
        sandbox.start();
        let agent = rounds(&sandbox, &[&format!("echo x >made; {first}"), "echo Bye."]);
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "no_signal", "{first}");
    }
}

#[test]
fn a_repeated_prompt_says_nothing_about_an_unchanged_story() {
    let sandbox = confirming();
    let list = "openspec/changes/add-login/tasks.md";
    let text = sandbox
        .read(list)
        .replace("1.1 ", "1.1 <unchanged>words</unchanged> ");
    sandbox.write(list, &text);
    let agent = rounds(&sandbox, &[&format!("cat \"$notes/prompt.$n\"; echo; {DONE}")]);
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("it names no file or commit");
}

#[test]
fn a_tick_alone_is_no_work_and_is_named_in_no_prompt() {
    let list = "openspec/changes/add-login/tasks.md";
    let tick = format!("sed -i 's/- \\[ \\]/- [x]/' {list}");
    let sandbox = Sandbox::started();
    let more = "echo '<promise>CONTINUE: rest</promise>'";
    sandbox
        .step("next", &rounds(&sandbox, &[&format!("{tick}; {more}")]))
        .exits(3)
        .says("the agent printed CONTINUE, but git sees no change outside the story list: rest");
    assert!(last(&sandbox).get("rounds").is_none());
    let sandbox = Sandbox::started();
    let agent = rounds(&sandbox, &[&format!("{tick}; echo x >made; {more}"), more]);
    let output = sandbox.step("next", &agent).exits(3);
    let (put_back, round) = (output.stderr.find("put back"), output.stderr.find("  round 2:"));
    assert!(put_back.is_some() && put_back < round, "{}", output.stderr);
    let prompt = sandbox.noted("prompt.2");
    assert!(
        prompt.contains("- made (+1 -0)") && !prompt.contains("(+4 -4)"),
        "{prompt}"
    );
    assert!(!prompt.contains(&format!("- {list}")), "{prompt}");
    assert_eq!(last(&sandbox)["rounds"], 2);
}

#[test]
fn rounds_that_a_kill_ended_are_counted_and_their_cost_with_them() {
    let sandbox = Sandbox::started();
    let result = r#"echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":1.5,"result":"<promise>CONTINUE: rest</promise>"}'"#;
    let agent = rounds(
        &sandbox,
        &[
            &format!("echo x >made; {result}"),
            "kill -9 $(ps -o ppid= -p $PPID); sleep 1000",
        ],
    );
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    // A git of the killed command can still be ending.
    wait_until("revert", || sandbox.ralph(&["revert"]).code == 0);
    let last = last(&sandbox);
    assert_eq!((&last["rounds"], &last["cost_usd"]), (&2.into(), &1.5.into()));
    sandbox.configure("ralph.maxCost", "1");
    sandbox.step("next", &agent).exits(6).says("$1.50 of $1.00 spent");
}

#[test]
fn status_says_that_a_later_round_waits() {
    let sandbox = Sandbox::started();
    let more = "echo one >>made; echo '<promise>CONTINUE: rest</promise>'";
    let agent = rounds(&sandbox, &[more, LIMITED]);
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_until("it waits", || !sandbox.status()["waiting"].is_null());
    assert_eq!(sandbox.status()["running"]["rounds"], 2);
    // Between two waits the agent is asked again.
    wait_until("status says so", || {
        let words = sandbox.ralph(&["status"]).exits(0).stdout;
        words.contains("attempt 1, round 2, has been waiting")
            && words.contains("waiting for an agent's service until ")
    });
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    sandbox.is_at_checkpoint();
}
