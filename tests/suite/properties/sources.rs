//! Where stories come from: each kind of list is found by the name of its change, worked through, and
//! marked without another byte changed.

use std::fs;

use crate::support::{CHANGE, Sandbox, TASKS};

/// The ids of the stories that `git ralph stories` lists, done ones with a `+`.
pub fn ids(sandbox: &Sandbox, change: &str) -> Vec<String> {
    let listed = sandbox.ralph(&["stories", change, "--json"]).exits(0).json();
    listed["stories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|story| {
            let mark = if story["done"] == true { "+" } else { "" };
            format!("{}{mark}", story["id"].as_str().unwrap())
        })
        .collect()
}

/// Runs a change to its end with an agent that always completes.
#[track_caller]
fn run(sandbox: &Sandbox, change: &str) {
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>work.txt");
    sandbox
        .ralph(&["run", change, "--cleanup", "--", &agent])
        .exits(0);
}

#[test]
fn phases_of_a_spec_kit_list_are_stories() {
    let sandbox = Sandbox::new();
    let list = "# Tasks: Heights\n\n**Input**: plan.md\n\n## Format: `[ID] [P?] [Story] Text`\n\n- **[P]**: in parallel\n\n## Phase 1: Setup\n\n- [ ] T001 Make it\n- [x] T002 [P] Do it in src/a.rs\n\n---\n\n## Phase 2: User Story 1 (Priority: P1)\n\n- [ ] T003 [P] [US1] Test it\n";
    sandbox.write("specs/001-heights/tasks.md", list);
    assert_eq!(ids(&sandbox, "001-heights"), ["1", "2"]);
    let listed = sandbox
        .ralph(&["stories", "001-heights", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["adapter"], "markdown");
    assert_eq!(listed["stories"][0]["tasks"][1]["id"], "T002");
    run(&sandbox, "001-heights");
    assert_eq!(
        sandbox.read("specs/001-heights/tasks.md"),
        list.replace("- [ ]", "- [x]")
    );
    assert_eq!(sandbox.read("work.txt"), "1\n2\n");
}

#[test]
fn search_finds_an_openspec_directory_below_the_top() {
    let sandbox = Sandbox::new();
    let dir = "docs/openspec/changes/greet";
    sandbox.write(&format!("{dir}/tasks.md"), "- [ ] one\n");
    sandbox.write(&format!("{dir}/proposal.md"), "Why.\n");
    sandbox.write("docs/guide/index.md", "");
    sandbox.ralph(&["stories", "greet"]).exits(1);
    let guide = sandbox.top.join("docs/guide");
    let there = sandbox
        .ralph_cmd(&["stories", "greet", "--json"])
        .dir(&guide)
        .run();
    let found = there.exits(0).json();
    assert_eq!(
        (&found["adapter"], &found["source"]),
        (&"openspec".into(), &format!("{dir}/tasks.md").into())
    );
    let list = format!("{dir}/tasks.md");
    sandbox.ralph(&["start", "greet", "--stories", &list]).exits(0);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains(&format!("{dir}/proposal.md")), "{prompt}");
}

#[test]
fn outermost_boxes_of_a_kiro_list_are_stories() {
    let sandbox = Sandbox::new();
    let list = "# Implementation Plan\n\n## Tasks\n\n- [-] 1. Read\n  - [x] 1.1 Open\n    - _Requirements: 1.1_\n  - [ ]* 1.2 Test\n- [ ]* 2. Docs\n- [ ] 3. Write\n";
    sandbox.write(".kiro/specs/io/tasks.md", list);
    assert_eq!(ids(&sandbox, "io"), ["1", "2+", "3"]);
    let listed = sandbox.ralph(&["stories", "io", "--json"]).exits(0).json();
    assert_eq!((&listed["total"], &listed["done"]), (&3.into(), &1.into()));
    assert_eq!(listed["stories"][0]["tasks"][1]["optional"], true);
    run(&sandbox, "io");
    assert_eq!(sandbox.read("work.txt"), "1\n3\n");
    let done = list
        .replace("[-]", "[x]")
        .replace("[ ]* 1.2", "[x]* 1.2")
        .replace("[ ] 3", "[x] 3");
    assert_eq!(sandbox.read(".kiro/specs/io/tasks.md"), done);
}

#[test]
fn a_prd_is_worked_through_by_priority_and_dependencies_and_keeps_its_bytes() {
    let sandbox = Sandbox::new();
    let list = "{\r\n\t\"branchName\": \"ralph/feature\",\r\n\t\"userStories\": [\r\n\t\t{ \"id\": \"US-1\", \"title\": \"Last\", \"priority\": 2, \"passes\":false, \"n\": 1.0e3 },\r\n\t\t{ \"id\": \"US-2\", \"title\": \"Waits\", \"priority\": 1, \"passes\": false, \"dependsOn\": [\"US-3\"] },\r\n\t\t{ \"id\": \"US-3\", \"title\": \"First\", \"priority\": 1, \"passes\" :  false }\r\n\t]\r\n}";
    sandbox.write("prd.json", list);
    assert_eq!(ids(&sandbox, "feature"), ["US-2", "US-3", "US-1"]);
    run(&sandbox, "feature");
    assert_eq!(sandbox.read("work.txt"), "US-3\nUS-2\nUS-1\n");
    assert_eq!(sandbox.read("prd.json"), list.replace("false", "true"));
}

#[test]
fn a_story_of_a_prd_is_in_the_prompt_as_it_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "prd.json",
        r#"{"branchName":"feature","stories":[{"id":"a","title":"Do","acceptanceCriteria":["It works"],"notes":"use make"}]}"#,
    );
    sandbox.ralph(&["start", "feature"]).exits(0);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    for part in [
        "# Story a: Do",
        r#""acceptanceCriteria":["It works"]"#,
        "use make",
        "`prd.json`",
    ] {
        assert!(prompt.contains(part), "{part:?} is missing from\n{prompt}");
    }
}

#[test]
fn error_names_line_and_column_of_a_broken_prd() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    sandbox.write(
        "prd.json",
        "{\"branchName\": \"feature\",\n \"stories\": [{\"id\": 1} {}]}\n",
    );
    sandbox
        .ralph(&["start", "feature"])
        .exits(1)
        .says("prd.json cannot be read (it is not valid JSON at line 2, column 24: expected `,` or `]`)");
    sandbox
        .ralph(&["start", "feature", "--stories", "prd.json"])
        .exits(1)
        .says("cannot read stories from 'prd.json': it is not valid JSON at line 2, column 24: expected `,` or `]`");
    fs::remove_file(sandbox.top.join("prd.json")).unwrap();
    assert_eq!(sandbox.print(), print);
}

#[test]
fn start_refuses_stories_that_wait_for_each_other() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "prd.json",
        r#"{"branchName":"knot","stories":[{"id":"a","deps":["b"]},{"id":"b","blockedBy":["a"]},{"id":"c","passes":true}]}"#,
    );
    sandbox
        .ralph(&["start", "knot"])
        .exits(7)
        .says("a waits for b, b waits for a");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
}

#[test]
fn a_list_where_all_is_done_begins_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "prd.json",
        r#"{"branchName":"over","tasks":[{"id":"a","completed":true}]}"#,
    );
    sandbox.ralph(&["start", "over"]).exits(5);
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    sandbox.write("prd.json", r#"{"branchName":"over","tasks":[]}"#);
    sandbox
        .ralph(&["start", "over"])
        .exits(1)
        .says("prd.json has no stories\nhint: add a story such as: {\"id\"");
}

#[test]
fn a_schema_that_tracks_another_file_is_followed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "openspec/schemas/mine/schema.yaml",
        "name: mine\napply:\n  tracks: todo.md\n",
    );
    sandbox.write("openspec/changes/other/.openspec.yaml", "schema: mine\n");
    sandbox.write("openspec/changes/other/todo.md", "- [ ] One\n");
    assert_eq!(ids(&sandbox, "other"), ["one"]);
    run(&sandbox, "other");
    assert_eq!(sandbox.read("openspec/changes/other/todo.md"), "- [x] One\n");
}

#[test]
fn start_refuses_to_choose_between_two_lists_for_one_change() {
    let sandbox = Sandbox::new();
    sandbox.write("specs/add-login/tasks.md", "- [ ] T001 a\n");
    sandbox
        .ralph(&["start", CHANGE])
        .exits(1)
        .says(TASKS)
        .says("specs/add-login/tasks.md")
        .says("--stories");
    assert_eq!(ids_of(&sandbox, "specs/add-login/tasks.md"), ["T001"]);
}

fn ids_of(sandbox: &Sandbox, path: &str) -> Vec<String> {
    sandbox.configure("ralph.stories", path);
    ids(sandbox, CHANGE)
}

#[test]
fn stories_warns_with_lines_of_large_manual_and_hidden_tasks() {
    let sandbox = Sandbox::new();
    let many: String = (0..16).map(|n| format!("- [ ] 1.{n} Do\n")).collect();
    sandbox.write(
        TASKS,
        &format!("## 1. Big\n{many}\n## 2. Manual testing\n- [ ] 2.1 Look\n\n## Notes\n\n```\n- [ ] no\n```\n\n```\n"),
    );
    let listed = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0).json();
    let warnings: Vec<(u64, &str)> = listed["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| {
            (
                warning["line"].as_u64().unwrap(),
                warning["message"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        (1, "the story 1 has 16 tasks"),
        (19, "git ralph skip 2"),
        (25, "is inside a code block; OpenSpec counts it as open"),
        (28, "is never closed"),
        (22, "the section 'Notes' has no box"),
    ];
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for ((line, message), (wanted, part)) in warnings.iter().zip(expected) {
        assert!(*line == wanted && message.contains(part), "{line}: {message}");
    }
    let output = sandbox.start();
    output.says(&format!("{TASKS}:19: the story 2 reads like work for people"));
}
