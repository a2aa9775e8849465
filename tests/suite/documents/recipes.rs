//! The recipes of docs/stories.md for trackers, with the real programs where they are installed; and the box of
//! docs/sandbox.md.

use crate::support::{Output, Sandbox, document};

/// Sets what the recipe sets.
fn follow(sandbox: &Sandbox, program: &str) {
    let recipe = document::block(&format!("recipe: {program}"));
    sandbox.cmd("sh").args(["-ec", &recipe]).run().exits(0);
}

/// These programs take seconds to start, and a loop starts them often.
fn ralph(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.ralph_cmd(args).patiently().run().exits(0)
}

/// The stories as `id title`, with a `+` for those that are done.
fn stories(sandbox: &Sandbox) -> Vec<String> {
    let listed = ralph(sandbox, &["stories", "work", "--json"]).json();
    let stories = listed["stories"].as_array().unwrap().iter();
    stories
        .map(|story| {
            let mark = if story["done"] == true { " +" } else { "" };
            format!(
                "{} {}{mark}",
                story["id"].as_str().unwrap(),
                story["title"].as_str().unwrap()
            )
        })
        .collect()
}

fn work_through(sandbox: &Sandbox) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "tracker"]);
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>work.txt; cat >>\"$notes/prompts\"");
    ralph(sandbox, &["run", "work", "--keep", "--", &agent]);
}

#[test]
fn taskmaster_is_worked_through() {
    if !(crate::installed("task-master") && crate::installed("jq")) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(".taskmaster/config.json", "{}\n");
    sandbox.write(".taskmaster/state.json", "{\"currentTag\":\"master\"}\n");
    let task = |id: u32, title: &str, after: &str| {
        format!(
            "{{\"id\":{id},\"title\":\"{title}\",\"description\":\"what\",\"details\":\"how\",\"status\":\"pending\",\"priority\":\"medium\",\"dependencies\":[{after}],\"subtasks\":[]}}"
        )
    };
    let list = format!(
        "{{\"master\":{{\"tasks\":[{},{}],\"metadata\":{{\"created\":\"2026-01-01T00:00:00Z\",\"updated\":\"2026-01-01T00:00:00Z\",\"description\":\"\"}}}}}}",
        task(1, "Second", "2"),
        task(2, "First", "")
    );
    sandbox.write(".taskmaster/tasks/tasks.json", &list);
    follow(&sandbox, "task-master");
    assert_eq!(stories(&sandbox), ["1 Second", "2 First"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "2\n1\n");
    assert!(sandbox.noted("prompts").contains("what\n\nhow"));
    let committed = sandbox.git(&["show", "HEAD:.taskmaster/tasks/tasks.json"]);
    assert_eq!(committed.matches("\"done\"").count(), 2, "{committed}");
}

#[test]
fn backlog_is_worked_through() {
    if !(crate::installed("backlog") && crate::installed("jq")) {
        return;
    }
    let sandbox = Sandbox::new();
    let backlog = |args: &[&str]| sandbox.cmd("backlog").args(args).run().exits(0);
    backlog(&["init", "demo", "--defaults", "--integration-mode", "none"]);
    backlog(&[
        "task",
        "create",
        "Second",
        "--description",
        "what",
        "--ac",
        "It works",
    ]);
    backlog(&["task", "create", "First"]);
    backlog(&["task", "edit", "TASK-1", "--depends-on", "TASK-2"]);
    follow(&sandbox, "backlog");
    let mut found = stories(&sandbox);
    found.sort();
    assert_eq!(found, ["TASK-1 Second", "TASK-2 First"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "TASK-2\nTASK-1\n");
    assert!(sandbox.noted("prompts").contains("- It works"));
    let mut found = stories(&sandbox);
    found.sort();
    assert_eq!(found, ["TASK-1 Second +", "TASK-2 First +"]);
}

#[test]
fn beads_are_worked_through() {
    if !crate::installed("jq") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.install(
        "bd",
        r#"case "$*" in
"list --all --json --exclude-type epic --limit 0") cat "$notes/beads" ;;
"close "*) jq -c --arg id "$2" 'map(if .id == $id then .status = "closed" else . end)' "$notes/beads" >"$notes/new"
    mv "$notes/new" "$notes/beads" ;;
*) echo "no such command: $*" >&2; exit 1 ;;
esac"#,
    );
    let beads = r#"[{"id":"b-2","title":"Second","description":"what","status":"open","priority":1,
"dependencies":[{"type":"blocks","depends_on_id":"b-1"},{"type":"related","depends_on_id":"b-3"}]},
{"id":"b-1","title":"First","description":"","status":"open","priority":2},
{"id":"b-3","title":"Old","status":"closed","priority":0}]"#;
    std::fs::write(sandbox.notes.join("beads"), beads).unwrap();
    follow(&sandbox, "bd");
    assert_eq!(stories(&sandbox), ["b-3 Old +", "b-2 Second", "b-1 First"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "b-1\nb-2\n");
    assert!(sandbox.noted("prompts").contains("what"));
    assert_eq!(stories(&sandbox), ["b-3 Old +", "b-2 Second +", "b-1 First +"]);
}

#[test]
fn github_issues_are_worked_through() {
    if !crate::installed("jq") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.install(
        "gh",
        r#"case "$*" in
"issue list --label ralph --state all --limit 500 --json number,title,body,state --jq "*)
    shift 11; jq -c "$1" "$notes/issues" ;;
"issue close "*" --comment done on ralph/work") echo "$3" >>"$notes/closed" ;;
*) echo "no such command: $*" >&2; exit 1 ;;
esac"#,
    );
    let issues = r#"[{"number":12,"title":"Second","body":"what","state":"OPEN"},
{"number":7,"title":"First","body":"","state":"OPEN"},
{"number":3,"title":"Old","body":"","state":"CLOSED"}]"#;
    std::fs::write(sandbox.notes.join("issues"), issues).unwrap();
    follow(&sandbox, "gh");
    assert_eq!(stories(&sandbox), ["12 Second", "7 First", "3 Old +"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "12\n7\n");
    assert_eq!(sandbox.noted("closed"), "12\n7\n");
}

#[test]
fn an_agent_in_a_box_writes_the_work_tree_alone() {
    let sandbox = Sandbox::new();
    let box_works = ["--ro-bind", "/", "/", "--unshare-pid", "true"];
    if !crate::installed("bwrap") || sandbox.cmd("bwrap").args(box_works).run().code != 0 {
        return;
    }
    let recipe = document::block("the box");
    // The agent's script lies where the box shows it, and what it prints is text.
    let (begin, _) = recipe.split_once("claude -p ").unwrap();
    let recipe = format!("{begin}sh .git/agent'\ngit config ralph.agent.claude.format text\n");
    sandbox.cmd("sh").args(["-ec", &recipe]).run().exits(0);
    sandbox.write(
        ".git/agent",
        "grep -q Story && echo \"$RALPH_STORY\" >work
        (echo x >.git/planted) 2>>refused; (echo x >/etc/planted) 2>>refused; echo x >\"$HOME/planted\"
        git status >/dev/null && cat \"$RALPH_PROMPT_FILE\" >/dev/null && setsid sleep 1000 &
        echo '<promise>COMPLETE</promise>'",
    );
    sandbox.start();
    sandbox.ralph(&["next"]).exits(0);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.read("work"), "1\n");
    assert_eq!(sandbox.read("refused").matches("ead-only file system").count(), 2);
    assert!(!sandbox.outside("home/planted").exists());
    let slow = "echo half >half; trap '' TERM; (trap '' TERM; setsid sleep 1000) & sleep 1000";
    sandbox.write(".git/agent", slow);
    sandbox.ralph(&["next", "--timeout", "1s"]).exits(3);
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
}
