//! Classifies errors of agents and their services.
//!
//! Structured fields come first: the agent's own name for the error, then an HTTP status. Words are searched only in
//! the text of an error, never in a model's message. This module does not depend on the consequences of a fault.

use super::wait::wait_in;
use crate::agent::promise::phrases;
use serde_json::Value;

/// Maximum length of a kept error message, in characters.
const MESSAGE_CHARS: usize = 1000;

/// Maximum depth of JSON within JSON that is read in an error message.
const DEPTH: usize = 3;

/// A fault that kept an agent from its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The agent's own message.
    pub message: String,
    /// The seconds until the fault ends, if the agent reports them.
    pub retry_after: Option<u64>,
}

/// The kinds of faults, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Not signed in, or not allowed.
    Auth,
    /// Credit or quota is spent: waiting does not help.
    Billing,
    /// A limit of the user's plan is reached; it ends after a time, which the text may name.
    PlanLimit,
    /// Too many requests for now.
    RateLimited,
    /// The service cannot answer for now.
    Overloaded,
    /// The conversation has grown too long for the model.
    ContextTooLong,
    /// There is no such model, or not for this user.
    UnknownModel,
    /// The service cannot be reached.
    Network,
    /// The agent refuses to run in this place or in this way.
    Setup,
    /// Anything else.
    Other,
}

/// The words of errors, by kind, in the order of the search.
const WORDS: [(FaultKind, &str); 9] = [
    (
        FaultKind::Billing,
        "billing, credit balance, out of credit, insufficient credit, insufficient_quota, quota, \
         payment required, upgrade to plus, upgrade to pro",
    ),
    (
        FaultKind::PlanLimit,
        "usage limit, usage_limit, hit your limit, session limit, hour limit, daily limit, weekly limit, \
         monthly limit",
    ),
    (
        FaultKind::ContextTooLong,
        "context_length, context length, context window, contextwindow, maximum context, prompt is too long, \
         input is too long, too many tokens, exceeds the maximum number of tokens",
    ),
    (
        FaultKind::UnknownModel,
        "model_not_found, model not found, unknown model, modelnotfound, no such model, invalid model, \
         issue with the selected model, not a valid model, model is not supported, model does not exist, \
         does not exist or you do not have access, is not found for api version",
    ),
    (
        FaultKind::Auth,
        "authentication, unauthorized, unauthenticated, forbidden, permission_denied, permissiondenied, \
         permission_error, invalid api key, invalid_api_key, api key not valid, incorrect api key, x-api-key, \
         auth method, auth type, no api key, missing api key, api_key environment variable, \
         environment variable(s): llm_api_key, no provider configured, no providers configured, \
         not authenticated, reauthenticate, not logged in, log in, /login, sign in",
    ),
    (
        FaultKind::RateLimited,
        "rate limit, rate_limit, ratelimit, too many requests, resource_exhausted, resource has been exhausted",
    ),
    (
        FaultKind::Overloaded,
        "overloaded, model is at capacity, experiencing high demand, server_error, internal server error, \
         internalservererror, bad gateway, unavailable, gateway timeout",
    ),
    (
        FaultKind::Network,
        "econnrefused, econnreset, enotfound, etimedout, eai_again, connection, not connect to, n't connect to, \
         failed to connect, unable to connect, name resolution, could not resolve, network, fetch failed, \
         other side closed, und_err_socket, stream disconnected, stream ended, missing finish_reason, \
         timed out, timeout",
    ),
    (
        FaultKind::Setup,
        "root/sudo, trusted directory, trusted folder, untrusted, unknown option, unexpected argument, \
         command not found",
    ),
];

impl Fault {
    /// Makes a fault of a known kind.
    pub(super) fn of_kind(kind: FaultKind, message: &str) -> Self {
        Self {
            kind,
            ..Self::new(None, None, message)
        }
    }

    /// Makes a fault of a failed request: without a status and known words, the service was not reached.
    pub(super) fn of_request(name: Option<&str>, status: Option<u16>, message: &str) -> Self {
        let mut fault = Self::new(name, status, message);
        if status.is_none() && fault.kind == FaultKind::Other {
            fault.kind = FaultKind::Network;
            fault.message = format!("no connection to the service ({})", fault.message);
        }
        fault
    }

    /// Makes a fault of a program's last output: its message is the last line that shows its kind, if there is one.
    pub(super) fn of_output(text: &str) -> Self {
        let whole = Self::new(None, None, text);
        let mut lines = text.lines().rev().map(|line| Self::new(None, None, line));
        match lines.find(|line| line.kind == whole.kind && whole.kind != FaultKind::Other) {
            Some(line) => Self {
                message: line.message,
                ..whole
            },
            None => whole,
        }
    }

    /// Makes a fault from the agent's name for the error, the HTTP status and the error message, if they are known.
    pub fn new(name: Option<&str>, status: Option<u16>, message: &str) -> Self {
        let lower = message.to_lowercase();
        Self {
            kind: judge(name, status, &lower),
            message: without_epoch(&in_words(message))
                .trim()
                .chars()
                .take(MESSAGE_CHARS)
                .collect(),
            retry_after: wait_in(&lower),
        }
    }
}

/// Returns the text without the Unix timestamp at which a limit ends.
fn without_epoch(message: &str) -> String {
    let Some((before, after)) = message.split_once("limit reached|") else {
        return message.to_owned();
    };
    let rest = after.trim_start_matches(|char: char| char.is_ascii_digit());
    format!("{before}limit reached{rest}")
}

/// Returns the message of an error that is reported as JSON, or as JSON within JSON.
fn in_words(message: &str) -> String {
    let mut words = message.to_owned();
    for _ in 0..DEPTH {
        let bytes = after_status(words.trim()).as_bytes();
        let inner = match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Array(list)) => list.into_iter().next(),
            Ok(object @ Value::Object(_)) => Some(object),
            _ => None,
        };
        let Some(inner) = inner else { break };
        let of = |value: &Value| value["message"].as_str().map(ToOwned::to_owned);
        let Some(inner) = of(&inner["error"]).or_else(|| of(&inner)) else {
            break;
        };
        words = inner;
    }
    words
}

/// Returns the JSON that follows the status of an error, as in `401: {`.
fn after_status(words: &str) -> &str {
    match words.split_once(": ") {
        Some((status, json))
            if status.len() == 3 && status.parse::<u16>().is_ok() && json.starts_with('{') =>
        {
            json
        }
        _ => words,
    }
}

fn judge(name: Option<&str>, status: Option<u16>, message: &str) -> FaultKind {
    let by_name = name.and_then(|name| by_words(&name.to_lowercase()));
    let by_text = by_words(message);
    let says_more_than_a_status = |kind: &FaultKind| {
        matches!(
            kind,
            FaultKind::Billing | FaultKind::PlanLimit | FaultKind::ContextTooLong | FaultKind::UnknownModel
        )
    };
    let status = status.or_else(|| status_in(message));
    by_name
        // Waiting does not pay a bill, whatever the agent calls the error.
        .filter(|kind| *kind != FaultKind::RateLimited || by_text != Some(FaultKind::Billing))
        .or(by_text.filter(says_more_than_a_status))
        .or_else(|| by_status(status?, message))
        .or(by_text)
        .unwrap_or(FaultKind::Other)
}

fn by_status(status: u16, message: &str) -> Option<FaultKind> {
    Some(match status {
        401 | 403 => FaultKind::Auth,
        402 => FaultKind::Billing,
        404 if message.contains("model") => FaultKind::UnknownModel,
        413 => FaultKind::ContextTooLong,
        429 => FaultKind::RateLimited,
        408 | 500..=599 => FaultKind::Overloaded,
        _ => return None,
    })
}

/// Returns the kind of error that a lower-case text names.
pub(super) fn by_words(text: &str) -> Option<FaultKind> {
    // Gemini's advice for any refusal, and its name for a limit that ends with the day.
    let text = &text
        .replace("(e.g. check quota)", "")
        .replace("daily quota", "daily limit");
    // Node's whole message about a broken connection, with or without a cause; within other texts it can mean anything.
    let bare = text
        .trim()
        .trim_start_matches("[api error: ")
        .trim_end_matches(']');
    let is_cut = |rest: &str| rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" (cause");
    if bare.strip_prefix("terminated").is_some_and(is_cut) {
        return Some(FaultKind::Network);
    }
    let occurs = |(_, words): &(_, &'static str)| phrases(words).any(|word| text.contains(word));
    match WORDS.into_iter().find(occurs) {
        Some((kind, _)) => Some(kind),
        // The limit is unknown, but the text says when it ends.
        None if text.contains("limit") && wait_in(text).is_some() => Some(FaultKind::PlanLimit),
        None => None,
    }
}

/// Finds the first number in an error's text that can be an HTTP status.
fn status_in(message: &str) -> Option<u16> {
    message
        .split(|char: char| !char.is_ascii_alphanumeric())
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classification_prefers_names_to_words_and_clear_words_to_a_status() {
        use FaultKind::*;
        for (name, status, message, kind) in [
            (Some("authentication_failed"), None, "", Auth),
            (Some("billing_error"), Some(400), "too low", Billing),
            (Some("rate_limit"), Some(429), "", RateLimited),
            (Some("RateLimitError"), None, "", RateLimited),
            (Some("unknown"), Some(529), "", Overloaded),
            (None, Some(403), "no", Auth),
            (None, Some(429), "insufficient_quota", Billing),
            (
                Some("rate_limit"),
                Some(429),
                "You exceeded your current quota, check your plan and billing details.",
                Billing,
            ),
            (None, Some(429), "You have reached your usage limit.", PlanLimit),
            (
                Some("RESOURCE_EXHAUSTED"),
                Some(429),
                "Resource has been exhausted (e.g. check quota).",
                RateLimited,
            ),
            (
                None,
                None,
                "Resource has been exhausted (e.g. check quota).",
                RateLimited,
            ),
            (
                None,
                None,
                "You have exhausted your daily quota on this model.",
                PlanLimit,
            ),
            (
                None,
                None,
                "To use Codex with your ChatGPT plan, upgrade to Plus: https://x",
                Billing,
            ),
            (
                None,
                None,
                "Request rejected (429) \u{b7} You have reached your usage limit.",
                PlanLimit,
            ),
            (Some("usage_limit_reached"), Some(429), "", PlanLimit),
            (None, None, "You have reached your usage limit.", PlanLimit),
            (None, None, "Opus limit reached \u{2219} resets 11pm", PlanLimit),
            (None, None, "the limit of 5 turns is reached", Other),
            (None, Some(400), "Prompt is too long", ContextTooLong),
            (None, Some(404), "model: x", UnknownModel),
            (None, Some(404), "no such page", Other),
            (None, None, "unexpected status 401 there", Auth),
            (None, None, r#"{"code":503,"message":"x"}"#, Overloaded),
            (None, None, "connect ECONNREFUSED ::1:4000", Network),
            (None, None, "Could not connect to local model provider", Network),
            (None, None, "Can't connect to api.example.com", Network),
            (None, None, "Unable to connect to the API", Network),
            (None, None, "failed to connect: refused", Network),
            (None, None, "Not inside a trusted directory", Setup),
            (
                None,
                None,
                "We\u{2019}re currently experiencing high demand.",
                Overloaded,
            ),
            (None, None, "Selected model is at capacity.", Overloaded),
            (
                None,
                None,
                "There's an issue with the selected model (x).",
                UnknownModel,
            ),
            (
                None,
                None,
                "The model `x` does not exist or you do not have access to it.",
                UnknownModel,
            ),
            (Some("ModelNotFoundError"), None, "model: x", UnknownModel),
            (None, None, "terminated", Network),
            (None, None, "[API Error: terminated]", Network),
            (None, None, "terminated: Invalid EOF state", Network),
            (
                None,
                None,
                "[API Error: terminated (cause: Invalid EOF state)]",
                Network,
            ),
            (None, None, "Stream ended without finish_reason", Network),
            (None, None, "Model stream ended without a finish reason.", Network),
            (None, None, "stream: missing finish_reason for choice 0", Network),
            (None, None, "SocketError: other side closed", Network),
            (None, None, "the task was terminated", Other),
            (None, None, "at port 4010", Other),
            (None, None, "", Other),
        ] {
            let fault = Fault::new(name, status, message);
            assert_eq!(fault.kind, kind, "{name:?} {status:?} {message}");
        }
    }

    #[test]
    fn fault_of_an_output_quotes_the_line_with_the_error() {
        let text = "YOLO mode is enabled.\nPlease set an Auth method, or GEMINI_API_KEY\nbye\n";
        let fault = Fault::of_output(text);
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::Auth, "Please set an Auth method, or GEMINI_API_KEY")
        );
        let other = Fault::of_output("one\ntwo");
        assert_eq!(
            (other.kind, other.message.as_str()),
            (FaultKind::Other, "one\ntwo")
        );
    }

    #[test]
    fn a_limit_of_a_plan_has_the_time_of_its_end() {
        let (day, week) = (25 * 3600, 366 * 24 * 3600);
        for (message, most) in [
            (
                "You\u{2019}ve hit your usage limit. Buy more credits or try again at 7:37 AM.",
                day,
            ),
            (
                "You've hit your session limit \u{b7} resets 3:20pm (Europe/Berlin)",
                day,
            ),
            ("5-hour limit reached \u{2219} resets 11pm", day),
            ("5-hour limit reached \u{b7} resets 11pm", day),
            ("Weekly limit reached \u{2219} resets Nov 25, 3am", week),
        ] {
            let fault = Fault::new(None, None, message);
            assert_eq!(fault.kind, FaultKind::PlanLimit, "{message}");
            assert!(fault.retry_after.is_some_and(|wait| wait <= most), "{message}");
        }
    }

    #[test]
    fn fault_message_is_the_message_inside_the_json() {
        for (message, words) in [
            (
                r#"{"error":{"code":401,"message":"bad key","status":"X"}}"#,
                "bad key",
            ),
            (r#"{"message":"bad key"}"#, "bad key"),
            (r#"401: {"message":"bad key"}"#, "bad key"),
            ("401: bad key", "401: bad key"),
            (
                r#"[{"error":{"message":"{\"error\":{\"message\":\"bad key\"}}"}}]"#,
                "bad key",
            ),
            (r#"{"error":"bad key"}"#, r#"{"error":"bad key"}"#),
            ("bad key", "bad key"),
        ] {
            let fault = Fault::new(None, None, message);
            assert_eq!(fault.message, words, "{message}");
        }
        let limit = Fault::new(None, None, "AI usage limit reached|1000 for now");
        assert_eq!(limit.message, "AI usage limit reached for now");
        assert_eq!(limit.retry_after, Some(0));
        let fault = Fault::new(None, None, r#"{"error":{"code":401,"message":"bad key"}}"#);
        assert_eq!(fault.kind, FaultKind::Auth);
    }

    proptest! {
        #[test]
        fn classification_survives_any_text(text in ".*") {
            let _ = Fault::new(Some(&text), None, &text);
        }
    }
}
