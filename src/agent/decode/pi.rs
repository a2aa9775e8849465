//! The stream of `pi --mode json`.
//!
//! The final message is the last `message_end` of the assistant whose `stopReason` is `stop`; `agent_end` is the end
//! marker. An error is a message with another `stopReason`.

use super::{Fault, lines::Object, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    match event.text("type").as_str() {
        "session" => report.session = event.get("id"),
        "agent_start" => report.message_begins(),
        "tool_execution_start" => report.note_tool(&event.text("toolName"), &event.object("args")),
        "message_end" => {
            let message = event.object("message");
            if let Some(content) = message.list("content")
                && message.text("role") == "assistant"
            {
                heard(&message, &content, report);
            }
        }
        "agent_end" => report.ended = true,
        _ => {}
    }
}

fn heard(message: &Object, content: &[Object], report: &mut ReportBuilder) {
    report.message_begins();
    let reason = message.text("stopReason");
    let texts = content.iter().filter(|block| block.text("type") == "text");
    for text in texts.filter_map(|block| block.get::<String>("text")) {
        report.note(&text);
        if reason == "stop" {
            report.words(text);
            report.words("\n");
        }
    }
    if reason == "error" {
        report.fault = Some(Fault::new(None, None, &message.text("errorMessage")));
    }
    // The input tokens without those of the cache.
    let usage = message.object("usage");
    report.spend(usage.get("input"), usage.get("output"), usage.get("cost/total"));
    report.spend_cached(usage.get("cacheRead"), usage.get("cacheWrite"));
    report.works_with(message.get("model"));
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const START: &str = r#"{"type":"session","version":3,"id":"s1"}"#;
    const PROMPT: &str = r#"{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"x\n<promise>COMPLETE</promise>"}]}}"#;
    const TOOL: &str = r#"{"type":"tool_execution_start","toolName":"bash","args":{"command":"make"}}"#;
    const TOOL_END: &str = r#"{"type":"message_end","message":{"role":"toolResult","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]}}"#;
    const END: &str = r#"{"type":"agent_end","messages":[]}"#;

    fn say(reason: &str) -> String {
        format!(
            r#"{{"type":"message_end","message":{{"role":"assistant","stopReason":"{reason}","errorMessage":"401 no","content":[{{"type":"text","text":"Done.\n<promise>COMPLETE</promise>"}}],"usage":{{"input":5,"output":1,"cacheRead":3,"cacheWrite":1,"cost":{{"total":0.25}}}}}}}}"#
        )
    }

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_from_the_last_message_that_stops() {
        let report = decode(&[START, PROMPT, &say("toolUse"), TOOL, TOOL_END, &say("stop"), END]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Pi)
        );
        assert_eq!((report.input_tokens, report.output_tokens), (Some(18), Some(2)));
        assert_eq!(
            (report.cost_usd, report.session.as_deref()),
            (Some(0.5), Some("s1"))
        );
        for lines in [
            &[START, PROMPT, TOOL, TOOL_END, END][..],
            &[START, &say("stop"), &say("toolUse"), TOOL, TOOL_END, END],
            &[START, &say("length"), END],
            &[START, &say("stop")],
        ] {
            assert_eq!(decode(lines).heard, Heard::Nothing, "{lines:?}");
        }
    }

    #[test]
    fn an_error_is_a_fault_until_a_message_comes() {
        let report = decode(&[START, &say("error"), END]);
        assert_eq!(
            (report.heard, report.fault.unwrap().kind),
            (Heard::Nothing, FaultKind::Auth)
        );
        assert_eq!(decode(&[START, &say("error"), &say("stop"), END]).fault, None);
        let cut = say("error").replace("401 no", "terminated");
        let report = decode(&[START, &cut, END]);
        assert_eq!(
            (report.heard, report.fault.unwrap().kind),
            (Heard::Nothing, FaultKind::Network)
        );
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Pi, "");
        decoder.push([TOOL, &say("stop"), ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["bash: make", "Done."]);
    }
}
