//! docs/prompt.md and docs/editors.md: what is to be pasted there is run.

use serde_json::Value;

use crate::support::{Sandbox, document};

/// Has a shell show its prompt, in a repository with a loop and in one without.
#[track_caller]
fn shows_the_loop(shell: &[&str], show: &str) {
    if !crate::installed(shell[0]) {
        return;
    }
    let block = document::block(&format!("prompt: {}", shell[0]));
    let script = show.replace("BLOCK", &block);
    let sandbox = Sandbox::new();
    let prompt = || {
        let command = sandbox.cmd(shell[0]).args(&shell[1..]).args([&script]);
        command.run().exits(0).stdout
    };
    assert_eq!(prompt().trim(), "$");
    sandbox.start();
    let shown = prompt();
    assert!(shown.starts_with("ralph: add-login 0/3"), "{shown}");
    assert_eq!(shown.matches("ralph").count(), 1, "{shown}");
}

#[test]
fn bash_shows_the_loop() {
    shows_the_loop(
        &["bash", "--norc", "-c"],
        "PS1='$ '\nBLOCK\nprintf '%s' \"${PS1@P}\"",
    );
}

#[test]
fn zsh_shows_the_loop() {
    shows_the_loop(&["zsh", "-fc"], "PROMPT='$ '\nBLOCK\nprint -rP -- $PROMPT");
}

#[test]
fn fish_shows_the_loop() {
    shows_the_loop(
        &["fish", "--no-config", "-c"],
        "BLOCK\nfish_right_prompt; echo '$'",
    );
}

#[test]
fn the_tasks_of_vs_code_run() {
    let tasks: Value = serde_json::from_str(&document::block("editor: vscode")).unwrap();
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >>f");
    sandbox.git(&["config", "ralph.agent", &agent]);
    sandbox.start();
    for task in tasks["tasks"].as_array().unwrap() {
        let args = task["args"].as_array().unwrap().iter();
        let args: Vec<&str> = args.map(|arg| arg.as_str().unwrap()).collect();
        let command = sandbox.cmd(task["command"].as_str().unwrap()).args(&args);
        command.patiently().run().exits(0);
    }
    assert_eq!(sandbox.status()["stories_done"], 3);
}
