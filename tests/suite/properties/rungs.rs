//! Who makes an attempt: the usual agent, that of retries, or the one that stands in when the other cannot work.

use crate::support::{CHANGE, Sandbox};

/// The agents that the log of the loop names, one an attempt.
fn agents(sandbox: &Sandbox) -> String {
    sandbox.noted("agents").replace('\n', " ").trim().to_owned()
}

/// An agent that notes its name, and goes on as the script says.
fn agent(sandbox: &Sandbox, name: &str, script: &str) -> String {
    sandbox.agent(&format!(
        "echo {name} >>\"$notes/agents\"; echo {name} >>work; {script}"
    ))
}

#[test]
fn a_retry_has_an_agent_of_its_own() {
    let sandbox = Sandbox::new();
    let first = agent(&sandbox, "first", "failed no");
    let second = agent(&sandbox, "second", "complete");
    sandbox.configure("ralph.agent", &first);
    sandbox.configure("ralph.retryAgent", &second);
    sandbox.ralph(&["run", CHANGE, "--keep"]).exits(0);
    assert_eq!(agents(&sandbox), "first second first second first second");
    // The one that is typed makes every attempt.
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.retryAgent", &second);
    let typed = agent(&sandbox, "typed", "failed no");
    let run = ["run", CHANGE, "--max-retries=1", "--keep", "--", &typed];
    sandbox.ralph(&run).exits(4);
    assert_eq!(agents(&sandbox), "typed typed");
}

#[test]
fn fallback_agent_replaces_an_agent_that_cannot_work() {
    let limit = "echo 'API Error: Request rejected (429)' >&2; exit 1";
    for (script, why) in [
        (limit, "Request rejected (429)"),
        ("echo 'Invalid API key' >&2; exit 1", "Invalid API key"),
        ("exit 127", "exit code 127"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        sandbox.configure("ralph.agent", &agent(&sandbox, "first", script));
        sandbox.configure("ralph.fallbackAgent", &agent(&sandbox, "second", "complete"));
        let output = sandbox.ralph(&["next"]).exits(0);
        output.says(why).says("retrying with ralph.fallbackAgent");
        assert_eq!(agents(&sandbox), "first second");
        assert_eq!(sandbox.read("work"), "second\n");
    }
    // One that is not there, and a failure that is the story's own.
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.configure("ralph.agent", "no-such-agent");
    sandbox.configure("ralph.fallbackAgent", &agent(&sandbox, "second", "failed no"));
    sandbox
        .ralph(&["next"])
        .exits(3)
        .says("cannot find the agent 'no-such-agent'; retrying with ralph.fallbackAgent");
    assert_eq!(agents(&sandbox), "second");
}

#[test]
fn loop_begins_with_the_fallback_if_its_agent_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "no-such-agent");
    sandbox.configure("ralph.fallbackAgent", "no-such-agent-either");
    sandbox
        .ralph(&["run", CHANGE])
        .exits(1)
        .says("cannot find the agent 'no-such-agent'\n");
    assert!(!sandbox.top.join(".git/ralph").exists());
    sandbox.configure("ralph.fallbackAgent", &agent(&sandbox, "second", "complete"));
    sandbox.ralph(&["run", CHANGE, "--keep"]).exits(0);
    assert_eq!(agents(&sandbox), "second second second");
}

#[test]
fn command_ends_or_waits_if_no_agent_can_work() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let limit = "echo 'API Error: Request rejected (429)' >&2; exit 1";
    sandbox.configure("ralph.agent", &agent(&sandbox, "first", limit));
    sandbox.configure("ralph.fallbackAgent", &agent(&sandbox, "second", limit));
    sandbox.configure("ralph.maxWait", "0");
    sandbox.ralph(&["next"]).exits(6).says("ralph.maxWait");
    assert_eq!(agents(&sandbox), "first second");
    sandbox.configure("ralph.fallbackAgent", &agent(&sandbox, "third", "exit 127"));
    sandbox.ralph(&["next"]).exits(1).says("exit code 127");
    assert_eq!(agents(&sandbox), "first second first third");
}

#[test]
fn retries_climb_the_rungs_and_a_missing_one_is_told_before() {
    let sandbox = Sandbox::new();
    let name = |name: &str, script: &str| agent(&sandbox, name, script);
    sandbox.configure("ralph.agent", &name("first", "failed no"));
    let add = |value: &str| sandbox.git(&["config", "--add", "ralph.retryAgent", value]);
    add(&name("forgotten", "failed no"));
    add("");
    add(&name("second", "failed no"));
    add(&name("third", "failed no"));
    sandbox.ralph(&["run", CHANGE, "--max-retries=3"]).exits(4);
    assert_eq!(agents(&sandbox), "first second third third");
    add("no-such-agent --deep");
    sandbox
        .ralph(&["run", CHANGE, "--dry-run"])
        .says("warning: ralph.retryAgent: cannot find the agent 'no-such-agent'");
    let doctor = sandbox.ralph(&["doctor"]).exits(1).stdout;
    assert!(
        doctor.contains("cannot find the agent 'no-such-agent'"),
        "{doctor}"
    );
    sandbox.configure("ralph.agent.cluade.args", "--model opus");
    sandbox
        .ralph(&[
            "start",
            "other",
            "--stories",
            "openspec/changes/add-login/tasks.md",
            "--worktree",
        ])
        .exits(0)
        .says("warning: ralph.retryAgent: cannot find the agent 'no-such-agent'")
        .says("unknown agent cluade in ralph.agent.cluade; did you mean ralph.agent.claude?");
    let typed = ["run", CHANGE, "--dry-run", "--", "true"];
    let typed = sandbox.ralph(&typed).exits(4).stderr;
    assert!(!typed.contains("no-such-agent"), "{typed}");
}
