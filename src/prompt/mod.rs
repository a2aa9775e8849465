//! Renders the prompt of an attempt from a template and its inputs.
//!
//! Invariant: no line of a prompt is only a promise tag, so that an agent that repeats its prompt promises nothing.
//! This module knows nothing of git, and reads no file but the template; it is given everything that it shows.

#[cfg(test)]
mod hostile;
mod template;

use serde::Serialize;

use crate::names::heading;
use crate::stories::Story;

pub use self::template::{DEFAULT, Template, TemplateError};

const COMPLETE_TAG: &str = "<promise>COMPLETE</promise>";
const FAILED_TAG: &str = "<promise>FAILED: ...</promise>";

/// Maximum size of the text above the stories in a prompt, in bytes; its beginning is kept.
const MAX_PREAMBLE: usize = 4 * 1024;

/// Maximum size of the learnings in a prompt, in bytes; the newest are kept.
const MAX_LEARNINGS: usize = 16 * 1024;

/// Each variable of a template and its meaning: the table of the manual.
pub const VARIABLES: &[(&str, &str)] = &[
    ("change", "the change"),
    (
        "branch",
        "the branch of HEAD during the loop, like ralph/add-login",
    ),
    (
        "strategy",
        "where the loop makes its checkpoints: branch or stash",
    ),
    (
        "source",
        "the list of stories: a path, or the command that prints it",
    ),
    (
        "preamble",
        "the text of the list above its first story, as a quotation of at most 4 KiB; none if there is none",
    ),
    (
        "adapter",
        "what reads the list: openspec, markdown, prd or command",
    ),
    ("mark", "who marks a complete story: auto, agent or never"),
    ("attempt", "the number of the attempt at this story, from 1"),
    (
        "reason",
        "why the last attempt failed, as a quotation; none if it did not",
    ),
    (
        "checkpoint",
        "the commit of the last checkpoint, abbreviated; HEAD before the loop",
    ),
    (
        "last_attempt",
        "the ref that keeps what the failed attempt left in the work tree; none if there is none",
    ),
    (
        "last_log",
        "the file with all that the failed attempt and its gates printed, as a path; none if there is none",
    ),
    ("context", "files to read first: a list of paths"),
    (
        "learnings",
        "what earlier attempts wrote down, at most 16 KiB of it; may be empty",
    ),
    (
        "learnings_file",
        "the file that agents append such notes to, as a path",
    ),
    ("gates", "commands that must succeed: a list"),
    (
        "complete_tag",
        "the promise of a complete story; only inside a sentence",
    ),
    (
        "failed_tag",
        "the promise of a failed one, with three dots for the reason; only inside a sentence",
    ),
    ("story", "the story: it has the following parts"),
    ("story.id", "its id"),
    ("story.title", "its title"),
    ("story.heading", "id and title, without saying the id twice"),
    ("story.body", "its text as it is in the list, tasks included"),
    (
        "story.tasks",
        "its tasks: a list, each with id, text, done and optional",
    ),
];

/// The inputs of a prompt.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The change.
    pub change: &'a str,
    /// The branch of HEAD during the loop.
    pub branch: &'a str,
    /// The place of the loop's checkpoints.
    pub strategy: &'a str,
    /// The story.
    pub story: &'a Story,
    /// The story list, as a path or a command.
    pub source: &'a str,
    /// The text of the list above its first story.
    pub preamble: &'a str,
    /// The adapter that reads the list.
    pub adapter: &'a str,
    /// The program that marks a complete story.
    pub mark: &'a str,
    /// The attempt's number.
    pub attempt: u32,
    /// The reason why the last attempt failed.
    pub reason: Option<&'a str>,
    /// The commit of the last checkpoint, abbreviated.
    pub checkpoint: &'a str,
    /// The ref that keeps the work of that attempt.
    pub last_attempt: Option<&'a str>,
    /// The log of that attempt, as a path.
    pub last_log: Option<&'a str>,
    /// Files to read first, as paths.
    pub context: &'a [String],
    /// The notes of earlier attempts.
    pub learnings: &'a str,
    /// The file with these notes.
    pub learnings_file: &'a str,
    /// Commands that must succeed.
    pub gates: &'a [String],
}

/// The variables of a template; promise tags in every text have been made harmless.
#[derive(Serialize)]
struct Variables<'a> {
    change: &'a str,
    branch: &'a str,
    strategy: &'a str,
    story: StoryVariables,
    source: String,
    preamble: Option<String>,
    adapter: &'a str,
    mark: &'a str,
    attempt: u32,
    reason: Option<String>,
    checkpoint: &'a str,
    last_attempt: Option<String>,
    last_log: Option<String>,
    context: Vec<String>,
    learnings: String,
    learnings_file: String,
    gates: Vec<String>,
    complete_tag: &'static str,
    failed_tag: &'static str,
}

#[derive(Serialize)]
struct StoryVariables {
    id: String,
    title: String,
    heading: String,
    body: String,
    tasks: Vec<TaskVariables>,
}

#[derive(Serialize)]
struct TaskVariables {
    id: String,
    text: String,
    done: bool,
    optional: bool,
}

/// Renders the prompt.
///
/// # Errors
/// If the template does not fit its inputs; with the template's line and column.
pub fn render(template: &Template, inputs: &Inputs<'_>) -> Result<String, TemplateError> {
    template.render(&variables(inputs))
}

/// Tries a template with a first attempt and with a retry, so that a mistake is found before the loop begins.
///
/// # Errors
/// As [`render`].
pub fn check(template: &Template, inputs: &Inputs<'_>) -> Result<(), TemplateError> {
    let some = ["x".to_owned()];
    let retry = Inputs {
        attempt: 2,
        reason: Some("x"),
        last_attempt: Some("refs/ralph/x/attempts/x/1"),
        last_log: Some(".git/ralph/x/attempts/x.1.log"),
        preamble: "x",
        context: &some,
        learnings: "x",
        learnings_file: ".git/ralph/x/learnings.md",
        gates: &some,
        ..inputs.clone()
    };
    let first = Inputs {
        reason: None,
        last_attempt: None,
        last_log: None,
        learnings: "",
        learnings_file: ".git/ralph/x/learnings.md",
        ..inputs.clone()
    };
    for inputs in [&first, &retry] {
        render(template, inputs)?;
    }
    Ok(())
}

fn variables<'a>(inputs: &Inputs<'a>) -> Variables<'a> {
    let story = inputs.story;
    let body = if story.body.trim().is_empty() {
        tasks_as_list(story)
    } else {
        story.body.trim_matches('\n').to_owned()
    };
    let all = |texts: &[String]| texts.iter().map(|text| neutral(text)).collect();
    Variables {
        change: inputs.change,
        branch: inputs.branch,
        strategy: inputs.strategy,
        story: StoryVariables {
            id: neutral(&story.id),
            title: neutral(&story.title),
            heading: neutral(&heading(&story.id, &story.title)),
            body: neutral(&body),
            tasks: story
                .tasks
                .iter()
                .map(|task| TaskVariables {
                    id: neutral(&task.id),
                    text: neutral(&task.text),
                    done: task.done,
                    optional: task.optional,
                })
                .collect(),
        },
        source: neutral(inputs.source),
        preamble: Some(beginning(inputs.preamble, MAX_PREAMBLE))
            .filter(|text| !text.is_empty())
            .map(|text| quotation(&text)),
        adapter: inputs.adapter,
        mark: inputs.mark,
        attempt: inputs.attempt,
        reason: inputs.reason.map(quotation),
        checkpoint: inputs.checkpoint,
        last_attempt: inputs.last_attempt.map(neutral),
        last_log: inputs.last_log.map(neutral),
        context: all(inputs.context),
        learnings: neutral(newest(inputs.learnings, MAX_LEARNINGS)),
        learnings_file: neutral(inputs.learnings_file),
        gates: all(inputs.gates),
        complete_tag: COMPLETE_TAG,
        failed_tag: FAILED_TAG,
    }
}

fn tasks_as_list(story: &Story) -> String {
    let lines: Vec<String> = story
        .tasks
        .iter()
        .map(|task| format!("- [{}] {}", if task.done { 'x' } else { ' ' }, task.text))
        .collect();
    lines.join("\n")
}

/// Returns the text with its promise tags made harmless.
#[must_use]
pub fn neutral(text: &str) -> String {
    text.replace("<promise>", "[promise]")
        .replace("</promise>", "[/promise]")
}

fn quotation(text: &str) -> String {
    let lines: Vec<String> = neutral(text.trim())
        .lines()
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Returns the first whole lines of a text that fit into `limit` bytes, with a last line that says so if there are more.
fn beginning(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.trim().to_owned();
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    let kept = kept.rsplit_once('\n').map_or(kept, |(whole, _)| whole);
    format!("{}\n[...]", kept.trim())
}

/// Returns the last whole lines of a text that fit into `limit` bytes.
fn newest(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text.trim();
    }
    let mut from = text.len() - limit;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let tail = text.get(from..).unwrap_or_default();
    tail.split_once('\n').map_or("", |(_, whole)| whole).trim()
}

#[cfg(test)]
mod tests {
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
            depends_on: Vec::new(),
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
            change: "add-login",
            branch: "ralph/add-login",
            strategy: "branch",
            story: &story,
            source: "tasks.md",
            preamble: "Use make.",
            adapter: "markdown",
            mark: "auto",
            attempt: 2,
            reason,
            checkpoint: "1234567890",
            last_attempt: reason.map(|_| "refs/ralph/add-login/attempts/1/1"),
            last_log: reason.map(|_| ".git/ralph/add-login/attempts/1.1.log"),
            context: &["proposal.md".to_owned()],
            learnings,
            learnings_file: ".git/ralph/x/learnings.md",
            gates: &["make check".to_owned()],
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
            change: "",
            branch: "",
            strategy: "",
            story: &story,
            source: "",
            preamble: "",
            adapter: "",
            mark: "",
            attempt: 1,
            reason: None,
            checkpoint: "",
            last_attempt: None,
            last_log: None,
            context: &[],
            learnings: "",
            learnings_file: ".git/ralph/x/learnings.md",
            gates: &[],
        };
        let value = serde_json::to_value(variables(&inputs)).unwrap();
        let below = value["story"].as_object().unwrap().keys();
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.extend(below.map(|name| format!("story.{name}")));
        names.sort();
        let mut table: Vec<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
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
    fn mistakes_are_told_with_line_and_column() {
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
            let told = mistake(template);
            assert!(told.starts_with(said), "{told:?} for {template:?}");
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
            let told = mistake(template);
            assert!(
                told.starts_with("t.md line 2 column 1: a promise may stand only"),
                "{told}"
            );
        }
        with("end with <promise>COMPLETE</promise>, please\n", "", None, "").unwrap();
    }

    #[test]
    fn everything_an_agent_needs_is_there() {
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
        fn an_agent_that_repeats_its_prompt_promises_nothing(
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
}
