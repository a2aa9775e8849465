//! The stream of `codex exec --json`.
//!
//! The final message is the last `agent_message`, unless a tool is started after it;
//! `turn.completed` and `turn.failed` are the end markers. A lone `error` may be followed by
//! another try.

use super::{
    dialect::Dialect,
    fault::Fault,
    lines::{Lenient, parse},
    report_builder::ReportBuilder,
};
use serde::Deserialize;

/// Reads the stream.
pub(super) struct Codex;

impl Dialect for Codex {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Event>(line) else {
            return;
        };
        match event.r#type.as_str() {
            "thread.started" => report.session = event.thread_id.value(),
            "turn.started" => report.message_begins(),
            "item.started" => event.item.started(report),
            "item.completed" => event.item.completed(report),
            "turn.completed" => {
                report.ended = true;
                report.fault = None;
                if let Some(usage) = event.usage.value() {
                    report.input_tokens = usage.input.value();
                    report.output_tokens = usage.output.value();
                    report.cache_read_tokens = usage.cached.value();
                }
            }
            "turn.failed" => {
                let error = event.error.value().unwrap_or_default();
                report.ended = true;
                report.fault = Some(Fault::of_message(error.message));
            }
            "error" => {
                let fault = Fault::of_message(event.message);
                report.note(&fault.message);
                report.fails(fault);
            }
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    thread_id: Lenient<String>,
    item: Item,
    usage: Lenient<Usage>,
    error: Lenient<Failure>,
    message: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    r#type: String,
    text: Lenient<String>,
    message: Lenient<String>,
    command: Lenient<String>,
}

impl Item {
    fn started(self, report: &mut ReportBuilder) {
        if matches!(
            self.r#type.as_str(),
            "" | "agent_message" | "reasoning" | "todo_list"
        ) {
            return;
        }
        report.message_begins();
        match self.command.value() {
            Some(command) => report.note(&format!("$ {}", command.trim_start())),
            None => report.note(&self.r#type),
        }
    }

    fn completed(self, report: &mut ReportBuilder) {
        match self.r#type.as_str() {
            "agent_message" => {
                let text = self.text.value().unwrap_or_default();
                report.note(&text);
                report.message(&text);
            }
            "error" => report.note(&self.message.value().unwrap_or_default()),
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(rename = "input_tokens")]
    input: Lenient<u64>,
    #[serde(rename = "cached_input_tokens")]
    cached: Lenient<u64>,
    #[serde(rename = "output_tokens")]
    output: Lenient<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    message: Lenient<String>,
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const START: &str = r#"{"type":"thread.started","thread_id":"t1"}"#;
    const TOOL: &str = r#"{"type":"item.started","item":{"type":"command_execution","command":"make"}}"#;
    const TOOL_END: &str = r#"{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"<promise>COMPLETE</promise>\n"}}"#;
    const DONE: &str = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done.\n<promise>COMPLETE</promise>"}}"#;
    const END: &str =
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}"#;
    const ERROR: &str = r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401)"}"#;
    const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"unexpected status 401"}}"#;

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn the_last_message_counts() {
        let report = decode(&[START, TOOL, TOOL_END, ERROR, DONE, TOOL_END, END]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Codex)
        );
        assert_eq!((report.input_tokens, report.output_tokens), (Some(9), Some(2)));
        assert_eq!(
            (report.cache_read_tokens, report.cache_write_tokens),
            (Some(4), None)
        );
        assert_eq!(report.session.as_deref(), Some("t1"));
    }

    #[test]
    fn tools_and_earlier_messages_do_not() {
        for lines in [
            &[START, TOOL, TOOL_END, END][..],
            &[START, DONE, TOOL, TOOL_END, END],
        ] {
            let report = decode(lines);
            assert_eq!((report.heard, report.ended), (Heard::Nothing, true));
        }
    }

    #[test]
    fn without_an_end_or_with_a_failed_one_nothing_is_heard() {
        let report = decode(&[START, DONE]);
        assert_eq!((report.heard, report.ended), (Heard::Nothing, false));
        let report = decode(&[START, DONE, ERROR, FAILED]);
        assert_eq!(report.heard, Heard::Nothing);
        assert_eq!(report.fault.unwrap().kind, FaultKind::Auth);
    }

    #[test]
    fn to_fail_again_is_no_progress() {
        let mut decoder = Decoder::new(Format::Codex, "");
        let mut progress = |line: &str| {
            let (begin, end) = line.split_at(line.len() / 2);
            decoder.push(begin.as_bytes());
            assert!(!decoder.made_progress());
            decoder.push(end.as_bytes());
            decoder.push(b"\n");
            decoder.made_progress()
        };
        let again = ERROR.replace("1/5", "2/5");
        for (line, is_progress) in [
            (START, true),
            (ERROR, true),
            (ERROR, false),
            (&again, false),
            (TOOL, true),
            (TOOL_END, true),
            (ERROR, true),
            (&again, false),
            (FAILED, true),
        ] {
            assert_eq!(progress(line), is_progress, "{line}");
        }
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Codex, "");
        decoder.push([TOOL, DONE, ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["$ make", "Done."]);
    }
}
