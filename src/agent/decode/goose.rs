//! The stream of `goose run --output-format stream-json`.
//!
//! A message comes in pieces with one id; `complete` is the end marker. After a tool the agent must write a message.

use super::{Fault, lines::Object, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    if !event.may_have_object("message") {
        return;
    }
    match event.text("type").as_str() {
        "message" => message(&event.object("message"), report),
        "complete" => report.ended = true,
        "error" => report.fails(Fault::new(None, None, &event.text("error"))),
        _ => {}
    }
}

fn message(message: &Object, report: &mut ReportBuilder) {
    let speaks = message.text("role") == "assistant";
    for part in message.list("content").unwrap_or_default() {
        match part.text("type").as_str() {
            "text" if speaks => {
                let text = part.text("text");
                if report.speaks(message.text("id")) {
                    report.note(&text);
                }
                report.words(text);
            }
            "thinking" | "redactedThinking" | "systemNotification" => {}
            _ => {
                report.message_begins();
                let call = part.object("toolCall/value");
                if let Some(name) = call.get::<String>("name") {
                    report.note_tool(&name, &call.object("arguments"));
                }
            }
        }
    }
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
