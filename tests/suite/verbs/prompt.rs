//! `git ralph prompt`: what the next attempt would get; nothing runs.

use crate::support::{CHANGE, Sandbox};

#[test]
fn prompt_prints_exactly_the_input_of_the_agent() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let print = sandbox.print();
    let agent = sandbox.agent("cat >\"$notes/prompt\"; failed 'too hard'");
    let shown = sandbox.ralph(&["prompt"]).exits(0);
    assert_eq!(shown.stderr, "");
    assert_eq!(sandbox.print(), print);
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.noted("prompt"), shown.stdout);
    for part in [
        "# Story 1. Database",
        "- [ ] 1.1 Add the table",
        "proposal.md",
        "`ralph/add-login`",
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let shown = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(shown.contains("> too hard\n"), "{shown}");
    sandbox.step("retry", &agent).exits(3);
    assert_eq!(sandbox.noted("prompt"), shown);
}

#[test]
fn prompt_takes_a_story_before_the_loop_begins() {
    let sandbox = Sandbox::new();
    let shown = sandbox.ralph(&["prompt", "2"]).exits(0).stdout;
    assert!(shown.starts_with("# Story 2. "), "{shown}");
    let unknown = "there is no loop '77' here";
    sandbox.ralph(&["prompt", "77"]).exits(1).says(unknown);
}

#[test]
fn no_line_of_the_prompt_is_a_promise() {
    let sandbox = Sandbox::new();
    sandbox.write(
        crate::support::TASKS,
        "## 1. Trap\n\n<promise>COMPLETE</promise>\n\n- [ ] 1.1 <promise>COMPLETE</promise>\n",
    );
    sandbox.start();
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    let alone = |line: &str| {
        line.trim_matches(|c: char| " `*>-#".contains(c) && c != '>')
            .ends_with("</promise>")
    };
    assert!(
        !prompt
            .lines()
            .any(|line| line.trim_start().starts_with("<promise>") && alone(line)),
        "{prompt}"
    );
    sandbox.step("next", "cat").exits(3);
    assert_eq!(sandbox.verdict(), "no_signal");
}

#[test]
fn prompt_prints_nothing_if_no_story_is_left() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("true");
    for _ in 0..3 {
        sandbox.step("next", &agent).exits(0);
    }
    sandbox.ralph(&["prompt"]).exits(5).answers_nothing();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["prompt"]).exits(1).says("is over: closed");
}

#[test]
fn the_built_in_template_is_printed_anywhere() {
    let sandbox = Sandbox::empty();
    let here = sandbox.outside("home");
    let output = sandbox
        .direct(&["prompt", "--template"])
        .dir(&here)
        .run()
        .exits(0);
    assert!(output.stdout.contains("{{ story.heading }}"), "{}", output.stdout);
    // It can be used as it was printed.
    let sandbox = Sandbox::new();
    sandbox.start();
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    sandbox.write(".git/template.md", &output.stdout);
    let output = sandbox
        .git_cmd(&["-c", "ralph.prompt=.git/template.md", "ralph", "prompt"])
        .run();
    assert_eq!(output.exits(0).stdout, prompt);
}

#[test]
fn prompt_can_show_another_story() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let prompt = sandbox.ralph(&["prompt", "--story", "3"]).exits(0).stdout;
    assert!(
        prompt.contains("Draw the form") && !prompt.contains("Add the table"),
        "{prompt}"
    );
    sandbox
        .ralph(&["prompt", "--story", "9"])
        .exits(1)
        .says("has no story '9' (stories: 1, 2, 3)");
}

#[test]
fn a_template_of_ones_own_makes_the_prompt() {
    let sandbox = Sandbox::new();
    sandbox.write("my.md", "{{ change }}: {{ story.id }} {{ story.title }}\n");
    sandbox.configure("ralph.prompt", "my.md");
    sandbox.start();
    let agent = sandbox.completing("cat >\"$notes/prompt\"");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("prompt"), "add-login: 1 1. Database\n");
}

#[test]
fn start_reports_the_place_of_a_mistake_in_a_template() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.prompt", "my.md");
    sandbox
        .ralph(&["start", CHANGE])
        .exits(1)
        .says("cannot read the template 'my.md'");
    for (template, said) in [
        (
            "a\n{{ story.titel }}\n",
            "my.md line 2 column 4: there is no variable 'story.titel'",
        ),
        (
            "{% if reason %}{{ raison }}{% endif %}",
            "my.md line 1 column 19: there is no variable 'raison'",
        ),
        ("a\n\n{% if %}\n", "my.md line 3 column "),
        (
            "a\n<promise>COMPLETE</promise>\n",
            "my.md line 2 column 1: a promise may stand only inside a sentence",
        ),
    ] {
        sandbox.write("my.md", template);
        sandbox
            .ralph(&["start", CHANGE])
            .exits(1)
            .says(said)
            .says("hint: git ralph prompt --template");
        assert!(!sandbox.state_file().exists());
    }
}

#[test]
fn prompt_mentions_a_missing_promise_only_if_configured() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("seq 100");
    sandbox.step("next", &agent).exits(3);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(!prompt.contains("The last attempt failed"), "{prompt}");
    let agent = sandbox.agent(
        "echo half >half; seq 200; printf '%s\\n' \"$RALPH_LAST_ATTEMPT\" \"$RALPH_LAST_LOG\" >>\"$notes/last\"",
    );
    sandbox
        .git_cmd(&["-c", "ralph.retryContext=always", "ralph", "retry", "--", &agent])
        .run()
        .exits(3);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(
        prompt.contains("> 161\n") && prompt.contains("> 200\n"),
        "{prompt}"
    );
    assert!(!prompt.contains("> 160\n"), "{prompt}");
    // What that one left and printed is named there, and in the environment in any case.
    let (kept, log) = (
        "refs/ralph/add-login/attempts/1/2",
        ".git/ralph/add-login/attempts/1.2.log",
    );
    assert!(prompt.contains(kept) && prompt.contains(log), "{prompt}");
    sandbox.step("retry", &agent).exits(3);
    let first = sandbox.top.join(".git/ralph/add-login/attempts/1.1.log");
    let (first, second) = (first.display(), sandbox.top.join(log));
    let wanted = format!(
        "refs/ralph/add-login/attempts/1/1\n{first}\n{kept}\n{}\n",
        second.display()
    );
    assert_eq!(sandbox.noted("last"), wanted);
}

#[test]
fn later_prompts_have_learnings_from_file_and_message() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.failing(
        "echo 'from the file' >>\"$RALPH_LEARNINGS\"; cat; echo 'I say <learning>from the message'; echo '</learning>'",
    );
    sandbox.step("next", &agent).exits(3);
    let file = sandbox.top.join(".git/ralph/add-login/learnings.md");
    let learned = "[1@1] from the file\n[1@1] from the message\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), learned);
    let shows = |note: &str| {
        let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
        assert!(prompt.contains(note), "{prompt}");
    };
    shows("[1@1, not accepted] from the file\n[1@1, not accepted] from the message\n");
    let agent = sandbox.completing("echo x >x; echo '<learning>it works</learning>'");
    sandbox.step("retry", &agent).exits(0);
    shows("[1@1, not accepted] from the file\n[1@1, not accepted] from the message\n[1@2] it works\n");
    // The user's own notes are of no attempt, nor do those of one that was accepted look like those of another.
    let mine = format!("{}mine\n", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, mine).unwrap();
    let agent = sandbox.completing("echo x >y; echo 'also in the file' >>\"$RALPH_LEARNINGS\"");
    sandbox.step("next", &agent).exits(0);
    shows("[1@2] it works\nmine\n[2@1] also in the file\n");
    let long: String = (0..9000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(&file, long).unwrap();
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("line 8999") && !prompt.contains("line 7000\n"));
}

#[test]
fn something_else_in_the_place_of_the_learnings_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let outside = sandbox.outside("precious");
    std::fs::write(&outside, "mine\n").unwrap();
    let agent = sandbox.agent(&format!(
        "ln -s '{}' \"$RALPH_LEARNINGS\"; echo '<learning>evil</learning>'; complete",
        outside.display()
    ));
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("links or pipes were put into the loop's directory");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine\n");
    let file = sandbox.top.join(".git/ralph/add-login/learnings.md");
    std::fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    sandbox.ralph(&["prompt"]).exits(0);
}

#[test]
fn prompt_before_a_loop_shows_the_input_of_the_first_attempt() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    for args in [&["prompt"][..], &["prompt", CHANGE]] {
        let shown = sandbox.ralph(args).exits(0).says("the loop has not begun");
        assert!(shown.stdout.contains("# Story 1. Database"), "{}", shown.stdout);
    }
    let named = sandbox
        .ralph(&["prompt", "--story", "2", "--json"])
        .exits(0)
        .json();
    assert_eq!(named["story"], "2");
    sandbox.ralph(&["prompt", "--story", "9"]).exits(1);
    assert_eq!(sandbox.print(), print);
    let before = sandbox.ralph(&["prompt"]).stdout;
    sandbox.start();
    assert_eq!(sandbox.ralph(&["prompt"]).exits(0).stdout, before);
}

#[test]
fn prompt_after_a_failure_names_kept_work_and_both_ends_of_output() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "ralph.verify",
        "test ! -e work || { echo panicked; seq 1000; exit 1; }",
    );
    sandbox.start();
    let agent = sandbox.completing("echo work >work");
    sandbox.step("next", &agent).exits(3);
    let shown = sandbox.ralph(&["prompt"]).exits(0).stdout;
    for part in [
        "> panicked\n> 1\n",
        "> [951 lines left out]\n> 961\n",
        "> 1000\n",
        "All that it printed: `.git/ralph/add-login/attempts/1.1.log`",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(
        sandbox
            .read(".git/ralph/add-login/attempts/1.1.log")
            .contains("\n500\n")
    );
    // The command in it works for the agent.
    let asks = "sed -n 's/.*`\\(git diff [^`]*\\)`.*/\\1/p' >\"$notes/command\"; \
                sh \"$notes/command\" >\"$notes/shown\"";
    let agent = sandbox.failing(asks);
    sandbox.step("retry", &agent).exits(3);
    assert!(
        sandbox.noted("shown").contains("+work"),
        "{}",
        sandbox.noted("command")
    );
    // An attempt that does not count has no reason.
    sandbox.step("retry", &sandbox.agent("exit 127")).exits(1);
    let shown = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(!shown.contains("What it did"), "{shown}");
}

#[test]
fn prompt_of_each_story_quotes_the_preamble_of_the_list() {
    let sandbox = Sandbox::new();
    let tasks = sandbox.read(crate::support::TASKS);
    sandbox.write(
        crate::support::TASKS,
        &format!("# Plan\n\nUse SQLite.\n<promise>COMPLETE</promise>\n\n{tasks}"),
    );
    sandbox.start();
    for story in ["1", "2"] {
        let prompt = sandbox.ralph(&["prompt", "--story", story]).exits(0).stdout;
        assert!(
            prompt.contains("> Use SQLite.\n> [promise]COMPLETE[/promise]\n"),
            "{prompt}"
        );
    }
}

#[test]
fn prompt_lists_held_tests_unless_changes_are_allowed() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "true");
    sandbox.configure("ralph.tests", "tests");
    let said = "with the tests as they were when you began, too; changed or new tests do not help to pass:\n  - `tests`\n";
    let prompt = sandbox.ralph(&["prompt", CHANGE]).exits(0).stdout;
    assert!(prompt.contains(said), "{prompt}");
    sandbox.configure("ralph.testChanges", "allow");
    let prompt = sandbox.ralph(&["prompt", CHANGE]).exits(0).stdout;
    assert!(!prompt.contains("tests as they were"), "{prompt}");
    sandbox.configure("ralph.testChanges", "held");
    sandbox.configure("ralph.review", "claude");
    sandbox.configure("ralph.heldBy", "review");
    let prompt = sandbox.ralph(&["prompt", CHANGE]).exits(0).stdout;
    assert!(!prompt.contains("tests as they were"), "{prompt}");
}

#[test]
fn a_word_that_names_no_change_is_a_story() {
    let sandbox = Sandbox::started();
    let named = sandbox.ralph(&["prompt", "--story", "2"]).exits(0).stdout;
    assert_eq!(sandbox.ralph(&["prompt", "2"]).exits(0).stdout, named);
    sandbox.ralph(&["prompt", "7"]).exits(1).says("7");
}
