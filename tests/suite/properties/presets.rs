//! Agents by name: which one is meant, what it is started with, what it leaves.

use std::fs;

use git_ralph::tables::PRESETS;

use crate::support::{CHANGE, Sandbox};

/// An agent of this name on PATH, which writes down its arguments, its prompt and a variable, then does this.
fn install(sandbox: &Sandbox, name: &str, script: &str) {
    sandbox.install(
        name,
        &format!(
            r#"[ "$1" = --version ] && {{ echo '{name} 1.2.3 (fake)'; exit; }}
echo "$*" >"$notes/arguments"
cat >"$notes/prompt"
echo "$GEMINI_CLI_TRUST_WORKSPACE" >"$notes/trusted"
{script}"#
        ),
    );
}

/// The end of a stream of claude.
const STREAM: &str = r#"echo x >"x-$RALPH_STORY"
echo '{"type":"system","subtype":"init","session_id":"s"}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.5}'"#;

#[test]
fn first_agent_on_path_is_taken_if_none_is_named() {
    let sandbox = Sandbox::new();
    install(&sandbox, "gemini", "echo x >x; complete");
    install(&sandbox, "claude", STREAM);
    sandbox
        .ralph(&["start", CHANGE])
        .exits(0)
        .says("agent: claude: claude -p --output-format stream-json")
        .says("with --dangerously-skip-permissions the agent acts without asking");
    sandbox.ralph(&["next"]).exits(0);
    let arguments = "-p --output-format stream-json --verbose --dangerously-skip-permissions\n";
    assert_eq!(sandbox.noted("arguments"), arguments);
    assert!(sandbox.noted("prompt").starts_with("# Story 1. Database"));
    assert_eq!(sandbox.attempts()[0]["cost_usd"], 0.5);
}

#[test]
fn a_name_brings_arguments_and_environment() {
    let sandbox = Sandbox::new();
    install(&sandbox, "claude", STREAM);
    let answer = r#"echo x >x
echo '{"type":"init","session_id":"s","model":"m"}'
echo '{"type":"message","role":"assistant","content":"<promise>COMPLETE</promise>","delta":true}'
echo '{"type":"result","status":"success","stats":{}}'"#;
    install(&sandbox, "gemini", answer);
    sandbox.ralph(&["start", CHANGE]).exits(0);
    sandbox.ralph(&["next", "--agent", "gemini"]).exits(0);
    assert_eq!(sandbox.noted("arguments"), "--yolo --output-format stream-json\n");
    assert_eq!(sandbox.noted("trusted"), "true\n");
}

#[test]
fn pieces_of_an_agent_can_be_set() {
    let sandbox = Sandbox::new();
    install(&sandbox, "claude", STREAM);
    sandbox.configure("ralph.agent", "claude");
    sandbox.configure("ralph.agent.claude.command", "claude -p --model 'a b'");
    sandbox.ralph(&["start", CHANGE]).exits(0);
    sandbox.ralph(&["next"]).exits(0);
    assert_eq!(sandbox.noted("arguments"), "-p --model a b\n");
    // What it prints is plain text then, and holds no promise on a line of its own.
    sandbox
        .ralph_cmd(&["-q", "next"])
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "ralph.agent.claude.format")
        .env("GIT_CONFIG_VALUE_0", "text")
        .run()
        .exits(3);
    sandbox.ralph(&["status"]).exits(0);
    sandbox.configure("ralph.agent.claude.format", "xml");
    sandbox
        .ralph(&["status"])
        .exits(1)
        .says("ralph.agent.claude.format is 'xml', but must be the name of a format");
}

#[test]
fn kiro_promises_behind_its_mark() {
    let sandbox = Sandbox::new();
    let answer = r"echo x >>x; printf '\033[38;5;141m> \033[0m<promise>COMPLETE</promise>\033[0m\n'";
    install(&sandbox, "kiro-cli", answer);
    sandbox.ralph(&["start", CHANGE]).exits(0);
    sandbox.ralph(&["next", "--agent", "kiro-cli"]).exits(0);
    sandbox.ralph(&["next", "--", "kiro-cli", "chat"]).exits(0);
    // Of any other agent it is a quotation.
    let other = sandbox.agent(answer);
    sandbox
        .step("next", &other)
        .exits(3)
        .says("in a quotation or a diff");
}

#[test]
fn a_replaced_command_may_print_something_else() {
    let sandbox = Sandbox::new();
    install(
        &sandbox,
        "claude",
        "echo x >\"x-$RALPH_STORY\"; echo Done.; complete",
    );
    sandbox.configure("ralph.agent", "claude");
    sandbox.configure("ralph.agent.claude.command", "claude -p");
    sandbox.ralph(&["start", CHANGE]).exits(0);
    sandbox.ralph(&["next"]).exits(0);
    sandbox.configure("ralph.agent.claude.format", "claude");
    sandbox
        .ralph(&["next"])
        .exits(1)
        .says("not one line of the agent's output is of the format 'claude'")
        .says("git config ralph.agent.claude.format auto");
    sandbox.is_at_checkpoint();
}

#[test]
fn doctor_reads_a_version_from_stderr() {
    let sandbox = Sandbox::new();
    sandbox.install("pi", r#"[ "$1" = --version ] && echo '0.73.1' >&2"#);
    let doctor = sandbox.ralph(&["doctor", "--json"]);
    let output: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let agents = output["agents"].as_array().unwrap();
    let pi = agents.iter().find(|agent| agent["name"] == "pi").unwrap();
    assert_eq!(pi["version"], "0.73.1");
}

#[test]
fn a_name_without_its_program_is_refused_at_start() {
    let sandbox = Sandbox::new();
    let before = sandbox.print();
    for preset in PRESETS {
        sandbox
            .ralph(&["start", CHANGE, "--agent", preset.name])
            .exits(1)
            .says(&format!("cannot find the agent '{}'", preset.program));
    }
    assert_eq!(sandbox.print(), before);
}

#[test]
fn checkpoint_leaves_out_files_that_the_agent_keeps_for_itself() {
    let sandbox = Sandbox::new();
    sandbox.write(".aider.conf.yml", "mine\n");
    let work = "echo x >x; echo edited >.aider.conf.yml; echo chat >.aider.chat.history.md
mkdir -p .aider.tags.cache.v4; echo y >.aider.tags.cache.v4/y; complete";
    install(&sandbox, "aider", work);
    sandbox.ralph(&["start", CHANGE, "--agent", "aider"]).exits(0);
    sandbox
        .ralph(&["next"])
        .exits(0)
        .says("the agent's own files (.aider.*) are no part of the story");
    let changed = sandbox.git(&["diff", "--name-only", "HEAD~1", "HEAD"]);
    assert_eq!(changed, ".aider.conf.yml\nopenspec/changes/add-login/tasks.md\nx");
    let trash = sandbox.top.join(format!(".git/ralph/{CHANGE}/trash/1.1"));
    assert_eq!(
        fs::read_to_string(trash.join(".aider.chat.history.md")).unwrap(),
        "chat\n"
    );
    assert!(trash.join(".aider.tags.cache.v4/y").exists());
    sandbox.is_at_checkpoint();
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux shows enough"
)]
fn step_ends_an_orphan_without_session_and_mark() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let escape = r#"setsid sh -c 'env -i PATH="$PATH" sleep 7654 & echo $! >"$0/pid"' "$notes"
while [ ! -s "$notes/pid" ]; do :; done; echo x >x"#;
    let agent = sandbox.completing(escape);
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("left a process running");
    let pid = sandbox.noted("pid");
    let alive = fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    assert!(!alive.windows(4).any(|part| part == b"7654"), "it is still alive");
}
