//! Prints the queue as text.

use std::fmt::Write;

use super::style::bold;
use crate::names::counted;
use crate::remote::queue::{Entry, Queue};

/// Formats `git ralph queue` for a terminal.
pub fn of(queue: &Queue) -> String {
    if queue.changes.is_empty() {
        return "no change was found; to see where lists are looked for: git ralph stories\n".to_owned();
    }
    let width = |text: fn(&Entry) -> String| {
        let lengths = queue.changes.iter().map(|entry| text(entry).chars().count());
        lengths.max().unwrap_or(0)
    };
    let (names, counts) = (width(name), width(count));
    let mut text = String::new();
    for entry in &queue.changes {
        let mut notes: Vec<String> = note(entry).into_iter().collect();
        match entry.conflicts_with.as_deref() {
            Some([]) => notes.push("no conflicts".to_owned()),
            Some(others) => notes.push(format!("conflicts with {}", others.join(", "))),
            None => {}
        }
        let line = format!(
            "{}{}  {:>counts$}  {:<9}  {}",
            bold(&name(entry)),
            " ".repeat(names.saturating_sub(name(entry).chars().count())),
            count(entry),
            entry.phase,
            notes.join("; "),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let claimed = queue.changes.iter().filter(|entry| entry.claimed).count() as u64;
    if let (Some(remote), true) = (&queue.remote, claimed > 0) {
        let states = counted(claimed, "change", "changes");
        let _ = writeln!(text, "of {states}: {}", claim(remote));
    }
    let _ = writeln!(text, "{}", sums(queue));
    text
}

/// Returns a note on the source of the numbers and phases of loops on a remote.
pub fn claim(remote: &str) -> String {
    format!(
        "count and phase come from the commit message on {remote}; git ralph pull compares them with the state"
    )
}

/// Returns the holder of a change, or else why no run can take it, unless its phase already says so.
fn note(entry: &Entry) -> Option<String> {
    let is_told = entry.why.is_empty() || entry.phase == "finished";
    let why = (!is_told).then(|| entry.why.clone());
    entry
        .holder
        .as_ref()
        .map_or(why, |holder| Some(format!("held by {holder}")))
}

/// Formats a loop on a remote as listed at a time, for `git ralph watch --remote`. The holder's last renewal is by its
/// own clock.
pub fn seen(time: &str, entry: &Entry) -> String {
    let mut notes: Vec<String> = note(entry).into_iter().collect();
    if let (Some(_), Some(renewed)) = (&entry.holder, entry.renewed) {
        notes.push(format!("last sign at {}", renewed.strftime("%F %T UTC")));
        if entry.free {
            notes.push("it is taken to be dead".to_owned());
        }
    }
    let (name, count, phase) = (bold(&name(entry)), count(entry), entry.phase);
    let line = format!("{time}  {name}  {count}  {phase}  {}", notes.join("; "));
    format!("{}\n", line.trim_end())
}

/// Returns the numbers of changes by their next action, on one line.
fn sums(queue: &Queue) -> String {
    let parts = [
        (queue.run, "runs", "run"),
        (queue.wait, "waits", "wait"),
        (queue.need_person, "needs attention", "need attention"),
        (queue.finished, "finished", "finished"),
    ];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, one, several)| counted(number as u64, one, several))
        .collect();
    let all = counted(queue.changes.len() as u64, "change", "changes");
    format!("{all}: {}", parts.join(", "))
}

fn name(entry: &Entry) -> String {
    entry.change.to_string()
}

fn count(entry: &Entry) -> String {
    match entry.total {
        Some(total) => format!("{}/{total}", entry.done),
        None => "?".to_owned(),
    }
}
