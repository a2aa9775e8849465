//! The stream of `pi --mode json`.
//!
//! The final message is the last `message_end` of the assistant whose `stopReason` is `stop`;
//! `agent_end` is the end marker. An error is a message too, whose `stopReason` says so.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{self, Lenient, parse},
    report_builder::{ReportBuilder, ToolInput},
};
use serde::{Deserialize, de::IgnoredAny};

/// Reads the stream.
pub(super) struct Pi;

impl Dialect for Pi {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        match lines::kind(line).as_deref() {
            Some("session") => report.session = parse::<Session>(line).and_then(|it| it.id.value()),
            Some("agent_start") => report.message_begins(),
            Some("tool_execution_start") => {
                if let Some(tool) = parse::<Tool>(line) {
                    report.note_tool(&tool.tool_name, tool.args.value().unwrap_or_default());
                }
            }
            Some("message_end") => {
                if let Some(end) = parse::<MessageEnd>(line)
                    && end.message.role == "assistant"
                {
                    end.message.heard(report);
                }
            }
            Some("agent_end") => report.ended = parse::<IgnoredAny>(line).is_some(),
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Session {
    id: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tool {
    #[serde(rename = "toolName")]
    tool_name: String,
    args: Lenient<ToolInput>,
}

#[derive(Deserialize)]
struct MessageEnd {
    message: Message,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    role: String,
    content: Vec<Block>,
    #[serde(rename = "stopReason")]
    stop_reason: Lenient<String>,
    #[serde(rename = "errorMessage")]
    error: Lenient<String>,
    model: Lenient<String>,
    usage: Lenient<Usage>,
}

impl Message {
    fn heard(self, report: &mut ReportBuilder) {
        report.message_begins();
        let reason = self.stop_reason.value().unwrap_or_default();
        let texts = self.content.into_iter().filter(|block| block.r#type == "text");
        for text in texts.filter_map(|block| block.text.value()) {
            report.note(&text);
            if reason == "stop" {
                report.words(text);
                report.words("\n");
            }
        }
        if reason == "error" {
            report.fault = Some(Fault::of_message(self.error));
        }
        let usage = self.usage.value().unwrap_or_default();
        let cost = usage.cost.value().and_then(|cost| cost.total.value());
        report.spend(usage.input.value(), usage.output.value(), cost);
        report.spend_cached(usage.cache_read.value(), usage.cache_write.value());
        report.works_with(self.model.value());
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    r#type: String,
    text: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    /// The input tokens, those of the cache excluded.
    input: Lenient<u64>,
    #[serde(rename = "cacheRead")]
    cache_read: Lenient<u64>,
    #[serde(rename = "cacheWrite")]
    cache_write: Lenient<u64>,
    output: Lenient<u64>,
    cost: Lenient<Cost>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cost {
    total: Lenient<f64>,
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
    fn the_last_message_that_stops_counts() {
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
