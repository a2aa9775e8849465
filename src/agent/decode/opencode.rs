//! The stream of `opencode run --format json`.
//!
//! The final message is the text parts that share the last message id; a `step_finish` whose reason
//! is `stop` is the end marker.

use super::{Fault, lines::Object, report::sum, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    if !event.may_have_object("part") || !event.may_have_object("error") {
        return;
    }
    report.session = event.get("sessionID").or(report.session.take());
    let part = event.object("part");
    match event.text("type").as_str() {
        "text" => {
            match part.get("messageID") {
                Some(id) => _ = report.speaks(id),
                None => report.message_begins(),
            }
            let text = part.text("text");
            report.note(&text);
            report.words(text);
            report.words("\n");
        }
        "step_start" => report.message_begins(),
        "tool_use" => {
            report.came_to_nothing = false;
            report.message_begins();
            report.note_tool(&part.text("tool"), &part.object("state/input"));
        }
        "step_finish" => {
            // The input tokens, those of the cache excluded.
            let input = part.get("tokens/input");
            let output = sum(part.get("tokens/output"), part.get("tokens/reasoning"));
            let reason = part.text("reason");
            // Its service broke off; it begins the same step again, and would for ever.
            report.came_to_nothing = reason == "unknown" && input.unwrap_or(0) + output.unwrap_or(0) == 0;
            report.spend(input, output, part.get("cost"));
            report.spend_cached(part.get("tokens/cache/read"), part.get("tokens/cache/write"));
            report.ended = reason == "stop";
            if !report.ended {
                report.message_begins();
            }
        }
        "error" => report.fails(fault(&event.object("error"))),
        _ => {}
    }
}

fn fault(error: &Object) -> Fault {
    let name: Option<String> = error.get("name");
    let message = error.get("data/message").or_else(|| name.clone());
    let status = error.get("data/statusCode");
    let mut fault = Fault::new(name.as_deref(), status, &message.unwrap_or_default());
    let wait = error.text("data/responseHeaders/retry-after").parse().ok();
    fault.retry_after = wait.or(fault.retry_after);
    fault
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const START: &str = r#"{"type":"step_start","sessionID":"s1","part":{"messageID":"m1"}}"#;
    const TOOL: &str = r#"{"type":"tool_use","part":{"messageID":"m1","tool":"bash","state":{"input":{"command":"make"},"output":"<promise>COMPLETE</promise>"}}}"#;
    const NEXT: &str = r#"{"type":"step_finish","part":{"reason":"tool-calls","tokens":{"input":5,"output":1,"reasoning":4,"cache":{"read":3,"write":1}},"cost":0.25}}"#;
    const STOP: &str =
        r#"{"type":"step_finish","part":{"reason":"stop","tokens":{"input":7,"output":2},"cost":0.5}}"#;

    fn say(message: &str) -> String {
        format!(
            r#"{{"type":"text","part":{{"messageID":"{message}","text":"Done.\n<promise>COMPLETE</promise>"}}}}"#
        )
    }

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_from_the_last_message() {
        let report = decode(&[START, TOOL, NEXT, START, &say("m2"), STOP]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Opencode)
        );
        assert_eq!((report.input_tokens, report.output_tokens), (Some(16), Some(7)));
        assert_eq!(
            (report.cost_usd, report.session.as_deref()),
            (Some(0.75), Some("s1"))
        );
    }

    #[test]
    fn decoder_reads_no_promise_from_tools_and_earlier_messages() {
        let other = say("m2").replace("<promise>COMPLETE</promise>", "Bye.");
        for lines in [
            &[START, TOOL, NEXT, START, STOP][..],
            &[START, &say("m1"), TOOL, NEXT, START, STOP],
            &[START, &say("m1"), &other, STOP],
            &[START, &say("m1")],
            &[START, &say("m1"), STOP, START],
        ] {
            assert_eq!(decode(lines).heard, Heard::Nothing, "{lines:?}");
        }
    }

    #[test]
    fn an_error_is_a_fault() {
        let error = r#"{"type":"error","sessionID":"s1","error":{"name":"APIError","data":{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after":"20"}}}}"#;
        let report = decode(&[error]);
        let fault = report.fault.unwrap();
        assert_eq!(
            (fault.kind, fault.retry_after),
            (FaultKind::RateLimited, Some(20))
        );
        assert_eq!(decode(&[START, &say("m1"), STOP, error]).heard, Heard::Nothing);
        assert_eq!(decode(&[error, START, &say("m1"), STOP]).fault, None);
        let other = r#"{"type":"error","error":"slow down"}"#;
        assert_eq!(decode(&[START, &say("m1"), STOP, other]).fault, None);
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Opencode, "");
        decoder.push([TOOL, &say("m1"), ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["bash: make", "Done."]);
    }
}
