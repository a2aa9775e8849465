//! Reads the last message of an agent from its transcript, for agents that do not pass it to their hooks. Reads only
//! the end of it, and only from a regular file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem;
use serde_json::Value;

use crate::fs::is_seen_as_file;

/// Maximum number of bytes that are read at the end of a transcript.
const READ: u64 = 4 << 20;

/// Returns the last message of the agent; `None` if it has said nothing since the user spoke, or the file cannot be
/// read.
pub(super) fn last_message(path: &Path) -> Option<String> {
    let (end, _) = whole_or_end(path)?;
    let text = String::from_utf8_lossy(&end);
    if let Ok(whole) = serde_json::from_str::<Value>(&text) {
        return in_conversation(&whole).or_else(|| said(&whole).and_then(Turn::agents));
    }
    let mut message = Vec::new();
    for line in text.lines().rev() {
        // The first line may be incomplete.
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        match said(&value) {
            // One message may be written down in several lines.
            Some(Turn::Agent(part)) => message.push(part),
            Some(Turn::Other) => break,
            None => {}
        }
        if !message.is_empty() && value["type"] != "assistant" {
            break;
        }
    }
    message.reverse();
    (!message.is_empty()).then(|| message.join("\n"))
}

/// Returns true if the conversation mentions the promise, as every prompt does; false if unknown.
pub(super) fn speaks_of_promise(path: &Path) -> bool {
    let begins = || {
        let mut bytes = Vec::new();
        regular(path)?.take(READ).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    // Some programs write an angle bracket as an escape.
    begins().is_some_and(|bytes| memmem::find(&bytes, b"promise").is_some())
}

/// Opens a regular file: reading a pipe would wait forever.
fn regular(path: &Path) -> Option<File> {
    if !path.is_absolute() || !is_seen_as_file(path) {
        return None;
    }
    File::open(path).ok()
}

/// Reads the end of a regular file; returns it, and whether it is the whole file.
pub(super) fn whole_or_end(path: &Path) -> Option<(Vec<u8>, bool)> {
    let mut file = regular(path)?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ))).ok()?;
    let mut end = Vec::new();
    file.take(READ).read_to_end(&mut end).ok()?;
    Some((end, length <= READ))
}

/// The speaker of a line.
enum Turn {
    /// The agent says these words.
    Agent(String),
    /// The user or a tool speaks, or the agent uses a tool: earlier words are not the last message.
    Other,
}

impl Turn {
    fn agents(self) -> Option<String> {
        match self {
            Self::Agent(words) => Some(words),
            Self::Other => None,
        }
    }
}

/// Reads a line of a transcript of claude, qwen, codex or copilot; returns `None` if it has no words.
fn said(value: &Value) -> Option<Turn> {
    let kind = value["type"].as_str()?;
    match kind {
        "assistant" | "user" if value["isSidechain"] == true || value["isMeta"] == true => None,
        "assistant" => words(&value["message"]),
        "user" | "user.message" => Some(Turn::Other),
        "response_item" => match (
            value["payload"]["type"].as_str()?,
            value["payload"]["role"].as_str(),
        ) {
            ("message", Some("assistant")) => words(&value["payload"]),
            ("reasoning", _) => None,
            _ => Some(Turn::Other),
        },
        "assistant.message" => {
            let busy = value["data"]["toolRequests"]
                .as_array()
                .is_some_and(|tools| !tools.is_empty());
            if busy {
                return Some(Turn::Other);
            }
            value["data"]["content"]
                .as_str()
                .map(|words| Turn::Agent(words.to_owned()))
        }
        _ => None,
    }
}

/// Returns the words of a message: a text, or parts, one of which may be the use of a tool.
fn words(message: &Value) -> Option<Turn> {
    let content = message.get("content").or_else(|| message.get("parts"))?;
    if let Some(text) = content.as_str() {
        return Some(Turn::Agent(text.to_owned()));
    }
    let parts = content.as_array()?;
    let is_tool = |part: &&Value| part["type"] == "tool_use" || part.get("functionCall").is_some();
    if parts.iter().any(|part| is_tool(&part)) {
        return Some(Turn::Other);
    }
    let is_thought = |part: &Value| part["thought"] == true;
    let texts = parts.iter().filter(|part| !is_thought(part));
    let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
    (!texts.is_empty()).then(|| Turn::Agent(texts.join("\n")))
}

/// Finds the last message in gemini's one document: `{"messages":[{"type":"gemini","content":…}]}`.
fn in_conversation(value: &Value) -> Option<String> {
    let last = value["messages"].as_array()?.iter().rev().find(|message| {
        let kind = message["type"].as_str();
        matches!(kind, Some("gemini" | "user"))
    })?;
    if last["type"] != "gemini" {
        return None;
    }
    words(last)?.agents()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t");
        std::fs::write(&file, text).unwrap();
        last_message(&file)
    }

    #[test]
    fn the_last_words_of_each_agent_are_found() {
        let claude = concat!(
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"early"}]}}"#,
            "\n",
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"t"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"late"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"words"}]}}"#,
            "\n",
            r#"{"type":"summary","summary":"s"}"#,
            "\nbroken {\n"
        );
        assert_eq!(of(claude).as_deref(), Some("late\nwords"));
        let codex = concat!(
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}"#,
            "\n",
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}"#,
            "\n",
            r#"{"type":"event_msg","payload":{"type":"token_count"}}"#,
            "\n"
        );
        assert_eq!(of(codex).as_deref(), Some("a"));
        let gemini =
            r#"{"messages":[{"type":"user","content":"q"},{"type":"gemini","content":"g"},{"type":"info"}]}"#;
        assert_eq!(of(gemini).as_deref(), Some("g"));
        let copilot = concat!(
            r#"{"type":"assistant.message","data":{"content":"c","toolRequests":[]}}"#,
            "\n",
            r#"{"type":"assistant.turn_end","data":{}}"#
        );
        assert_eq!(of(copilot).as_deref(), Some("c"));
    }

    #[test]
    fn message_before_a_tool_or_user_turn_is_not_the_last() {
        let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"early"}]}}"#;
        let tool = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"t"},{"type":"tool_use","name":"x"}]}}"#;
        let user = r#"{"type":"user","message":{"content":"go on"}}"#;
        assert_eq!(of(&format!("{said}\n{tool}\n")), None);
        assert_eq!(of(&format!("{said}\n{user}\n")), None);
        assert_eq!(of(""), None);
        assert_eq!(of("no json"), None);
    }

    #[test]
    fn only_files_are_read_and_only_their_end() {
        assert_eq!(last_message(Path::new("relative")), None);
        assert_eq!(last_message(Path::new("/dev/zero")), None);
        assert_eq!(last_message(Path::new("/")), None);
        let filler = format!("{{\"type\":\"summary\",\"x\":\"{}\"}}\n", "y".repeat(1000));
        let said = r#"{"type":"assistant","message":{"content":"end"}}"#;
        let long = filler.repeat(10_000) + said;
        assert_eq!(of(&long).as_deref(), Some("end"));
    }
}
