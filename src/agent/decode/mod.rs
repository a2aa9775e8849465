//! Reads the output of coding agents: the promise, the end, faults and the cost.
//!
//! Each format has its own file, with a function that takes a line, or with a `Dialect` if it keeps state between
//! lines; a [`Decoder`] cuts the stream into lines and fills in a [`Report`]. Invariants:
//! - only the final message of the agent is searched for a promise: not the echoed prompt, the output of tools or
//!   earlier messages;
//! - a stream of JSON lines that lacks its end marker, or that ends in a fault, contains no promise;
//! - the report does not depend on the sizes of the pieces, and memory is bounded;
//! - broken, unknown and overlong lines are skipped.
//!
//! This module does not depend on how agents are run, nor on the consequences of a report.

mod claude;
mod cline;
mod codex;
mod copilot;
mod detect;
mod dialect;
mod droid;
mod fault;
mod format;
mod gemini;
mod goose;
mod last_words;
mod lines;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod report;
mod report_builder;
mod text;
mod tokens;
mod wait;

pub use fault::{Fault, FaultKind};
pub use format::Format;
pub use report::{Report, Usage, sum, sum_of_costs};

use super::promise::{Heard, Tag};
use detect::{Detection, Found};
use dialect::{Dialect, Simple};
use lines::{LineReader, keep_end};
use report_builder::ReportBuilder;
use std::mem;

/// Number of bytes that are kept of the end of stderr.
const STDERR_KEPT: usize = 16 * 1024;
/// Number of bytes that are kept of lines that are not JSON.
const PLAIN_KEPT: usize = 4 * 1024;

/// Reads the output of one run of an agent.
pub struct Decoder {
    format: Format,
    stage: Stage,
    report: ReportBuilder,
    stderr: Vec<u8>,
    plain: Plain,
    is_unknown_json: bool,
    made_progress: bool,
}

/// The lines before the first JSON in a stream of JSON lines: without any JSON, they have the reason.
#[derive(Default)]
struct Plain {
    words: Vec<u8>,
    /// True if a line of JSON was seen.
    is_stream: bool,
}

impl Plain {
    fn line(&mut self, line: &str) {
        self.is_stream |= line.trim_start().starts_with('{');
        if !self.is_stream {
            keep_end(&mut self.words, line.as_bytes(), PLAIN_KEPT);
            self.words.push(b'\n');
        }
    }

    /// Returns the fault of a program that exited before it printed a line of its format.
    fn fault(&self, stderr: &str) -> Option<Fault> {
        let words = format!("{}{stderr}", String::from_utf8_lossy(&self.words));
        let fault = Fault::of_output(&words);
        (!self.is_stream && fault.kind != FaultKind::Other).then_some(fault)
    }
}

enum Stage {
    Undecided(Detection),
    Text(text::Ending),
    Lines(LineReader, Box<dyn Dialect>),
}

impl Stage {
    fn of(format: Format) -> Self {
        match dialect_of(format) {
            Some(dialect) => Self::Lines(LineReader::default(), dialect),
            None if format == Format::Auto => Self::Undecided(Detection::default()),
            None => Self::Text(text::Ending::default()),
        }
    }
}

impl Decoder {
    /// Makes a decoder of the answer to `prompt`, printed in `format`.
    pub fn new(format: Format, prompt: &str) -> Self {
        Self::of(Tag::PROMISE, format, prompt)
    }

    /// Makes a decoder of the answer to `prompt` in this tag, printed in `format`.
    pub fn of(tag: Tag, format: Format, prompt: &str) -> Self {
        let mut decoder = Self {
            format,
            stage: Stage::Text(text::Ending::default()),
            report: ReportBuilder::of(tag.marked(format == Format::Kiro), prompt),
            stderr: Vec::new(),
            plain: Plain::default(),
            is_unknown_json: false,
            made_progress: false,
        };
        decoder.read_as(format);
        decoder
    }

    /// Sets the format that the detection expects: its first line may follow other lines.
    pub fn likely(mut self, format: Option<Format>) -> Self {
        if let Stage::Undecided(detection) = &mut self.stage {
            detection.likely = format;
        }
        self
    }

    fn read_as(&mut self, format: Format) {
        self.format = format;
        self.stage = Stage::of(format);
        if let Stage::Text(_) = self.stage {
            self.report.is_output();
        }
    }

    /// Returns the format, as far as it is known.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Takes the next bytes of stdout.
    pub fn push(&mut self, stdout: &[u8]) {
        match &mut self.stage {
            Stage::Undecided(detection) => {
                self.made_progress |= !stdout.is_empty();
                if let Some(found) = detection.push(stdout) {
                    self.decide(&found);
                }
            }
            Stage::Text(ending) => {
                self.made_progress |= !stdout.is_empty();
                self.report.words(stdout);
                ending.push(stdout);
            }
            Stage::Lines(reader, dialect) => {
                reader.push(stdout, |line| {
                    self.plain.line(line);
                    self.report.is_stuck = false;
                    dialect.line(line, &mut self.report);
                    self.made_progress |= self.report.shows_progress();
                });
            }
        }
    }

    /// Takes the next bytes of stderr, where some formats report errors. A promise there never counts.
    pub fn push_stderr(&mut self, stderr: &[u8]) {
        keep_end(&mut self.stderr, stderr, STDERR_KEPT);
        let is_log = self.format == Format::Opencode && opencode::is_log(stderr);
        self.made_progress |= self.report.fault.is_none() && !stderr.is_empty() && !is_log;
    }

    /// Returns true if the output since the last call shows progress. Any text does. A complete line counts, unless it
    /// only repeats an error, or the same few actions again and again. Stderr counts only while there is no error, and
    /// not if it is a log of errors.
    pub fn made_progress(&mut self) -> bool {
        mem::take(&mut self.made_progress)
    }

    /// Returns short lines about the agent's actions since the last call, and forgets them. Text gives none: it is
    /// shown unchanged.
    pub fn take_activity(&mut self) -> Vec<String> {
        self.report.take_activity()
    }

    /// Returns the model, and the use of it so far.
    pub fn usage(&self) -> Usage {
        Usage {
            model: self.report.model.clone(),
            input_tokens: self.report.input_tokens,
            output_tokens: self.report.output_tokens,
            cost_usd: self.report.cost_usd,
        }
    }

    /// Ends the stream and returns the report.
    pub fn finish(mut self) -> Report {
        if let Stage::Undecided(detection) = &mut self.stage {
            let found = detection.finish();
            self.decide(&found);
        }
        match self.stage {
            Stage::Undecided(_) => self.report.report(self.format),
            Stage::Text(ending) => {
                let mut report = ending.report(self.report, self.format, &self.stderr);
                if self.is_unknown_json && !matches!(report.heard, Heard::Promise(_)) {
                    report.heard = Heard::InJson;
                }
                report
            }
            Stage::Lines(mut reader, mut dialect) => {
                reader.finish(|line| {
                    self.plain.line(line);
                    dialect.line(line, &mut self.report);
                });
                let stderr = String::from_utf8_lossy(&self.stderr);
                dialect.end(&stderr, &mut self.report);
                if !self.report.ended && self.report.fault.is_none() {
                    self.report.fault = self.plain.fault(&stderr);
                }
                let mut report = self.report.report(self.format);
                report.is_other = !self.plain.is_stream;
                if !matches!(report.heard, Heard::Promise(_)) {
                    report.suspected = last_words::fault_in(None, &self.stderr);
                    report.last_line = last_words::last_line(&self.plain.words, &self.stderr);
                }
                report
            }
        }
    }

    fn decide(&mut self, found: &Found) {
        self.is_unknown_json = found.is_unknown_json;
        self.read_as(found.format);
        self.push(&found.held_back);
    }
}

/// Returns the reader of a format's lines, if the format has lines.
fn dialect_of(format: Format) -> Option<Box<dyn Dialect>> {
    let simple: Simple = match format {
        Format::Auto | Format::Text | Format::Kiro => return None,
        Format::Claude | Format::Droid => return Some(Box::new(claude::Claude::default())),
        Format::Qwen => return Some(Box::new(claude::Claude::of_qwen())),
        Format::Gemini => return Some(Box::new(gemini::Gemini::default())),
        Format::Opencode => return Some(Box::new(opencode::Opencode::default())),
        Format::Codex => codex::line,
        Format::Copilot => copilot::line,
        Format::Pi => pi::line,
        Format::Goose => goose::line,
        Format::Cline => cline::line,
        Format::Openhands => openhands::line,
    };
    Some(Box::new(simple))
}

#[cfg(test)]
mod tests;
