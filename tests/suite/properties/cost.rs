//! What a step asks of git: how many processes it starts, and how many of them look at the whole work tree. Times are
//! for the benchmark; these numbers must not creep up.

use std::fs;

use crate::support::Sandbox;

/// The git commands that look at every file.
const SCANS: [&str; 3] = ["add", "status", "ls-files"];

/// Runs git-ralph, and returns the git commands that it started.
fn commands(sandbox: &Sandbox, args: &[&str], code: i32) -> Vec<String> {
    let traces = sandbox.outside("traces");
    let _ = fs::remove_dir_all(&traces);
    fs::create_dir(&traces).unwrap();
    let command = sandbox.direct(args).env("GIT_TRACE2_EVENT", &traces);
    command.run().exits(code);
    let name_in = |text: String| {
        let event = text
            .lines()
            .find(|line| line.contains("\"event\":\"cmd_name\""))?
            .to_owned();
        let event: serde_json::Value = serde_json::from_str(&event).unwrap();
        Some(event["name"].as_str()?.to_owned())
    };
    let files = fs::read_dir(&traces).unwrap();
    let mut names: Vec<String> = files
        .filter_map(|file| name_in(fs::read_to_string(file.unwrap().path()).unwrap()))
        .collect();
    names.sort();
    names
}

#[track_caller]
fn is_within(commands: &[String], processes: usize, scans: usize) {
    let looks = commands
        .iter()
        .filter(|name| SCANS.contains(&name.as_str()))
        .count();
    assert!(commands.len() <= processes && looks <= scans, "{commands:?}");
}

#[test]
fn steps_run_no_more_git_commands_than_needed() {
    let sandbox = Sandbox::new();
    // Before 2.46 git moves HEAD in no transaction: that takes two processes more.
    let version = sandbox.git(&["version"]);
    let minor: u32 = version.split('.').nth(1).unwrap().parse().unwrap();
    let more = if minor < 46 { 2 } else { 0 };
    is_within(&commands(&sandbox, &["start", "add-login"], 0), 7 + more, 2);
    is_within(&commands(&sandbox, &["status"], 0), 1, 0);
    is_within(&commands(&sandbox, &["status", "--short"], 0), 0, 0);
    sandbox.write("work", "done\n");
    is_within(&commands(&sandbox, &["complete"], 0), 5, 1);
    sandbox.write("work", "not done\n");
    is_within(&commands(&sandbox, &["fail", "no"], 3), 7, 2);
    let agent = sandbox.completing("echo more >work");
    is_within(&commands(&sandbox, &["retry", "--", &agent], 0), 8, 3);
    is_within(&commands(&sandbox, &["finish", "--cleanup"], 0), 5 + more, 1);
}

#[test]
fn what_an_attempt_prints_costs_a_run_with_a_free_place_no_git() {
    let number = |lines: u32| {
        let sandbox = Sandbox::with_free_stories(1);
        sandbox.write("TODO.md", "- [ ] 1. A\n- [ ] 2. B (after 1)\n");
        sandbox.git(&["commit", "-qam", "order"]);
        let agent = sandbox.completing(&format!("yes line | head -n {lines}; echo x >work$RALPH_STORY"));
        let run = [
            "run",
            "todo",
            "--stories=TODO.md",
            "--jobs=2",
            "--keep",
            "--",
            &agent,
        ];
        commands(&sandbox, &run, 0).len()
    };
    let (few, many) = (number(1), number(60));
    assert!(many <= few + 10, "{few} and {many}");
}
