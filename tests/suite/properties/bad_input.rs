//! Wrong names, damaged files, unknown loops: an error that says what to type, and nothing changed.

use std::fs;

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn names_that_cannot_be_a_branch_are_refused() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    for name in ["a/b", "a..b", "x.lock", "../../etc", "a b", "@", "x~1", "", ".a"] {
        let output = sandbox.ralph(&["start", name]).exits(1).answers_nothing();
        assert!(
            output.stderr.contains("is not a valid name for a change"),
            "{}",
            output.stderr
        );
    }
    sandbox.ralph(&["stories", "--", "-x"]).exits(1);
    sandbox.ralph(&["run", "a/b", "--", "true"]).exits(1);
    assert_eq!(sandbox.print(), print);
    assert!(!sandbox.top.join(".git/ralph").exists());
}

#[test]
fn hint_names_an_existing_change() {
    let sandbox = Sandbox::new();
    for verb in ["next", "retry"] {
        sandbox
            .ralph(&[verb, "1"])
            .exits(1)
            .says("there is no loop '1' here\nhint: git ralph start add-login\n");
    }
    let none = "error: no loop has been started in this repository\nhint: git ralph start add-login\n";
    for words in [
        ["diff", "1@1"],
        ["log", "1@1"],
        ["restore", "1@1"],
        ["skip", "1"],
        ["fail", "it is red"],
    ] {
        sandbox.ralph(&words).exits(1).says(none);
    }
    for verb in ["diff", "log"] {
        let of_change = "there is no loop 'add-login' here\nhint: git ralph start add-login\n";
        sandbox.ralph(&[verb, CHANGE]).exits(1).says(of_change);
    }
    let error = sandbox.ralph(&["next", "--json"]).exits(1).events().remove(0);
    assert!(error["change"].is_null(), "{error}");
    sandbox.start();
    let error = sandbox.ralph(&["retry", "--json", "--", "true"]).exits(1);
    assert_eq!(error.events()[0]["change"], CHANGE);
    sandbox
        .ralph(&["run", CHANGE, "sh", "agent.sh"])
        .exits(2)
        .says("hint: to run an agent: git ralph run add-login -- sh agent.sh");
    sandbox
        .ralph(&["next", "--max-retries", "x"])
        .exits(2)
        .says("it must be a whole number");
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let sandbox = Sandbox::new();
    sandbox.start();
    for args in [
        &["start", CHANGE, "--max-retries", "many"][..],
        &["next", "--timeout", "soon"],
        &["finish", "--cleanup", "--keep"],
        &["finish", "cleanup", "keep"],
        &["no-such-verb"],
        &["next", "--no-such-flag"],
    ] {
        sandbox.ralph(args).exits(2).answers_nothing();
    }
}

#[test]
fn error_lists_the_loops_for_an_unknown_name() {
    let sandbox = Sandbox::new();
    for verb in ["next", "retry", "prompt", "log", "complete", "revert", "status"] {
        let output = sandbox.ralph(&[verb, "nothing"]).exits(1).answers_nothing();
        let words = if verb == "log" {
            "no loop has been started"
        } else {
            "there is no loop 'nothing'"
        };
        assert!(output.stderr.contains(words), "{verb}: {}", output.stderr);
    }
    sandbox
        .ralph(&["next"])
        .exits(1)
        .says("no loop has been started in this repository")
        .says("hint: git ralph start add-login");
    sandbox.ralph(&["finish", "--cleanup"]).exits(1);
    sandbox.start();
    sandbox
        .ralph(&["next", "nothing"])
        .exits(1)
        .says("(loops: add-login)");
}

#[test]
fn commands_need_a_name_if_there_are_several_loops() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let linked = sandbox.outside("linked");
    let linked_text = linked.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-b", "side", linked_text, "main"]);
    let change = linked.join("openspec/changes/other");
    fs::create_dir_all(&change).unwrap();
    fs::write(change.join("tasks.md"), "- [ ] 1.1 One\n").unwrap();
    sandbox.ralph_cmd(&["start", "other"]).dir(&linked).run().exits(0);
    // On a loop's branch the branch decides.
    let prompt = sandbox.ralph(&["prompt"]).exits(0);
    assert!(prompt.stdout.contains("add-login"));
    let prompt = sandbox.ralph_cmd(&["prompt"]).dir(&linked).run().exits(0);
    assert!(prompt.stdout.contains("`other`"));
    // Elsewhere nobody can know.
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox
        .ralph(&["next", "--", "true"])
        .exits(1)
        .says("several loops here: add-login, other");
    for verb in ["diff", "log", "restore"] {
        let output = sandbox.ralph(&[verb, "1@1"]).exits(1);
        output.says("several loops here: add-login, other\nhint: name one of them");
    }
    let all = sandbox.ralph(&["status", "--json"]).exits(0).json();
    assert_eq!(all.as_array().unwrap().len(), 2);
}

#[test]
fn a_damaged_state_file_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.start();
    for damage in [
        "",
        "version = 1\n",
        "version = 4\n",
        "not toml {{{",
        "\u{fffd}",
        "version = \"x\"\n",
    ] {
        fs::write(sandbox.state_file(), damage).unwrap();
        let print = sandbox.print();
        for args in [
            &["next", CHANGE, "--", "true"][..],
            &["status", CHANGE],
            &["start", CHANGE],
            &["finish", "--cleanup", CHANGE],
        ] {
            let output = sandbox.ralph(args).exits(1).says("is damaged");
            assert!(output.stderr.contains("hint: "), "{}", output.stderr);
        }
        assert_eq!(sandbox.print(), print);
        assert_eq!(fs::read_to_string(sandbox.state_file()).unwrap(), damage);
    }
}

#[test]
fn a_newer_state_file_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let text = fs::read_to_string(sandbox.state_file()).unwrap();
    let newer = text.replacen("version = 4", "version = 5", 1);
    fs::write(sandbox.state_file(), &newer).unwrap();
    for verb in ["next", "status", "start"] {
        let output = sandbox.ralph(&[verb, CHANGE]).exits(1);
        let output = output.says("was written by a newer git-ralph (version 5");
        assert!(output.stderr.contains("hint: install a newer git-ralph"));
    }
    assert_eq!(fs::read_to_string(sandbox.state_file()).unwrap(), newer);
}

#[test]
fn a_newer_state_of_another_loop_hides_nothing_and_is_not_in_the_way() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let text = fs::read_to_string(sandbox.state_file()).unwrap();
    let other = sandbox.state_file().with_file_name("other.toml");
    fs::write(other, text.replacen("version = 4", "version = 5", 1)).unwrap();
    let shown = sandbox.ralph(&["queue"]).exits(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("other        ?  unknown    "), "{shown}");
    assert!(
        lines[0].contains("was written by a newer git-ralph (version 5"),
        "{shown}"
    );
    assert_eq!(lines[1], "add-login  0/3  ready");
    assert_eq!(
        sandbox.ralph(&["queue", "--names"]).exits(0).stdout,
        "add-login\n"
    );
    let finished = sandbox.ralph(&["finish", "--keep", CHANGE]).exits(0);
    assert!(
        !finished.stderr.contains("could not be removed"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_setting_that_cannot_be_understood_is_named() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxRetries", "some");
    let print = sandbox.print();
    sandbox
        .ralph(&["start", CHANGE])
        .exits(1)
        .says("the setting ralph.maxRetries is 'some'");
    assert_eq!(sandbox.print(), print);
}

#[test]
fn another_git_dir_in_the_environment_is_refused() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    let print = sandbox.print();
    let cmd = sandbox
        .direct(&["start", CHANGE])
        .env("GIT_DIR", other.top.join(".git"));
    cmd.run().exits(1).says("GIT_DIR names");
    assert_eq!(sandbox.print(), print);
    assert!(!other.state_file().exists());
}

#[test]
fn work_tree_from_which_git_finds_no_repository_is_refused() {
    let sandbox = Sandbox::new();
    let apart = sandbox.outside("apart tree");
    std::fs::create_dir(&apart).unwrap();
    std::fs::write(apart.join("TODO.md"), "- [ ] a\n").unwrap();
    sandbox.git(&["config", "core.worktree", apart.to_str().unwrap()]);
    let git_dir = sandbox.top.join(".git");
    for args in [
        &["start", "todo", "--stories", "TODO.md"][..],
        &["status"],
        &["stories"],
    ] {
        let refused = sandbox.direct(args).run().exits(1);
        let hint = format!(
            "hint: let git find it from there: echo gitdir: {} >'",
            git_dir.display()
        );
        refused
            .says("git finds no repository from its own work tree ")
            .says(&hint);
    }
    std::fs::write(apart.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
    sandbox.direct(&["status"]).dir(&apart).run().exits(0);
}

#[test]
fn commands_ignore_git_variables_in_the_environment() {
    let sandbox = Sandbox::dirty();
    let decoy = sandbox.outside("decoy.index");
    let cmd = sandbox
        .direct(&["start", CHANGE])
        .env("GIT_INDEX_FILE", &decoy)
        .env("GIT_WORK_TREE", sandbox.outside("notes"))
        .env("GIT_OBJECT_DIRECTORY", sandbox.outside("objects"))
        .env("LC_ALL", "de_DE.UTF-8");
    cmd.run().exits(0);
    sandbox.is_at_checkpoint();
    assert!(!decoy.exists());
}

#[test]
fn run_without_an_agent_says_that_the_loop_is_over() {
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, "- [ ] 1. One\n");
    sandbox.start();
    let agent = sandbox.completing("echo x >x");
    sandbox.step("next", &agent).exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    sandbox
        .ralph(&["run", CHANGE])
        .exits(1)
        .says("loop 'add-login' is over: closed by git ralph finish --cleanup")
        .says("hint: its commits: git log refs/ralph/add-login/finished");
    // A story that has been added since needs an agent.
    sandbox.write(TASKS, "- [x] 1. One\n- [ ] 2. Two\n");
    sandbox
        .ralph(&["run", CHANGE])
        .exits(1)
        .says("no agent is configured");
}
