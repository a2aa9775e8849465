//! Tells kinds of faults apart.
//!
//! Structured fields come first: the agent's own name for the error, then an HTTP status; words
//! are searched only in what is known to be the text of an error, never in what a model says. It
//! must not know what a fault leads to.

use std::time::{Duration, SystemTime};

/// How much of an error's text is kept, in characters.
const MESSAGE_CHARS: usize = 1000;

/// What kept an agent from its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// The agent's own words for it.
    pub message: String,
    /// In how many seconds it is over, if the agent tells.
    pub retry_after: Option<u64>,
}

/// The kinds of faults, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Not signed in, or not allowed.
    Auth,
    /// Credit, quota or a plan's usage limit is spent.
    Billing,
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

/// Words of errors; the first kind of which one occurs is meant.
const WORDS: &[(FaultKind, &[&str])] = &[
    (
        FaultKind::Billing,
        &[
            "billing",
            "credit balance",
            "out of credit",
            "insufficient credit",
            "insufficient_quota",
            "quota",
            "usage limit",
            "usage_limit",
            "hit your limit",
            "payment required",
        ],
    ),
    (
        FaultKind::ContextTooLong,
        &[
            "context_length",
            "context length",
            "context window",
            "contextwindow",
            "maximum context",
            "prompt is too long",
            "input is too long",
            "too many tokens",
            "exceeds the maximum number of tokens",
        ],
    ),
    (
        FaultKind::UnknownModel,
        &[
            "model_not_found",
            "model not found",
            "unknown model",
            "no such model",
            "invalid model",
            "selected model",
            "not a valid model",
            "model is not supported",
            "model does not exist",
        ],
    ),
    (
        FaultKind::Auth,
        &[
            "authentication",
            "unauthorized",
            "unauthenticated",
            "forbidden",
            "permission_denied",
            "permissiondenied",
            "permission_error",
            "invalid api key",
            "invalid_api_key",
            "api key not valid",
            "incorrect api key",
            "x-api-key",
            "auth method",
            "not logged in",
            "log in",
            "/login",
            "sign in",
        ],
    ),
    (
        FaultKind::RateLimited,
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "resource_exhausted",
        ],
    ),
    (
        FaultKind::Overloaded,
        &[
            "overloaded",
            "server_error",
            "internal server error",
            "internalservererror",
            "bad gateway",
            "unavailable",
            "gateway timeout",
        ],
    ),
    (
        FaultKind::Network,
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "eai_again",
            "connection",
            "name resolution",
            "could not resolve",
            "network",
            "fetch failed",
            "stream disconnected",
            "timed out",
            "timeout",
        ],
    ),
    (
        FaultKind::Setup,
        &[
            "root/sudo",
            "trusted directory",
            "trusted folder",
            "untrusted",
            "unknown option",
            "unexpected argument",
            "command not found",
        ],
    ),
];

/// What stands before the time to wait.
const WAITS: &[&str] = &[
    "retry after",
    "retry-after",
    "retrydelay",
    "retry in",
    "try again in",
    "reset after",
    "resets in",
    "reset in",
];

impl Fault {
    /// Makes a fault of the agent's name for the error, the HTTP status and the error's text, as
    /// far as they are known.
    #[must_use]
    pub fn new(name: Option<&str>, status: Option<u16>, message: &str) -> Self {
        let lower = message.to_lowercase();
        Self {
            kind: judge(name, status, &lower),
            message: message.trim().chars().take(MESSAGE_CHARS).collect(),
            retry_after: wait_in(&lower),
        }
    }
}

/// The seconds from now until `epoch`, a time in Unix seconds.
pub(super) fn seconds_until(epoch: u64) -> Option<u64> {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(epoch))?;
    let wait = time.duration_since(SystemTime::now());
    Some(wait.map_or(0, |wait| wait.as_secs()))
}

fn judge(name: Option<&str>, status: Option<u16>, message: &str) -> FaultKind {
    let by_name = name.and_then(|name| by_words(&name.to_lowercase()));
    let by_text = by_words(message);
    let says_more_than_a_status = |kind: &FaultKind| {
        matches!(
            kind,
            FaultKind::Billing | FaultKind::ContextTooLong | FaultKind::UnknownModel
        )
    };
    let status = status.or_else(|| status_in(message));
    by_name
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

fn by_words(text: &str) -> Option<FaultKind> {
    let occurs = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let (kind, _) = WORDS.iter().find(|(_, words)| occurs(words))?;
    Some(*kind)
}

/// The first number in an error's text that can be the status of one.
fn status_in(message: &str) -> Option<u16> {
    message
        .split(|char: char| !char.is_ascii_alphanumeric())
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|status| (400..600).contains(status))
}

/// The seconds to wait that an error's text names.
fn wait_in(message: &str) -> Option<u64> {
    if let Some((_, epoch)) = message.split_once("limit reached|") {
        return seconds_until(leading_number(epoch)?.0.parse().ok()?);
    }
    let after = |words: &&str| message.split_once(words).map(|(_, after)| after);
    let after = WAITS.iter().find_map(after)?;
    duration(after.trim_start_matches([' ', ':', '=', '"', '\'']))
}

/// Reads `90`, `90 seconds`, `1.5s` or `1h2m`, in whole seconds.
fn duration(text: &str) -> Option<u64> {
    let mut seconds = None;
    let mut rest = text;
    while let Some((number, after)) = leading_number(rest) {
        let after = after.trim_start_matches(' ');
        let unit_end = after.find(|char: char| !char.is_ascii_lowercase());
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        let factor = match unit {
            "ms" | "milliseconds" => 0.001,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86400.0,
            _ => 1.0,
        };
        let part = number.parse::<f64>().ok()? * factor;
        seconds = Some(seconds.unwrap_or(0.0) + part);
        rest = after.trim_start_matches(' ');
    }
    let rounded = Duration::try_from_secs_f64(seconds?.ceil()).ok()?;
    Some(rounded.as_secs())
}

/// Cuts off the number that `text` begins with.
fn leading_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    number
        .starts_with(|char: char| char.is_ascii_digit())
        .then_some((number.trim_end_matches('.'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_come_before_words_and_words_that_say_more_before_a_status() {
        use FaultKind::*;
        for (name, status, message, kind) in [
            (Some("authentication_failed"), None, "", Auth),
            (Some("billing_error"), Some(400), "too low", Billing),
            (Some("rate_limit"), Some(429), "", RateLimited),
            (Some("RateLimitError"), None, "", RateLimited),
            (Some("unknown"), Some(529), "", Overloaded),
            (None, Some(403), "no", Auth),
            (None, Some(429), "insufficient_quota", Billing),
            (None, Some(400), "Prompt is too long", ContextTooLong),
            (None, Some(404), "model: x", UnknownModel),
            (None, Some(404), "no such page", Other),
            (None, None, "unexpected status 401 there", Auth),
            (None, None, r#"{"code":503,"message":"x"}"#, Overloaded),
            (None, None, "connect ECONNREFUSED ::1:4000", Network),
            (None, None, "Not inside a trusted directory", Setup),
            (None, None, "at port 4010", Other),
            (None, None, "", Other),
        ] {
            let fault = Fault::new(name, status, message);
            assert_eq!(fault.kind, kind, "{name:?} {status:?} {message}");
        }
    }

    #[test]
    fn the_time_to_wait_is_read() {
        for (message, seconds) in [
            ("Please retry after 30", Some(30)),
            ("try again in 1.2s.", Some(2)),
            ("Try again in 6m0s", Some(360)),
            ("resets in 2 hours 5 minutes", Some(7500)),
            (r#""retryDelay": "34s""#, Some(34)),
            ("try again in 250ms", Some(1)),
            ("try again in 9999999999999999999999 days", None),
            ("try again in a moment", None),
            ("usage limit reached|1000", Some(0)),
            ("usage limit reached|99999999999999999999999", None),
            ("too many requests", None),
        ] {
            assert_eq!(Fault::new(None, None, message).retry_after, seconds, "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".*", seconds in "[0-9.hms ]*", epoch in any::<u64>()) {
            let _ = Fault::new(Some(&text), None, &text);
            let _ = Fault::new(None, None, &format!("retry in {seconds}"));
            let _ = Fault::new(None, None, &format!("limit reached|{epoch}"));
        }
    }
}
