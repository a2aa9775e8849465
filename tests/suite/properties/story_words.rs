//! Words that name a story: its id, its position in the list, or the beginning of its id or title.

use crate::support::Sandbox;

/// A loop with a plain list, of whose first story an attempt failed.
fn plain_list() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "TODO.md",
        "- [ ] Add a function sub(a, b)\n- [ ] Add a test\n- [ ] Éclair\n",
    );
    sandbox.git(&["add", "TODO.md"]);
    sandbox.git(&["commit", "-qm", "list"]);
    sandbox.ralph(&["start", "todo", "--stories", "TODO.md"]).exits(0);
    let agent = sandbox.failing("echo x >f");
    sandbox.ralph(&["next", "todo", "--", &agent]).exits(3);
    sandbox
}

#[test]
fn commands_take_the_position_or_a_beginning_of_a_story() {
    let sandbox = plain_list();
    for word in ["1@1", "add-a-f@1", "Add a F@1", "1@", "@"] {
        let diff = sandbox.ralph(&["diff", "todo", word]).exits(0).stdout;
        assert!(diff.contains("+x"), "{word}: {diff}");
        let log = sandbox.ralph(&["log", "todo", word]).exits(0).stdout;
        assert!(log.contains("it is red"), "{word}: {log}");
    }
    sandbox.ralph(&["restore", "1@1"]).exits(0);
    assert_eq!(sandbox.read("f"), "x\n");
    sandbox.ralph(&["complete"]).exits(0);
    sandbox.ralph(&["skip", "2"]).exits(0).says("story 2 is skipped");
    sandbox.ralph(&["redo", "todo", "1"]).exits(0);
    sandbox.ralph(&["skip", "é"]).exits(0).says(" is skipped");
}

#[test]
fn word_for_several_stories_is_refused_and_an_id_goes_before_a_position() {
    let sandbox = plain_list();
    sandbox
        .ralph(&["skip", "todo", "add"])
        .exits(1)
        .says("several stories begin with 'add': add-a-function-sub-a-b, add-a-test")
        .says("git ralph stories todo");
    for word in ["0@1", "4@1", "nothing@1", "2@"] {
        let refused = sandbox.ralph(&["diff", "todo", word]);
        refused.exits(1);
    }
    let sandbox = Sandbox::new();
    let story = |id: &str| format!(r#"{{"id":"{id}","title":"Story {id}","passes":false}}"#);
    let stories = ["3", "2", "1"].map(story).join(",");
    sandbox.write("prd.json", &format!(r#"{{"userStories":[{stories}]}}"#));
    sandbox.ralph(&["start", "prd", "--stories", "prd.json"]).exits(0);
    sandbox
        .ralph(&["skip", "prd", "1"])
        .exits(0)
        .says("story 1 is skipped");
}

#[test]
fn word_that_is_known_runs_no_command_of_a_tracker() {
    let sandbox = Sandbox::new();
    let list = sandbox.outside("list.json");
    std::fs::write(&list, r#"[{"id":"a","title":"A"},{"id":"b","title":"B"}]"#).unwrap();
    let runs = sandbox.outside("runs");
    sandbox.configure("ralph.adapter", "command");
    let command = format!("echo x >>'{}'; cat '{}'", runs.display(), list.display());
    sandbox.configure("ralph.storiesCommand", &command);
    sandbox.ralph(&["start", "work"]).exits(0);
    let agent = sandbox.failing("echo x >f");
    sandbox.ralph(&["next", "work", "--", &agent]).exits(3);
    let before = std::fs::read_to_string(&runs).unwrap();
    for word in ["a@1", "a@", "@"] {
        sandbox.ralph(&["diff", "work", word]).exits(0);
    }
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), before);
}
