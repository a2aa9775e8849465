//! Detects the format from the first line, or from the first two of a document over several lines.
//!
//! Invariants: no byte is lost during the detection; output of an unknown format is text. This module does not know the
//! meaning of the lines.

use super::{
    format::Format,
    lines::{Object, parse},
};
use memchr::memchr;
use serde::de::IgnoredAny;
use std::mem;

/// Maximum length of the first line, in bytes, including blank lines before it; longer output is text.
const FIRST_LINE_LIMIT: usize = 1024 * 1024;

/// Maximum number of bytes before the first line of the likely format.
const PREAMBLE_LIMIT: usize = 16 * 1024;

/// Holds back the output until the format is known.
#[derive(Default)]
pub(super) struct Detection {
    held_back: Vec<u8>,
    /// The start of the current line.
    line: usize,
    /// The offset up to which the end of the line has been searched.
    seen: usize,
    /// The format that the output probably has; its first line may follow other lines.
    pub(super) likely: Option<Format>,
    /// True if the first line is JSON; `None` before it.
    first_is_json: Option<bool>,
}

/// The result of the detection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The format.
    pub(super) format: Format,
    /// All bytes so far.
    pub(super) held_back: Vec<u8>,
    /// True if the output is read as text although it begins as JSON.
    pub(super) is_unknown_json: bool,
}

impl Detection {
    /// Takes the next bytes; returns the result as soon as it is known.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<Found> {
        self.held_back.extend_from_slice(bytes);
        loop {
            let line_end = memchr(b'\n', &self.held_back[self.seen..]).map(|at| self.seen + at);
            self.seen = line_end.unwrap_or(self.held_back.len());
            if self.seen > FIRST_LINE_LIMIT {
                return Some(self.decide(Format::Text));
            }
            let begun = self.held_back[self.line..self.seen].trim_ascii();
            let may_be_json = begun.first().is_none_or(|first| matches!(first, b'{' | b'['));
            if !may_be_json && self.likely.is_none() {
                return Some(self.decide(Format::Text));
            }
            line_end?;
            self.seen += 1;
            // A document over several lines: the next line decides.
            if begun != b"{"
                && let Some(format) = self.look_at_line()
            {
                return Some(self.decide(format));
            }
        }
    }

    /// Decides from the output so far.
    pub(super) fn finish(&mut self) -> Found {
        self.seen = self.held_back.len();
        let format = self.look_at_line().unwrap_or(Format::Text);
        self.decide(format)
    }

    /// Reads the line that ends at the searched offset; returns the format if it is known now.
    fn look_at_line(&mut self) -> Option<Format> {
        let line = self.held_back[self.line..self.seen].trim_ascii();
        if line.is_empty() {
            self.line = self.seen;
            return None;
        }
        let format = format_of(line);
        let is_first = self.first_is_json.is_none();
        if is_first {
            self.first_is_json = Some(is_json(line));
        }
        self.line = self.seen;
        match format {
            Format::Text if self.likely.is_none() || self.seen > PREAMBLE_LIMIT => Some(Format::Text),
            Format::Text => None,
            known => (is_first || self.likely == Some(known)).then_some(known),
        }
    }

    fn decide(&mut self, format: Format) -> Found {
        Found {
            format,
            held_back: mem::take(&mut self.held_back),
            is_unknown_json: format == Format::Text && self.first_is_json == Some(true),
        }
    }
}

/// Returns true if a line is JSON, or the beginning of a JSON document.
fn is_json(line: &[u8]) -> bool {
    let is_document = || {
        let opened = line.strip_prefix(b"{").or(line.strip_prefix(b"["));
        opened.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"\n") || rest.starts_with(b"\r\n"))
    };
    let is_container = line.starts_with(b"{") || line.starts_with(b"[");
    is_container && serde_json::from_slice::<IgnoredAny>(line).is_ok() || is_document()
}

fn format_of(line: &[u8]) -> Format {
    if let Some(document) = line.strip_prefix(b"{\n").or(line.strip_prefix(b"{\r\n")) {
        return match document.trim_ascii_start() {
            document if document.starts_with(b"\"session_id\":") => Format::Gemini,
            _ => Format::Text,
        };
    }
    let line = String::from_utf8_lossy(line);
    let Some(line) = parse::<Object>(&line) else {
        return Format::Text;
    };
    let is_text = |field| line.get::<String>(field).is_some();
    match line.text("type").as_str() {
        "system" if line.has("qwen_code_version") => Format::Qwen,
        "system" => Format::Claude,
        // The only line of `--output-format json`.
        "result" if is_text("result") => Format::Claude,
        "thread.started" => Format::Codex,
        "session" if line.has("version") => Format::Pi,
        "init" => Format::Gemini,
        "message" if is_text("message/role") && line.get::<Vec<IgnoredAny>>("message/content").is_some() => {
            Format::Goose
        }
        "agent_event" | "hook_event" if line.has("event") || line.has("hookEventName") => Format::Cline,
        name if name.starts_with("session.") && line.has("data") => Format::Copilot,
        "" if line.has("llm_message") && line.text("kind") == "MessageEvent" => Format::Openhands,
        _ if is_text("sessionID") && (line.has("part") || line.has("error")) => Format::Opencode,
        _ => Format::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find(likely: Option<Format>, bytes: &[u8], size: usize) -> Found {
        let mut detection = Detection {
            likely,
            ..Detection::default()
        };
        let mut pieces = bytes.chunks(size);
        let found = pieces.find_map(|piece| detection.push(piece));
        let mut found = found.unwrap_or_else(|| detection.finish());
        found.held_back.extend(pieces.flatten());
        found
    }

    fn detect(bytes: &[u8], size: usize) -> (Format, Vec<u8>) {
        let found = find(None, bytes, size);
        (found.format, found.held_back)
    }

    #[test]
    fn the_likely_format_may_come_after_other_lines() {
        let init = r#"{"type":"system","subtype":"init"}"#;
        let claude = Some(Format::Claude);
        for (likely, text, format) in [
            (claude, format!("Using node 22\n\n{init}\n"), Format::Claude),
            (claude, format!("Using node 22\n{init}"), Format::Claude),
            (claude, format!("{{\"x\":1}}\n{init}\n"), Format::Claude),
            (None, format!("Using node 22\n{init}\n"), Format::Text),
            (Some(Format::Pi), format!("Using node 22\n{init}\n"), Format::Text),
            (Some(Format::Pi), format!("{init}\n"), Format::Claude),
            (claude, format!("{}{init}\n", "text\n".repeat(4000)), Format::Text),
            (claude, "text alone".to_owned(), Format::Text),
        ] {
            for size in [1, 7, usize::MAX] {
                let found = find(likely, text.as_bytes(), size);
                assert_eq!(found.format, format, "{likely:?} {text:.60} {size}");
                assert_eq!(found.held_back, text.as_bytes());
            }
        }
    }

    #[test]
    fn detection_recognizes_json_of_an_unknown_format() {
        for (text, is_json) in [
            (r#"{"type":"message","role":"user"}"#, true),
            ("{\n  \"answer\": 1\n}", true),
            (r#"[{"type":"system"}]"#, true),
            ("[\n1\n]", true),
            ("{ is a brace", false),
            ("[12:30] begun", false),
            ("[]done", false),
            ("words", false),
            ("", false),
            (r#"{"type":"init"}"#, false),
        ] {
            for likely in [None, Some(Format::Claude)] {
                let found = find(likely, text.as_bytes(), 3);
                assert_eq!(found.is_unknown_json, is_json, "{text}");
            }
        }
    }

    #[test]
    fn each_format_is_known_by_its_first_line() {
        for (line, format) in [
            (r#"{"type":"system","subtype":"init"}"#, Format::Claude),
            (
                r#"{"type":"system","subtype":"init","qwen_code_version":"1"}"#,
                Format::Qwen,
            ),
            (r#"{"type":"thread.started","thread_id":"t"}"#, Format::Codex),
            (r#"{"type":"session","version":3}"#, Format::Pi),
            (r#"{"type":"init","session_id":"s"}"#, Format::Gemini),
            (r#"{"type":"session.start","data":{}}"#, Format::Copilot),
            (
                r#"{"type":"step_start","sessionID":"s","part":{}}"#,
                Format::Opencode,
            ),
            (r#"{"type":"error","sessionID":"s","error":{}}"#, Format::Opencode),
            (
                r#"{"type":"result","is_error":false,"result":"x"}"#,
                Format::Claude,
            ),
            (r#"{"type":"result","result":{}}"#, Format::Text),
            (
                r#"{"type":"message","message":{"role":"assistant","content":[]}}"#,
                Format::Goose,
            ),
            (r#"{"type":"message","role":"user","content":[]}"#, Format::Text),
            (r#"{"type":"agent_event","event":{}}"#, Format::Cline),
            (
                r#"{"ts":"2026-11-27T12:00:00Z","type":"hook_event","hookEventName":"agent_start"}"#,
                Format::Cline,
            ),
            (r#"{"type":"hook_event"}"#, Format::Text),
            (
                r#"{"source":"user","llm_message":{"role":"user"},"kind":"MessageEvent"}"#,
                Format::Openhands,
            ),
            (r#"{"kind":"MessageEvent"}"#, Format::Text),
            (r#"{"type":"session"}"#, Format::Text),
            (r#"{"type":7}"#, Format::Text),
            (r#"{"type":"system""#, Format::Text),
            ("{\n  \"session_id\": \"s\",", Format::Gemini),
            ("{\r\n  \"answer\": 1", Format::Text),
            ("{", Format::Text),
            ("Hello", Format::Text),
            ("", Format::Text),
        ] {
            for text in [
                line.to_owned(),
                format!("\r\n \n{line}\r\nmore\n{{\"type\":\"init\"}}"),
            ] {
                for size in [1, 7, usize::MAX] {
                    let found = detect(text.as_bytes(), size);
                    let expected = if line.is_empty() && text.contains("more") {
                        Format::Text
                    } else {
                        format
                    };
                    assert_eq!(found, (expected, text.clone().into_bytes()), "{line} {size}");
                }
            }
        }
    }

    #[test]
    fn an_endless_first_line_is_text() {
        let blanks = " ".repeat(FIRST_LINE_LIMIT);
        let known = r#"{"type":"init"}"#;
        for (text, format) in [
            (format!("{{{blanks}"), Format::Text),
            (format!("\n{blanks}{known}\n"), Format::Text),
            (format!("\n{known}\n{blanks}"), Format::Gemini),
        ] {
            for size in [4096, usize::MAX] {
                let (found, held_back) = detect(text.as_bytes(), size);
                assert_eq!((found, held_back.len()), (format, text.len()));
            }
        }
    }

    proptest! {
        #[test]
        fn detection_loses_no_byte(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), Just(b'{'), any::<u8>()], 0..60), size in 1_usize..20) {
            let (format, held_back) = detect(&bytes, size);
            prop_assert_eq!(&held_back, &bytes);
            prop_assert_eq!(format, Format::Text);
        }
    }
}
