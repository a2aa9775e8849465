//! The stream of `copilot --output-format json`.
//!
//! The final message is the last `assistant.message` that asks for no tool; `result` is the end marker. Tokens and cost
//! are not reported.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{Lenient, parse},
    report_builder::{ReportBuilder, ToolInput},
};
use serde::{Deserialize, de::IgnoredAny};

/// Reads the stream.
pub(super) struct Copilot;

impl Dialect for Copilot {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Event>(line) else {
            return;
        };
        let data = event.data;
        match event.r#type.as_str() {
            // A helper of the agent does not speak for it.
            "assistant.message" if data.parent_tool_call_id.is_some() => {}
            "assistant.message" => {
                let text = data.content.value().unwrap_or_default();
                report.note(&text);
                report.message_begins();
                report.works_with(data.model.value());
                if data.tool_requests.is_empty() {
                    report.words(text);
                }
            }
            "tool.execution_start" => {
                let name = data.tool_name.value().unwrap_or_default();
                report.note_tool(&name, data.arguments.value().unwrap_or_default());
            }
            "session.error" => {
                let name = data.error_type.value();
                let message = data.message.value().unwrap_or_default();
                let fault = Fault::new(name.as_deref(), data.status_code.value(), &message);
                report.note(&fault.message);
                report.fails(fault);
            }
            "result" => {
                report.ended = true;
                report.session = event.session_id.value();
            }
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    data: Data,
    #[serde(rename = "sessionId")]
    session_id: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data {
    content: Lenient<String>,
    model: Lenient<String>,
    tool_requests: Vec<IgnoredAny>,
    parent_tool_call_id: Option<IgnoredAny>,
    tool_name: Lenient<String>,
    arguments: Lenient<ToolInput>,
    error_type: Lenient<String>,
    status_code: Lenient<u16>,
    message: Lenient<String>,
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
    fn the_last_message_without_tools_counts() {
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
