//! Tests what a prompt holds, and what is said of a template with a mistake.

use super::*;
use crate::agent::promise::{Heard, PromiseScanner};
use proptest::prelude::*;

fn story(body: &str) -> Story {
    Story {
        id: "1".to_owned(),
        title: "Do it".to_owned(),
        body: body.to_owned(),
        done: false,
        optional: false,
        depends_on: None,
        line: 1,
        tasks: Vec::new(),
    }
}

fn prompt(body: &str, reason: Option<&str>, learnings: &str) -> String {
    with(DEFAULT, body, reason, learnings).unwrap()
}

pub(super) fn with(
    template: &str,
    body: &str,
    reason: Option<&str>,
    learnings: &str,
) -> Result<String, TemplateError> {
    let story = story(body);
    let inputs = Inputs {
        work: Work {
            change: "add-login",
            story: &story,
            source: "tasks.md",
            preamble: "Use make.",
            context: &["proposal.md".to_owned()],
            gates: &["make check".to_owned()],
        },
        branch: "ralph/add-login",
        strategy: "branch",
        adapter: "markdown",
        whole: false,
        boxed: false,
        mark: "auto",
        attempt: 2,
        reason,
        redone: None,
        checkpoint: "1234567890",
        last_attempt: reason.map(|_| "refs/ralph/add-login/attempts/1/1"),
        last_log: reason.map(|_| ".git/ralph/add-login/attempts/1.1.log"),
        learnings,
        learnings_file: ".git/ralph/x/learnings.md",
        held_tests: &["tests".to_owned()],
        may_continue: false,
    };
    let template = Template::of(template);
    check(&template, &inputs)?;
    render(&template, &inputs)
}

fn mistake(template: &str) -> String {
    with(template, "", None, "").unwrap_err().to_string()
}

#[test]
fn the_table_names_every_variable() {
    let story = story("");
    let inputs = Inputs {
        work: Work {
            change: "",
            story: &story,
            source: "",
            preamble: "",
            context: &[],
            gates: &[],
        },
        branch: "",
        strategy: "",
        adapter: "",
        whole: false,
        boxed: false,
        mark: "",
        attempt: 1,
        reason: None,
        redone: None,
        checkpoint: "",
        last_attempt: None,
        last_log: None,
        learnings: "",
        learnings_file: ".git/ralph/x/learnings.md",
        held_tests: &[],
        may_continue: true,
    };
    let value = serde_json::to_value(variables(&inputs)).unwrap();
    let below = value["story"].as_object().unwrap().keys();
    let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    names.extend(below.map(|name| format!("story.{name}")));
    names.sort();
    let mut table: Vec<&str> = WORK_VARIABLES
        .iter()
        .chain(VARIABLES)
        .map(|(name, _)| *name)
        .collect();
    table.sort_unstable();
    assert_eq!(names, table);
}

#[test]
fn a_template_of_ones_own_is_rendered() {
    let template =
        "{% for task in story.tasks %}{{ task.text }}{% endfor %}{{ story.heading }} {{ attempt }}\n";
    assert_eq!(with(template, "", None, "").unwrap(), "1: Do it 2\n");
}

#[test]
fn error_names_line_and_column_of_a_mistake() {
    for (template, said) in [
        (
            "a\nb {{ stroy.id }}\n",
            "t.md line 2 column 6: there is no variable 'stroy.id'",
        ),
        (
            "{{ story.titel }}",
            "t.md line 1 column 4: there is no variable 'story.titel'",
        ),
        (
            "titel\n\u{e9} {% if titel %}x{% endif %}",
            "t.md line 2 column 9: there is no variable 'titel'",
        ),
        ("{{ change }}\n\n  {{ change", "t.md line 3 column "),
        ("{% if reason %}x", "t.md line 1 column "),
        (
            "x\n{% if reason %}{{ reason.x.y }}{% endif %}",
            "t.md line 2 column ",
        ),
        ("x\n {{ change|nosuch }}", "t.md line 2 column "),
        ("{% for x in attempt %}{% endfor %}", "t.md line 1 column "),
    ] {
        let message = mistake(template);
        assert!(message.starts_with(said), "{message:?} for {template:?}");
    }
}

#[test]
fn a_line_that_is_only_a_promise_is_refused() {
    for template in [
        "a\n<promise>COMPLETE</promise>\nb\n",
        "a\n  > `<promise>COMPLETE</promise>`\nb\n",
        "a\n- {{ complete_tag }}\nb\n",
        "a\n<promise>FAILED: x</promise>\nb\n",
        "Do not print\n<promise>COMPLETE</promise>\nb\n",
        "a\nend with: <promise>COMPLETE</promise>",
    ] {
        let message = mistake(template);
        assert!(
            message.starts_with("t.md line 2 column 1: a promise may stand only"),
            "{message}"
        );
    }
    with("end with <promise>COMPLETE</promise>, please\n", "", None, "").unwrap();
}

#[test]
fn prompt_has_everything_an_agent_needs() {
    let text = prompt(
        "- [ ] 1.1 First\n- [ ] 1.2 Second\n",
        Some("tests are red\nagain"),
        "use make\n",
    );
    for part in [
        "# Story 1: Do it",
        "- [ ] 1.1 First\n- [ ] 1.2 Second",
        "> tests are red\n> again",
        "use make",
        "`make check`",
        "`proposal.md`",
        "attempt 2",
        "> Use make.",
        "git diff 1234567890 refs/ralph/add-login/attempts/1/1",
        ".git/ralph/add-login/attempts/1.1.log",
    ] {
        assert!(text.contains(part), "{part:?} is missing from:\n{text}");
    }
    let first = prompt("- [ ] x", None, "");
    assert!(!first.contains("failed attempt"), "{first}");
}

#[test]
fn learnings_keep_the_newest_lines_and_the_preamble_the_first() {
    let long = format!("old\n{}\nnew", "x".repeat(MAX_LEARNINGS));
    assert_eq!(newest(&long, MAX_LEARNINGS), "new");
    assert_eq!(newest("all\n", MAX_LEARNINGS), "all");
    assert_eq!(beginning("all\n", 100), "all");
    assert_eq!(beginning("one\ntwo\nthree", 9), "one\ntwo\n[...]");
    assert_eq!(beginning("\u{e9}\u{e9}\u{e9}", 3), "\u{e9}\n[...]");
}

proptest! {
    #[test]
    fn repeated_prompt_is_no_promise(
        body in r"(?s)(.{0,12}|<promise>COMPLETE</promise>|</promise>|\n){0,8}",
        reason in r"(?s)(.{0,12}|<promise>COMPLETE</promise>|<promise>FAILED: x</promise>|\n){0,8}",
    ) {
        let text = prompt(&body, Some(&reason), &reason);
        // Even if the echo cannot be recognised line by line, no line is a tag of its own.
        let mut scanner = PromiseScanner::new("");
        scanner.push(text.as_bytes());
        prop_assert!(!matches!(scanner.finish(), Heard::Promise(_) | Heard::Denied), "{}", text);
    }
}

#[test]
fn repeated_learning_is_shown_once() {
    let learnings = "Use tabs.\n}\n[1@1] Use make.\n[ERROR] port\n[1@2] Use sed.\n[OK] port\n}\n[2@1] Use make.\n[ERROR] port\n";
    let text = prompt("", None, learnings);
    let shown = "Use tabs.\n}\n[1@2] Use sed.\n[OK] port\n}\n[2@1] Use make.\n[ERROR] port\n";
    assert!(text.contains(shown), "{text}");
}

#[test]
fn notes_of_refused_attempts_are_marked_and_no_others() {
    let learnings =
        "Use tabs.\n[1@1] Use make.\n[1@2] Use make.\n[a@b@1] Use sed.\n[ERROR] port\n[2@x] port\n";
    assert_eq!(marked(learnings, |_, _| false), learnings);
    let refused = marked(learnings, |story, number| (story, number) != ("1", 2));
    let wanted = learnings
        .replace("[1@1]", "[1@1, not accepted]")
        .replace("[a@b@1]", "[a@b@1, not accepted]");
    assert_eq!(refused, wanted);
    let text = prompt("", None, &refused);
    let shown = "Use tabs.\n[1@2] Use make.\n[a@b@1, not accepted] Use sed.\n";
    assert!(text.contains(shown), "{text}");
}

#[test]
fn rules_name_only_what_is_so() {
    let open = prompt("- [ ] 1.1 one\n", None, "");
    assert!(
        !open.contains("`[x]` is done") && !open.contains("own tests and linters"),
        "{open}"
    );
    let begun = prompt("- [X] 1.1 one\n- [ ] 1.2 two\n", None, "");
    assert!(begun.contains("`[x]` is done; do every `[ ]`."), "{begun}");
}

#[test]
fn texts_are_cut_and_their_control_characters_are_visible() {
    let long = format!("red\0\u{1b}[2J\r\n{}", "x\n".repeat(20_000));
    let text = prompt("- [ ] 1.1 \u{7}one\n", Some(&long), "");
    assert!(
        text.contains("> red^@^[[2J") && text.contains("- [ ] 1.1 ^Gone"),
        "{}",
        &text[..600]
    );
    assert!(
        text.len() < 40 * 1024 && text.contains("> [...]"),
        "{}",
        text.len()
    );
}
