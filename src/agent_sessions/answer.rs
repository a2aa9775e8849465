//! The answer of a hook to its agent: one JSON object, or nothing at all.

use serde_json::{Value, json};

use crate::error::Error;

/// Gemini's event after which a new prompt starts with a cleared context.
const AFTER_AGENT: &str = "AfterAgent";

/// The answer to a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The session does not concern us.
    Nothing,
    /// The session continues with this prompt; `fresh` drops the earlier context, if the agent can do that.
    GoOn {
        /// The prompt.
        prompt: String,
        /// True if the prompt needs no earlier context.
        fresh: bool,
    },
    /// The session may end; its user is shown this text.
    Tell(String),
}

impl Answer {
    /// Returns the answer that reports an error; the session may end.
    pub fn error(error: &Error) -> Self {
        Self::Tell(match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }

    /// Returns the answer as the agent reads it; `event` is its name for the event.
    pub fn json(&self, event: Option<&str>) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::GoOn { prompt, fresh } => {
                let mut answer = json!({"decision": "block", "reason": prompt});
                if *fresh && event == Some(AFTER_AGENT) {
                    answer["hookSpecificOutput"] =
                        json!({"hookEventName": AFTER_AGENT, "clearContext": true});
                }
                Some(answer)
            }
            Self::Tell(words) => Some(json!({"systemMessage": format!("git-ralph: {words}")})),
        }
    }
}
