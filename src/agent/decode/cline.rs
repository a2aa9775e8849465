//! The lines of `cline --json`.
//!
//! The final message is in the `run_result` line, which is also the end marker; an error is reported before it.

use super::{Fault, lines::Object, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    match event.text("type").as_str() {
        "run_result" => {
            let text = event.text("text");
            let usage = event.object("aggregateUsage");
            let fault = report.fault.take();
            report.message(&text);
            report.ended = true;
            let output = usage.get("outputTokens");
            report.spend(usage.get("inputTokens"), output, usage.get("totalCost"));
            if event.text("finishReason") == "error" {
                report.fault = Some(fault.unwrap_or_else(|| Fault::new(None, None, &text)));
            }
        }
        "agent_event" if event.text("event/type") == "error" => {
            let class: Option<String> = event.get("event/errorClass");
            report.fails(Fault::new(class.as_deref(), None, &event.text("event/message")));
        }
        "error" => report.fails(Fault::new(None, None, &event.text("message"))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const EVENT: &str =
        r#"{"type":"agent_event","event":{"type":"text","text":"<promise>COMPLETE</promise>"}}"#;

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn the_result_is_the_final_message() {
        let done = r#"{"type":"run_result","text":"Done.\n<promise>COMPLETE</promise>","finishReason":"completed","aggregateUsage":{"inputTokens":7,"outputTokens":2,"totalCost":0.5}}"#;
        let begin = r#"{"type":"hook_event","hookEventName":"agent_start"}"#;
        let report = decode(&[begin, EVENT, done]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!((report.input_tokens, report.output_tokens), (Some(7), Some(2)));
        assert_eq!((report.cost_usd, report.format), (Some(0.5), Format::Cline));
        let report = decode(&[EVENT]);
        assert_eq!((report.heard, report.ended), (Heard::Nothing, false));
    }

    #[test]
    fn an_error_is_a_fault() {
        let error =
            r#"{"type":"agent_event","event":{"type":"error","errorClass":"auth","message":"401 no key"}}"#;
        let end = r#"{"type":"run_result","text":"<promise>COMPLETE</promise>","finishReason":"error"}"#;
        let report = decode(&[EVENT, error, end]);
        assert_eq!(report.fault.map(|fault| fault.kind), Some(FaultKind::Auth));
        assert_eq!(report.heard, Heard::Nothing);
    }
}
