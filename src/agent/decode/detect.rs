//! Finds out the format from the first line; of a document over several lines from the first two.
//!
//! Invariant: not a byte is lost while it is being found out. What is not known for certain is
//! text. It must not know what the lines mean.

use super::{
    Format,
    lines::{Lenient, parse},
};
use memchr::memchr;
use serde::{Deserialize, de::IgnoredAny};
use std::mem;

/// A first line that is longer, blank lines before it included, is text.
const FIRST_LINE_LIMIT: usize = 1024 * 1024;

/// Holds back the output until the format is known.
#[derive(Default)]
pub(super) struct Detection {
    held_back: Vec<u8>,
    /// How much of it has been looked at.
    seen: usize,
    /// Whether there is more in it than blanks.
    line_begun: bool,
}

impl Detection {
    /// Takes the next bytes; gives the format and all bytes so far as soon as it is known.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<(Format, Vec<u8>)> {
        self.held_back.extend_from_slice(bytes);
        if !self.line_begun {
            let is_word = |byte: &u8| !byte.is_ascii_whitespace();
            let word = self.held_back[self.seen..].iter().position(is_word);
            self.line_begun = word.is_some();
            self.seen = word.map_or(self.held_back.len(), |at| self.seen + at);
            if word.is_some() && self.held_back.get(self.seen) != Some(&b'{') {
                return Some(self.decide(Format::Text));
            }
        }
        loop {
            let line_end = memchr(b'\n', &self.held_back[self.seen..]).map(|at| self.seen + at);
            self.seen = line_end.unwrap_or(self.held_back.len());
            if self.seen > FIRST_LINE_LIMIT {
                return Some(self.decide(Format::Text));
            }
            let begin = self.held_back[..line_end?].trim_ascii();
            if begin == b"{" {
                // A document over several lines: the next one tells.
                self.seen += 1;
                continue;
            }
            let format = format_of(begin);
            return Some(self.decide(format));
        }
    }

    /// Decides by what there is.
    pub(super) fn finish(&mut self) -> (Format, Vec<u8>) {
        let format = format_of(self.held_back.trim_ascii());
        self.decide(format)
    }

    fn decide(&mut self, format: Format) -> (Format, Vec<u8>) {
        (format, mem::take(&mut self.held_back))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FirstLine {
    r#type: String,
    version: Option<IgnoredAny>,
    #[serde(rename = "sessionID")]
    session_id: Lenient<String>,
    part: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
    qwen_code_version: Option<IgnoredAny>,
}

fn format_of(line: &[u8]) -> Format {
    if let Some(document) = line.strip_prefix(b"{\n").or(line.strip_prefix(b"{\r\n")) {
        return match document.trim_ascii_start() {
            document if document.starts_with(b"\"session_id\":") => Format::Gemini,
            _ => Format::Text,
        };
    }
    let Some(line) = parse::<FirstLine>(&String::from_utf8_lossy(line)) else {
        return Format::Text;
    };
    match line.r#type.as_str() {
        "system" if line.qwen_code_version.is_some() => Format::Qwen,
        "system" => Format::Claude,
        "thread.started" => Format::Codex,
        "session" if line.version.is_some() => Format::Pi,
        "init" => Format::Gemini,
        name if name.starts_with("session.") && line.data.is_some() => Format::Copilot,
        _ if line.session_id.value().is_some() && (line.part.or(line.error)).is_some() => Format::Opencode,
        _ => Format::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn detect(bytes: &[u8], size: usize) -> (Format, Vec<u8>) {
        let mut detection = Detection::default();
        let mut pieces = bytes.chunks(size);
        let found = pieces.find_map(|piece| detection.push(piece));
        let (format, mut held_back) = found.unwrap_or_else(|| detection.finish());
        held_back.extend(pieces.flatten());
        (format, held_back)
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
        fn not_a_byte_is_lost(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), Just(b'{'), any::<u8>()], 0..60), size in 1_usize..20) {
            let (format, held_back) = detect(&bytes, size);
            prop_assert_eq!(&held_back, &bytes);
            prop_assert_eq!(format, Format::Text);
        }
    }
}
