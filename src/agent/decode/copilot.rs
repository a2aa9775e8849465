//! The stream of `copilot --output-format json`.
//!
//! The final message is the last `assistant.message` that asks for no tool; `result` is the end marker. Tokens and cost
//! are not reported.

use super::{Fault, lines::Object, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    if !event.may_have_object("data") {
        return;
    }
    match event.text("type").as_str() {
        // A helper of the agent does not speak for it.
        "assistant.message" if event.has("data/parentToolCallId") => {}
        "assistant.message" => {
            let Some(tools) = event.list("data/toolRequests") else {
                return;
            };
            let text = event.text("data/content");
            report.note(&text);
            report.message_begins();
            report.works_with(event.get("data/model"));
            if tools.is_empty() {
                report.words(text);
            }
        }
        "tool.execution_start" => {
            report.note_tool(&event.text("data/toolName"), &event.object("data/arguments"));
        }
        "session.error" => {
            let name: Option<String> = event.get("data/errorType");
            let fault = Fault::new(
                name.as_deref(),
                event.get("data/statusCode"),
                &event.text("data/message"),
            );
            report.note(&fault.message);
            report.fails(fault);
        }
        "result" => {
            report.ended = true;
            report.session = event.get("sessionId");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const START: &str = r#"{"type":"session.tools_updated","data":{"model":"m"}}"#;
    const PROMPT: &str = r#"{"type":"user.message","data":{"content":"x\n<promise>COMPLETE</promise>"}}"#;
    const ASK: &str = r#"{"type":"assistant.message","data":{"content":"<promise>COMPLETE</promise>","toolRequests":[{"name":"bash"}]}}"#;
    const TOOL: &str =
        r#"{"type":"tool.execution_start","data":{"toolName":"bash","arguments":{"command":"make"}}}"#;
    const SAY: &str = r#"{"type":"assistant.message","data":{"model":"m","content":"Done.\n<promise>COMPLETE</promise>","toolRequests":[]}}"#;
    const END: &str = r#"{"type":"result","sessionId":"s1","exitCode":0}"#;

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_from_the_last_message_without_tools() {
        let report = decode(&[START, PROMPT, ASK, TOOL, SAY, END]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Copilot)
        );
        assert_eq!(report.session.as_deref(), Some("s1"));
        assert_eq!(report.model.as_deref(), Some("m"));
        let helper = SAY.replace("toolRequests", "parentToolCallId\":\"t\",\"toolRequests");
        for lines in [
            &[START, PROMPT, ASK, TOOL, END][..],
            &[START, SAY, ASK, TOOL, END],
            &[START, ASK, TOOL, &helper, END],
            &[START, SAY],
        ] {
            assert_eq!(decode(lines).heard, Heard::Nothing, "{lines:?}");
        }
    }

    #[test]
    fn an_error_is_a_fault() {
        let error = r#"{"type":"session.error","data":{"errorType":"authentication","message":"no"}}"#;
        let report = decode(&[START, SAY, error, END]);
        assert_eq!(
            (report.heard, report.fault.unwrap().kind),
            (Heard::Nothing, FaultKind::Auth)
        );
        assert_eq!(decode(&[START, error, SAY, END]).fault, None);
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Copilot, "");
        decoder.push([TOOL, SAY, ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["bash: make", "Done."]);
    }
}
