//! The stream of `codex exec --json`.
//!
//! The final message is the last `agent_message`, unless a tool starts after it; `turn.completed` and `turn.failed` are
//! the end markers. Another try may follow a lone `error`.

use super::{Fault, lines::Object, report_builder::ReportBuilder};

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    match event.text("type").as_str() {
        "thread.started" => report.session = event.get("thread_id"),
        "turn.started" => report.message_begins(),
        "item.started" => {
            let kind = event.text("item/type");
            if !matches!(kind.as_str(), "" | "agent_message" | "reasoning" | "todo_list") {
                report.message_begins();
                let command: Option<String> = event.get("item/command");
                report.note(&command.map_or(kind, |command| format!("$ {}", command.trim_start())));
            }
        }
        "item.completed" => match event.text("item/type").as_str() {
            "agent_message" => {
                let text = event.text("item/text");
                report.note(&text);
                report.message(&text);
            }
            "error" => report.note(&event.text("item/message")),
            _ => {}
        },
        "turn.completed" => {
            report.ended = true;
            report.fault = None;
            if let Some(usage) = event.get::<Object>("usage") {
                report.input_tokens = usage.get("input_tokens");
                report.output_tokens = usage.get("output_tokens");
                report.cache_read_tokens = usage.get("cached_input_tokens");
                report.cache_write_tokens = usage.get("cache_write_input_tokens");
            }
        }
        "turn.failed" => {
            report.ended = true;
            report.fault = Some(Fault::new(None, None, &event.text("error/message")));
        }
        "error" => {
            let fault = Fault::new(None, None, &event.text("message"));
            report.note(&fault.message);
            report.fails(fault);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const START: &str = r#"{"type":"thread.started","thread_id":"t1"}"#;
    const TOOL: &str = r#"{"type":"item.started","item":{"type":"command_execution","command":"make"}}"#;
    const TOOL_END: &str = r#"{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"<promise>COMPLETE</promise>\n"}}"#;
    const DONE: &str = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done.\n<promise>COMPLETE</promise>"}}"#;
    const END: &str = r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"cache_write_input_tokens":1,"output_tokens":2}}"#;
    const ERROR: &str = r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401)"}"#;
    const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"unexpected status 401"}}"#;

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_from_the_last_message() {
        let report = decode(&[START, TOOL, TOOL_END, ERROR, DONE, TOOL_END, END]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Codex)
        );
        assert_eq!((report.input_tokens, report.output_tokens), (Some(9), Some(2)));
        assert_eq!(
            (report.cache_read_tokens, report.cache_write_tokens),
            (Some(4), Some(1))
        );
        assert_eq!(report.session.as_deref(), Some("t1"));
    }

    #[test]
    fn decoder_reads_no_promise_from_tools_and_earlier_messages() {
        for lines in [
            &[START, TOOL, TOOL_END, END][..],
            &[START, DONE, TOOL, TOOL_END, END],
        ] {
            let report = decode(lines);
            assert_eq!((report.heard, report.ended), (Heard::Nothing, true));
        }
    }

    #[test]
    fn decoder_reads_no_promise_without_a_successful_end() {
        let report = decode(&[START, DONE]);
        assert_eq!((report.heard, report.ended), (Heard::Nothing, false));
        let report = decode(&[START, DONE, ERROR, FAILED]);
        assert_eq!(report.heard, Heard::Nothing);
        assert_eq!(report.fault.unwrap().kind, FaultKind::Auth);
    }

    #[test]
    fn repeated_error_is_no_progress() {
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
