//! What a report tells of each story: what was asked and said, its gates, its files, and the settings in force.

use std::fs;

use serde_json::Value;

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn report_shows_task_and_answer_beside_the_diff() {
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.verify", "echo not the agent");
    let agent = sandbox.completing("echo x >x; echo 'I added <x>.'");
    sandbox.step("next", &agent).exits(0);
    let long = sandbox.agent("seq 2000; failed 'no luck'");
    sandbox.step("next", &long).exits(3);
    let told = || sandbox.ralph(&["report", CHANGE, "--json"]).exits(0).json()["stories"].clone();
    let stories = told();
    let text = "- [x] 1.1 Add the table\n- [x] 1.2 Add the index";
    assert_eq!(stories[0]["asked"]["text"], text);
    assert_eq!(stories[0]["asked"]["tasks"][0]["done"], true);
    let said = "I added <x>.\n<promise>COMPLETE</promise>";
    assert_eq!(stories[0]["attempts"][0]["message"], said);
    let message = stories[1]["attempts"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("… the beginning is left out\n") && message.len() < 5000,
        "{message}"
    );
    assert!(message.ends_with("FAILED: no luck</promise>"), "{message}");
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    let (_, card) = page.split_once("<article").unwrap();
    let (words, lines) = card.split_once("<pre class=\"lines\">").unwrap();
    assert!(
        words.contains(text) && words.contains("I added &lt;x&gt;."),
        "{words}"
    );
    assert!(lines.contains("diff --git"));
    let markdown = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    let (_, card) = markdown.split_once("##### 1. Database: complete\n").unwrap();
    let asked = format!("What was asked for:\n\n```\n{text}\n```");
    assert!(card.contains(&asked), "{card}");
    // Where the branch is not checked out, the list is that of the checkpoint; where the log is gone, nothing is said.
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.git(&["checkout", "-q", "main"]);
    fs::remove_dir_all(sandbox.top.join(format!(".git/ralph/{CHANGE}/attempts"))).unwrap();
    let stories = told();
    assert_eq!(stories[0]["asked"]["text"], text);
    assert_eq!(stories[0]["attempts"][0]["message"], Value::Null);
}

#[test]
fn each_run_of_a_gate_has_the_end_of_its_output() {
    let sandbox = Sandbox::new();
    let red = "seq 3000; echo '<1> of hunter2 tests failed'; test -e x";
    sandbox.configure("ralph.verify", red);
    sandbox.configure("ralph.redact", "hunter[0-9]");
    sandbox.ralph(&["start", "--allow-red"]).exits(0);
    sandbox.step("next", &sandbox.completing("true")).exits(3);
    sandbox.step("retry", &sandbox.completing("echo x >x")).exits(0);
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    let attempts = &report["stories"][0]["attempts"];
    for gates in [&report["gates"], &attempts[0]["gates"], &attempts[1]["gates"]] {
        let output = gates[0]["output"].as_str().unwrap();
        assert!(output.starts_with("… the beginning is left out\n"), "{output}");
        assert!(
            output.ends_with("\n3000\n<1> of *** tests failed") && output.len() < 4200,
            "{output}"
        );
    }
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    // The red run of an attempt is in its reason, the last one below the gate, and that before any attempt on its own.
    let printed = "&lt;1&gt; of *** tests failed</pre>";
    assert_eq!(page.matches(printed).count(), 3, "{page}");
    let (card, before) = page.split_once("Gates before any attempt</h2>").unwrap();
    let passed = r#"<span class="mark complete">passed, after 1 failure; 2 runs, "#;
    assert!(card.contains(passed), "{card}");
    let failed = r#"<span class="mark failed">failed after "#;
    assert!(before.contains(failed) && before.contains(printed), "{before}");
    let text = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    let (card, before) = text.split_once("#### Gates before any attempt\n").unwrap();
    assert!(
        card.contains(": passed, after 1 failure; 2 runs, ") && before.contains(": failed after "),
        "{text}"
    );
    let printed = "\n3000\n<1> of *** tests failed\n```\n\n</details>";
    assert_eq!(card.matches(printed).count(), 1, "{card}");
}

#[test]
fn each_story_has_one_card_that_says_how_it_stands() {
    let sandbox = Sandbox::new();
    let list = sandbox.read(TASKS) + "\n## 4. Later\n- [ ] 4.1 later\n\n## 5. Done\n- [x] 5.1 done\n";
    sandbox.write(TASKS, &list);
    sandbox.git(&["commit", "-qam", "more"]);
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("mkdir src; echo x >src/form.py"))
        .exits(0);
    sandbox.step("next", &sandbox.failing("echo y >y")).exits(3);
    sandbox.ralph(&["skip"]).exits(0);
    sandbox.ralph(&["skip", CHANGE, "4"]).exits(0);
    let none = "; no attempt at it is in this report";
    let cards = [
        "1. Database: complete".to_owned(),
        "2. Server: failed and skipped".to_owned(),
        format!("3. Page: open{none}"),
        format!("4. Later: skipped{none}"),
        format!("5. Done: done in the list{none}"),
    ];
    let text = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    let shown = text.lines().filter_map(|line| line.strip_prefix("##### "));
    assert_eq!(shown.collect::<Vec<_>>(), cards);
    let changes = text.find("\n+1 -0  src/form.py  (1)\n").unwrap();
    assert!(
        changes < text.find("##### 1.").unwrap() && !text.contains("&#"),
        "{text}"
    );
    assert!(
        text.contains("- rests on: the agent's word alone (the agent's promise)\n"),
        "{text}"
    );
    let kept = "- kept as refs/ralph/add-login/attempts/2/1\n";
    assert!(
        text.contains(kept) && text.contains("\n- `git ralph log add-login 2@1`\n"),
        "{text}"
    );
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    assert_eq!(page.matches("<article").count(), 5);
    assert!(
        page.contains("<dd>2 of 5 complete, 1 on the agent&#x27;s word alone</dd>"),
        "{page}"
    );
    assert!(!page.contains("In the prompt of the next attempt"), "{page}");
    let junit = sandbox.ralph(&["report", "--junit"]).exits(0).stdout;
    assert!(
        junit.contains(
            "<system-out>rests on: the agent&apos;s word alone (the agent&apos;s promise)</system-out>"
        ),
        "{junit}"
    );
    assert!(
        junit.contains("failures=\"1\"") && junit.matches(none).count() == 3,
        "{junit}"
    );
    let stories = sandbox.ralph(&["report", "--json"]).exits(0).json()["stories"].clone();
    let by_word = stories
        .as_array()
        .unwrap()
        .iter()
        .map(|story| &story["by_word_alone"]);
    assert_eq!(
        by_word.collect::<Vec<_>>(),
        [
            &Value::Bool(true),
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &Value::Null
        ]
    );
    // With a gate, it is not its word alone.
    sandbox.configure("ralph.verify", "true");
    sandbox.step("next", &sandbox.completing("echo z >z")).exits(0);
    let text = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(
        text.contains("- rests on: the agent's promise, gates\n- gate true: passed after "),
        "{text}"
    );
}

#[test]
fn report_sums_accepted_changes_by_file() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent(
        "count; case $n in 1) seq 3 >'a b'; printf '\\0' >bytes ;; 2) echo x >undone; failed no ;; *) echo 9 >'a b' ;; esac
         test $n = 2 || complete",
    );
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(3);
    sandbox.write("mine", "1\n2\n");
    sandbox.step("retry", &agent).exits(0);
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    let told = report["files"].as_array().unwrap().iter().map(|file| {
        let stories = file["stories"].as_array().unwrap().len();
        format!(
            "{} {stories} {} {} {}",
            file["path"], file["by_person"], file["insertions"], file["deletions"]
        )
    });
    let told: Vec<String> = told.filter(|file| !file.contains("tasks.md")).collect();
    let all = [
        "\"a b\" 2 false 4 3",
        "\"bytes\" 1 false null null",
        "\"mine\" 0 true 2 0",
    ];
    assert_eq!(told, all);
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    let row = "<code>a b</code></th><td class=\"number added\">4</td><td class=\"number removed\">3</td><td>1, 2</td>";
    assert!(page.contains(row), "{page}");
    let text = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(
        text.contains("\n+4 -3  a b  (1, 2)\n+- --  bytes  (1)\n+2 -0  mine  (the user)\n"),
        "{text}"
    );
}

#[test]
fn report_lists_the_settings_in_force_after_each_change() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "test -e x");
    sandbox
        .ralph(&["start", "--allow-red", "--timeout", "5m"])
        .exits(0);
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.configure("ralph.maxCost", "2.50");
    let agent = sandbox.completing("echo x >>x");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(0);
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    let told = report["environments"].as_array().unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|one| (&one["since"], &one["timeout"], &one["max_cost"]))
        .collect();
    let (first, second, cost) = ("1@1".into(), "2@1".into(), 2.5.into());
    assert_eq!(
        told,
        [
            (&first, &300.0.into(), &Value::Null),
            (&second, &300.0.into(), &cost)
        ]
    );
    assert_eq!(report["environments"][0]["gates"][0], "test -e x");
    assert_eq!(report["environments"][0]["max_retries"], 3);
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    for shown in [
        "From 1@1 on:",
        "<dt>Time of an attempt</dt><dd>5m 00s</dd>",
        "<dd>$2.50</dd>",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    let text = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(text.contains("- Time of an attempt: 5m 00s\n"), "{text}");
}

#[test]
fn commits_link_to_the_host_that_has_them() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("echo x >>x");
    sandbox.step("next", &agent).exits(0);
    let pushed = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.step("next", &agent).exits(0);
    let urls = |sandbox: &Sandbox| -> Vec<Value> {
        let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
        let stories = report["stories"].as_array().unwrap().clone();
        let attempts = stories
            .iter()
            .flat_map(|story| story["attempts"].as_array().unwrap().clone());
        attempts.map(|attempt| attempt["url"].clone()).collect()
    };
    assert_eq!(urls(&sandbox), [Value::Null, Value::Null]);
    sandbox.git(&["remote", "add", "origin", "git@github.com:acme/shop.git"]);
    assert_eq!(urls(&sandbox), [Value::Null, Value::Null]);
    sandbox.git(&["update-ref", "refs/remotes/origin/ralph/add-login", &pushed]);
    let url = format!("https://github.com/acme/shop/commit/{pushed}");
    assert_eq!(urls(&sandbox), [Value::from(url), Value::Null]);
    sandbox.configure("ralph.linkCommit", "https://git.example.org/c/{oid}");
    let url = format!("https://git.example.org/c/{pushed}");
    assert_eq!(urls(&sandbox), [Value::from(url), Value::Null]);
}

#[test]
fn story_done_by_hand_stays_complete_after_the_loop() {
    for how in ["--keep", "--cleanup"] {
        let sandbox = Sandbox::started();
        sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
        let list = "openspec/changes/add-login/tasks.md";
        let ticked = sandbox.read(list).replacen("[ ]", "[x]", 2);
        sandbox.write(list, &ticked);
        for _ in 0..2 {
            sandbox.step("next", &sandbox.completing("echo x >>x")).exits(0);
        }
        let told = || {
            let junit = sandbox.ralph(&["report", CHANGE, "--junit"]).exits(0).stdout;
            let report = sandbox.ralph(&["report", CHANGE, "--json"]).exits(0).json();
            (
                junit.contains(r#"tests="3" failures="0" errors="0""#),
                report["stories"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|story| story["state"] == "complete"),
            )
        };
        assert_eq!(told(), (true, true));
        sandbox.ralph(&["finish", how]).exits(0);
        sandbox.git(&["checkout", "-q", "main"]);
        assert_eq!(told(), (true, true), "{how}");
    }
}

#[test]
fn several_loops_are_on_one_page() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    sandbox.write("TODO.md", "- [ ] one\n- [ ] two\n");
    sandbox
        .ralph(&["start", "other", "--stories", "TODO.md"])
        .exits(0);
    let answer = sandbox.ralph(&["report", "--all"]).exits(0).stdout;
    assert!(answer.ends_with("/.git/ralph/report.html\n"), "{answer}");
    let page = sandbox.read(answer.trim());
    for name in [CHANGE, "other"] {
        assert!(page.contains(&format!("<h2>{name}</h2>")), "{page}");
    }
    let all = sandbox.ralph(&["report", "--all", "--json"]).exits(0).json();
    assert_eq!(all.as_array().unwrap().len(), 2);
    let later = sandbox.ralph(&["report", "other", "--json", "--since", "2099-01-01"]);
    assert_eq!(later.exits(0).json()["events"], Value::Array(Vec::new()));
}

#[test]
fn redaction_comes_before_a_cut_and_sees_through_colours() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "sk-branch"]);
    sandbox.start();
    // The secret is where a line of a difference is cut, and where the end of a log begins.
    let agent = sandbox.failing(
        "printf '%0395dsk-diffcut\\n' 0 >new; printf 'x sk-logcut%032763d\\n' 0; printf 's\\033[1mk-\\033[0mcolour\\n'",
    );
    sandbox.step("next", &agent).exits(3);
    for form in ["--markdown", "--json", "--junit", "--logs"] {
        let text = sandbox
            .ralph(&["report", form, "--redact", "sk-[a-z]{6,}", "-o", "-"])
            .exits(0)
            .stdout;
        for part in ["sk-", "diffcut", "cut0", "colour"] {
            assert!(!text.contains(part), "{form} {part}");
        }
    }
}

#[test]
fn report_without_events_says_that_attempts_are_not_recorded() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    let words = "the attempts, of which nothing is recorded";
    let markdown = || sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(!markdown().contains(words));
    for text in ["", "{{{\n"] {
        sandbox.write(&format!(".git/ralph/{CHANGE}/events.jsonl"), text);
        assert!(markdown().contains(words), "{text:?}");
        let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
        assert!(page.contains(words));
    }
}
