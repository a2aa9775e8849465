//! The stream of `opencode run --format json`.
//!
//! The final message is the text parts that share the last message id; a `step_finish` whose reason
//! is `stop` is the end marker.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{Lenient, parse},
    report_builder::{ReportBuilder, ToolInput},
};
use serde::Deserialize;

/// Reads the stream.
#[derive(Default)]
pub(super) struct Opencode {
    /// The id of the message whose text is being read.
    speaking: Option<String>,
}

impl Opencode {
    fn text(&mut self, part: Part, report: &mut ReportBuilder) {
        let message = part.message_id.value();
        if message.is_none() || message != self.speaking {
            report.message_begins();
            self.speaking = message;
        }
        let text = part.text.value().unwrap_or_default();
        report.note(&text);
        report.words(text);
        report.words("\n");
    }

    fn work(&mut self, report: &mut ReportBuilder) {
        report.message_begins();
        self.speaking = None;
    }
}

impl Dialect for Opencode {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Event>(line) else {
            return;
        };
        report.session = event.session_id.value().or(report.session.take());
        let part = event.part;
        match event.r#type.as_str() {
            "text" => self.text(part, report),
            "step_start" => self.work(report),
            "tool_use" => {
                report.came_to_nothing = false;
                self.work(report);
                let input = part.state.input.value().unwrap_or_default();
                report.note_tool(&part.tool.value().unwrap_or_default(), input);
            }
            "step_finish" => {
                let tokens = part.tokens.value().unwrap_or_default();
                let (input, output) = (tokens.input.value(), tokens.output.value());
                let reason = part.reason.value();
                // Its service broke off; it begins the same step again, and would for ever.
                report.came_to_nothing =
                    reason.as_deref() == Some("unknown") && input.unwrap_or(0) + output.unwrap_or(0) == 0;
                report.spend(input, output, part.cost.value());
                let cache = tokens.cache.value().unwrap_or_default();
                report.spend_cached(cache.read.value(), cache.write.value());
                report.ended = reason.as_deref() == Some("stop");
                if !report.ended {
                    self.work(report);
                }
            }
            "error" => report.fails(event.error.into_fault()),
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    #[serde(rename = "sessionID")]
    session_id: Lenient<String>,
    part: Part,
    error: Failure,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    #[serde(rename = "messageID")]
    message_id: Lenient<String>,
    text: Lenient<String>,
    tool: Lenient<String>,
    state: ToolState,
    reason: Lenient<String>,
    tokens: Lenient<Tokens>,
    cost: Lenient<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolState {
    input: Lenient<ToolInput>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    /// The input tokens, those of the cache excluded.
    input: Lenient<u64>,
    output: Lenient<u64>,
    cache: Lenient<Cache>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: Lenient<u64>,
    write: Lenient<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    name: Lenient<String>,
    data: FailureData,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FailureData {
    message: Lenient<String>,
    #[serde(rename = "statusCode")]
    status_code: Lenient<u16>,
    #[serde(rename = "responseHeaders")]
    response_headers: Lenient<Headers>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Headers {
    #[serde(rename = "retry-after")]
    retry_after: Lenient<String>,
}

impl Failure {
    fn into_fault(self) -> Fault {
        let name = self.name.value();
        let message = self.data.message.value();
        let message = message.or_else(|| name.clone()).unwrap_or_default();
        let mut fault = Fault::new(name.as_deref(), self.data.status_code.value(), &message);
        let headers = self.data.response_headers.value().unwrap_or_default();
        if let Some(seconds) = headers.retry_after.value().and_then(|text| text.parse().ok()) {
            fault.retry_after = Some(seconds);
        }
        fault
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const START: &str = r#"{"type":"step_start","sessionID":"s1","part":{"messageID":"m1"}}"#;
    const TOOL: &str = r#"{"type":"tool_use","part":{"messageID":"m1","tool":"bash","state":{"input":{"command":"make"},"output":"<promise>COMPLETE</promise>"}}}"#;
    const NEXT: &str = r#"{"type":"step_finish","part":{"reason":"tool-calls","tokens":{"input":5,"output":1,"cache":{"read":3,"write":1}},"cost":0.25}}"#;
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
    fn the_text_of_the_last_message_counts() {
        let report = decode(&[START, TOOL, NEXT, START, &say("m2"), STOP]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Opencode)
        );
        assert_eq!((report.input_tokens, report.output_tokens), (Some(16), Some(3)));
        assert_eq!(
            (report.cost_usd, report.session.as_deref()),
            (Some(0.75), Some("s1"))
        );
    }

    #[test]
    fn tools_and_earlier_messages_do_not() {
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
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Opencode, "");
        decoder.push([TOOL, &say("m1"), ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["bash: make", "Done."]);
    }
}
