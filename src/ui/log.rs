//! The attempts of a loop, story by story, as a table for a terminal.

use std::fmt::Write;

use super::amounts::{time, time_and_cost};
use super::style::{bold, verdict};
use super::width::{hang, wrap};
use crate::events::log::{Log, LogEntry, MessageEntry};
use crate::events::tally::Tally;
use crate::events::{Basis, RoundEntry, said};
use crate::names::{OUTPUT, ShortNames, counted, dollars, heading, typed};
use crate::state::Verdict;

/// Formats `git ralph log` for a terminal with so many columns.
pub fn table(log: &Log, names: &ShortNames, columns: Option<usize>) -> String {
    let mut text = String::new();
    let mut shown = None;
    for entry in &log.attempts {
        let attempt = &entry.attempt;
        let of_entry = |message: &&MessageEntry| {
            let shown = message.story.as_ref().zip(message.attempt);
            shown.is_some_and(|(story, number)| attempt.is(story, number))
        };
        if shown != Some(&attempt.story) {
            let title = entry.title.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}", bold(&headed(&attempt.story, title)));
            shown = Some(&attempt.story);
        }
        let words = verdict(attempt.verdict, &format!("{:13}", attempt.verdict.words()));
        let row = format!(
            "  @{:<3} {words} {:>7} {:>8}  {}",
            attempt.attempt,
            time(entry.seconds()),
            attempt.whole_cost().map(dollars).unwrap_or_default(),
            kept(log, names, entry),
        );
        let _ = writeln!(text, "{}", row.trim_end());
        text.extend(
            log.messages
                .iter()
                .filter(of_entry)
                .map(|message| words_of(message, columns)),
        );
        if let (true, Some(rounds)) = (entry.by_round.is_empty(), attempt.rounds) {
            let _ = writeln!(text, "       {rounds} rounds");
        }
        for round in &entry.by_round {
            let words = format!("       {}", words_of_round(round));
            let _ = writeln!(text, "{}", hang(&words, 7, columns));
        }
        for (basis, words) in [
            (
                Basis::GatesOnOtherFiles,
                "the gates did not judge it: one took files of the work away, and passed on others",
            ),
            (Basis::Tests, "the gates pass with the tests as they were"),
            (
                Basis::GateScript,
                "the gates pass with their scripts as they were",
            ),
            (Basis::TestChangesAllowed, "it changed tests, which was allowed"),
            (
                Basis::TestsReviewed,
                "it changed tests, which the review accepted",
            ),
            (
                Basis::Confirmed,
                "git sees no change outside the story list; another process said again that it is complete",
            ),
            (
                Basis::Doubtful,
                "the agent promised that it is complete, although its words or ticks speak against that",
            ),
            (
                Basis::UnchangedSaid,
                "git sees no change outside the story list, and the agent said what shows that it was done before",
            ),
        ] {
            if attempt.rests_on.contains(&basis) {
                let _ = writeln!(text, "       {words}");
            }
        }
        if let Some(what) = &entry.list_put_back {
            let _ = writeln!(
                text,
                "{}",
                hang(&format!("       list put back: {what}"), 7, columns)
            );
        }
        if let Some(reason) = attempt.reason.as_deref().and_then(in_one_line) {
            let _ = writeln!(text, "{}", hang(&format!("       {reason}"), 7, columns));
        }
    }
    let unshown = log.messages.iter().filter(|message| message.attempt.is_none());
    for message in unshown {
        let _ = writeln!(
            text,
            "shown to no attempt yet:\n{}",
            words_of(message, columns).trim_end()
        );
    }
    let _ = writeln!(text, "{}", total(log));
    wrap(&text, columns)
}

/// Returns the time, the cost and the reason of a round, if known.
pub(super) fn words_of_round(round: &RoundEntry) -> String {
    let known = [round.duration.map(time), round.cost_usd.map(dollars)];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let mut words = format!("round {}", round.round);
    if !known.is_empty() {
        let _ = write!(words, " ({})", known.join(", "));
    }
    if let Some(why) = round.why {
        let _ = write!(words, ": {}", why.words(round.left.as_deref()));
    }
    words
}

/// Formats a message of the user.
fn words_of(message: &MessageEntry, columns: Option<usize>) -> String {
    let words = said(&message.text, message.during.as_deref());
    let lines = words
        .lines()
        .map(|line| hang(&format!("       {line}"), 7, columns));
    lines.map(|line| line + "\n").collect()
}

/// Returns the first line of a reason; if the reason contains output, its last line too.
pub(super) fn in_one_line(reason: &str) -> Option<String> {
    let first = reason.lines().next()?;
    let last = reason.split_once(OUTPUT).and_then(|(_, output)| {
        let mut lines = output.lines();
        lines.rfind(|line| !line.trim().is_empty())
    });
    Some(match last {
        Some(last) => format!("{first}: {}", last.trim()),
        None => first.to_owned(),
    })
}

pub(super) fn headed(id: &str, title: &str) -> String {
    if title.is_empty() {
        id.to_owned()
    } else {
        heading(id, title)
    }
}

/// Returns the place where the work of an attempt is kept.
fn kept(log: &Log, names: &ShortNames, entry: &LogEntry) -> String {
    match (&entry.checkpoint, &entry.kept) {
        (Some(oid), _) => format!("checkpoint {}", oid.short()),
        (None, Some(_)) if entry.attempt.files == Some(0) => "git sees no change".to_owned(),
        (None, Some(_)) => {
            let story = names.of(&entry.attempt.story);
            let attempt = typed(format!("{story}@{}", entry.attempt.attempt));
            format!("git ralph diff {} {attempt}", typed(&log.change))
        }
        (None, None) => String::new(),
    }
}

fn total(log: &Log) -> String {
    let attempts = log.attempts.iter().map(|entry| &entry.attempt);
    let complete = attempts
        .clone()
        .filter(|attempt| attempt.verdict == Verdict::Complete);
    let alone = complete.clone().filter(|attempt| attempt.is_by_promise_alone());
    let unpromised = complete.clone().filter(|attempt| attempt.is_unpromised()).count();
    let mut rests_on = match (alone.count(), complete.clone().count()) {
        (0, _) => String::new(),
        (alone, all) if alone == all => " (by promise alone)".to_owned(),
        (alone, _) => format!(" ({alone} by promise alone)"),
    };
    if unpromised > 0 {
        let _ = write!(rests_on, " ({unpromised} without a promise)");
    }
    let mut tally: Tally = log.attempts.iter().collect();
    tally.before_work = log.before_work;
    let mut words = format!(
        "{}, {} complete{rests_on}, {}",
        counted(log.attempts.len(), "attempt", "attempts"),
        complete.count(),
        time_and_cost(&tally)
    );
    let reviews: Vec<f64> = attempts.filter_map(|attempt| attempt.review_cost_usd).collect();
    if !reviews.is_empty() {
        let _ = write!(words, " ({} of it for reviews)", dollars(reviews.iter().sum()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_in_one_line_has_the_last_line_of_its_output() {
        let line = |reason: &str| in_one_line(reason).unwrap_or_default();
        assert_eq!(line("it is red\nvery"), "it is red");
        assert_eq!(
            line("the gate 'make' failed\n\nIts output:\n\none\n  two\n\n"),
            "the gate 'make' failed: two"
        );
        assert_eq!(line("failed\n\nIts output:\n"), "failed");
    }
}
