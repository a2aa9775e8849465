//! What a hook answers to its agent: one JSON object, or nothing at all.

use serde_json::{Value, json};

use crate::error::Error;

/// The event at which gemini takes a new prompt with an empty memory.
const AFTER_AGENT: &str = "AfterAgent";

/// The answer to a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The session does not concern us.
    Nothing,
    /// The session goes on with this prompt; `fresh`: without what was said before, where the agent can do that.
    GoOn {
        /// The prompt.
        prompt: String,
        /// Whether it stands for itself.
        fresh: bool,
    },
    /// The session may end; its user is shown this.
    Tell(String),
}

impl Answer {
    /// Returns the answer that something went wrong: the session may end.
    #[must_use]
    pub fn error(error: &Error) -> Self {
        Self::Tell(match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }

    /// Returns the answer as the agent reads it; `event` is its name for the event.
    #[must_use]
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
