//! The values that a setting can have.

use std::time::Duration;

use jiff::SignedDuration;

use super::boxing::BoxMode;
use super::choices::{
    Colour, EmptyStory, FinishChoice, ListEdits, Mark, NoSignal, Notify, OnFailure, RetryContext, Strategy,
};
use super::error::SettingsError;

/// Returns a limit in the type of the standard library.
pub fn to_std(limit: SignedDuration) -> Duration {
    limit.try_into().unwrap_or(Duration::MAX)
}

pub(super) fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

pub(super) fn wrong(key: &str, value: &str, wanted: &'static str) -> SettingsError {
    SettingsError::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        wanted,
    }
}

/// Parses an amount of money.
pub fn parse_dollars(value: &str) -> Result<f64, &'static str> {
    match value.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("an amount in US dollars, like 2.50"),
    }
}

pub(super) fn number(key: &str, value: &str) -> Result<u32, SettingsError> {
    value
        .parse()
        .map_err(|_| wrong(key, value, "a whole number, 0 or more"))
}

pub(super) fn dollars(key: &str, value: &str) -> Result<f64, SettingsError> {
    parse_dollars(value).map_err(|wanted| wrong(key, value, wanted))
}

pub(super) fn finish_choice(key: &str, value: &str) -> Result<FinishChoice, SettingsError> {
    match value {
        "ask" => Ok(FinishChoice::Ask),
        "cleanup" => Ok(FinishChoice::Cleanup),
        "keep" => Ok(FinishChoice::Keep),
        _ => Err(wrong(key, value, "ask, cleanup or keep")),
    }
}

pub(super) fn empty_story(key: &str, value: &str) -> Result<EmptyStory, SettingsError> {
    match value {
        "warn" => Ok(EmptyStory::Warn),
        "fail" => Ok(EmptyStory::Fail),
        "accept" => Ok(EmptyStory::Accept),
        _ => Err(wrong(key, value, "warn, fail or accept")),
    }
}

pub(super) fn no_signal(key: &str, value: &str) -> Result<NoSignal, SettingsError> {
    match value {
        "retry" => Ok(NoSignal::Retry),
        "gates" => Ok(NoSignal::Gates),
        _ => Err(wrong(key, value, "retry or gates")),
    }
}

pub(super) fn retry_context(key: &str, value: &str) -> Result<RetryContext, SettingsError> {
    match value {
        "reason" => Ok(RetryContext::Reason),
        "always" => Ok(RetryContext::Always),
        _ => Err(wrong(key, value, "reason or always")),
    }
}

/// Parses whether an attempt runs in a box; git's words for true and false are valid too.
pub fn parse_box(value: &str) -> Result<BoxMode, &'static str> {
    match value {
        "off" | "false" | "no" => Ok(BoxMode::Off),
        "on" | "true" | "yes" => Ok(BoxMode::On),
        "require" => Ok(BoxMode::Require),
        _ => Err("off, on or require"),
    }
}

/// Parses the action for a story without retries left.
pub fn parse_on_failure(value: &str) -> Result<OnFailure, &'static str> {
    match value {
        "stop" => Ok(OnFailure::Stop),
        "skip" => Ok(OnFailure::Skip),
        "finish" => Ok(OnFailure::Finish),
        _ => Err("stop, skip or finish"),
    }
}

/// Parses the place of the checkpoints.
pub fn parse_strategy(value: &str) -> Result<Strategy, &'static str> {
    match value {
        "branch" => Ok(Strategy::Branch),
        "stash" => Ok(Strategy::Stash),
        _ => Err("branch or stash"),
    }
}

pub(super) fn notify(value: &str) -> Notify {
    match value {
        "" | "bell" => Notify::Bell,
        "off" => Notify::Off,
        command => Notify::Command(command.to_owned()),
    }
}

pub(super) fn list_edits(key: &str, value: &str) -> Result<ListEdits, SettingsError> {
    match value {
        "additions" => Ok(ListEdits::Additions),
        "allow" => Ok(ListEdits::Allow),
        "none" => Ok(ListEdits::None),
        _ => Err(wrong(key, value, "additions, allow or none")),
    }
}

pub(super) fn mark(key: &str, value: &str) -> Result<Mark, SettingsError> {
    match value {
        "auto" => Ok(Mark::Auto),
        "agent" => Ok(Mark::Agent),
        "never" => Ok(Mark::Never),
        _ => Err(wrong(key, value, "auto, agent or never")),
    }
}

/// Parses the address of a commit, with `{oid}` in it.
pub(super) fn address(key: &str, value: &str) -> Result<Option<String>, SettingsError> {
    let is_web = value.starts_with("https://") || value.starts_with("http://");
    // It stands in pages and in Markdown.
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>\"'()`\\|*".contains(c);
    if value.is_empty() {
        Ok(None)
    } else if is_web && value.contains("{oid}") && value.chars().all(is_plain) {
        Ok(Some(value.to_owned()))
    } else {
        Err(wrong(
            key,
            value,
            "an address such as https://example.org/c/{oid}",
        ))
    }
}

/// Parses a regular expression.
pub(super) fn expression(key: &str, value: &str) -> Result<String, SettingsError> {
    match regex::Regex::new(value) {
        Ok(_) => Ok(value.to_owned()),
        Err(_) => Err(wrong(key, value, "a regular expression")),
    }
}

/// Parses a truth value as git does.
pub(super) fn truth(key: &str, value: &str) -> Result<bool, SettingsError> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" | "" => Ok(false),
        _ => Err(wrong(key, value, "true or false")),
    }
}

/// Parses a number of days (`90d`), or any other time.
pub(super) fn days(key: &str, value: &str) -> Result<Option<SignedDuration>, SettingsError> {
    match value.strip_suffix('d').map(str::parse::<u32>) {
        Some(Ok(days)) => Ok(Some(SignedDuration::from_hours(i64::from(days) * 24))),
        _ => duration(key, value),
    }
}

/// Parses the length of a lease; there must be time to renew it.
pub(super) fn lease(key: &str, value: &str) -> Result<SignedDuration, SettingsError> {
    let shortest = SignedDuration::from_secs(1);
    let longest = SignedDuration::from_hours(24 * 30);
    match duration(key, value)? {
        Some(lease) if (shortest..=longest).contains(&lease) => Ok(lease),
        _ => Err(wrong(key, value, "a time between 1s and 720h")),
    }
}

/// Parses the beginning of refs.
pub(super) fn ref_prefix(key: &str, value: &str) -> Result<String, SettingsError> {
    let prefix = format!("{}/", value.trim_end_matches('/'));
    let below = prefix.strip_prefix("refs/").unwrap_or_default();
    let is_plain = |part: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.contains(".lock")
            && part.chars().all(known)
    };
    // Below `refs/heads/ralph/` it would be in the way of the loops' branches.
    let is_free = !prefix.starts_with("refs/heads/ralph/");
    if below.trim_end_matches('/').split('/').all(is_plain) && !prefix.contains("..") && is_free {
        Ok(prefix)
    } else {
        Err(wrong(
            key,
            value,
            "the beginning of refs, like refs/ralph/ or refs/heads/ralph-state/",
        ))
    }
}

/// Parses a time to wait; 0 means not to wait.
pub(super) fn wait(key: &str, value: &str) -> Result<Option<SignedDuration>, SettingsError> {
    match value.trim() {
        "0" => Ok(Some(SignedDuration::ZERO)),
        _ => duration(key, value),
    }
}

pub(super) fn duration(key: &str, value: &str) -> Result<Option<SignedDuration>, SettingsError> {
    parse_duration(value).map_err(|wanted| wrong(key, value, wanted))
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
pub fn parse_duration(value: &str) -> Result<Option<SignedDuration>, &'static str> {
    const WANTED: &str = "a time like 90s, 30m or 2h, or none";
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
