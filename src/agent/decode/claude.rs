//! The stream of `claude --output-format stream-json`, which others speak too.
//!
//! The final message is in the `result` line, which is also the end marker; in an error its
//! `subtype` still says success, and `is_error` counts.

use super::{
    dialect::Dialect,
    droid,
    fault::{Fault, FaultKind},
    lines::{self, Lenient, parse},
    qwen,
    report_builder::{ReportBuilder, ToolInput},
    tokens::Tokens,
    wait::seconds_until,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads the stream.
#[derive(Default)]
pub(super) struct Claude {
    /// True for qwen, which reports errors in the text of its message.
    is_qwen: bool,
    /// The kind of the last error that took the place of a message.
    error: Option<String>,
    /// The time when the limit that was hit ends, in Unix seconds.
    resets_at: Option<u64>,
}

impl Claude {
    pub(super) fn of_qwen() -> Self {
        Self {
            is_qwen: true,
            ..Self::default()
        }
    }

    fn system(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(system) = parse::<System>(line) else {
            return;
        };
        self.is_qwen |= system.qwen_code_version.is_some();
        let of_qwen = system.qwen_code_version.as_ref().and_then(Value::as_str);
        if let Some(version) = of_qwen.or(system.claude_code_version.value().as_deref()) {
            report.is_version(version);
        }
        report.session = system.session_id.value().or(report.session.take());
        report.works_with(system.model.value());
        if system.subtype.value().as_deref() == Some("api_retry") {
            let error = system.error.value().unwrap_or_default();
            report.note(&format!("error, trying again: {error}"));
            let fault = Fault::new(Some(&error), system.error_status.value(), &error);
            report.fails(fault);
        }
    }

    fn assistant(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(assistant) = parse::<Assistant>(line) else {
            return;
        };
        let error = assistant.error.value();
        for block in assistant.message.content {
            match block.r#type.as_str() {
                // It is told as the reason.
                "text" if error.is_some() => {}
                "text" => report.note(&block.text.value().unwrap_or_default()),
                "tool_use" => {
                    let name = block.name.value().unwrap_or_default();
                    report.note_tool(&name, block.input.value().unwrap_or_default());
                }
                _ => {}
            }
        }
        let is_subagent = assistant.parent_tool_use_id.is_some();
        if !is_subagent {
            report.message_begins();
            self.error = error;
        }
    }

    fn result(&mut self, line: &str, report: &mut ReportBuilder) {
        let Some(result) = parse::<StreamResult>(line) else {
            return;
        };
        let text = result.result.value();
        report.message(text.as_deref().unwrap_or_default());
        report.ended = true;
        report.session = result.session_id.value().or(report.session.take());
        report.cost_usd = result.total_cost_usd.value();
        report.turns = result.num_turns.value();
        report.count_tokens_anew();
        let models = result.model_usage.value().unwrap_or_default();
        if models.is_empty() {
            let mut tokens = result.usage.value().unwrap_or_default();
            if self.is_qwen {
                // A part of what was read.
                let parts = std::mem::take(&mut tokens.cache_read).value();
                report.cache_read_tokens = parts;
                tokens.cache_written = <_>::default();
            }
            tokens.spend(report);
        } else if let [model] = models.keys().collect::<Vec<_>>()[..] {
            report.works_with(Some(model.clone()));
        }
        for tokens in models.into_values() {
            tokens.spend(report);
        }
        for denial in result.permission_denials.value().unwrap_or_default() {
            report.deny(&denial.tool_name);
        }
        if result.is_error {
            let told = result.error.value().and_then(|error| error.message.value());
            let told = told.map(|words| qwen::bare(&words).to_owned());
            let message = text.or(told).or(result.subtype.value()).unwrap_or_default();
            let status = result.api_error_status.value();
            report.fault = Some(self.fault(status, &message));
        } else if self.is_qwen {
            report.fault = text.as_deref().and_then(qwen::fault_in);
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

    fn rate_limit(&mut self, line: &str) {
        if let Some(limit) = parse::<RateLimitEvent>(line)
            && limit.rate_limit_info.status.value().as_deref() == Some("rejected")
        {
            self.resets_at = limit.rate_limit_info.resets_at.value();
        }
    }
}

impl Dialect for Claude {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        match lines::kind(line).as_deref() {
            Some("system") => self.system(line, report),
            Some("assistant") => self.assistant(line, report),
            Some("rate_limit_event") => self.rate_limit(line),
            Some("result") => self.result(line, report),
            Some(kind) => droid::line(kind, line, report),
            None => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct System {
    subtype: Lenient<String>,
    session_id: Lenient<String>,
    model: Lenient<String>,
    error: Lenient<String>,
    error_status: Lenient<u16>,
    qwen_code_version: Option<Value>,
    claude_code_version: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Assistant {
    message: Message,
    parent_tool_use_id: Option<IgnoredAny>,
    error: Lenient<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Vec<Block>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    r#type: String,
    text: Lenient<String>,
    name: Lenient<String>,
    input: Lenient<ToolInput>,
}

#[derive(Deserialize)]
struct RateLimitEvent {
    rate_limit_info: RateLimitInfo,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RateLimitInfo {
    status: Lenient<String>,
    #[serde(rename = "resetsAt")]
    resets_at: Lenient<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamResult {
    subtype: Lenient<String>,
    is_error: bool,
    api_error_status: Lenient<u16>,
    result: Lenient<String>,
    /// The words of qwen about an error, in the place of a result.
    error: Lenient<Told>,
    session_id: Lenient<String>,
    total_cost_usd: Lenient<f64>,
    num_turns: Lenient<u64>,
    permission_denials: Lenient<Vec<Denial>>,
    /// The tokens of the agent's last stretch alone.
    usage: Lenient<Tokens>,
    /// The tokens of everything, with helpers and work that was cut off, by model.
    #[serde(rename = "modelUsage")]
    model_usage: Lenient<BTreeMap<String, Tokens>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    message: Lenient<String>,
}

#[derive(Deserialize)]
struct Denial {
    tool_name: String,
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
    fn only_the_result_counts() {
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
    fn tokens_are_those_of_all_models_and_cached_ones_count() {
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
    fn what_came_from_a_cache_the_model_and_the_turns_are_told() {
        let init = r#"{"type":"system","subtype":"init","session_id":"s1","model":"opus"}"#;
        let told = |rest: &str| {
            let result = format!(r#"{{"type":"result","result":"",{rest}}}"#);
            let report = decode(&[init, &result]);
            let cache = (report.cache_read_tokens, report.cache_write_tokens);
            (cache, report.model, report.turns)
        };
        let models = r#""num_turns":4,"modelUsage":{"a":{"inputTokens":1,"cacheReadInputTokens":40,"cacheCreationInputTokens":5},"b":{"cacheReadInputTokens":2}}"#;
        let opus = || Some("opus".to_owned());
        assert_eq!(told(models), ((Some(42), Some(5)), opus(), Some(4)));
        // Not told is not zero.
        let none = r#""usage":{"input_tokens":20}"#;
        assert_eq!(told(none), ((None, None), opus(), None));
    }

    #[test]
    fn denied_tools_are_told() {
        let denied = |list: &str| {
            let result = format!(r#"{{"type":"result","result":"","permission_denials":{list}}}"#);
            decode(&[INIT, &result]).denied
        };
        let list = r#"[{"tool_name":"Write","tool_input":{"file_path":"a"}},{"tool_name":"Bash"},{"tool_name":"Write"}]"#;
        assert_eq!(denied(list), ["Write", "Bash"]);
        assert!(denied("[]").is_empty() && denied("7").is_empty());
    }

    #[test]
    fn without_a_result_it_has_not_ended() {
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
    fn a_subagent_does_not_speak_for_the_agent() {
        let done = result("<promise>COMPLETE</promise>");
        let late = TALK.replace("null", r#""t1""#);
        let report = decode(&[INIT, &done, &late]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
    }

    #[test]
    fn an_error_is_a_fault_even_if_it_says_success() {
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
    }

    #[test]
    fn a_retry_is_a_fault_until_a_message_comes() {
        let retry =
            r#"{"type":"system","subtype":"api_retry","error_status":401,"error":"authentication_failed"}"#;
        assert_eq!(decode(&[INIT, retry]).fault.unwrap().kind, FaultKind::Auth);
        assert_eq!(decode(&[INIT, retry, TALK]).fault, None);
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Claude, "");
        decoder.push(format!("{INIT}\n{TALK}\n{TOOL}\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["I will.", "Bash: make test"]);
        assert!(decoder.take_activity().is_empty());
        let error = TALK.replacen(r#""parent"#, r#""error":"rate_limit","parent"#, 1);
        decoder.push(format!("{error}\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["Bash: make test"]);
    }
}
