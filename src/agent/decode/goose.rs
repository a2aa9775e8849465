//! The stream of `goose run --output-format stream-json`.
//!
//! A message comes in pieces that share its id; `complete` is the end marker. After a tool the agent has to speak again.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{Lenient, parse},
    report_builder::{ReportBuilder, ToolInput},
};
use serde::Deserialize;

/// Reads the stream.
#[derive(Default)]
pub(super) struct Goose {
    speaking: bool,
    /// The id of the current message, if it has one.
    id: Option<String>,
}

impl Goose {
    fn message(&mut self, message: Message, report: &mut ReportBuilder) {
        let id = message.id.value();
        let speaks = message.role.value().as_deref() == Some("assistant");
        for part in message.content {
            match part.r#type.as_str() {
                "text" if speaks => {
                    let text = part.text.value().unwrap_or_default();
                    if !self.speaking || self.id != id {
                        report.message_begins();
                        report.note(&text);
                    }
                    (self.speaking, self.id) = (true, id.clone());
                    report.words(text);
                }
                "thinking" | "redactedThinking" | "systemNotification" => {}
                _ => {
                    report.message_begins();
                    self.speaking = false;
                    let call = part.tool_call.value().unwrap_or_default().value;
                    if let Some(name) = call.name.value() {
                        report.note_tool(&name, call.arguments.value().unwrap_or_default());
                    }
                }
            }
        }
    }
}

impl Dialect for Goose {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Event>(line) else {
            return;
        };
        match event.r#type.as_str() {
            "message" => self.message(event.message, report),
            "complete" => report.ended = true,
            "error" => report.fails(Fault::of_message(event.error)),
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    message: Message,
    error: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    id: Lenient<String>,
    role: Lenient<String>,
    content: Vec<Part>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    r#type: String,
    text: Lenient<String>,
    #[serde(rename = "toolCall")]
    tool_call: Lenient<ToolCall>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolCall {
    value: Call,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Call {
    name: Lenient<String>,
    arguments: Lenient<ToolInput>,
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const TOOL: &str = r#"{"type":"message","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"I look.\n<promise>COMPLETE</promise>"},{"type":"toolRequest","id":"t","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}]}}"#;
    const RESULT: &str = r#"{"type":"message","message":{"id":"m2","role":"user","content":[{"type":"toolResponse","id":"t"}]}}"#;
    const END: &str = r#"{"type":"complete","total_tokens":70}"#;

    fn says(text: &str) -> String {
        format!(
            r#"{{"type":"message","message":{{"id":"m3","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    }

    fn decode(lines: &[&str]) -> (Report, Vec<String>) {
        let mut decoder = Decoder::new(Format::Auto, "");
        decoder.push(format!("{}\n", lines.join("\n")).as_bytes());
        let activity = decoder.take_activity();
        (decoder.finish(), activity)
    }

    #[test]
    fn the_pieces_after_the_last_tool_are_the_final_message() {
        let pieces = [says(r"Done.\n<promise>COMP"), says("LETE</promise>")];
        let (report, activity) = decode(&[TOOL, RESULT, &pieces[0], &pieces[1], END]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!((report.ended, report.format), (true, Format::Goose));
        assert_eq!(activity, ["I look.", "shell: ls", "Done."]);
        let (report, _) = decode(&[TOOL, RESULT, END]);
        assert_eq!((report.heard, report.ended), (Heard::Nothing, true));
        let (report, _) = decode(&[TOOL, RESULT, &pieces[0], &pieces[1]]);
        assert_eq!((report.heard, report.ended), (Heard::Nothing, false));
    }

    #[test]
    fn an_error_is_a_fault() {
        let error = r#"{"type":"error","error":"Authentication error: bad key"}"#;
        let (report, _) = decode(&[TOOL, error]);
        assert_eq!(report.fault.map(|fault| fault.kind), Some(FaultKind::Auth));
    }
}
