//! The lines of `cline --json`.
//!
//! The final message is in the `run_result` line, which is also the end marker; an error is reported before it.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{Lenient, parse},
    report_builder::ReportBuilder,
};
use serde::Deserialize;

/// Reads the lines.
pub(super) struct Cline;

impl Dialect for Cline {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Event>(line) else {
            return;
        };
        match event.r#type.as_str() {
            "run_result" => {
                let text = event.text.value().unwrap_or_default();
                let usage = event.usage.value().unwrap_or_default();
                let fault = report.fault.take();
                report.message(&text);
                report.ended = true;
                report.spend(usage.input.value(), usage.output.value(), usage.cost.value());
                if event.finish_reason.value().as_deref() == Some("error") {
                    report.fault = Some(fault.unwrap_or_else(|| Fault::new(None, None, &text)));
                }
            }
            "agent_event" if event.agent.r#type == "error" => {
                let class = event.agent.error_class.value();
                let message = event.agent.message.value().unwrap_or_default();
                report.fails(Fault::new(class.as_deref(), None, &message));
            }
            "error" => report.fails(Fault::of_message(event.message)),
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    #[serde(rename = "event")]
    agent: AgentEvent,
    message: Lenient<String>,
    text: Lenient<String>,
    #[serde(rename = "finishReason")]
    finish_reason: Lenient<String>,
    #[serde(rename = "aggregateUsage")]
    usage: Lenient<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AgentEvent {
    r#type: String,
    #[serde(rename = "errorClass")]
    error_class: Lenient<String>,
    message: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(rename = "inputTokens")]
    input: Lenient<u64>,
    #[serde(rename = "outputTokens")]
    output: Lenient<u64>,
    #[serde(rename = "totalCost")]
    cost: Lenient<f64>,
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
        let report = decode(&[EVENT, done]);
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
