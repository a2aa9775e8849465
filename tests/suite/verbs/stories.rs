//! `git ralph stories`: the list as git-ralph sees it.

use std::fs;

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn stories_lists_before_and_during_a_loop() {
    let sandbox = Sandbox::new();
    let before = sandbox.ralph(&["stories", CHANGE]).exits(0).stdout;
    assert!(before.contains("Database") && before.contains("Page"), "{before}");
    assert!(!sandbox.state_file().exists());
    sandbox.start();
    assert_eq!(sandbox.ralph(&["stories"]).exits(0).stdout, before);
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    let stories = sandbox.ralph(&["stories", "--json"]).exits(0).json();
    assert_eq!((&stories["total"], &stories["done"]), (&3.into(), &1.into()));
    assert_eq!(stories["stories"][0]["done"], true);
    assert_eq!(stories["stories"][0]["tasks"][1]["done"], true);
}

#[test]
fn stories_warns_of_a_probable_mistake() {
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, "## 1. One\n- [ ] 1.1 a\n\n## 1. Two\n- [ ] 1.2 b\n");
    let output = sandbox.ralph(&["stories", CHANGE]).exits(0);
    assert!(
        output.stderr.contains("'1' already begins the story on line 1"),
        "{}",
        output.stderr
    );
    let stories = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0).json();
    assert_eq!(stories["warnings"][0]["line"], 4);
}

#[test]
fn story_with_dependencies_in_its_title_is_attempted_after_them() {
    let list = "- [ ] 1. Show (after 2)\n- [ ] 2. Read\n- [ ] 3. Eat (after lunch)\n";
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, list);
    let output = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0);
    let stories = output.json();
    let told = "'(after lunch)' is read as a part of the title: no story has the id 'lunch'";
    assert_eq!(stories["warnings"][0]["message"], told);
    let said = |at: usize| {
        (
            stories["stories"][at]["title"].clone(),
            stories["stories"][at]["depends_on"].clone(),
        )
    };
    assert_eq!(said(0), ("1. Show".into(), ["2"].as_slice().into()));
    assert_eq!(said(2), ("3. Eat (after lunch)".into(), serde_json::json!([])));
    sandbox.start();
    let agent = sandbox.completing("touch $RALPH_STORY");
    for done in [["[ ] 2", "[x] 2"], ["[ ] 1", "[x] 1"]] {
        let ticked = sandbox.read(TASKS).replace(done[0], done[1]);
        sandbox.step("next", &agent).exits(0);
        assert_eq!(sandbox.read(TASKS), ticked);
    }
}

#[test]
fn stories_reports_every_part_that_it_leaves_out() {
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, "---\n- [ ] 1 a\n---\n- [x] 2 b\n");
    let stories = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0).json();
    assert_eq!((&stories["total"], &stories["done"]), (&2.into(), &1.into()));
    for (list, told) in [
        (
            "- [x] 1 a\n\n```\n- [ ] 2 b\n",
            "line 3: the code fence that begins here is never closed, and hides the open box on line 4",
        ),
        (
            "- [x] 1 a\n\n<!-- later\n\n- [ ] 2 b\n",
            "line 3: the comment that begins here is never closed, and hides the open box on line 5",
        ),
    ] {
        sandbox.write(TASKS, list);
        for verb in ["stories", "start"] {
            sandbox.ralph(&[verb, CHANGE]).exits(1).says(told);
        }
    }
    // An attempt that leaves such a list has failed.
    sandbox.write(TASKS, "- [ ] 1 a\n- [ ] 2 b\n");
    sandbox.configure("ralph.listEdits", "allow");
    sandbox.start();
    let agent = sandbox.completing(&format!(
        "printf -- '- [x] 1 a\\n\\n<!--\\n- [ ] 2 b\\n' >{TASKS}"
    ));
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("hides the open box on line 4");
    sandbox.is_at_checkpoint();
}

#[test]
fn other_lists_and_groupings_can_be_named() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "## A\n- [ ] one\n- [ ] two\n");
    sandbox
        .ralph(&["start", "todo", "--stories", "TODO.md#item"])
        .exits(0);
    let stories = sandbox.ralph(&["stories", "--json"]).exits(0).json();
    let ids: Vec<_> = stories["stories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|story| &story["id"])
        .collect();
    assert_eq!(ids, ["one", "two"]);
    assert_eq!(
        (&stories["adapter"], &stories["source"]),
        (&"markdown".into(), &"TODO.md".into())
    );
}

#[test]
fn stories_can_show_another_list_before_and_beside_a_loop() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "## A\n- [ ] one\n- [ ] two\n");
    let ids = |arguments: &[&str]| {
        let output = sandbox.ralph(&[&["stories", "--json"], arguments].concat());
        let stories = output.exits(0).json();
        let stories = stories["stories"].as_array().unwrap().clone();
        stories
            .iter()
            .map(|story| story["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&["todo", "--stories", "TODO.md"]), ["a"]);
    sandbox.start();
    assert_eq!(ids(&["--stories", "TODO.md#item"]), ["one", "two"]);
    assert_eq!(ids(&[]), ["1", "2", "3"]);
    sandbox
        .ralph(&["stories", "todo", "--adapter", "nonsense"])
        .exits(1);
}

#[test]
fn option_is_relative_to_the_directory_and_setting_to_the_top() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "## A\n- [ ] one\n");
    sandbox.write("sub/here.md", "## B\n- [ ] two\n");
    let sub = sandbox.top.join("sub");
    let there = |args: &[&str]| sandbox.ralph_cmd(args).dir(&sub).run();
    let source = |args: &[&str]| there(args).exits(0).json()["source"].clone();
    let named = |path: &str| source(&["stories", "todo", "--json", "--stories", path]);
    assert_eq!(named("here.md#item"), "sub/here.md");
    assert_eq!(named("./../sub/../TODO.md"), "TODO.md");
    let from_top = there(&["stories", "todo", "--stories", "TODO.md#item"]).exits(1);
    let from_top = from_top.says("no story file at 'sub/TODO.md'");
    from_top.says("hint: --stories is relative to the current directory: --stories '../TODO.md#item'");
    sandbox.configure("ralph.stories", "TODO.md");
    assert_eq!(source(&["stories", "todo", "--json"]), "TODO.md");
    there(&["start", "todo", "--stories", "here.md"]).exits(0);
    assert_eq!(source(&["stories", "--json"]), "sub/here.md");
}

#[test]
fn stories_warns_of_a_list_without_boxes() {
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, "# Plan\n\n## 1. One\n\nText.\n");
    let output = sandbox.ralph(&["stories", CHANGE]).exits(0);
    let output = output.says("the section '1. One' has no box");
    output.says("no story is listed; add a task such as: - [ ] 1.1");
    let listed = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0).json();
    assert_eq!(listed["warnings"].as_array().unwrap().len(), 2);
    sandbox.write("issues.jsonl", "{\"id\":\"1\",\"title\":\"One\"}\n");
    sandbox
        .ralph(&["stories", "x", "--stories", "issues.jsonl"])
        .exits(1)
        .says("cannot read stories from 'issues.jsonl': it is not a checklist")
        .says("git config ralph.adapter command");
}

#[test]
fn stories_warns_of_stories_that_wait_for_each_other() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "list.json",
        r#"[{"id":"1","title":"a","dependencies":["2"]},{"id":"2","title":"b","dependencies":["1"]}]"#,
    );
    sandbox.configure("ralph.storiesCommand", "cat list.json");
    let list = ["x", "--adapter", "command"];
    let start = sandbox.ralph(&[&["start"][..], &list].concat()).exits(7);
    let why = "every remaining story waits for another: 1 waits for 2, 2 waits for 1";
    start.says(why);
    sandbox
        .ralph(&[&["stories"][..], &list].concat())
        .exits(0)
        .says(why);
}

#[test]
fn error_for_a_change_without_a_list_names_changes_with_one() {
    let sandbox = Sandbox::new();
    let output = sandbox.ralph(&["stories", "nothing"]).exits(1).answers_nothing();
    assert!(output.stderr.contains(CHANGE), "{}", output.stderr);
    // Without a loop it is the only change that there is, as for run and start.
    let output = sandbox.ralph(&["stories"]).exits(0);
    assert!(
        output.stdout.starts_with("add-login (openspec"),
        "{}",
        output.stdout
    );
    let start = sandbox.ralph(&["start", "--dry-run"]).exits(0);
    assert!(start.stdout.contains("add-login"), "{}", start.stdout);
    sandbox.write("openspec/changes/tidy-up/tasks.md", "- [ ] 1.1 Tidy up\n");
    for verb in ["start", "stories"] {
        sandbox
            .ralph(&[verb])
            .exits(1)
            .says("there are several changes with open stories: add-login, tidy-up");
    }
}

#[test]
fn hint_names_the_branch_that_has_the_list() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-q", "-r", "--cached", "openspec"]);
    sandbox.git(&["commit", "-q", "-m", "no list here"]);
    sandbox.start();
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox
        .ralph(&["skip"])
        .exits(7)
        .says("hint: git checkout ralph/add-login");
    // The list is that of the loop's branch.
    let stories = sandbox.ralph(&["stories"]).exits(0).stdout;
    assert!(stories.contains("0 of 3 complete"), "{stories}");
}

#[test]
fn error_without_a_list_names_every_place_and_a_command() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-rq", "openspec"]);
    let places = "\n    openspec/changes/x/tasks.md\n    specs/x/tasks.md\n    .kiro/specs/x/tasks.md\n    \
                  .agent-os/specs/*x/tasks.md\n    agent-os/specs/*x/tasks.md\n    \
                  prd.json, .ralph/prd.json, scripts/ralph/prd.json with the branchName ralph/x\n    docs/plans/*x.md\n";
    let any = places
        .replace("x/", "<change>/")
        .replace("*x.md", "*<change>.md")
        .replace("ralph/x", "ralph/<change>");
    for verb in ["stories", "prompt", "start", "run"] {
        sandbox.ralph(&[verb, "x"]).exits(1).says(places);
        sandbox
            .ralph(&[verb])
            .exits(1)
            .says("no story list found")
            .says(&any);
    }
    sandbox.write("prd.json", "{\n  \"branchName\": oops\n}\n");
    sandbox
        .ralph(&["start", "x"])
        .exits(1)
        .says("\n  prd.json cannot be read (")
        .says("line 2");
    sandbox.write("TODO.md", "- [ ] one\n");
    sandbox
        .ralph(&["run", "x"])
        .exits(1)
        .says("hint: git ralph run x --stories TODO.md\n");
    sandbox
        .ralph(&["run"])
        .exits(1)
        .says("hint: git ralph run todo --stories TODO.md\n");
    sandbox
        .ralph(&["start"])
        .exits(1)
        .says("hint: git ralph start todo --stories TODO.md\n");
    sandbox
        .ralph(&["start", "todo", "--stories", "TODO.md", "--dry-run"])
        .exits(0);
    let listed = sandbox
        .ralph(&["stories", "--stories", "TODO.md", "--json"])
        .exits(0);
    assert_eq!(listed.json()["change"], "todo");
    sandbox.configure("ralph.stories", "TODO.md");
    sandbox.ralph(&["run", "--", "false"]).says("change todo\n");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/todo");
}

#[test]
fn error_without_a_list_names_a_list_that_belongs_to_no_change() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-rq", "openspec"]);
    sandbox.write("docs/TODO.md", "- [ ] one\n");
    sandbox
        .ralph(&["run"])
        .exits(1)
        .says("hint: git ralph run todo --stories docs/TODO.md\n");
    fs::remove_file(sandbox.top.join("docs/TODO.md")).unwrap();
    let stories = "\"userStories\":[{\"id\":\"1\",\"title\":\"a\",\"passes\":false}]";
    sandbox.write("prd.json", &format!("{{\"branchName\":\"feature/x\",{stories}}}"));
    sandbox
        .ralph(&["run"])
        .exits(1)
        .says("\n  prd.json has the branchName feature/x, not ralph/<change>\n")
        .says("hint: git ralph run prd --stories prd.json\n");
    sandbox
        .ralph(&["stories", "prd", "--stories", "prd.json"])
        .exits(0);
    sandbox.write("prd.json", &format!("{{{stories}}}"));
    sandbox
        .ralph(&["start", "x"])
        .exits(1)
        .says("\n  prd.json has no branchName ralph/<change>\n")
        .says("hint: git ralph start x --stories prd.json\n");
}

#[test]
fn error_without_a_name_is_that_of_the_only_list() {
    let sandbox = Sandbox::new();
    let verbs = ["run", "start", "stories", "prompt"];
    let refuses = |code: i32, says: &str| {
        for verb in verbs
            .iter()
            .filter(|verb| code == 1 || !["stories", "prompt"].contains(*verb))
        {
            let agent: &[&str] = if *verb == "run" { &["--", "true"] } else { &[] };
            let output = sandbox.ralph(&[&[*verb], agent].concat()).exits(code).says(says);
            assert!(!output.stderr.contains("no loop"), "{verb}: {}", output.stderr);
        }
    };
    sandbox.write(TASKS, "- [x] one\n");
    refuses(5, "nothing left to do: 1 of 1 story is complete");
    sandbox.write(TASKS, "# A heading\n");
    let refused = sandbox.ralph(&["start", CHANGE]).exits(1).stderr;
    sandbox.ralph(&["start"]).exits(1).says(&refused);
    sandbox.configure("ralph.adapter", "markdwon");
    refuses(1, "unknown adapter 'markdwon'");
    for verb in ["start", "run", "stories"] {
        let hint = format!("\nhint: git ralph {verb} add-login --adapter markdown, or: ");
        sandbox.ralph(&[verb]).exits(1).says(&hint);
    }
    // Nothing is like it: an adapter that there is.
    sandbox.configure("ralph.adapter", "foo");
    sandbox
        .ralph(&["next"])
        .exits(1)
        .says("hint: git ralph start add-login --adapter markdown, or: ");
    sandbox.configure("ralph.adapter", "markdwon");
    fs::remove_file(sandbox.top.join(TASKS)).unwrap();
    refuses(1, "unknown adapter 'markdwon'");
    sandbox.configure("ralph.adapter", "prd");
    refuses(1, "no story list found");
    sandbox.git(&["config", "--unset", "ralph.adapter"]);
    for change in ["a", "b"] {
        sandbox.write(&format!("openspec/changes/{change}/tasks.md"), "- [x] one\n");
    }
    refuses(
        5,
        "no change has an open story: a, b\nhint: git ralph stories <change>\n",
    );
}

#[test]
fn error_names_the_only_list_and_the_bad_line() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-rq", "openspec"]);
    sandbox.write(
        "prd.json",
        "{\"branchName\": \"ralph/x\", \"userStories\": [\n  7\n]}\n",
    );
    for args in [&["run"][..], &["stories"], &["stories", "x"], &["start", "x"]] {
        sandbox
            .ralph(args)
            .exits(1)
            .says("cannot read stories from 'prd.json': ")
            .says(" line 2");
    }
}

#[test]
fn a_loop_that_begins_again_has_the_list_of_the_last_one() {
    let sandbox = Sandbox::new();
    sandbox.write("notes/next.md", "- [ ] one\n");
    let agent = sandbox.completing("count; echo $n >x");
    let first = ["run", "--stories", "notes/next.md", "--cleanup", "--", &agent];
    sandbox.ralph(&first).exits(0);
    sandbox.write("notes/next.md", "- [x] one\n- [ ] two\n");
    let again = sandbox
        .ralph(&["run", "next", "--cleanup", "--", &agent])
        .exits(0);
    assert!(
        again.stderr.contains("stories: notes/next.md\n"),
        "{}",
        again.stderr
    );
    assert_eq!(sandbox.read("notes/next.md"), "- [x] one\n- [x] two\n");
    std::fs::remove_file(sandbox.top.join("notes/next.md")).unwrap();
    sandbox
        .ralph(&["run", "next", "--", &agent])
        .exits(1)
        .says("no story file at 'notes/next.md'");
}

#[test]
fn hints_name_the_list_without_a_known_place() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.top.join("openspec")).unwrap();
    sandbox.write("docs/TODO.md", "- [ ] one\n");
    for (verb, begins) in [("stories", "stories"), ("next", "start"), ("complete", "start")] {
        let hint = format!("\nhint: git ralph {begins} todo --stories docs/TODO.md\n");
        sandbox.ralph(&[verb]).exits(1).says(&hint);
    }
    let stories = ["stories", "todo", "--stories", "docs/TODO.md"];
    assert!(sandbox.ralph(&stories).exits(0).stdout.contains("one"));
}

#[test]
fn list_that_is_not_utf_8_is_named_with_the_place() {
    let sandbox = Sandbox::new();
    let list = sandbox.top.join(TASKS);
    fs::write(&list, b"- [ ] one\n- [ ] caf\xe9\n").unwrap();
    let warning = format!("{TASKS}:2: it is not UTF-8 here");
    for verb in ["stories", "start"] {
        sandbox.ralph(&[verb, CHANGE]).exits(0).says(&warning);
    }
    for little in [true, false] {
        let sandbox = Sandbox::new();
        let list = sandbox.top.join(TASKS);
        let text: String = "\u{feff}- [ ] one\r\n".into();
        let units = text.encode_utf16();
        let bytes: Vec<u8> = units
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect();
        fs::write(&list, bytes).unwrap();
        for verb in ["stories", "start", "run", "next"] {
            let refused = sandbox.ralph(&[verb]).exits(1);
            refused.says(&format!(
                "cannot read stories from '{TASKS}': it is not UTF-8, but UTF-16\n"
            ));
        }
        let refused = sandbox.ralph(&["start"]).exits(1).stderr;
        let hint = refused
            .lines()
            .find_map(|line| line.strip_prefix("hint: "))
            .unwrap();
        assert_eq!(
            hint,
            format!("iconv -f UTF-16 -t UTF-8 {TASKS} >{TASKS}.utf-8 && mv {TASKS}.utf-8 {TASKS}")
        );
        sandbox.cmd("sh").args(["-c", hint]).run().exits(0);
        assert!(sandbox.ralph(&["stories"]).exits(0).stdout.contains("one"));
    }
}
