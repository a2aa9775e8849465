//! The values that a setting can have.

use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::choices::{Choice, Colour, NewTests, Notify, Order, RetryContext, Wanted};
use crate::sandbox::Allowed;

/// The value of a setting.
pub(super) trait Value {
    /// Sets the value from its text.
    fn set(&mut self, text: &str) -> Result<(), Wanted>;
}

/// Returns whether a value is omitted when saved.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns whether a value is omitted when shown: no value, or an empty list.
pub(super) fn is_nothing(value: &impl Serialize) -> bool {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// A time limit as typed; `none` is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Limit(pub Option<SignedDuration>);

impl TryFrom<String> for Limit {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        parse_duration(&text).map(Self)
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> Self {
        limit
            .0
            .map_or_else(|| "none".to_owned(), |time| format!("{time:#}"))
    }
}

impl Value for Allowed {
    /// Adds a value to the list named by its prefix; an empty one clears all lists.
    fn set(&mut self, text: &str) -> Result<(), Wanted> {
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match text.split_once(':').filter(|(_, value)| !value.is_empty()) {
            Some(("read", path)) => self.read.set(path),
            Some(("write", path)) => self.written.set(path),
            Some(("env", name)) if is_name(name) => self.variables.set(name),
            None if text.is_empty() => {
                *self = Self::default();
                Ok(())
            }
            _ => Err("read:<path>, write:<path> or env:<NAME>"),
        }
    }
}

impl<T: Choice> Value for T {
    fn set(&mut self, text: &str) -> Result<(), Wanted> {
        *self = T::parse(text)?;
        Ok(())
    }
}

impl Value for Vec<String> {
    /// Adds a value. As in git's own lists, an empty one clears the list; so does a blank one.
    fn set(&mut self, text: &str) -> Result<(), Wanted> {
        if text.trim().is_empty() {
            self.clear();
        } else {
            self.push(text.to_owned());
        }
        Ok(())
    }
}

/// Sets values by functions that read a text.
macro_rules! read_by {
    ($($type:ty: $read:expr;)*) => {$(
        impl Value for $type {
            fn set(&mut self, text: &str) -> Result<(), Wanted> {
                let read: fn(&str) -> Result<Self, Wanted> = $read;
                *self = read(text)?;
                Ok(())
            }
        }
    )*};
}

read_by! {
    Option<String>: |text| Ok((!text.is_empty()).then(|| text.to_owned()));
    u32: number;
    Option<u32>: |text| number(text).map(Some);
    Option<f64>: |text| parse_dollars(text).map(Some);
    bool: truth;
    Option<SignedDuration>: parse_duration;
    Option<Limit>: |text| parse_duration(text).map(Limit).map(Some);
    Option<NewTests>: |text| NewTests::parse(text).map(Some);
    Option<Order>: |text| Order::parse(text).map(Some);
    Notify: |text| Ok(notify(text));
}

/// Returns a limit in the type of the standard library.
pub fn to_std(limit: SignedDuration) -> Duration {
    limit.try_into().unwrap_or(Duration::MAX)
}

/// Parses an amount of money.
pub fn parse_dollars(value: &str) -> Result<f64, Wanted> {
    match value.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("an amount in US dollars above 0, like 2.50"),
    }
}

fn number(value: &str) -> Result<u32, Wanted> {
    value.parse().map_err(|_| "a whole number, 0 or more")
}

/// Parses a number of attempts that is a limit.
pub fn parse_count(value: &str) -> Result<u32, Wanted> {
    let count = value.parse().ok().filter(|count| *count > 0);
    count.ok_or("a whole number, 1 or more")
}

/// Parses a limit that is a number of attempts.
pub(super) fn most(value: &str) -> Result<Option<u32>, Wanted> {
    parse_count(value).map(Some)
}

/// Parses a number of parallel stories.
pub fn parse_jobs(value: &str) -> Result<u16, Wanted> {
    let jobs = value.parse().ok().filter(|jobs| *jobs > 0);
    jobs.ok_or("a whole number from 1 to 65535")
}

fn notify(value: &str) -> Notify {
    match value {
        "" | "bell" => Notify::Bell,
        "off" => Notify::Off,
        command => Notify::Command(command.to_owned()),
    }
}

/// Checks the URL of a commit, which contains `{oid}`.
pub(super) fn is_address(value: &str) -> Result<(), Wanted> {
    let is_web = value.starts_with("https://") || value.starts_with("http://");
    // It is used in HTML and in Markdown.
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>\"'()`\\|*".contains(c);
    if value.is_empty() || is_web && value.contains("{oid}") && value.chars().all(is_plain) {
        Ok(())
    } else {
        Err("an address such as https://example.org/c/{oid}")
    }
}

/// Checks a regular expression.
pub(super) fn is_expression(value: &str) -> Result<(), Wanted> {
    regex::Regex::new(value)
        .map(drop)
        .map_err(|_| "a regular expression")
}

/// Parses a boolean like git, but rejects an empty value, which would silently disable the guard.
fn truth(value: &str) -> Result<bool, Wanted> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("true or false"),
    }
}

/// Parses the former setting `ralph.retryOutput`: whether the prompt of a retry shows the output.
pub(super) fn shows_output(value: &str) -> Result<RetryContext, Wanted> {
    Ok(if truth(value)? {
        RetryContext::Always
    } else {
        RetryContext::Reason
    })
}

/// Parses a number of days (`90d`), or any other time.
pub(super) fn days(value: &str) -> Result<Option<SignedDuration>, Wanted> {
    match value.strip_suffix('d').map(str::parse::<u32>) {
        Some(Ok(days)) => Ok(Some(SignedDuration::from_hours(i64::from(days) * 24))),
        _ => parse_duration(value),
    }
}

/// Parses the duration of a lease, which must leave time to renew it.
pub(super) fn lease(value: &str) -> Result<SignedDuration, Wanted> {
    let shortest = SignedDuration::from_secs(1);
    let longest = SignedDuration::from_hours(24 * 30);
    let lease = parse_duration(value).ok().flatten();
    lease
        .filter(|lease| (shortest..=longest).contains(lease))
        .ok_or("a time between 1s and 720h")
}

/// Parses a prefix of refs.
pub(super) fn ref_prefix(value: &str) -> Result<String, Wanted> {
    let prefix = format!("{}/", value.trim_end_matches('/'));
    let below = prefix.strip_prefix("refs/").unwrap_or_default();
    let is_plain = |part: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.contains(".lock")
            && part.chars().all(known)
    };
    // Below `refs/heads/ralph/` it would conflict with the loops' branches, and in these places with the user's refs.
    let is_users = ["refs/heads/", "refs/tags/", "refs/remotes/"].contains(&prefix.as_str());
    let is_free = !is_users && !prefix.starts_with("refs/heads/ralph/");
    if below.trim_end_matches('/').split('/').all(is_plain) && !prefix.contains("..") && is_free {
        Ok(prefix)
    } else {
        Err("the beginning of refs, like refs/ralph/ or refs/heads/ralph-state/")
    }
}

/// Parses a time to wait; 0 means not to wait.
pub(super) fn wait(value: &str) -> Result<Option<SignedDuration>, Wanted> {
    match value.trim() {
        "0" => Ok(Some(SignedDuration::ZERO)),
        _ => parse_duration(value),
    }
}

/// Parses a time limit that always exists: `none` means the maximum.
pub(super) fn limit(value: &str) -> Result<SignedDuration, Wanted> {
    parse_duration(value).map(|limit| limit.unwrap_or(SignedDuration::MAX))
}

/// Parses a colour setting, in git's words; returns `None` if git does not know it either.
pub fn parse_colour(value: &str) -> Option<Colour> {
    match value.to_ascii_lowercase().as_str() {
        "auto" | "true" | "yes" | "on" | "1" => Some(Colour::Auto),
        "always" => Some(Colour::Always),
        "never" | "false" | "no" | "off" | "0" => Some(Colour::Never),
        _ => None,
    }
}

/// Parses a time limit: `30m`, `1h 30m`, `90` (seconds); `none`, `0` and nothing mean no limit.
pub fn parse_duration(value: &str) -> Result<Option<SignedDuration>, Wanted> {
    const WANTED: Wanted = "a time like 90s, 30m or 2h, or none";
    let value = value.trim();
    if value.is_empty() || value == "none" {
        return Ok(None);
    }
    let parsed = match value.parse::<u32>() {
        Ok(seconds) => SignedDuration::from_secs(i64::from(seconds)),
        Err(_) => value.parse::<SignedDuration>().map_err(|_| WANTED)?,
    };
    if parsed.is_negative() {
        return Err(WANTED);
    }
    Ok((!parsed.is_zero()).then_some(parsed))
}
