//! The recipes of docs/stories.md for trackers, with the real programs where they are installed; the gate of
//! docs/judge.md; the agent of docs/agents.md; and the box of docs/sandbox.md.

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
            "{{\"id\":{id},\"title\":\"{title}\",\"description\":\"what\",\"details\":\"how\",\"status\":\"pending\",\"priority\":\"medium\",\"dependencies\":[{after}],\"subtasks\":[{{\"id\":1,\"title\":\"Part\",\"description\":\"small\",\"status\":\"pending\",\"dependencies\":[]}}]}}"
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
    assert!(
        sandbox
            .noted("prompts")
            .contains("what\n\nhow\n\n- Part\n\nsmall")
    );
    let committed = sandbox.git(&["show", "HEAD:.taskmaster/tasks/tasks.json"]);
    assert!(committed.matches("\"done\"").count() >= 2, "{committed}");
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
        "--plan",
        "Step by step",
        "--dod",
        "It is tested",
    ]);
    backlog(&["task", "create", "First"]);
    backlog(&["task", "edit", "TASK-1", "--depends-on", "TASK-2"]);
    follow(&sandbox, "backlog");
    let mut found = stories(&sandbox);
    found.sort();
    assert_eq!(found, ["TASK-1 Second", "TASK-2 First"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "TASK-2\nTASK-1\n");
    for told in ["- It works", "Step by step", "- It is tested"] {
        assert!(sandbox.noted("prompts").contains(told), "{told}");
    }
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
fn github_issues_are_claimed_and_closed_by_a_pull_request() {
    if !crate::installed("jq") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.install(
        "gh",
        r#"case "$*" in
"issue list "*) shift 11; jq -c "$1" "$notes/issues" ;;
*) printf '%s\n' "$*" >>"$notes/told" ;;
esac"#,
    );
    let issues = r#"[{"number":12,"title":"Second","body":"what","state":"OPEN"},
{"number":7,"title":"First","body":"","state":"OPEN"}]"#;
    std::fs::write(sandbox.notes.join("issues"), issues).unwrap();
    follow(&sandbox, "gh");
    sandbox.git(&["config", "--unset", "ralph.doneCommand"]);
    let origin = sandbox.outside("origin.git");
    sandbox.git(&["init", "-q", "--bare", origin.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    for (recipe, hook) in [("gh-claim", "pre-attempt"), ("gh-pull-request", "post-finish")] {
        sandbox.hook(
            &format!("ralph-{hook}"),
            &document::block(&format!("recipe: {recipe}")),
        );
    }
    work_through(&sandbox);
    let told = sandbox.noted("told");
    let claims = "issue edit 12 --add-label in progress\nissue edit 7 --add-label in progress\n";
    let request = "pr create --head ralph/work --title work --body Closes #12\nCloses #7\n";
    assert_eq!(told, format!("{claims}{request}"));
    let there = sandbox.git(&["ls-remote", "origin", "refs/heads/ralph/work"]);
    assert!(there.starts_with(&sandbox.git(&["rev-parse", "HEAD"])), "{there}");
}

#[test]
fn jira_issues_are_worked_through() {
    if !crate::installed("jq") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.install(
        "curl",
        r#"for last; do :; done
case "$*" in
"-fsS --netrc --get "*"/rest/api/2/search/jql --data-urlencode jql=labels = ralph "*) cat "$notes/issues" ;;
"-fsS --netrc "*/issue/*/transitions)
    case "$*" in *" -d "*) echo "$last $*" >>"$notes/closed" ;; *) cat "$notes/transitions" ;; esac ;;
*) echo "no such request: $*" >&2; exit 22 ;;
esac"#,
    );
    let issue = |key: &str, title: &str, status: &str, links: &str| {
        format!(
            r#"{{"key":"{key}","fields":{{"summary":"{title}","description":"what","status":{{"statusCategory":{{"key":"{status}"}}}},"issuelinks":[{links}]}}}}"#
        )
    };
    let blocked = r#"{"type":{"inward":"is blocked by"},"inwardIssue":{"key":"W-2"}},{"type":{"inward":"is blocked by"},"outwardIssue":{"key":"W-9"}}"#;
    let issues = [
        issue("W-1", "Second", "new", blocked),
        issue("W-2", "First", "indeterminate", ""),
        issue("W-3", "Old", "done", ""),
    ];
    let issues = format!("{{\"issues\":[{}]}}", issues.join(","));
    std::fs::write(sandbox.notes.join("issues"), issues).unwrap();
    let transitions = r#"{"transitions":[{"id":"11","to":{"statusCategory":{"key":"new"}}},{"id":"31","to":{"statusCategory":{"key":"done"}}}]}"#;
    std::fs::write(sandbox.notes.join("transitions"), transitions).unwrap();
    follow(&sandbox, "jira");
    assert_eq!(stories(&sandbox), ["W-1 Second", "W-2 First", "W-3 Old +"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "W-2\nW-1\n");
    let closed = sandbox.noted("closed");
    let closed: Vec<&str> = closed.lines().collect();
    assert!(
        closed[0].starts_with("/rest/api/2/issue/W-2/transitions "),
        "{closed:?}"
    );
    assert!(
        closed[1].contains(r#"-d {"transition":{"id":"31"}}"#),
        "{closed:?}"
    );
}

#[test]
fn linear_issues_are_worked_through() {
    if !crate::installed("jq") {
        return;
    }
    let sandbox = Sandbox::new();
    // What is sent is JSON with one query.
    sandbox.install(
        "curl",
        r#"sent=$(cat)
query=$(printf '%s' "$sent" | jq -r .query)
case "$query" in
"{ issues("*'{eq: "ralph"}'*) cat "$notes/issues" ;;
'{ issue(id: "'*'{eq: "completed"}'*) echo '{"data":{"issue":{"id":"uuid","team":{"states":{"nodes":[{"id":"done"}]}}}}}' ;;
'mutation($id: String!, $state: String!)'*)
    printf '%s' "$sent" | jq -c .variables >>"$notes/closed"; echo '{"data":{"issueUpdate":{"success":true}}}' ;;
*) echo "no such request: $*" >&2; exit 22 ;;
esac"#,
    );
    let issues = r#"{"data":{"issues":{"nodes":[
{"identifier":"L-2","title":"Second","description":"what","priority":1,"state":{"type":"unstarted"},
"inverseRelations":{"nodes":[{"type":"blocks","issue":{"identifier":"L-1"}},{"type":"related","issue":{"identifier":"L-9"}}]}},
{"identifier":"L-1","title":"First","description":null,"priority":0,"state":{"type":"started"},"inverseRelations":{"nodes":[]}},
{"identifier":"L-3","title":"Old","description":"","priority":4,"state":{"type":"canceled"},"inverseRelations":{"nodes":[]}}]}}}"#;
    std::fs::write(sandbox.notes.join("issues"), issues).unwrap();
    follow(&sandbox, "linear");
    assert_eq!(stories(&sandbox), ["L-2 Second", "L-3 Old +", "L-1 First"]);
    work_through(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "L-1\nL-2\n");
    let moved = "{\"id\":\"uuid\",\"state\":\"done\"}\n";
    assert_eq!(sandbox.noted("closed"), moved.repeat(2));
}

#[test]
fn claude_gets_the_goal_of_the_recipe_and_its_stream_is_read() {
    let sandbox = Sandbox::new();
    sandbox.install(
        "claude",
        r#"for goal; do :; done
printf '%s\n' "$goal" >"$notes/goal"
echo x >x
echo '{"type":"system","subtype":"init","session_id":"s"}'
printf '%s\n' '{"type":"result","is_error":false,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.5}'"#,
    );
    follow(&sandbox, "claude-goal");
    sandbox.start();
    sandbox.ralph(&["next"]).exits(0);
    let goal = sandbox.noted("goal");
    let asks = format!("/goal Do what {}/.git/ralph/add-login/", sandbox.top.display());
    assert!(
        goal.starts_with(&asks) && goal.contains("/prompt.md asks. The goal"),
        "{goal}"
    );
    assert_eq!(sandbox.attempts()[0]["cost_usd"], 0.5);
}

#[test]
fn gate_of_the_recipe_rejects_changes_of_earlier_tests() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/old.sh", "test -e work\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "tests"]);
    follow(&sandbox, "held tests");
    sandbox.start();
    for weakened in [
        "true >tests/old.sh",
        "rm tests/old.sh",
        "mv tests/old.sh tests/new.sh",
    ] {
        let agent = sandbox.completing(&format!("echo x >work; {weakened}"));
        let step = if weakened.starts_with("true") {
            "next"
        } else {
            "retry"
        };
        sandbox
            .step(step, &agent)
            .exits(3)
            .says("these tests must stay as they are:");
    }
    let agent = sandbox.completing("echo x >work; echo true >tests/new.sh");
    sandbox.step("retry", &agent).exits(0);
}
