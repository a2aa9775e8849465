//! Writes the report as Markdown, for the body of a pull request or the page of a CI job, from the template `markdown.md`.
//!
//! Invariants: the text is never longer than its limit, and says what it leaves out; text of others never becomes
//! markup, a link, a mention or a reference.

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde_json::json;

use super::agents::{agent_row, review_rows};
use super::template::render;
use super::timeline::{self, Scale, Span};
use super::{
    NO_LIMIT, changed_by, cost, headed, how_far, in_force, last_chars, lines, moment, origin, short, size,
    some_time, took, took_in_all, words_of,
};
use crate::names::{Oid, counted, dollars, typed};
use crate::report::{
    AttemptReport, FileChange, Gate, OutcomeKind, Patch, Report, StoryReport, StoryState, first_line,
};
use crate::ui::amounts::time;
use crate::ui::log::in_one_line;
use crate::ui::shown::plain;

/// Maximum length of the body of a pull request that every host accepts, in characters.
pub const PULL_REQUEST: usize = 60_000;
/// Maximum length of the page of a CI job, in characters: 900 KiB if each had four bytes.
pub const JOB_PAGE: usize = 900 * 1024 / 4;

/// The template. Each level leaves out more than the one before: 1 the diffs, 2 all of a reason but its first line, 3 all
/// but one row for each complete story, 4 all but the table.
const TEMPLATE: &str = include_str!("markdown.md");
/// The most rows of the table at the levels beyond 3.
const ROWS: [usize; 7] = [1000, 300, 100, 30, 10, 3, 0];

/// Width of a timeline, in characters.
const COLUMNS: usize = 20;
/// Maximum lengths of a line and a reason, in characters.
const LINE: usize = 200;
const REASON: usize = 4000;
/// Maximum number of lines shown of one difference.
const DIFF_LINES: usize = 300;
/// Maximum number of gates in the table, of agents and of events.
const MOST_GATES: usize = 20;
const MOST_AGENTS: usize = 50;
const MOST_EVENTS: usize = 100;
/// Maximum number of files in a list.
const FILES: usize = 50;

/// A report with its values for the template.
struct Shown<'r> {
    report: &'r Report,
    values: Value,
    /// Number of rows of the table: of all, and with one for each complete story.
    rows: usize,
    folded: usize,
}

/// Returns the reports as Markdown of at most `limit` characters.
pub fn markdown(reports: &[Report], limit: usize) -> String {
    let shown: Vec<Shown> = reports.iter().map(Shown::of).collect();
    let all = |(level, rows)| {
        let texts = shown.iter().map(|one| one.text(level, rows));
        texts.collect::<Vec<_>>().join("\n")
    };
    let fits = |text: &String| text.chars().count() <= limit;
    let levels = (0..4).map(|level| (level, usize::MAX));
    let shortest = levels.chain(ROWS.map(|rows| (4, rows))).map(all).find(fits);
    shortest.unwrap_or_else(|| {
        let mut text = format!("{}\n", counted(reports.len(), "loop", "loops"));
        for report in reports {
            let line = format!("- {}: {}\n", report.change, how_far(&report.totals));
            if text.chars().count() + line.chars().count() > limit.saturating_sub(100) {
                text.push_str("- more; see them with: `git ralph report --all`\n");
                break;
            }
            text.push_str(&line);
        }
        text.chars().take(limit).collect()
    })
}

impl<'r> Shown<'r> {
    fn of(report: &'r Report) -> Self {
        let scale = Scale::of(report);
        let [rows, folded] = [false, true].map(|folds| rows(report, &scale, folds));
        let waits = timeline::of_waits(report);
        let waited = some_time(report.totals.waiting).unwrap_or_default();
        let waited = (!waits.is_empty()).then(|| (waited, drawn(&scale, waits, '░')));
        let earlier = report.events.len().saturating_sub(MOST_EVENTS);
        let events = report.events[earlier..].iter().map(|event| {
            json!({
                "t": moment(event.t),
                "kind": event.kind.words(),
                "took": event.duration.and_then(some_time),
                "text": first_line(&event.text),
            })
        });
        let files = report.files.iter().take(FILES).map(|file| {
            let (added, removed) = (lines(file.insertions), lines(file.deletions));
            json!([file.path, changed_by(file), added, removed])
        });
        let agents = report.by_agent.iter().take(MOST_AGENTS);
        let settings = report.environments.last();
        let limits = settings.map(in_force).unwrap_or_default().into_iter();
        let has_attempts = report.totals.attempts > 0;
        let values = json!({
            "change": report.change,
            "typed": typed(&report.change),
            "outcome": report.outcome.text,
            "summary": summary(report),
            "origin": origin(report),
            "compare_url": report.compare_url,
            "rows": has_attempts.then_some(&rows),
            "folded": folded,
            "waited": waited,
            "failures": failures(report),
            "agents": agents.map(|sums| agent_row(sums, LINE)).collect::<Vec<_>>(),
            "more_agents": report.by_agent.len().saturating_sub(MOST_AGENTS),
            "gates": gates(report),
            "events": events.collect::<Vec<_>>(),
            "earlier_events": earlier,
            "files": files.collect::<Vec<_>>(),
            "more_files": report.files.len().saturating_sub(FILES),
            "changes": changes(report),
            "settings": limits.filter(|(_, value)| value != NO_LIMIT).collect::<Vec<_>>(),
            "settings_since": settings.filter(|_| report.environments.len() > 1).map(|last| &last.since),
        });
        Self {
            report,
            values: Value::from(Serde(values)),
            rows: if has_attempts { rows.len() } else { 0 },
            folded: if has_attempts { folded.len() } else { 0 },
        }
    }

    fn text(&self, level: u8, most: usize) -> String {
        let rows = if level >= 3 { self.folded } else { self.rows };
        let cut = rows.saturating_sub(most);
        let report = self.report;
        let has_patches = || report.attempts().iter().any(|(_, one)| one.patch.is_some());
        let more = [
            (cut > 0).then(|| format!("{cut} rows")),
            (level >= 4 && !report.events.is_empty()).then(|| "what happened in between".to_owned()),
            (level >= 1 && has_patches()).then(|| "the differences".to_owned()),
            (level >= 2).then(|| {
                "reasons beyond their first line, and what stories ask for, agents said and gates printed"
                    .to_owned()
            }),
        ];
        let left_out: Vec<String> = report
            .dropped
            .iter()
            .cloned()
            .chain(more.into_iter().flatten())
            .collect();
        let values = context! { report => self.values.clone(), level, cut, left_out };
        // The template is ours, and the tests render it.
        render("markdown.md", TEMPLATE, values).unwrap_or_default()
    }
}

fn summary(report: &Report) -> String {
    use OutcomeKind::{Aborted, Complete, Finished, Open};
    let totals = &report.totals;
    let parts = [
        (!matches!(report.outcome.kind, Finished | Aborted | Complete | Open)).then(|| how_far(totals)),
        Some(counted(totals.attempts, "attempt", "attempts")),
        Some(time(took_in_all(report))),
        cost(totals),
        match totals.files {
            Some(0) => Some("git sees no change".to_owned()),
            files => size(files, totals.insertions, totals.deletions),
        },
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// Returns the rows of the table; `folds` makes one of each complete story with several attempts.
fn rows(report: &Report, scale: &Scale, folds: bool) -> Vec<serde_json::Value> {
    let mut rows = Vec::new();
    for story in &report.stories {
        let is_complete = story.state == StoryState::Complete;
        if folds && is_complete && story.attempts.len() > 1 {
            rows.push(folded(story, scale));
            continue;
        }
        for (number, attempt) in story.attempts.iter().enumerate() {
            let title = if number == 0 { headed(story) } else { String::new() };
            rows.push(row(&title, attempt, scale));
        }
        if story.attempts.is_empty() && !is_complete {
            let is_skipped = story.state == StoryState::Skipped;
            let state = if is_skipped { "skipped" } else { "open" };
            rows.push(json!({ "title": headed(story), "state": state }));
        }
    }
    rows
}

/// Draws stretches of time over a timeline.
fn drawn(scale: &Scale, spans: impl IntoIterator<Item = Span>, with: char) -> String {
    let mut cells = ['·'; COLUMNS];
    for span in spans {
        scale.draw(&mut cells, span, with);
    }
    cells.iter().collect()
}

fn row(title: &str, attempt: &AttemptReport, scale: &Scale) -> serde_json::Value {
    let entry = &attempt.entry;
    let done = &entry.attempt;
    let why = done.reason.as_deref().map(in_one_line);
    let with = if attempt.is_complete() { '█' } else { '▒' };
    let spans = timeline::of_gates(attempt);
    json!({
        "title": title,
        "state": null,
        "try": format!("@{}", done.attempt),
        "verdict": done.verdict.words(),
        "oid": entry.checkpoint.as_ref().map(Oid::short),
        "url": attempt.url,
        "why": if entry.checkpoint.is_some() { why.flatten() } else { why.map(Option::unwrap_or_default) },
        "time": time(took(attempt)),
        "cost": done.cost_usd.map(dollars).unwrap_or_default(),
        "cells": drawn(scale, std::iter::once(timeline::of_agent(attempt)).chain(spans), with),
        "reviews": review_rows(&attempt.reviews, LINE),
    })
}

/// Returns the row of the table for a complete story with all its attempts.
fn folded(story: &StoryReport, scale: &Scale) -> serde_json::Value {
    let mut cells = ['·'; COLUMNS];
    for attempt in &story.attempts {
        let with = if attempt.is_complete() { '█' } else { '▒' };
        scale.draw(&mut cells, timeline::of_agent(attempt), with);
    }
    let costs = story
        .attempts
        .iter()
        .filter_map(|attempt| attempt.entry.attempt.cost_usd);
    json!({
        "title": headed(story),
        "state": null,
        "try": story.attempts.len(),
        "verdict": "complete",
        "oid": null,
        "why": null,
        "time": time(story.attempts.iter().map(took).sum()),
        "cost": costs.reduce(|one, two| one + two).map(dollars).unwrap_or_default(),
        "cells": cells.iter().collect::<String>(),
        "reviews": [],
    })
}

fn failures(report: &Report) -> Vec<serde_json::Value> {
    let all = report.attempts().into_iter();
    let failed = all
        .filter(|(_, attempt)| !attempt.is_complete())
        .filter_map(|(story, attempt)| {
            let entry = &attempt.entry;
            let reason = entry.attempt.reason.as_deref().unwrap_or_default();
            // Its first line is in the table.
            let is_kept = entry.kept.is_some() && entry.attempt.verdict.counts();
            let command = || {
                format!(
                    "git ralph diff {} {}",
                    typed(&report.change),
                    typed(attempt.name())
                )
            };
            (reason.trim().lines().count() > 1 || is_kept).then(|| {
                json!({
                    "name": attempt.name(),
                    "verdict": entry.attempt.verdict.words(),
                    "line": in_one_line(reason).unwrap_or_default(),
                    "reason": short(reason, REASON),
                    "words": words(story, attempt),
                    "files": attempt.diff.as_deref().map(stat).unwrap_or_default(),
                    "command": entry.kept.as_ref().map(|_| command()),
                })
            })
        });
    failed.collect()
}

/// Returns the gates with the numbers of their runs, and the end of the output of the last run of each.
fn gates(report: &Report) -> Vec<serde_json::Value> {
    let all = report.attempts();
    let of_attempts = all.iter().flat_map(|(_, attempt)| &attempt.gates);
    let mut runs: Vec<((&str, bool), Vec<&Gate>)> = Vec::new();
    for gate in report.gates.iter().chain(of_attempts) {
        let room = MOST_GATES - runs.len();
        let name = (gate.command.as_str(), gate.held);
        match runs.iter_mut().find(|(other, _)| *other == name) {
            Some((_, runs)) => runs.push(gate),
            None if room > 0 => runs.push((name, vec![gate])),
            None => {}
        }
    }
    let rows = runs.iter().map(|((command, held), runs)| {
        let passed = runs.iter().filter(|gate| gate.passed).count();
        let output = runs.last().and_then(|last| last.output.as_ref());
        json!({
            "command": command,
            "held": held,
            "passed": passed,
            "failed": runs.len() - passed,
            "time": time(runs.iter().map(|gate| gate.duration).sum()),
            "output": output.map(|output| last_chars(output, REASON)),
        })
    });
    rows.collect()
}

fn changes(report: &Report) -> Vec<serde_json::Value> {
    let all = report.attempts();
    let complete = all.iter().filter(|(_, attempt)| attempt.is_complete());
    let complete = complete.map(|(story, attempt)| {
        let words = words(story, attempt);
        (headed(story), &attempt.diff, &attempt.patch, words)
    });
    let edits = report.events.iter().filter(|event| event.checkpoint.is_some());
    let edits = edits.map(|event| (event.text.clone(), &event.diff, &event.patch, Vec::new()));
    let shown = complete.chain(edits).filter_map(|(title, files, patch, words)| {
        let files = files.as_deref().unwrap_or_default();
        let insertions = files.iter().filter_map(|file| file.insertions).sum();
        let deletions = files.iter().filter_map(|file| file.deletions).sum();
        let count = u64::try_from(files.len()).ok();
        (!files.is_empty() || !words.is_empty()).then(|| {
            json!({
                "title": title,
                "size": size(count, Some(insertions), Some(deletions)).unwrap_or_default(),
                "words": words,
                "lines": patch.as_ref().filter(|_| !files.is_empty()).map(lines_of),
                "files": stat(files),
            })
        })
    });
    shown.collect()
}

/// Returns texts of others with their headings.
fn words(story: &StoryReport, attempt: &AttemptReport) -> Vec<(&'static str, String)> {
    let words = words_of(story, attempt).into_iter();
    words
        .map(|(what, said)| (what, last_chars(said, REASON)))
        .collect()
}

fn lines_of(patch: &Patch) -> String {
    let mut lines: Vec<&str> = patch.text.lines().take(DIFF_LINES).collect();
    if patch.is_cut || patch.text.lines().count() > DIFF_LINES {
        lines.push("… the rest is left out");
    }
    plain(&lines.join("\n")).into_owned()
}

/// Returns the files of a difference, one per line.
fn stat(files: &[FileChange]) -> String {
    let rows = files.iter().take(FILES).map(|file| {
        let path = short(&file.path, LINE).replace('\n', "^J");
        let (added, removed) = (lines(file.insertions), lines(file.deletions));
        format!("{:8} +{added} -{removed}  {path}\n", file.status)
    });
    let mut text: String = rows.collect();
    if files.len() > FILES {
        text.push_str(&format!("and {} more\n", files.len() - FILES));
    }
    text
}
