//! The input that an agent gives its hook: one JSON object, whose fields differ from agent to agent. Fields that are
//! missing or of the wrong kind are treated as absent.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::transcript;
use crate::state::Heard;

/// Maximum length of a name or word of an agent that is kept, in characters.
const WORD: usize = 200;

/// One call of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookInput {
    /// The agent's name for the session; empty when it gives none.
    pub session: String,
    /// The agent's name for the event.
    pub event: Option<String>,
    /// The directory that the session is in.
    pub cwd: Option<PathBuf>,
    /// The agent's last message.
    pub message: Message,
    /// The file in which the agent records the conversation.
    pub transcript: Option<PathBuf>,
    /// The error of the agent's service: its kind and its words.
    pub error: Option<String>,
    /// The reason why the session ends.
    pub why: Option<String>,
}

/// The agent's last message, as the call has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Message {
    /// The call has no message.
    #[default]
    Absent,
    /// The whole message.
    Whole(String),
    /// All text since the user's last message, ending with the message. Gemini's `stop_hook_active` does not say
    /// whether anything was said before: after an answer that clears its context it is false again.
    Growing(String),
}

impl HookInput {
    /// Returns true if the session was given a story, as its transcript shows: one that the user just talks to never heard
    /// of promises. One whose transcript cannot be read is not the loop's.
    pub fn knows_promise(&self) -> bool {
        self.transcript
            .as_deref()
            .is_some_and(transcript::speaks_of_promise)
    }

    /// Reads the input of a hook; returns `None` if it is not a JSON object.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let object: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let word = |name: &str| {
            text(name)
                .map(|text| short(&text))
                .filter(|text| !text.is_empty())
        };
        let path = |name: &str| text(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let message = match (text("last_assistant_message"), text("prompt_response")) {
            (Some(text), _) => Message::Whole(text),
            (None, Some(text)) => Message::Growing(text),
            (None, None) => Message::Absent,
        };
        let kind = word("error_type").or_else(|| word("error"));
        let words = word("error_message").or_else(|| word("error_details"));
        let error = match (kind, words) {
            (Some(kind), Some(words)) if kind != words => Some(format!("{kind}: {words}")),
            (kind, words) => kind.or(words),
        };
        Some(Self {
            session: word("session_id")
                .or_else(|| word("sessionId"))
                .unwrap_or_default(),
            event: word("hook_event_name").or_else(|| word("hookEventName")),
            cwd: path("cwd"),
            message,
            transcript: path("transcript_path").or_else(|| path("transcriptPath")),
            error,
            why: word("reason"),
        })
    }

    /// Returns the last message, and what to remember of it; `before` is what was remembered last time.
    pub(super) fn heard(&self, before: Option<&Heard>) -> (String, Option<Heard>) {
        match &self.message {
            Message::Whole(text) => (text.clone(), None),
            Message::Growing(text) => {
                let now = Heard {
                    length: text.len(),
                    mark: mark(text.as_bytes()),
                };
                let known = before.filter(|before| {
                    let begins = text.as_bytes().get(..before.length);
                    begins.is_some_and(|begins| mark(begins) == before.mark)
                });
                let new = known.and_then(|known| text.get(known.length..));
                (new.unwrap_or(text).to_owned(), Some(now))
            }
            Message::Absent => {
                let said = self.transcript.as_deref().and_then(transcript::last_message);
                (said.unwrap_or_default(), None)
            }
        }
    }
}

/// Returns the beginning of a text, in one line.
fn short(text: &str) -> String {
    let shown = |char: char| if char.is_control() { ' ' } else { char };
    text.trim().chars().map(shown).take(WORD).collect()
}

/// Returns a hash of a text, the same in every version of this program (FNV-1a).
fn mark(bytes: &[u8]) -> String {
    let mix = |mark: u64, byte: &u8| (mark ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> HookInput {
        HookInput::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn fields_of_a_wrong_type_count_as_missing() {
        for text in ["", "[]", "null", "\"x\"", "{", "\u{0}"] {
            assert_eq!(HookInput::read(text.as_bytes()), None, "{text}");
        }
        let odd = r#"{"session_id":7,"cwd":null,"last_assistant_message":null,"hook_event_name":[]}"#;
        assert_eq!(read(odd), HookInput::default());
        let call =
            read(r#"{"session_id":"a\nb","error_type":"rate_limit","error":"429","error_message":"slow"}"#);
        assert_eq!(call.session, "a b");
        assert_eq!(call.error.as_deref(), Some("rate_limit: slow"));
    }

    #[test]
    fn growing_message_yields_only_its_new_end() {
        let growing = |text: &str| HookInput {
            message: Message::Growing(text.to_owned()),
            ..HookInput::default()
        };
        let (first, heard) = growing("one é").heard(None);
        assert_eq!(first, "one é");
        let heard = heard.as_ref();
        assert_eq!(growing("one é two").heard(heard).0, " two");
        assert_eq!(growing("one é").heard(heard).0, "");
        assert_eq!(growing("another text").heard(heard).0, "another text");
        assert_eq!(growing("").heard(heard).0, "");
    }
}
