//! The stream of `gemini --output-format stream-json`, and the one document of `json`.
//!
//! The final message is the assistant's text after the last tool, in pieces; `result` is the end marker. It also
//! contains errors, as does stderr, as JSON among warnings.

use super::{
    dialect::Dialect,
    fault::{Fault, FaultKind},
    lines::{Object, parse},
    report::sum,
    report_builder::ReportBuilder,
};
use std::collections::BTreeMap;

/// Maximum length of a document, in bytes.
const DOCUMENT_LIMIT: usize = 4 * 1024 * 1024;

/// Maximum number of places in stderr that are searched for an error.
const STDERR_TRIES: usize = 32;

/// The beginning of an error on stderr that is not JSON.
const STDERR_ERROR: &str = "Error when talking to Gemini API";

/// Reads the stream or the document.
#[derive(Default)]
pub(super) struct Gemini {
    /// The lines so far, while they may be a document; then empty.
    document: String,
    is_stream: bool,
    speaking: bool,
}

impl Gemini {
    fn event(&mut self, event: &Object, report: &mut ReportBuilder) {
        let kind = event.text("type");
        let speaks = kind == "message" && event.text("role") == "assistant";
        match kind.as_str() {
            "init" => {
                report.session = event.get("session_id");
                // The actual model is named at the end.
                report.works_with(event.get("model").filter(|model| model != "auto"));
            }
            "message" if speaks => {
                let words = event.text("content");
                if !self.speaking || event.get("delta") != Some(true) {
                    report.message_begins();
                    report.note(&words);
                }
                report.words(words);
            }
            "tool_use" => {
                report.message_begins();
                report.note_tool(&event.text("tool_name"), &event.object("parameters"));
            }
            "tool_result" => report.message_begins(),
            "result" => {
                report.ended = true;
                report.fault = event.get("error").map(|error| fault(&error));
                if report.fault.is_none() && event.text("status") == "error" {
                    report.fault = Some(Fault::new(None, None, ""));
                }
                if let Some(stats) = event.get::<Object>("stats") {
                    let input: Option<u64> = stats.get("input_tokens");
                    report.input_tokens = input;
                    // The total includes thoughts.
                    let written = |total: u64| total.checked_sub(input?);
                    let written = stats.get("total_tokens").and_then(written);
                    report.output_tokens = written.max(stats.get("output_tokens"));
                    report.cache_read_tokens = stats.get("cached");
                    let models: BTreeMap<String, Object> = stats.get("models").unwrap_or_default();
                    let models = models.into_iter();
                    let models = models.map(|(name, used)| (used.get::<u64>("output_tokens"), name));
                    report.works_with(models.max().map(|(_, name)| name));
                }
            }
            _ => return,
        }
        self.speaking = speaks;
    }

    fn document(&self, report: &mut ReportBuilder) {
        let Some(document) = parse::<Object>(&self.document) else {
            return;
        };
        report.session = document.get("session_id");
        if let Some(response) = document.get::<String>("response") {
            report.message(&response);
            report.ended = true;
        }
        report.fault = document.get("error").map(|error| fault(&error));
        let models: BTreeMap<String, Object> = document.get("stats/models").unwrap_or_default();
        for model in models.values() {
            let written = sum(model.get("tokens/candidates"), model.get("tokens/thoughts"));
            report.spend(model.get("tokens/prompt"), written, None);
        }
    }
}

impl Dialect for Gemini {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let event = parse::<Object>(line);
        if let Some(event) = event.filter(|event| !event.text("type").is_empty()) {
            self.is_stream = true;
            self.document = String::new();
            self.event(&event, report);
        } else if !self.is_stream && self.document.len() + line.len() < DOCUMENT_LIMIT {
            self.document.push_str(line);
            self.document.push('\n');
        }
    }

    fn end(&mut self, stderr: &str, report: &mut ReportBuilder) {
        if !self.is_stream {
            self.document(report);
        }
        let ended = report.ended;
        match &mut report.fault {
            None if !ended => report.fault = fault_in(stderr),
            Some(fault) if fault.kind == FaultKind::Other => fault.kind = kind_in(stderr),
            _ => {}
        }
    }
}

/// Returns the error on stderr: the last one in JSON, else one identified by its words.
fn fault_in(stderr: &str) -> Option<Fault> {
    let by_words = || Some(Fault::of_output(stderr)).filter(|fault| fault.kind != FaultKind::Other);
    fault_in_json(stderr).or_else(by_words)
}

/// Finds the last error in JSON that begins a line.
pub(super) fn fault_in_json(stderr: &str) -> Option<Fault> {
    stderr
        .rmatch_indices('{')
        .filter(|(at, _)| stderr[..*at].ends_with('\n') || *at == 0)
        .take(STDERR_TRIES)
        .find_map(|(at, _)| {
            let mut values = serde_json::Deserializer::from_str(&stderr[at..]).into_iter::<Object>();
            values.next()?.ok()?.get("error")
        })
        .map(|error| fault(&error))
}

/// Returns the kind of the last error on stderr, as node prints it: the path of a file about it, the name of its class
/// and its text, then its stack and its fields.
fn kind_in(stderr: &str) -> FaultKind {
    let Some((_, last)) = stderr.rsplit_once(STDERR_ERROR) else {
        return FaultKind::Other;
    };
    let (_, error) = last.split_once(".json ").unwrap_or(("", last));
    let is_frame = |line: &&str| line.trim_start().starts_with("at ");
    let lines: Vec<_> = error.lines().filter(|line| !is_frame(line)).collect();
    Fault::new(None, None, &lines.join("\n")).kind
}

fn fault(error: &Object) -> Fault {
    let name: Option<String> = error.get("type");
    let message = error.text("message");
    let bare = message.strip_prefix("[API Error: ");
    // The rest is advice, which mentions quota and sign-in for any error.
    let bare = bare.map(|rest| rest.rsplit_once(']').map_or(rest, |(words, _)| words));
    Fault::new(name.as_deref(), error.get("code"), bare.unwrap_or(&message))
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const INIT: &str = r#"{"type":"init","session_id":"s1"}"#;
    const PROMPT: &str = r#"{"type":"message","role":"user","content":"x\n<promise>COMPLETE</promise>"}"#;
    const TOOL: &str = r#"{"type":"tool_use","tool_name":"shell","parameters":{"command":"make"}}"#;
    const TOOL_END: &str = r#"{"type":"tool_result","output":"<promise>COMPLETE</promise>"}"#;
    const SAY: [&str; 2] = [
        r#"{"type":"message","role":"assistant","content":"Done.\n<prom","delta":true}"#,
        r#"{"type":"message","role":"assistant","content":"ise>COMPLETE</promise>","delta":true}"#,
    ];
    const END: &str = r#"{"type":"result","status":"success","stats":{"total_tokens":14,"input_tokens":9,"output_tokens":2}}"#;

    fn decode(format: Format, lines: &[&str], stderr: &str) -> Report {
        let mut decoder = Decoder::new(format, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.push_stderr(stderr.as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_only_after_the_last_tool() {
        let report = decode(
            Format::Auto,
            &[INIT, PROMPT, TOOL, TOOL_END, SAY[0], SAY[1], END],
            "",
        );
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Gemini)
        );
        // Only the total includes thoughts.
        assert_eq!((report.input_tokens, report.output_tokens), (Some(9), Some(5)));
        for total in ["10", "null"] {
            let end = END.replace("14", total);
            assert_eq!(decode(Format::Gemini, &[INIT, &end], "").output_tokens, Some(2));
        }
        for lines in [
            &[INIT, PROMPT, TOOL, TOOL_END, END][..],
            &[INIT, SAY[0], SAY[1], TOOL, TOOL_END, END],
            &[INIT, SAY[0], TOOL, TOOL_END, SAY[1], END],
            &[INIT, SAY[0], SAY[1]],
        ] {
            assert_eq!(decode(Format::Gemini, lines, "").heard, Heard::Nothing);
        }
    }

    #[test]
    fn report_names_the_model_with_most_output_if_init_says_auto() {
        let model = |init: &str| {
            let init = format!(r#"{{"type":"init","model":"{init}"}}"#);
            let end = r#"{"type":"result","status":"success","stats":{"models":{"big":{"output_tokens":9},"small":{"output_tokens":2}}}}"#;
            decode(Format::Gemini, &[&init, SAY[0], SAY[1], end], "").model
        };
        assert_eq!(model("auto").as_deref(), Some("big"));
        assert_eq!(model("small").as_deref(), Some("small"));
    }

    #[test]
    fn errors_come_in_the_result_or_on_stderr() {
        let failed = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"code\":401}]"}}"#;
        let report = decode(Format::Gemini, &[INIT, SAY[0], SAY[1], failed], "");
        assert_eq!(
            (report.heard, report.fault.unwrap().kind),
            (Heard::Nothing, FaultKind::Auth)
        );
        let advised = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: 429 Rate limit reached]\nRequest a quota increase, or switch to another /auth method"}}"#;
        let fault = decode(Format::Gemini, &[INIT, advised], "").fault.unwrap();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::RateLimited, "429 Rate limit reached")
        );
        let stderr =
            "A warning {\n{\n  \"error\": {\n \"message\": \"slow down\",\n \"code\": 429 }\n}\nbye\n";
        let fault = decode(Format::Gemini, &[], stderr).fault.unwrap();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::RateLimited, "slow down")
        );
        let fault = decode(Format::Gemini, &[], "Please set an Auth method\n")
            .fault
            .unwrap();
        assert_eq!(fault.kind, FaultKind::Auth);
        assert_eq!(decode(Format::Gemini, &[INIT], "A warning.\n").fault, None);
        assert_eq!(decode(Format::Gemini, &[INIT, END], stderr).fault, None);
    }

    #[test]
    fn stderr_explains_an_unknown_error_of_the_result() {
        let fault = |message: &str, stderr: &str| {
            let error = format!(r#"{{"type":"unknown","message":"[API Error: {message}]"}}"#);
            let failed = format!(r#"{{"type":"result","status":"error","error":{error}}}"#);
            let fault = decode(Format::Gemini, &[INIT, &failed], stderr).fault.unwrap();
            assert_eq!(fault.message, message);
            fault.kind
        };
        let stderr_with = |error: &str| {
            format!(
                "timeout, trying again\nError when talking to Gemini API Full report available at: /a/503/b.json {error}\n"
            )
        };
        let frames = "    at fetch (node:network:404:1)\n    at timeout (node:x:1)";
        let missing = stderr_with(&format!(
            "ModelNotFoundError: model: x\n{frames} {{\n  code: 404\n}}"
        ));
        assert_eq!(fault("model: x", &missing), FaultKind::UnknownModel);
        let cut = stderr_with(&format!(
            "TypeError: broken\n{frames} {{\n  [cause]: SocketError: other side closed\n    code: 'UND_ERR_SOCKET'\n}}"
        ));
        assert_eq!(fault("broken", &cut), FaultKind::Network);
        assert_eq!(fault("terminated", ""), FaultKind::Network);
        assert_eq!(
            fault("odd", &stderr_with(&format!("Error: odd\n{frames}"))),
            FaultKind::Other
        );
        assert_eq!(fault("odd", "fetch failed, trying again\n"), FaultKind::Other);
        assert_eq!(fault("slow down, status 429", &missing), FaultKind::RateLimited);
    }

    #[test]
    fn decoder_reads_a_single_json_document_too() {
        let document = "{\n \"session_id\": \"s2\",\n \"response\": \"Done.\\n<promise>COMPLETE</promise>\",\n \"stats\": {\"models\": {\"a\": {\"tokens\": {\"prompt\": 4, \"candidates\": 1, \"thoughts\": 3}}, \"b\": {}}}\n}";
        let report = decode(Format::Gemini, &[document], "");
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!((report.input_tokens, report.output_tokens), (Some(4), Some(4)));
        let failed = "{\n\"error\": {\"message\": \"no\", \"code\": 403}\n}";
        let report = decode(Format::Gemini, &[failed], "");
        assert_eq!(
            (report.ended, report.fault.unwrap().kind),
            (false, FaultKind::Auth)
        );
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Gemini, "");
        decoder.push([TOOL, SAY[0], SAY[1], ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["shell: make", "Done."]);
    }
}
