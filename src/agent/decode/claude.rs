//! The stream of `claude --output-format stream-json`, which other agents print too.
//!
//! The final message is in the `result` line, which is also the end marker; for an error, `subtype` still is success,
//! and `is_error` decides.

use super::{
    dialect::Dialect,
    droid,
    fault::{Fault, FaultKind},
    lines::{Object, parse},
    qwen,
    report_builder::ReportBuilder,
    tokens,
    wait::seconds_until,
};
use std::collections::BTreeMap;

/// Reads the stream.
#[derive(Default)]
pub(super) struct Claude {
    /// True for qwen, which reports errors in the text of its message.
    is_qwen: bool,
    /// The kind of the last error that replaced a message.
    error: Option<String>,
    /// The time when the reached limit ends, in Unix seconds.
    resets_at: Option<u64>,
}

impl Claude {
    pub(super) fn of_qwen() -> Self {
        Self {
            is_qwen: true,
            ..Self::default()
        }
    }

    fn system(&mut self, system: &Object, report: &mut ReportBuilder) {
        self.is_qwen |= system.has("qwen_code_version");
        let of_qwen: Option<String> = system.get("qwen_code_version");
        if let Some(version) = of_qwen.or(system.get("claude_code_version")) {
            report.is_version(&version);
        }
        report.session = system.get("session_id").or(report.session.take());
        report.works_with(system.get("model"));
        if system.text("subtype") == "api_retry" {
            let error = system.text("error");
            let fault = Fault::of_request(Some(&error), system.get("error_status"), &error);
            report.note(&format!("error, trying again: {}", fault.message));
            report.fails(fault);
        }
    }

    fn assistant(&mut self, assistant: &Object, report: &mut ReportBuilder) {
        let error = assistant.get("error");
        let Some(content) = assistant.list("message/content") else {
            return;
        };
        let is_subagent = assistant.has("parent_tool_use_id");
        let by = if is_subagent { "subagent: " } else { "" };
        for block in content {
            match block.text("type").as_str() {
                // The text becomes the reason.
                "text" if error.is_some() => {}
                "text" => match block.text("text").trim_start() {
                    "" => {}
                    text => report.note(&format!("{by}{text}")),
                },
                "tool_use" => {
                    report.note_tool(&format!("{by}{}", block.text("name")), &block.object("input"));
                }
                _ => {}
            }
        }
        if !is_subagent {
            report.message_begins();
            self.error = error;
        }
    }

    /// Shows the errors of tools.
    fn tool_results(user: &Object, report: &mut ReportBuilder) {
        let failed = |block: &Object| block.get("is_error") == Some(true);
        let content = user.list("message/content").unwrap_or_default();
        for block in content.iter().filter(|block| failed(block)) {
            let texts = block.list("content").unwrap_or_default();
            let text = texts.first().map(|first| first.text("text"));
            let text = block.get("content").or(text).unwrap_or_default();
            report.note_error(
                text.trim_start_matches("<tool_use_error>")
                    .trim_end_matches("</tool_use_error>"),
            );
        }
    }

    fn result(&self, result: &Object, report: &mut ReportBuilder) {
        let text: Option<String> = result.get("result");
        report.message(text.as_deref().unwrap_or_default());
        report.ended = true;
        report.session = result.get("session_id").or(report.session.take());
        report.cost_usd = None;
        report.spend(None, None, result.get("total_cost_usd"));
        report.turns = result.get("num_turns");
        self.tokens(result, report);
        let denials: Vec<Object> = result.get("permission_denials").unwrap_or_default();
        for tool in denials
            .iter()
            .filter_map(|denial| denial.get::<String>("tool_name"))
        {
            report.deny(&tool);
        }
        if result.has("is_error") && result.get("is_error") != Some(false) {
            // The error message in place of a result: of qwen, and of claude's SDK.
            let of_qwen: Option<String> = result.get("error/message");
            let of_qwen = of_qwen.map(|words| qwen::bare(&words).to_owned());
            let of_sdk: Option<Vec<String>> = result.get("errors");
            let words = [text, of_qwen, of_sdk.map(|all| all.join("; "))];
            let mut words = words.into_iter().flatten().filter(|words| !words.is_empty());
            let message = words.next().unwrap_or_else(|| result.text("subtype"));
            report.fault = Some(self.fault(result.get("api_error_status"), &message));
        } else if self.is_qwen {
            report.fault = text.as_deref().and_then(qwen::fault_in);
        }
    }

    /// Takes the token counts of the whole run by model, including subagents and interrupted work; without them, only
    /// those of the agent's last part.
    fn tokens(&self, result: &Object, report: &mut ReportBuilder) {
        report.reset_tokens();
        let models: BTreeMap<String, Object> = result.get("modelUsage").unwrap_or_default();
        let usage = result.object("usage");
        if models.is_empty() && self.is_qwen {
            // Cached tokens are included in the input tokens.
            report.spend(usage.get("input_tokens"), usage.get("output_tokens"), None);
            report.cache_read_tokens = usage.get("cache_read_input_tokens");
        } else if models.is_empty() {
            tokens::spend(&usage, report);
        } else if let [model] = models.keys().collect::<Vec<_>>()[..] {
            report.works_with(Some(model.clone()));
        }
        for used in models.values() {
            tokens::spend(used, report);
        }
    }

    fn fault(&self, status: Option<u16>, message: &str) -> Fault {
        let mut fault = Fault::new(self.error.as_deref(), status, message);
        if matches!(
            fault.kind,
            FaultKind::Billing | FaultKind::PlanLimit | FaultKind::RateLimited
        ) {
            let wait = self.resets_at.and_then(seconds_until);
            fault.retry_after = fault.retry_after.or(wait);
        }
        fault
    }
}

impl Dialect for Claude {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(event) = parse::<Object>(line) else {
            return;
        };
        match event.text("type").as_str() {
            "system" => self.system(&event, report),
            "assistant" => self.assistant(&event, report),
            "user" => Self::tool_results(&event, report),
            "rate_limit_event" => {
                if event.text("rate_limit_info/status") == "rejected" {
                    self.resets_at = event.get("rate_limit_info/resetsAt");
                }
                report.on_extra_usage |= event.get("rate_limit_info/isUsingOverage") == Some(true);
            }
            "result" => self.result(&event, report),
            kind => droid::line(kind, &event, report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::decode::{Decoder, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1"}"#;
    const TALK: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I will.\n<promise>COMPLETE</promise>"},{"type":"tool_use","name":"Bash","input":{"command":"make test"}}]},"parent_tool_use_id":null}"#;
    const TOOL: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"<promise>COMPLETE</promise>"}]}}"#;

    fn result(text: &str) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}","total_cost_usd":0.5,"usage":{{"input_tokens":20,"output_tokens":3}}}}"#
        )
    }

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Claude, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_only_from_the_result() {
        let report = decode(&[INIT, TALK, TOOL, &result("I looked around.")]);
        assert_eq!(report.heard, Heard::Nothing);
        let done = result(r"Done.\n\n<promise>COMPLETE</promise>");
        let report = decode(&[INIT, TALK, "{broken", &done]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert!(report.ended);
        assert_eq!((report.cost_usd, report.session), (Some(0.5), Some("s1".into())));
        assert_eq!((report.input_tokens, report.output_tokens), (Some(20), Some(3)));
    }

    #[test]
    fn what_cannot_be_a_cost_is_none() {
        for (said, cost) in [("0.5", Some(0.5)), ("-5", None), ("1e308", None), ("\"x\"", None)] {
            let report = decode(&[INIT, &result("").replace("0.5", said)]);
            assert_eq!(report.cost_usd, cost, "{said}");
        }
    }

    #[test]
    fn token_counts_include_all_models_and_cached_tokens() {
        let tokens = |usage: &str| {
            let result = format!(r#"{{"type":"result","result":"",{usage}}}"#);
            let report = decode(&[INIT, &result]);
            (report.input_tokens, report.output_tokens)
        };
        let usage = r#""usage":{"input_tokens":20,"cache_creation_input_tokens":2,"cache_read_input_tokens":8,"output_tokens":3}"#;
        assert_eq!(tokens(usage), (Some(30), Some(3)));
        assert_eq!(
            tokens(&format!(r#"{usage},"modelUsage":{{}}"#)),
            (Some(30), Some(3))
        );
        let models = r#""modelUsage":{"a":{"inputTokens":100,"outputTokens":10,"cacheReadInputTokens":40,"cacheCreationInputTokens":5},"b":{"inputTokens":1,"outputTokens":7}}"#;
        assert_eq!(tokens(&format!("{usage},{models}")), (Some(146), Some(17)));
        assert_eq!(tokens(r#""modelUsage":[7]"#), (None, None));
    }

    #[test]
    fn report_has_cached_tokens_model_and_turns() {
        let init = r#"{"type":"system","subtype":"init","session_id":"s1","model":"opus"}"#;
        let decoded = |rest: &str| {
            let result = format!(r#"{{"type":"result","result":"",{rest}}}"#);
            let report = decode(&[init, &result]);
            let cache = (report.cache_read_tokens, report.cache_write_tokens);
            (cache, report.model, report.turns)
        };
        let models = r#""num_turns":4,"modelUsage":{"a":{"inputTokens":1,"cacheReadInputTokens":40,"cacheCreationInputTokens":5},"b":{"cacheReadInputTokens":2}}"#;
        let opus = || Some("opus".to_owned());
        assert_eq!(decoded(models), ((Some(42), Some(5)), opus(), Some(4)));
        // A missing count is not zero.
        let none = r#""usage":{"input_tokens":20}"#;
        assert_eq!(decoded(none), ((None, None), opus(), None));
    }

    #[test]
    fn report_lists_denied_tools() {
        let denied = |list: &str| {
            let result = format!(r#"{{"type":"result","result":"","permission_denials":{list}}}"#);
            decode(&[INIT, &result]).denied
        };
        let list = r#"[{"tool_name":"Write","tool_input":{"file_path":"a"}},{"tool_name":"Bash"},{"tool_name":"Write"}]"#;
        assert_eq!(denied(list), ["Write", "Bash"]);
        assert!(denied("[]").is_empty() && denied("7").is_empty());
    }

    #[test]
    fn stream_has_not_ended_unless_a_whole_result_is_last() {
        let done = result("<promise>COMPLETE</promise>");
        for lines in [
            &[INIT, TALK, TOOL][..],
            &[INIT, &done, TALK],
            &[INIT, &done[..90]],
        ] {
            let report = decode(lines);
            assert!(!report.ended && report.fault.is_none());
            assert_eq!(report.heard, Heard::Nothing);
        }
    }

    #[test]
    fn decoder_ignores_messages_of_a_subagent() {
        let done = result("<promise>COMPLETE</promise>");
        let late = TALK.replace("null", r#""t1""#);
        let report = decode(&[INIT, &done, &late]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
    }

    #[test]
    fn error_result_is_a_fault_despite_its_subtype_success() {
        let failed = |error: &str, status: &str, text: &str| {
            let error = format!(r#"{{"type":"assistant","message":{{}},"error":"{error}"}}"#);
            let result = format!(
                r#"{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"result":"{text}"}}"#
            );
            let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}"#;
            let report = decode(&[INIT, limit, &error, &result]);
            assert_eq!(report.heard, Heard::Nothing);
            report.fault.unwrap()
        };
        let done = "<promise>COMPLETE</promise>";
        assert_eq!(failed("authentication_failed", "401", done).kind, FaultKind::Auth);
        assert_eq!(failed("billing_error", "400", "too low").kind, FaultKind::Billing);
        assert_eq!(failed("unknown", "529", "busy").kind, FaultKind::Overloaded);
        assert_eq!(
            failed("", "null", "Prompt is too long").kind,
            FaultKind::ContextTooLong
        );
        let limit = failed("rate_limit", "429", "wait");
        assert_eq!((limit.kind, limit.retry_after), (FaultKind::RateLimited, Some(0)));
        let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
        assert_eq!(decode(&[turns]).fault.unwrap().message, "error_max_turns");
        let errors = |list: &str| {
            let rest = r#""subtype":"error_during_execution","is_error":true"#;
            let fault = decode(&[&format!(r#"{{"type":"result",{rest},"errors":{list}}}"#)]).fault;
            fault.map(|fault| (fault.kind, fault.message)).unwrap()
        };
        let refused = "API Error: 401 invalid key".to_owned();
        assert_eq!(
            errors(r#"["API Error: 401 invalid key"]"#),
            (FaultKind::Auth, refused)
        );
        let both = "It broke.; prompt is too long".to_owned();
        assert_eq!(
            errors(r#"["It broke.","prompt is too long"]"#),
            (FaultKind::ContextTooLong, both)
        );
        for none in ["[]", "7", "[7]"] {
            assert_eq!(errors(none).1, "error_during_execution", "{none}");
        }
    }

    #[test]
    fn a_retry_is_a_fault_until_a_message_comes() {
        let retry =
            r#"{"type":"system","subtype":"api_retry","error_status":401,"error":"authentication_failed"}"#;
        assert_eq!(decode(&[INIT, retry]).fault.unwrap().kind, FaultKind::Auth);
        assert_eq!(decode(&[INIT, retry, TALK]).fault, None);
        let unknown = |status: &str| {
            let retry = retry.replace("authentication_failed", "unknown");
            decode(&[INIT, &retry.replace("401", status)]).fault.unwrap()
        };
        let cut = unknown("null");
        assert_eq!(
            (cut.kind, cut.message.as_str()),
            (FaultKind::Network, "no connection to the service (unknown)")
        );
        assert_eq!(unknown("400").kind, FaultKind::Other);
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Claude, "");
        decoder.push(format!("{INIT}\n{TALK}\n{TOOL}\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["I will.", "Bash: make test"]);
        assert!(decoder.take_activity().is_empty());
        let late = TALK.replace("null", r#""t1""#);
        let failed = r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"<tool_use_error>Not found</tool_use_error>"}]}}"#;
        let edit = TALK.replace("Bash", "Edit").replace(
            r#"{"command":"make test"}"#,
            r#"{"file_path":"a","old_string":"one\ntwo\nfour","new_string":"one\n2\nthree\nfour"}"#,
        );
        decoder.push(format!("{late}\n{failed}\n{edit}\n").as_bytes());
        let shown = [
            "subagent: I will.",
            "subagent: Bash: make test",
            "error: Not found",
            "I will.",
            "Edit: a, +2 -1",
        ];
        assert_eq!(decoder.take_activity(), shown);
        let error = TALK.replacen(r#""parent"#, r#""error":"rate_limit","parent"#, 1);
        decoder.push(format!("{error}\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["Bash: make test"]);
    }
}
