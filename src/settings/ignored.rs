//! Warns about settings that have no effect, or probably not the intended one.

use std::collections::BTreeMap;

use super::table::{FORMER, TABLE, default_of_time, spelled};
use crate::agent::Pieces;
use crate::agent::presets::{ALL, Preset};
use crate::names::{closest, counted};

/// Keys that this version ignores, each with the values that need no warning.
const NOT_YET: &[(&str, &[&str])] = &[("ralph.checkpointHooks", &["false", "no", "off", "0"])];

/// Returns a message about a duration without a unit that is so short that minutes may be meant.
pub(super) fn few_seconds(key: &str, value: &str) -> Option<String> {
    let default = default_of_time(key)?;
    let (unit, letter) = if default.ends_with('d') {
        ("days", 'd')
    } else {
        ("minutes", 'm')
    };
    let seconds = value.trim().parse::<u32>().ok()?;
    (1..60).contains(&seconds).then(|| {
        let (key, seconds_in_words) = (spelled(key), counted(seconds, "second", "seconds"));
        format!("{key}={seconds} means {seconds_in_words}; for {unit}: git config {key} {seconds}{letter}")
    })
}

/// Returns a message about a setting whose only value is empty: an unset variable may be the cause.
pub(super) fn without_value(key: &str) -> String {
    let key = spelled(key);
    format!(
        "{key} is empty, which counts as not set: git config {key} <value>, or: git config --unset-all {key}"
    )
}

/// Returns a message with the new name of a former key; `None` for other keys.
pub(super) fn renamed(key: &str) -> Option<String> {
    let (key, now, command) = FORMER
        .iter()
        .find(|(former, ..)| former.eq_ignore_ascii_case(key))?;
    Some(format!("{key} {now}: git config {command}"))
}

/// Returns a message for each agent that has settings, but no command: no preset has its name.
pub(super) fn without_command(agents: &BTreeMap<String, Pieces>) -> Vec<String> {
    let is_unknown = |name: &str, pieces: &Pieces| pieces.command.is_none() && Preset::named(name).is_none();
    let unknown = agents.iter().filter(|(name, pieces)| is_unknown(name, pieces));
    let known: Vec<String> = ALL.iter().map(|preset| preset.name.to_owned()).collect();
    let message = |(name, _): (&String, &Pieces)| match closest(name, &known) {
        Some(meant) => {
            format!("unknown agent {name} in ralph.agent.{name}; did you mean ralph.agent.{meant}?")
        }
        None => format!("the agent {name} has no command: git config ralph.agent.{name}.command '<command>'"),
    };
    unknown.map(message).collect()
}

/// Returns the reason why a setting has no effect; `None` if its value needs no warning.
pub(super) fn why_ignored(key: &str, value: &str) -> Option<String> {
    if let Some((key, nothing)) = NOT_YET.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
        return (!nothing.contains(&value))
            .then(|| format!("the setting {key} has no effect in this version"));
    }
    if let Some((agent, piece)) = key
        .strip_prefix("ralph.agent.")
        .and_then(|rest| rest.rsplit_once('.'))
    {
        let pieces = ["args", "command", "format"].map(str::to_owned);
        let meant = closest(piece, &pieces).unwrap_or("command");
        return Some(format!(
            "unknown setting {key}; did you mean ralph.agent.{agent}.{meant}?"
        ));
    }
    let known: Vec<String> = TABLE.iter().map(|(key, ..)| key.to_lowercase()).collect();
    Some(match closest(key, &known) {
        Some(meant) => format!("unknown setting {key}; did you mean {}?", spelled(meant)),
        None => format!("unknown setting {key}; git ralph help lists the settings"),
    })
}
