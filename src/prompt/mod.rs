//! The prompt of an attempt (contract section 9): a template and what goes into it.
//!
//! Invariant: no line of a prompt is only a promise tag, so that an agent that repeats its prompt
//! promises nothing. Knows nothing of files or git; it gets all it shows.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::adapters::Story;
use crate::names::heading;

/// The built-in template.
const DEFAULT: &str = include_str!("default.md");

const COMPLETE_TAG: &str = "<promise>COMPLETE</promise>";
const FAILED_TAG: &str = "<promise>FAILED: ...</promise>";

/// Longest part of the learnings that goes into a prompt, in bytes; the newest are kept.
const MAX_LEARNINGS: usize = 16 * 1024;

/// What a prompt is made of.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The change.
    pub change: &'a str,
    /// The loop's branch.
    pub branch: &'a str,
    /// The story.
    pub story: &'a Story,
    /// The story list, as a path.
    pub source: &'a str,
    /// The attempt's number.
    pub attempt: u32,
    /// Why the last attempt failed.
    pub reason: Option<&'a str>,
    /// Files to read first, as paths.
    pub context: &'a [String],
    /// What earlier attempts wrote down.
    pub learnings: &'a str,
    /// Commands that must succeed.
    pub gates: &'a [String],
}

#[derive(Serialize)]
struct Variables<'a> {
    change: &'a str,
    branch: &'a str,
    story: StoryVariables<'a>,
    source: &'a str,
    attempt: u32,
    reason: Option<String>,
    context: &'a [String],
    learnings: String,
    gates: &'a [String],
    complete_tag: &'static str,
    failed_tag: &'static str,
}

#[derive(Serialize)]
struct StoryVariables<'a> {
    id: &'a str,
    title: String,
    heading: String,
    body: String,
}

/// Renders the prompt.
///
/// # Errors
/// When the template does not fit what it is given; with the template's line.
pub fn render(inputs: &Inputs<'_>) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    environment.add_template("prompt", DEFAULT)?;
    let story = inputs.story;
    let body = if story.body.trim().is_empty() {
        tasks_as_list(story)
    } else {
        story.body.trim_matches('\n').to_owned()
    };
    let variables = Variables {
        change: inputs.change,
        branch: inputs.branch,
        story: StoryVariables {
            id: &story.id,
            title: neutral(&story.title),
            heading: neutral(&heading(&story.id, &story.title)),
            body: neutral(&body),
        },
        source: inputs.source,
        attempt: inputs.attempt,
        reason: inputs.reason.map(quotation),
        context: inputs.context,
        learnings: neutral(newest(inputs.learnings, MAX_LEARNINGS)),
        gates: inputs.gates,
        complete_tag: COMPLETE_TAG,
        failed_tag: FAILED_TAG,
    };
    environment.get_template("prompt")?.render(Serde(variables))
}

fn tasks_as_list(story: &Story) -> String {
    let lines: Vec<String> = story
        .tasks
        .iter()
        .map(|task| format!("- [{}] {}", if task.done { 'x' } else { ' ' }, task.text))
        .collect();
    lines.join("\n")
}

/// The text with its promise tags made harmless.
fn neutral(text: &str) -> String {
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

/// The last whole lines of a text that fit into `limit` bytes.
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
        let story = story(body);
        render(&Inputs {
            change: "add-login",
            branch: "ralph/add-login",
            story: &story,
            source: "tasks.md",
            attempt: 2,
            reason,
            context: &["proposal.md".to_owned()],
            learnings,
            gates: &["make check".to_owned()],
        })
        .unwrap()
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
        ] {
            assert!(text.contains(part), "{part:?} is missing from:\n{text}");
        }
        let first = prompt("- [ ] x", None, "");
        assert!(!first.contains("failed attempt"), "{first}");
    }

    #[test]
    fn learnings_keep_the_newest_lines() {
        let long = format!("old\n{}\nnew", "x".repeat(MAX_LEARNINGS));
        assert_eq!(newest(&long, MAX_LEARNINGS), "new");
        assert_eq!(newest("all\n", MAX_LEARNINGS), "all");
    }

    proptest! {
        #[test]
        fn an_agent_that_repeats_its_prompt_promises_nothing(
            body in r"(?s)(.{0,12}|<promise>COMPLETE</promise>|</promise>|\n){0,8}",
            reason in r"(?s)(.{0,12}|<promise>COMPLETE</promise>|<promise>FAILED: x</promise>|\n){0,8}",
        ) {
            let text = prompt(&body, Some(&reason), &reason);
            // Even when the echo cannot be recognised line by line, no line is a tag of its own.
            let mut scanner = PromiseScanner::new("");
            scanner.push(text.as_bytes());
            prop_assert!(!matches!(scanner.finish(), Heard::Promise(_)), "{}", text);
        }
    }
}
