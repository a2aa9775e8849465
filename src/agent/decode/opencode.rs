//! The stream of `opencode run --format json`.
//!
//! The final message is the text parts that share the last message id; a `step_finish` whose reason is `stop` is the
//! end marker. The agent silently retries a service that cannot answer; with `--print-logs`, stderr has the reason.

use super::{
    Fault,
    dialect::Dialect,
    lines::{Object, parse},
    report::sum,
    report_builder::ReportBuilder,
};
use jiff::Timestamp;
use memchr::memmem;

/// The field of a log line that has the error of a request.
pub(super) const LOGGED: &str = " error.error=";

/// Reads the stream.
#[derive(Default)]
pub(super) struct Opencode {
    /// The time of the last event, in Unix milliseconds.
    last: i64,
}

impl Dialect for Opencode {
    fn line(&mut self, text: &str, report: &mut ReportBuilder) {
        if let Some(event) = parse::<Object>(text) {
            self.last = event.get("timestamp").unwrap_or(self.last);
            line(&event, report);
        }
    }

    fn end(&mut self, stderr: &str, report: &mut ReportBuilder) {
        if !report.ended && report.fault.is_none() {
            report.fault = stderr.lines().rev().find_map(|line| self.logged(line));
        }
    }
}

impl Opencode {
    /// Returns the error in a log line, unless the agent continued after it, or it occurred beside its work.
    fn logged(&self, line: &str) -> Option<Fault> {
        let (fields, error) = line.split_once(LOGGED)?;
        let time = fields.strip_prefix("timestamp=")?.split(' ').next()?;
        let time: Timestamp = time.parse().ok()?;
        let counts = fields.contains(" level=ERROR ") && !fields.contains(" small=true");
        let error: String = parse(error).unwrap_or_else(|| error.to_owned());
        let (name, message) = error.split_once(": ").unwrap_or(("", &error));
        (counts && time.as_millisecond() >= self.last).then(|| Fault::new(Some(name), None, message))
    }
}

/// Returns true if these bytes of stderr are a log of errors.
pub(super) fn is_log(stderr: &[u8]) -> bool {
    memmem::find(stderr, b" level=ERROR ").is_some()
}

fn line(event: &Object, report: &mut ReportBuilder) {
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
            report.had_no_result = false;
            report.message_begins();
            report.note_tool(&part.text("tool"), &part.object("state/input"));
        }
        "step_finish" => {
            // The input tokens without those of the cache.
            let input = part.get("tokens/input");
            let output = sum(part.get("tokens/output"), part.get("tokens/reasoning"));
            let reason = part.text("reason");
            // The service cut off the answer; the agent repeats the same step for ever.
            report.had_no_result = reason == "unknown" && input.unwrap_or(0) + output.unwrap_or(0) == 0;
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
    fn log_says_why_a_step_is_tried_again() {
        let (before, after) = ("1795856404999", "1795856405001");
        let log = |words: &str| {
            format!(
                "timestamp=2026-11-28T09:00:05.000Z level=ERROR run=1 message=\"stream error\" small=false agent=build error.error=\"{words}\"\n"
            )
        };
        let cut = log("AI_APICallError: Cannot connect to API: it said \\\"no\\\"");
        let fault = |time: &str, rest: &[&str], stderr: &str| {
            let start = START.replace("sessionID", &format!("timestamp\":{time},\"sessionID"));
            let mut decoder = Decoder::new(Format::Opencode, "Do it.");
            decoder.push([&[start.as_str()][..], rest].concat().join("\n").as_bytes());
            decoder.push_stderr(stderr.as_bytes());
            let report = decoder.finish();
            assert_eq!(report.suspected, None);
            report.fault
        };
        let kind = |words: &str| fault(before, &[], &log(words)).map(|fault| fault.kind);
        let said = fault(before, &[], &cut).unwrap();
        assert_eq!(
            (said.kind, said.message.as_str()),
            (FaultKind::Network, r#"Cannot connect to API: it said "no""#)
        );
        assert_eq!(kind("TypeError: terminated"), Some(FaultKind::Network));
        let limit = "AI_APICallError: Too Many Requests";
        assert_eq!(kind(limit), Some(FaultKind::RateLimited));
        for stderr in [cut.replace("false", "true"), cut.replace("ERROR", "WARN")] {
            assert_eq!(fault(before, &[], &stderr), None, "{stderr}");
        }
        assert_eq!(fault(after, &[], &log(limit)), None);
        assert_eq!(fault(before, &[&say("m1"), STOP], &cut), None);
    }

    #[test]
    fn log_is_no_progress() {
        let mut decoder = Decoder::new(Format::Opencode, "");
        let mut progress = |stderr: &str| {
            decoder.push_stderr(stderr.as_bytes());
            decoder.made_progress()
        };
        assert!(progress("permission requested: bash; rejected\n"));
        assert!(!progress(
            "timestamp=2026-11-28T09:00:05.000Z level=ERROR run=1 message=x\n"
        ));
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Opencode, "");
        decoder.push([TOOL, &say("m1"), ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["bash: make", "Done."]);
    }
}
