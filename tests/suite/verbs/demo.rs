//! `git ralph demo`: the whole loop, anywhere, leaving nothing behind.

use crate::support::Sandbox;

#[test]
fn demo_shows_a_whole_loop_and_leaves_nothing() {
    let sandbox = Sandbox::empty();
    let dir = sandbox.outside("home");
    let output = sandbox.ralph_cmd(&["demo"]).dir(&dir).run().exits(0);
    let output = output
        .says("gate failed")
        .says("kept: git ralph diff todo 1@1")
        .says("2 of 2 stories are complete")
        .says("finished: on main again")
        .says("Now in your project");
    let lines = output.stderr.lines().count() + output.stdout.lines().count();
    assert!(lines < 60, "{lines} lines");
    let left = std::fs::read_dir(sandbox.outside("cache")).unwrap().count();
    assert_eq!(left, 0, "something is left in the temporary directory");
}

#[test]
fn demo_prints_events_alone_for_a_program() {
    let sandbox = Sandbox::empty();
    let dir = sandbox.outside("home");
    let output = sandbox.ralph_cmd(&["demo", "--json"]).dir(&dir).run().exits(0);
    let events = output
        .stdout
        .lines()
        .map(serde_json::from_str::<serde_json::Value>);
    let events: Vec<_> = events.map(Result::unwrap).collect();
    assert!(events.iter().any(|event| event["event"] == "finished"));
}

#[test]
fn demo_can_keep_its_repository() {
    let sandbox = Sandbox::empty();
    let dir = sandbox.outside("home");
    let output = sandbox.ralph_cmd(&["demo", "--keep"]).dir(&dir).run().exits(0);
    let line = output
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("the repository is kept: "));
    let kept = std::path::PathBuf::from(line.unwrap());
    let greet = std::fs::read_to_string(kept.join("greet.sh")).unwrap();
    assert!(greet.contains("${1-world}"), "{greet}");
    let page = kept.join(".git/ralph/todo/report.html");
    assert!(page.exists());
    output.says(&format!("the report (git ralph report): {}\n", page.display()));
    let status = sandbox
        .git_cmd(&["status", "--short", "--branch"])
        .dir(&kept)
        .run()
        .exits(0);
    assert!(status.stdout.starts_with("## main\n"), "{}", status.stdout);
}
