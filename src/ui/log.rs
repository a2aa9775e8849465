//! The attempts of a loop, story by story, as a table that is read at a glance; and as one for a web page.

use std::fmt::Write;

use super::narration::{bold, dollars, time, verdict};
use super::width::{hang, wrap};
use crate::async_cmd::quoted;
use crate::events::log::{Log, LogEntry};
use crate::names::{counted, heading};
use crate::state::Verdict;

/// `git ralph log`, on a terminal with so many columns.
#[must_use]
pub fn table(log: &Log, columns: Option<usize>) -> String {
    let mut text = String::new();
    let mut shown = None;
    for entry in &log.attempts {
        let attempt = &entry.attempt;
        if shown != Some(&attempt.story) {
            let title = entry.title.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}", bold(&headed(&attempt.story, title)));
            shown = Some(&attempt.story);
        }
        let words = verdict(attempt.verdict, &format!("{:13}", attempt.verdict.words()));
        let row = format!(
            "  @{:<3} {words} {:>7} {:>8}  {}",
            attempt.attempt,
            time(attempt.duration),
            attempt.cost_usd.map(dollars).unwrap_or_default(),
            kept(log, entry),
        );
        let _ = writeln!(text, "{}", row.trim_end());
        let reason = attempt.reason.as_ref().and_then(|reason| reason.lines().next());
        if let Some(first) = reason {
            let _ = writeln!(text, "{}", hang(&format!("       {first}"), 7, columns));
        }
    }
    let _ = writeln!(text, "{}", total(log));
    wrap(&text, columns)
}

/// The log as a table in markdown, for the page of a job.
#[must_use]
pub fn markdown(log: &Log) -> String {
    let mut text = format!("### git ralph: {}\n\n", log.change);
    text.push_str("| story | attempt | verdict | time | cost | |\n|---|---|---|---|---|---|\n");
    // A bar would end a column, and a tag would be one.
    let plain = |words: &str| {
        let words = words.replace('|', "\\|").replace('<', "&lt;");
        words.replace(['\r', '\n'], " ")
    };
    for entry in &log.attempts {
        let attempt = &entry.attempt;
        let title = entry.title.as_deref().unwrap_or_default();
        let reason = attempt.reason.as_deref().and_then(|reason| reason.lines().next());
        let row = [
            plain(&headed(&attempt.story, title)),
            attempt.attempt.to_string(),
            attempt.verdict.words().to_owned(),
            time(attempt.duration),
            attempt.cost_usd.map(dollars).unwrap_or_default(),
            plain(reason.unwrap_or_default()),
        ];
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    let _ = writeln!(text, "\n{}\n", total(log));
    text
}

fn headed(id: &str, title: &str) -> String {
    if title.is_empty() {
        id.to_owned()
    } else {
        heading(id, title)
    }
}

/// Where the work of an attempt is.
fn kept(log: &Log, entry: &LogEntry) -> String {
    match (&entry.checkpoint, &entry.kept) {
        (Some(oid), _) => format!("checkpoint {}", oid.short()),
        (None, Some(_)) => {
            let attempt = format!("{}@{}", entry.attempt.story, entry.attempt.attempt);
            format!("git ralph diff {} {}", log.change, quoted(&attempt))
        }
        (None, None) => String::new(),
    }
}

fn total(log: &Log) -> String {
    let attempts = log.attempts.iter().map(|entry| &entry.attempt);
    let complete = attempts
        .clone()
        .filter(|attempt| attempt.verdict == Verdict::Complete);
    let mut words = format!(
        "{}, {} complete, {}",
        counted(log.attempts.len(), "attempt", "attempts"),
        complete.count(),
        time(attempts.clone().map(|attempt| attempt.duration).sum())
    );
    let costs: Vec<f64> = attempts.filter_map(|attempt| attempt.cost_usd).collect();
    if !costs.is_empty() {
        let _ = write!(words, ", {}", dollars(costs.iter().sum()));
    }
    words
}
