//! The lines of `openhands --headless --json`, which are mixed with text for users.
//!
//! The final message belongs to the tool `finish`, or to no tool; it is also the end marker. An error of the service is
//! a separate event: the other output does not report it, and the exit code is 0.

use super::lines::{Object, parse};
use super::{Fault, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    match event.text("kind").as_str() {
        "MessageEvent" if event.text("source") == "agent" => {
            let parts = event.list("llm_message/content").unwrap_or_default();
            let texts = parts.iter().filter_map(|part| part.get("text"));
            finish(&texts.collect::<Vec<String>>().join("\n"), report);
        }
        "ActionEvent" if event.text("action/kind") == "FinishAction" => {
            finish(&event.text("action/message"), report);
        }
        "ActionEvent" => {
            report.message_begins();
            // A JSON object, as text.
            let input = event.text("tool_call/arguments");
            report.note_tool(&event.text("tool_name"), &parse(&input).unwrap_or_default());
        }
        "ConversationErrorEvent" => {
            let code: Option<String> = event.get("code");
            report.fails(Fault::new(code.as_deref(), None, &event.text("detail")));
        }
        _ => {}
    }
}

fn finish(text: &str, report: &mut ReportBuilder) {
    report.message(text);
    report.note(text);
    report.ended = true;
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
    fn last_finish_or_message_is_the_final_message() {
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
