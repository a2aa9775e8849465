//! `git ralph doctor`.

use git_ralph::agent::presets;

use crate::support::Sandbox;

#[test]
fn without_an_agent_something_needs_mending() {
    let sandbox = Sandbox::new();
    let output = sandbox.ralph(&["doctor"]).exits(1);
    for preset in presets::ALL {
        assert!(output.stdout.contains(&preset.line()), "{}", output.stdout);
    }
    assert!(
        output
            .stdout
            .contains("no agent is named, and none of these is installed")
    );
    assert!(output.stdout.contains("hint: "), "{}", output.stdout);
    sandbox.configure("ralph.agent", "no-such-agent -x");
    let output = sandbox.ralph(&["doctor"]).exits(1);
    assert!(
        output
            .stdout
            .contains("the agent 'no-such-agent' cannot be found")
    );
}

#[test]
fn it_shows_the_agent_that_would_be_used_and_works_anywhere() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "sh ./claude --dangerously-skip-permissions");
    let output = sandbox.ralph(&["doctor", "--json"]).exits(0).json();
    assert_eq!(output["agent"]["unasked"], "--dangerously-skip-permissions");
    assert_eq!(output["agents"].as_array().unwrap().len(), presets::ALL.len());
    assert_eq!(output["agents"][0]["name"], "claude");
    assert_eq!(output["agents"][0]["installed"], false);
    assert!(output["git"].as_str().unwrap().starts_with("git version "));
    assert_eq!(output["problems"], serde_json::json!([]));
    let outside = sandbox.outside("home");
    let output = sandbox.ralph_cmd(&["doctor", "--json"]).dir(&outside).run();
    assert_eq!(output.exits(1).json()["agent"], serde_json::Value::Null);
}
