//! The last lines of a program that exited with an error and without a promise.
//!
//! Only faults that another attempt would meet again are accepted. Only the end of the output counts, and the end of
//! stdout only if stdout is short: a long text is the model's. This module does not depend on whether there was an
//! error.

use super::{
    fault::{Fault, FaultKind, by_words},
    gemini, opencode,
};
use crate::agent::promise::{phrases, plain_text};

/// Maximum length of stdout in which a fault is searched, in bytes.
pub(super) const SHORT: usize = 1024;

/// The number of lines at the end that are judged.
const LINES: usize = 5;

/// Maximum length of a searched line, and of the shown part of the last line, in characters.
const LINE_CHARS: usize = 500;
const SHOWN_CHARS: usize = 200;

/// Words that may precede the status of an error.
const STATUS: &str = "status, status code, code, error, http, http/1.1, http/2";

/// Returns the fault in the last lines; `stdout` is given only if it is short.
pub(super) fn fault_in(stdout: Option<&[u8]>, stderr: &[u8]) -> Option<Fault> {
    // If the agent printed much, its work may have caused the connection error.
    let is_short = stdout.is_some();
    let believed = |fault: &Fault| is_believed(fault.kind) || is_short && is_network(fault);
    let fault_of = |text: &[u8]| {
        let text = plain_text(text);
        let in_json = gemini::fault_in_json(&text).filter(believed);
        in_json.or_else(|| last_lines(&text).find_map(|line| fault_of_line(line).filter(believed)))
    };
    stdout.and_then(fault_of).or_else(|| fault_of(stderr))
}

/// Returns the last line of stdout, or else of stderr, that has a letter or a digit.
pub(super) fn last_line(stdout: &[u8], stderr: &[u8]) -> Option<String> {
    [stdout, stderr].into_iter().find_map(|text| {
        let text = plain_text(text);
        let is_word = |line: &&str| line.chars().any(char::is_alphanumeric);
        let line = text.lines().rev().find(is_word)?;
        let shown = line.trim().chars().filter(|char| !char.is_control());
        Some(shown.take(SHOWN_CHARS).collect())
    })
}

fn is_believed(kind: FaultKind) -> bool {
    use FaultKind::{Auth, Billing, Overloaded, PlanLimit, RateLimited};
    matches!(kind, Auth | Billing | PlanLimit | RateLimited | Overloaded)
}

fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().rev().map(str::trim);
    // The error of a request in opencode's log may be overcome: its decoder decides.
    let lines = lines.filter(|line| !line.is_empty() && !line.contains(opencode::LOGGED));
    let lines = lines.take(LINES);
    lines.filter(|line| line.chars().count() <= LINE_CHARS)
}

fn fault_of_line(line: &str) -> Option<Fault> {
    let lower = line.to_lowercase();
    Some(match by_words(&lower) {
        Some(kind) => Fault::of_kind(kind, line),
        None => Fault::new(None, Some(status_in(&lower)?), line),
    })
}

/// Returns whether a fault certainly means that the service was not reached.
fn is_network(fault: &Fault) -> bool {
    let words = "econnrefused, econnreset, enotfound, eai_again, fetch failed, failed to connect, unable to connect, \
                 could not resolve, connection error, network error";
    let said = fault.message.to_lowercase();
    fault.kind == FaultKind::Network && phrases(words).any(|word| said.contains(word))
}

/// Returns the status of an error in a line, if it is named as one: other numbers can mean anything.
fn status_in(line: &str) -> Option<u16> {
    let is_edge = |char: Option<char>| char.is_none_or(|char| !char.is_ascii_alphanumeric());
    line.char_indices().find_map(|(at, _)| {
        let number = line.get(at..at + 3)?;
        let (before, after) = (&line[..at], &line[at + 3..]);
        if !is_edge(before.chars().next_back()) || !is_edge(after.chars().next()) {
            return None;
        }
        let status = number.parse().ok().filter(|status| (400..600).contains(status))?;
        let called = before.trim_end_matches([' ', ':', '=', '"', '\'']);
        let in_brackets = before.ends_with('(') && after.starts_with(')');
        let is_called = phrases(STATUS).any(|word| called.ends_with(word)) && called.len() < before.len();
        (in_brackets || is_called).then_some(status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(text: &str) -> Option<FaultKind> {
        fault_in(None, text.as_bytes()).map(|fault| fault.kind)
    }

    #[test]
    fn the_words_of_agents_without_a_format_are_known() {
        use FaultKind::*;
        for (text, wanted) in [
            ("Invalid API key \u{b7} Fix external API key\n", Some(Auth)),
            ("\x1b[31mError:\x1b[0m Not logged in\n\n", Some(Auth)),
            (
                "Error: No auth provided. Please log in with `x login` or set X_AUTH\n",
                Some(Auth),
            ),
            (
                "Error: Missing MISTRAL_API_KEY environment variable for mistral provider\n",
                Some(Auth),
            ),
            (
                "Error: Missing required environment variable(s): LLM_API_KEY, LLM_MODEL\n  - LLM_MODEL: The model\n",
                Some(Auth),
            ),
            ("API Error: Request rejected (429)\nstack\n", Some(RateLimited)),
            ("API Error: 529 \u{b7} busy\n", Some(Overloaded)),
            ("request failed with status code 401\n", Some(Auth)),
            (
                "{\n  \"error\": {\n    \"message\": \"no\",\n    \"code\": 401\n  }\n}\n",
                Some(Auth),
            ),
            (
                "ERROR\n  No providers configured - please run 'crush' to set up a provider interactively.\n",
                Some(Auth),
            ),
            (
                "Error: No provider configured. Run 'goose configure' first.\n",
                Some(Auth),
            ),
            ("You have reached your usage limit.\n", Some(PlanLimit)),
            (
                "API Error: Request rejected (429) \u{b7} You have reached your usage limit.\n",
                Some(PlanLimit),
            ),
            (
                "You've hit your session limit \u{b7} resets 3:20pm (Europe/Berlin)\n",
                Some(PlanLimit),
            ),
            ("tests fail: limit.rs resets nothing\n", None),
            ("agent.sh: line 429: foo: not found\n", None),
            ("503 tests passed\n", None),
            ("error: test 4 of 500 failed\n", None),
            ("cannot find the network\n", None),
            ("model not found: sign in\n", None),
            ("rate limit\n1\n2\n3\n4\n5\n", None),
            ("", None),
        ] {
            assert_eq!(kind(text), wanted, "{text}");
        }
        let refused = "Error: connect ECONNREFUSED 127.0.0.1:443\n";
        assert_eq!(kind(refused), None);
        let short = |text: &str| fault_in(Some(text.as_bytes()), b"").map(|fault| fault.kind);
        assert_eq!(short(refused), Some(Network));
        assert_eq!(short("Error: failed to connect to api.x.com\n"), Some(Network));
        assert_eq!(short("the network test failed\n"), None);
        let long = format!("rate limit {}\n", "x".repeat(LINE_CHARS));
        assert_eq!(kind(&long), None);
    }

    #[test]
    fn last_line_skips_lines_without_words() {
        let last = |stdout: &str, stderr: &str| last_line(stdout.as_bytes(), stderr.as_bytes());
        assert_eq!(
            last("one\n\x1b[1mtwo\x1b[0m\n\n---\n", "three").as_deref(),
            Some("two")
        );
        assert_eq!(last(" \n", "three\n").as_deref(), Some("three"));
        assert_eq!(last("", ""), None);
        assert_eq!(last(&"é".repeat(900), "").unwrap().chars().count(), SHOWN_CHARS);
    }

    proptest! {
        #[test]
        fn last_words_survive_any_text(text in ".*", status in "[a-zé ]*[(: ]?[0-9]{3}[é) ]?") {
            let _ = fault_in(Some(text.as_bytes()), status.as_bytes());
            let _ = last_line(text.as_bytes(), b"");
        }
    }
}
