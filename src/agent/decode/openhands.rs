//! The lines of `openhands --headless --json`, among others that are for people.
//!
//! The final message is that of the tool `finish`, or one without a tool; it is also the end marker. An error of the
//! service is an event of its own: in its other output nothing says that there was one, and the exit code is 0.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{Lenient, parse},
    report_builder::{ReportBuilder, ToolInput},
};
use serde::Deserialize;

/// Reads the lines.
pub(super) struct Openhands;

impl Dialect for Openhands {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Event>(line) else {
            return;
        };
        let speaks = event.source.value().as_deref() == Some("agent");
        match event.kind.as_str() {
            "MessageEvent" if speaks => {
                let parts = event.message.value().unwrap_or_default().content;
                let texts = parts.into_iter().filter_map(|part| part.text.value());
                finish(&texts.collect::<Vec<_>>().join("\n"), report);
            }
            "ActionEvent" => {
                let action = event.action.value().unwrap_or_default();
                if action.kind.value().as_deref() == Some("FinishAction") {
                    finish(&action.message.value().unwrap_or_default(), report);
                } else {
                    report.message_begins();
                    let input = event.call.value().unwrap_or_default().arguments.value();
                    let input = input.and_then(|text| parse::<ToolInput>(&text));
                    let name = event.tool_name.value().unwrap_or_default();
                    report.note_tool(&name, input.unwrap_or_default());
                }
            }
            "ConversationErrorEvent" => {
                let code = event.code.value();
                let words = event.detail.value().unwrap_or_default();
                report.fails(Fault::new(code.as_deref(), None, &words));
            }
            _ => {}
        }
    }
}

fn finish(text: &str, report: &mut ReportBuilder) {
    report.message(text);
    report.note(text);
    report.ended = true;
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    kind: String,
    source: Lenient<String>,
    #[serde(rename = "llm_message")]
    message: Lenient<Message>,
    action: Lenient<Action>,
    tool_name: Lenient<String>,
    #[serde(rename = "tool_call")]
    call: Lenient<Call>,
    code: Lenient<String>,
    detail: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Vec<Part>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    text: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Action {
    kind: Lenient<String>,
    message: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Call {
    /// An object, as text.
    arguments: Lenient<String>,
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const WORDS: &str = "Initializing agent...";
    const ECHO: &str = r#"{"source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"End with:\n<promise>COMPLETE</promise>"}]},"kind":"MessageEvent"}"#;
    const TOOL: &str = r#"{"source":"agent","thought":[],"action":{"command":"make","kind":"TerminalAction"},"tool_name":"terminal","tool_call":{"name":"terminal","arguments":"{\"command\": \"make\"}"},"kind":"ActionEvent"}"#;
    const RESULT: &str = r#"{"source":"environment","tool_name":"terminal","observation":{"content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},"kind":"ObservationEvent"}"#;
    const FINISH: &str = r#"{"source":"agent","action":{"message":"Done.\n\n<promise>COMPLETE</promise>","kind":"FinishAction"},"tool_name":"finish","kind":"ActionEvent"}"#;
    const SAY: &str = r#"{"source":"agent","llm_message":{"role":"assistant","content":[{"type":"text","text":"Done.\n\n<promise>COMPLETE</promise>"}]},"kind":"MessageEvent"}"#;
    const BOX: &str = "│ <promise>COMPLETE</promise> │\nGoodbye!";

    fn decode(lines: &[&str]) -> (Report, Vec<String>) {
        let mut decoder = Decoder::new(Format::Auto, "Do it.").likely(Some(Format::Openhands));
        decoder.push(format!("{}\n", lines.join("\n")).as_bytes());
        let activity = decoder.take_activity();
        (decoder.finish(), activity)
    }

    #[test]
    fn what_it_finishes_with_is_the_final_message() {
        for last in [FINISH, SAY] {
            let (report, activity) = decode(&[WORDS, ECHO, TOOL, RESULT, last, BOX]);
            assert_eq!(report.heard, Heard::Promise(Promise::Complete));
            assert_eq!((report.ended, report.format), (true, Format::Openhands));
            assert_eq!(activity, ["terminal: make", "Done."]);
        }
        for lines in [&[WORDS, ECHO, TOOL, RESULT, BOX][..], &[ECHO, SAY, TOOL, RESULT]] {
            let (report, _) = decode(lines);
            assert_eq!((report.heard, report.ended), (Heard::Nothing, false), "{lines:?}");
        }
    }

    #[test]
    fn an_error_is_a_fault() {
        let error = |code: &str, detail: &str| {
            let line = format!(
                r#"{{"source":"environment","code":"{code}","detail":"{detail}","kind":"ConversationErrorEvent"}}"#
            );
            decode(&[WORDS, ECHO, &line, BOX]).0.fault.unwrap().kind
        };
        let auth = error(
            "AuthenticationError",
            "litellm.AuthenticationError: Incorrect API key",
        );
        assert_eq!(auth, FaultKind::Auth);
        assert_eq!(error("LLMRateLimitError", "slow down"), FaultKind::RateLimited);
        let missing = "Error: Missing required environment variable(s): LLM_API_KEY, LLM_MODEL";
        let mut decoder = Decoder::new(Format::Openhands, "Do it.");
        decoder.push(format!("{WORDS}\n{missing}\n  - LLM_MODEL: The model to use\n").as_bytes());
        let fault = decoder.finish().fault.unwrap();
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, missing));
    }
}
