//! Renders the prompt of an attempt from a template and its inputs.
//!
//! Invariant: no line of a prompt is only a promise tag, so that an agent that repeats its prompt promises nothing.
//! This module does not depend on git, and reads only the template; its callers pass all other inputs.

mod from_user;
mod further;
#[cfg(test)]
mod hostile;
pub mod review;
mod template;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::agent::promise::Tag;
use crate::names::heading;
use crate::stories::{Story, Task};

pub use self::from_user::from_user;
pub use self::further::{Begins, further};
use self::template::Kind;
pub use self::template::{DEFAULT, Template, TemplateError};

const COMPLETE_TAG: &str = "<promise>COMPLETE</promise>";
const FAILED_TAG: &str = "<promise>FAILED: ...</promise>";
const CONTINUE_TAG: &str = "<promise>CONTINUE: ...</promise>";

/// Maximum size of the reason of the last failure in a prompt, in bytes; its beginning is kept.
const MAX_REASON: usize = 16 * 1024;

/// Maximum size of the text above the stories in a prompt, in bytes; its beginning is kept.
const MAX_PREAMBLE: usize = 4 * 1024;

/// The words after the attempt of a note, if the attempt was not accepted.
const NOT_ACCEPTED: &str = ", not accepted";

/// Maximum size of the learnings in a prompt, in bytes; the newest are kept.
const MAX_LEARNINGS: usize = 16 * 1024;

/// Each variable that both prompts have, and its meaning: a table of the manual.
pub const WORK_VARIABLES: &[(&str, &str)] = &[
    ("change", "the change"),
    (
        "source",
        "the list of stories: a path, or the command that prints it",
    ),
    (
        "preamble",
        "the text of the list above its first story, as a quotation of at most 4 KiB; none if there is none",
    ),
    ("context", "files to read first: a list of paths"),
    ("gates", "commands that must succeed: a list"),
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

/// Each further variable of a template and its meaning: the table of the manual.
pub const VARIABLES: &[(&str, &str)] = &[
    (
        "branch",
        "the branch of HEAD during the loop, like ralph/add-login",
    ),
    (
        "strategy",
        "where the loop makes its checkpoints: branch or stash",
    ),
    (
        "adapter",
        "what reads the list: openspec, markdown, prd or command",
    ),
    (
        "whole",
        "true if the whole text of the source is the story: nothing in it is marked",
    ),
    (
        "boxed",
        "true if ralph.box asks for a box, in which git cannot commit",
    ),
    ("mark", "who marks a complete story: auto, agent or never"),
    ("attempt", "the number of the attempt at this story, from 1"),
    (
        "reason",
        "why the last attempt failed, as a quotation; none if it did not",
    ),
    (
        "redone",
        "the ref that keeps the work at the story that the user did not accept; none if there is none",
    ),
    (
        "redone_words",
        "what the user said about that work, as a quotation; none if nothing",
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
    (
        "learnings",
        "what earlier attempts wrote down, at most 16 KiB of it; may be empty",
    ),
    (
        "learnings_file",
        "the file that agents append such notes to, as a path",
    ),
    (
        "held_tests",
        "the pathspecs of tests with which the gates must succeed as they were at the last checkpoint: a list",
    ),
    (
        "complete_tag",
        "the promise of a complete story; only inside a sentence",
    ),
    (
        "failed_tag",
        "the promise of a failed one, with three dots for the reason; only inside a sentence",
    ),
    (
        "continue_tag",
        "the promise that work is left for another process, with three dots for it; only inside a sentence; none without ralph.continue",
    ),
];

const KIND: Kind = Kind {
    variables: [WORK_VARIABLES, VARIABLES],
    tag: Tag::PROMISE,
    names: &["complete_tag", "failed_tag", "continue_tag", "</promise>"],
    problem: "a promise may stand only inside a sentence: an agent that repeats this would promise",
};

/// The inputs that the prompts of an attempt and of a review share.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The change.
    pub change: &'a str,
    /// The story.
    pub story: &'a Story,
    /// The story list, as a path or a command.
    pub source: &'a str,
    /// The text of the list above its first story.
    pub preamble: &'a str,
    /// Files to read first, as paths.
    pub context: &'a [String],
    /// Commands that must succeed; for a review, those that have succeeded.
    pub gates: &'a [String],
}

/// The inputs of the prompt of an attempt.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The work.
    pub work: Work<'a>,
    /// The branch of HEAD during the loop.
    pub branch: &'a str,
    /// The place of the loop's checkpoints.
    pub strategy: &'a str,
    /// The adapter that reads the list.
    pub adapter: &'a str,
    /// True if the whole text of the source is the story.
    pub whole: bool,
    /// True if the attempt may run in a box, where git cannot commit.
    pub boxed: bool,
    /// The program that marks a complete story.
    pub mark: &'a str,
    /// The attempt's number.
    pub attempt: u32,
    /// The reason why the last attempt failed.
    pub reason: Option<&'a str>,
    /// The ref that keeps the work that the user did not accept, with the user's reason.
    pub redone: Option<(&'a str, Option<&'a str>)>,
    /// The commit of the last checkpoint, abbreviated.
    pub checkpoint: &'a str,
    /// The ref that keeps the work of the last attempt.
    pub last_attempt: Option<&'a str>,
    /// The log of the last attempt, as a path.
    pub last_log: Option<&'a str>,
    /// The notes of earlier attempts.
    pub learnings: &'a str,
    /// The file with these notes.
    pub learnings_file: &'a str,
    /// The pathspecs of tests: the commands must also succeed with the former versions of these files.
    pub held_tests: &'a [String],
    /// True if the prompt offers the promise CONTINUE.
    pub may_continue: bool,
}

/// Returns the variables that both prompts have, with `more`; `harmless` makes every text harmless.
fn with_work(work: &Work<'_>, harmless: impl Fn(&str) -> String, more: Value) -> Value {
    let all = |texts: &[String]| -> Vec<String> { texts.iter().map(|text| harmless(text)).collect() };
    let preamble = beginning(work.preamble, MAX_PREAMBLE);
    let mut variables = json!({
        "change": work.change,
        "source": harmless(work.source),
        "preamble": (!preamble.is_empty()).then(|| quotation(&harmless(&preamble))),
        "context": all(work.context),
        "gates": all(work.gates),
        "story": parts_of(work.story, harmless),
    });
    if let (Some(variables), Value::Object(more)) = (variables.as_object_mut(), more) {
        variables.extend(more);
    }
    variables
}

/// Returns the parts of a story; `harmless` makes every text harmless.
fn parts_of(story: &Story, harmless: impl Fn(&str) -> String) -> Value {
    let body = if story.body.trim().is_empty() {
        tasks_as_list(story)
    } else {
        story.body.trim_matches('\n').to_owned()
    };
    let task = |task: &Task| {
        let (id, text) = (harmless(&task.id), harmless(&task.text));
        json!({ "id": id, "text": text, "done": task.done, "optional": task.optional })
    };
    json!({
        "id": harmless(&story.id),
        "title": harmless(&story.title),
        "heading": harmless(&heading(&story.id, &story.title)),
        "body": harmless(&body),
        "tasks": story.tasks.iter().map(task).collect::<Vec<_>>(),
    })
}

/// Renders the prompt.
pub fn render(template: &Template, inputs: &Inputs<'_>) -> Result<String, TemplateError> {
    template.render(&variables(inputs), &KIND)
}

/// Renders a template for a first attempt and for a retry, to find mistakes before the loop begins.
pub fn check(template: &Template, inputs: &Inputs<'_>) -> Result<(), TemplateError> {
    let some = ["x".to_owned()];
    let retry = Inputs {
        attempt: 2,
        reason: Some("x"),
        redone: Some(("refs/ralph/x/attempts/x/1", Some("x"))),
        last_attempt: Some("refs/ralph/x/attempts/x/1"),
        last_log: Some(".git/ralph/x/attempts/x.1.log"),
        learnings: "x",
        learnings_file: ".git/ralph/x/learnings.md",
        work: Work {
            preamble: "x",
            context: &some,
            gates: &some,
            ..inputs.work
        },
        held_tests: &some,
        may_continue: true,
        ..inputs.clone()
    };
    let first = Inputs {
        reason: None,
        redone: None,
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

/// Returns the variables of a template; promise tags in every text have been made harmless.
fn variables(inputs: &Inputs<'_>) -> Value {
    let held_tests: Vec<String> = inputs.held_tests.iter().map(|test| neutral(test)).collect();
    let reason = inputs.reason.map(|reason| beginning(reason, MAX_REASON));
    let own = json!({
        "branch": inputs.branch,
        "strategy": inputs.strategy,
        "adapter": inputs.adapter,
        "whole": inputs.whole,
        "mark": inputs.mark,
        "attempt": inputs.attempt,
        "reason": reason.as_deref().map(quotation),
        "redone": inputs.redone.map(|(kept, _)| neutral(kept)),
        "redone_words": inputs.redone.and_then(|(_, words)| words).map(quotation),
        "checkpoint": inputs.checkpoint,
        "last_attempt": inputs.last_attempt.map(neutral),
        "last_log": inputs.last_log.map(neutral),
        "boxed": inputs.boxed,
        "learnings": neutral(newest(&without_repeats(inputs.learnings), MAX_LEARNINGS)),
        "learnings_file": neutral(inputs.learnings_file),
        "held_tests": held_tests,
        "complete_tag": COMPLETE_TAG,
        "failed_tag": FAILED_TAG,
        "continue_tag": inputs.may_continue.then_some(CONTINUE_TAG),
    });
    with_work(&inputs.work, neutral, own)
}

fn tasks_as_list(story: &Story) -> String {
    let lines: Vec<String> = story
        .tasks
        .iter()
        .map(|task| format!("- [{}] {}", if task.done { 'x' } else { ' ' }, task.text))
        .collect();
    lines.join("\n")
}

/// Returns the text with harmless promise tags and `<unchanged>` tags, and visible control characters: an argument of a
/// command cannot contain a NUL.
pub fn neutral(text: &str) -> String {
    visible(text)
        .replace("<promise>", "[promise]")
        .replace("</promise>", "[/promise]")
        .replace("<unchanged>", "[unchanged]")
        .replace("</unchanged>", "[/unchanged]")
}

/// Returns a text in which control characters except line ends and tabs are written as `^X`.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(b'\t' | b'\n' | b'\r') => shown.push(c),
            Ok(byte) if byte < 0x20 || byte == 0x7f => shown.extend(['^', char::from(byte ^ 0x40)]),
            _ if c.is_control() => shown.push('\u{fffd}'),
            _ => shown.push(c),
        }
    }
    shown
}

fn quotation(text: &str) -> String {
    let lines: Vec<String> = neutral(text.trim())
        .lines()
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Returns the first whole lines of a text that fit into `limit` bytes; if there are more, a last line says so.
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

/// Parses a note that begins with its attempt, as `[story@number] `; returns the story, the number and the text.
pub fn origin(line: &str) -> Option<(&str, u32, &str)> {
    let (attempt, text) = line.strip_prefix('[')?.split_once("] ")?;
    let (story, number) = attempt
        .strip_suffix(NOT_ACCEPTED)
        .unwrap_or(attempt)
        .rsplit_once('@')?;
    Some((story, number.parse().ok()?, text))
}

/// Marks the notes of attempts that were not accepted: they may describe work that was undone.
pub fn marked(learnings: &str, is_refused: impl Fn(&str, u32) -> bool) -> String {
    let mark = |line: &str| match origin(line) {
        Some((story, number, text)) if is_refused(story, number) => {
            format!("[{story}@{number}{NOT_ACCEPTED}] {text}\n")
        }
        _ => format!("{line}\n"),
    };
    learnings.lines().map(mark).collect()
}

/// Returns the learnings without whole notes that a later attempt repeats. Notes without an attempt stay.
fn without_repeats(learnings: &str) -> String {
    let text_of = |line: &str| origin(line).map(|(_, _, text)| text.to_owned());
    let mut notes: Vec<(Option<String>, Vec<&str>)> = Vec::new();
    for line in learnings.lines() {
        match (text_of(line), notes.last_mut()) {
            (None, Some((text, lines))) => {
                lines.push(line);
                if let Some(text) = text {
                    text.extend(["\n", line]);
                }
            }
            (text, _) => notes.push((text, vec![line])),
        }
    }
    let mut seen = HashSet::new();
    let mut kept: Vec<Vec<&str>> = Vec::new();
    for (text, lines) in notes.into_iter().rev() {
        if text.is_none_or(|text| seen.insert(text.trim().to_owned())) {
            kept.push(lines);
        }
    }
    kept.reverse();
    kept.concat().join("\n")
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
