//! Builds the report while lines arrive.
//!
//! Invariant: whenever the agent begins another message, the earlier text is not its final message, the end has not
//! come, and an earlier fault is overcome. This module does not know any format.

use super::{
    fault::{Fault, FaultKind},
    format::Format,
    lines::{Object, keep_end},
    report::{Message, Report, sum, sum_of_costs},
};
use crate::agent::installed::short;
use crate::agent::learnings::LearningScanner;
use crate::agent::promise::{Heard, PromiseScanner, Tag, phrases, plain_text};
use std::collections::VecDeque;
use std::mem;
use std::ops::{Deref, DerefMut};

/// Maximum length of a line of activity, in characters.
const ACTIVITY_CHARS: usize = 200;

/// Maximum number of pending lines of activity; more are dropped.
const ACTIVITY_LINES: usize = 1000;

/// Number of repeated actions in a row after which they no longer count as progress, and number of last actions that
/// are compared.
const REPEATS: u32 = 20;
const RECENT: usize = 4;

/// Maximum number of kept names of denied tools, and maximum length of such a name, in characters.
const DENIED: usize = 10;
const DENIED_CHARS: usize = 60;

/// The most informative fields of a tool's input, under the names that agents use; the first one is shown.
const INPUTS: &str = "command, file_path, filePath, path, pattern, url, query, description";

/// Maximum length of the name of a model, in characters.
const MODEL_CHARS: usize = 100;

/// Number of bytes that are kept of the end of the final message.
const MESSAGE_KEPT: usize = 4 * 1024;

/// Returns the first line of a text that is not blank, as activity.
fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let shown = |char: char| if char.is_control() { ' ' } else { char };
    Some(line.chars().map(shown).take(ACTIVITY_CHARS).collect())
}

/// Returns the number of lines that an edit adds and removes, in words, if the input of a tool has the texts.
fn edit_size(input: &Object) -> Option<String> {
    let (old, new): (String, String) = (input.get("old_string")?, input.get("new_string")?);
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let begin = same(&mut old.iter().zip(&new));
    let (old, new) = (&old[begin..], &new[begin..]);
    let end = same(&mut old.iter().rev().zip(new.iter().rev()));
    Some(format!(", +{} -{}", new.len() - end, old.len() - end))
}

/// The report on the run so far.
pub(super) struct ReportBuilder {
    scanner: PromiseScanner,
    learnings: LearningScanner,
    /// The end of the message, one byte more than is reported.
    message: Vec<u8>,
    /// The id of the message that arrives in pieces.
    speaker: Option<String>,
    activity: Vec<String>,
    /// The last different actions, and the number of repetitions of any of them since a new one.
    recent: VecDeque<String>,
    repeats: u32,
    /// True if the last step of the model had no result.
    pub(super) had_no_result: bool,
    /// True if the last line only repeats an error.
    pub(super) is_stuck: bool,
    /// The report so far.
    report: Report,
}

impl Deref for ReportBuilder {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.report
    }
}

impl DerefMut for ReportBuilder {
    fn deref_mut(&mut self) -> &mut Report {
        &mut self.report
    }
}

impl ReportBuilder {
    #[cfg(test)]
    pub(super) fn new(prompt: &str) -> Self {
        Self::of(Tag::PROMISE, prompt)
    }

    /// Makes a builder for the answer to `prompt` in this tag.
    pub(super) fn of(tag: Tag, prompt: &str) -> Self {
        Self {
            scanner: PromiseScanner::of(tag, prompt),
            learnings: LearningScanner::new(prompt),
            message: Vec::new(),
            speaker: None,
            activity: Vec::new(),
            recent: VecDeque::new(),
            repeats: 0,
            had_no_result: false,
            is_stuck: false,
            report: Report::default(),
        }
    }

    /// Begins another message, or work that must be followed by one.
    pub(super) fn message_begins(&mut self) {
        self.scanner.restart();
        self.learnings.restart();
        self.message.clear();
        self.speaker = None;
        self.ended = false;
        self.fault = None;
    }

    /// Begins another message, unless the one with this id continues; returns true if one begins.
    pub(super) fn speaks(&mut self, id: String) -> bool {
        let begins = self.speaker.as_ref() != Some(&id);
        if begins {
            self.message_begins();
            self.speaker = Some(id);
        }
        begins
    }

    /// Notes a failure that the agent may overcome by a retry; a second failure in a row is no progress.
    pub(super) fn fails(&mut self, fault: Fault) {
        self.is_stuck = self.fault.is_some();
        // A last error of unknown kind is less informative than the one before.
        if !self.is_stuck || fault.kind != FaultKind::Other {
            self.fault = Some(fault);
        }
    }

    /// Declares that the text is the agent's whole output, not only its message.
    pub(super) fn is_output(&mut self) {
        self.scanner.hear_output();
    }

    /// Adds text to the message.
    pub(super) fn words(&mut self, words: impl AsRef<[u8]>) {
        self.scanner.push(words.as_ref());
        self.learnings.push(words.as_ref());
        keep_end(&mut self.message, words.as_ref(), MESSAGE_KEPT + 1);
    }

    /// Takes a whole message.
    pub(super) fn message(&mut self, words: &str) {
        self.message_begins();
        self.words(words);
    }

    /// Notes a denied tool.
    pub(super) fn deny(&mut self, tool: &str) {
        let is_shown = |char: &char| !char.is_control();
        let tool: String = tool.chars().filter(is_shown).take(DENIED_CHARS).collect();
        if self.denied.len() < DENIED && !self.denied.contains(&tool) {
            self.denied.push(tool);
        }
    }

    /// Notes the first line of `text` as an action of the agent.
    pub(super) fn note(&mut self, text: &str) {
        let Some(line) = first_line(text) else {
            return;
        };
        if self.recent.contains(&line) {
            self.repeats = self.repeats.saturating_add(1);
        } else {
            self.repeats = 0;
            self.recent.push_back(line.clone());
            self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        }
        self.show(line);
    }

    /// Notes that a tool failed, which is no progress.
    pub(super) fn note_error(&mut self, text: &str) {
        if let Some(line) = first_line(text) {
            self.show(format!("error: {line}"));
        }
    }

    fn show(&mut self, line: String) {
        if self.activity.len() < ACTIVITY_LINES {
            self.activity.push(line);
        }
    }

    /// Returns true if the last line shows progress.
    pub(super) fn shows_progress(&self) -> bool {
        !self.is_stuck && !self.had_no_result && self.repeats < REPEATS
    }

    /// Notes that a tool is used.
    pub(super) fn note_tool(&mut self, name: &str, input: &Object) {
        match phrases(INPUTS).find_map(|field| input.get::<String>(field)) {
            Some(gist) => {
                let size = edit_size(input).unwrap_or_default();
                self.note(&format!("{name}: {}{size}", gist.trim_start()));
            }
            None => self.note(name),
        }
    }

    pub(super) fn take_activity(&mut self) -> Vec<String> {
        mem::take(&mut self.activity)
    }

    /// Adds to the tokens and the cost.
    pub(super) fn spend(&mut self, input: Option<u64>, output: Option<u64>, cost: Option<f64>) {
        self.input_tokens = sum(self.input_tokens, input);
        self.output_tokens = sum(self.output_tokens, output);
        self.cost_usd = sum_of_costs(self.cost_usd, cost);
    }

    /// Adds to the tokens that were read from or written to a cache; they are included in the input tokens.
    pub(super) fn spend_cached(&mut self, read: Option<u64>, written: Option<u64>) {
        self.cache_read_tokens = sum(self.cache_read_tokens, read);
        self.cache_write_tokens = sum(self.cache_write_tokens, written);
        self.spend(read, None, None);
        self.spend(written, None, None);
    }

    /// Forgets the tokens reported so far: the next count includes them.
    pub(super) fn reset_tokens(&mut self) {
        (self.input_tokens, self.output_tokens) = (None, None);
        (self.cache_read_tokens, self.cache_write_tokens) = (None, None);
    }

    /// Records the version of the agent.
    pub(super) fn is_version(&mut self, version: &str) {
        self.version = short(version).or(self.version.take());
    }

    /// Records the model; the first named model is the agent's own.
    pub(super) fn works_with(&mut self, model: Option<String>) {
        let is_shown = |char: &char| !char.is_control();
        let short = |model: String| model.chars().filter(is_shown).take(MODEL_CHARS).collect();
        let model = model.filter(|model| !model.is_empty() && self.model.is_none());
        self.model = model.map(short).or(self.model.take());
    }

    /// Returns the final report: only a stream that ended without a fault can contain a promise.
    pub(super) fn report(self, format: Format) -> Report {
        let heard = self.scanner.finish();
        let excess = self.message.len().saturating_sub(MESSAGE_KEPT);
        let ended_well = self.report.ended && self.report.fault.is_none();
        Report {
            heard: if ended_well { heard } else { Heard::Nothing },
            message: Message {
                text: plain_text(&self.message[excess..]).replace("\r\n", "\n"),
                is_cut: excess > 0,
            },
            learnings: self.learnings.finish(),
            format,
            ..self.report
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::decode::lines::parse;

    #[test]
    fn activity_is_short_and_bounded() {
        let mut report = ReportBuilder::new("");
        report.note("\n  \n\x1b[1mfirst\nsecond");
        report.note(" \n");
        report.note(&"é".repeat(500));
        let notes = report.take_activity();
        assert_eq!(notes[0], " [1mfirst");
        assert_eq!(notes[1].chars().count(), ACTIVITY_CHARS);
        assert_eq!(notes.len(), 2);
        for _ in 0..2 * ACTIVITY_LINES {
            report.note("more");
        }
        assert_eq!(report.take_activity().len(), ACTIVITY_LINES);
    }

    #[test]
    fn denied_tools_are_few() {
        let mut report = ReportBuilder::new("");
        for tool in ["Write", "Write", "Ba\x1bsh"] {
            report.deny(tool);
        }
        for number in 0..2 * DENIED {
            report.deny(&format!("{number}{}", "é".repeat(100)));
        }
        let denied = report.report(Format::Claude).denied;
        assert_eq!(denied[..2], ["Write", "Bash"]);
        assert_eq!((denied.len(), denied[2].chars().count()), (DENIED, DENIED_CHARS));
    }

    #[test]
    fn activity_shows_a_tool_with_its_main_argument() {
        let mut report = ReportBuilder::new("");
        for input in [
            r#"{"command":"\nls\n-l","description":"list"}"#,
            r#"{"command":["ls"],"filePath":"a.rs","content":"x"}"#,
            "{}",
        ] {
            report.note_tool("tool", &parse(input).unwrap());
        }
        assert_eq!(report.take_activity(), ["tool: ls", "tool: a.rs", "tool"]);
    }

    #[test]
    fn report_has_a_promise_only_after_an_end_without_fault() {
        let report = |ended, fault| {
            let mut report = ReportBuilder::new("");
            report.message("<promise>COMPLETE</promise>");
            (report.ended, report.fault) = (ended, fault);
            report.report(Format::Pi).heard
        };
        let fault = Fault::new(None, None, "oops");
        assert!(matches!(report(true, None), Heard::Promise(_)));
        assert_eq!(report(false, None), Heard::Nothing);
        assert_eq!(report(true, Some(fault)), Heard::Nothing);
    }
}
