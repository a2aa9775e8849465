//! The usage of a session since it was given its story, from its transcript: claude's, qwen's and codex's. Reads only
//! the end of it; if that does not reach back far enough, nothing is known.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use super::transcript::whole_or_end;
use crate::agent::decode::{Usage, sum, sum_of_costs};

fn add(usage: &mut Usage, other: &Usage) {
    usage.input_tokens = sum(usage.input_tokens, other.input_tokens);
    usage.output_tokens = sum(usage.output_tokens, other.output_tokens);
    usage.cost_usd = sum_of_costs(usage.cost_usd, other.cost_usd);
}

/// Returns the usage since that time.
pub(super) fn since(path: &Path, begin: Timestamp) -> Usage {
    let Some((end, mut reaches_back)) = whole_or_end(path) else {
        return Usage::default();
    };
    let text = String::from_utf8_lossy(&end);
    let mut sum = Usage::default();
    // One message is written down in several lines, each with what was spent so far.
    let mut messages = BTreeMap::new();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let time = value["timestamp"]
            .as_str()
            .and_then(|time| time.parse::<Timestamp>().ok());
        let Some(time) = time else { continue };
        if time < begin {
            reaches_back = true;
            continue;
        }
        match spent(&value) {
            Some((Some(id), usage)) => drop(messages.insert(id, usage)),
            Some((None, usage)) => add(&mut sum, &usage),
            None => {}
        }
    }
    if !reaches_back {
        return Usage::default();
    }
    for usage in messages.into_values() {
        add(&mut sum, &usage);
    }
    sum
}

/// Returns the usage that a line reports, and the message it belongs to.
fn spent(value: &Value) -> Option<(Option<String>, Usage)> {
    let tokens = |counts: &Value, names: &[&str]| {
        let counts: Vec<u64> = names.iter().filter_map(|name| counts[*name].as_u64()).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    };
    match value["type"].as_str()? {
        "assistant" => {
            let counts = &value["message"]["usage"];
            let input = [
                "input_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            ];
            let usage = Usage {
                input_tokens: tokens(counts, &input),
                output_tokens: tokens(counts, &["output_tokens"]),
                cost_usd: value["costUSD"].as_f64(),
                ..Usage::default()
            };
            Some((value["message"]["id"].as_str().map(ToOwned::to_owned), usage))
        }
        "event_msg" if value["payload"]["type"] == "token_count" => {
            let counts = &value["payload"]["info"]["last_token_usage"];
            let usage = Usage {
                input_tokens: tokens(counts, &["input_tokens"]),
                output_tokens: tokens(counts, &["output_tokens"]),
                ..Usage::default()
            };
            Some((None, usage))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Option<u64>, Option<u64>) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t");
        std::fs::write(&file, text).unwrap();
        let usage = since(&file, "2026-11-22T10:00:00Z".parse().unwrap());
        (usage.input_tokens, usage.output_tokens)
    }

    #[test]
    fn usage_sums_the_tokens_since_a_time() {
        let claude = |time: &str, id: &str, output: u64| {
            format!(
                r#"{{"type":"assistant","timestamp":"2026-11-22T{time}Z","message":{{"id":"{id}","usage":{{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":{output}}}}}}}"#
            )
        };
        let text = [
            claude("09:59:59.5", "a", 100),
            claude("10:00:01", "b", 1),
            claude("10:00:02", "b", 7),
            "broken {".to_owned(),
            claude("10:00:03", "c", 2),
        ];
        assert_eq!(of(&text.join("\n")), (Some(30), Some(9)));
        let codex = r#"{"timestamp":"2026-11-22T11:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":4,"cached_input_tokens":1,"output_tokens":2}}}}"#;
        assert_eq!(of(&format!("{codex}\n{codex}\n")), (Some(8), Some(4)));
    }

    #[test]
    fn usage_is_unknown_if_the_part_that_is_read_begins_too_late() {
        let spent = r#"{"type":"assistant","timestamp":"2026-11-22T10:00:01Z","message":{"usage":{"output_tokens":2}}}"#;
        let early = r#"{"timestamp":"2026-11-22T09:00:00Z"}"#;
        let filler = format!("{{\"x\":\"{}\"}}\n", "y".repeat(1000)).repeat(5000);
        assert_eq!(of(&format!("{filler}{spent}\n")), (None, None));
        assert_eq!(of(&format!("{filler}{early}\n{spent}\n")), (None, Some(2)));
        assert_eq!(of(spent), (None, Some(2)));
    }

    #[test]
    fn usage_is_unknown_without_dated_records() {
        for text in [
            "",
            "{}",
            r#"{"type":"assistant","message":{"usage":{"output_tokens":7}}}"#,
        ] {
            assert_eq!(of(text), (None, None), "{text}");
        }
        let none = since(Path::new("/dev/zero"), Timestamp::UNIX_EPOCH);
        assert_eq!(none, Usage::default());
    }
}
