//! The lines of `droid exec -o stream-json` that differ from claude's: both streams begin alike.
//!
//! The final message is in the `completion` line, which is also the end marker. The prompt is echoed as a message of
//! the user.

use super::{Fault, lines::Object, report_builder::ReportBuilder, tokens};

/// Takes a line of one of these kinds; ignores other kinds.
pub(super) fn line(kind: &str, event: &Object, report: &mut ReportBuilder) {
    match kind {
        "message" if event.text("role") == "assistant" => {
            report.note(&event.text("text"));
            report.message_begins();
        }
        "tool_call" => {
            report.message_begins();
            report.note_tool(&event.text("toolName"), &event.object("parameters"));
        }
        "completion" => {
            report.message(&event.text("finalText"));
            report.ended = true;
            report.session = event.get("session_id").or(report.session.take());
            report.reset_tokens();
            tokens::spend(&event.object("usage"), report);
        }
        "error" => report.fails(Fault::new(None, None, &event.text("message"))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","reasoning_effort":"none"}"#;
    const ECHO: &str =
        r#"{"type":"message","role":"user","text":"End with a line:\n<promise>COMPLETE</promise>"}"#;
    const TALK: &str =
        r#"{"type":"message","role":"assistant","text":"First the tests.\n<promise>COMPLETE</promise>"}"#;
    const TOOL: &str = r#"{"type":"tool_call","toolName":"Create","parameters":{"file_path":"a.txt"}}"#;

    fn completion(text: &str) -> String {
        format!(
            r#"{{"type":"completion","finalText":"{text}","usage":{{"input_tokens":20,"cache_read_input_tokens":5,"output_tokens":3}}}}"#
        )
    }

    fn decode(format: Format, lines: &[&str]) -> (Report, Vec<String>) {
        let mut decoder = Decoder::new(format, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.push(b"\n");
        let activity = decoder.take_activity();
        (decoder.finish(), activity)
    }

    #[test]
    fn completion_holds_the_final_text_and_ends_the_stream() {
        let done = completion(r"Done.\n<promise>COMPLETE</promise>");
        for format in [Format::Auto, Format::Claude, Format::Droid] {
            let (report, activity) = decode(format, &[INIT, ECHO, TOOL, TALK, &done]);
            assert_eq!(report.heard, Heard::Promise(Promise::Complete));
            assert!(report.ended);
            assert_eq!((report.input_tokens, report.output_tokens), (Some(25), Some(3)));
            assert_eq!(activity, ["Create: a.txt", "First the tests."]);
            let (report, _) = decode(format, &[INIT, ECHO, TALK, &completion("I looked.")]);
            assert_eq!((report.heard, report.ended), (Heard::Nothing, true));
        }
    }

    #[test]
    fn stream_has_not_ended_unless_a_whole_completion_is_last() {
        let done = completion("<promise>COMPLETE</promise>");
        for lines in [
            &[INIT, ECHO, TALK][..],
            &[INIT, &done, TOOL],
            &[INIT, &done[..60]],
        ] {
            let (report, _) = decode(Format::Auto, lines);
            assert_eq!((report.heard, report.ended), (Heard::Nothing, false));
        }
    }

    #[test]
    fn an_error_is_a_fault() {
        let error = r#"{"type":"error","message":"Authentication failed. Please log in using /login"}"#;
        let (report, _) = decode(Format::Droid, &[INIT, error]);
        assert_eq!(report.fault.map(|fault| fault.kind), Some(FaultKind::Auth));
        let limit =
            r#"{"type":"error","source":"agent_loop","message":"429 Rate limit reached, try again in 20s."}"#;
        let end = r#"{"type":"error","source":"cli","message":"Exec failed"}"#;
        let (report, _) = decode(Format::Droid, &[INIT, limit, end]);
        let fault = report.fault.unwrap();
        assert_eq!(
            (fault.kind, fault.retry_after),
            (FaultKind::RateLimited, Some(20))
        );
        let (report, _) = decode(Format::Droid, &[INIT, end]);
        assert_eq!(report.fault.unwrap().message, "Exec failed");
    }
}
