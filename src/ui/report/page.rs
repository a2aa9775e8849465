//! Writes the report as one HTML file without scripts, from the template `page.html`.
//!
//! Invariants: the template escapes every text; the page of any loop has at most a few megabytes, and says what it
//! leaves out.

use minijinja::value::Serde;
use serde::Serialize;
use serde_json::{Value, json};

use super::agents::{agent_row, review_rows};
use super::differences::difference_of;
use super::drawing::{bars_of, kind_of, timeline_of};
use super::room::{LIMITS, LINE, REASON, Room, weight, within};
use super::template::render;
use super::timeline::Scale;
use super::{
    changed_by, cost, headed, how_far, in_force, last_chars, lines, moment, origin, short, size, some_time,
    tokens, took, took_in_all, when, words_of,
};
use crate::names::{counted, dollars, typed};
use crate::report::{AttemptReport, Gate, OutcomeKind, Report, StoryReport, StoryState};
use crate::ui::amounts::time;
use crate::ui::log::in_one_line;
use crate::ui::shown::plain;

/// The template.
const TEMPLATE: &str = include_str!("page.html");

/// Maximum size of a page, in bytes.
const MOST: usize = 5 << 20;
/// Maximum lengths of a title, and of a line in a row of the table, in characters.
const TITLE: usize = 160;
const ROW_LINE: usize = 200;

/// The values for a change: texts that can be shown, and positions.
#[derive(Default, Serialize)]
struct Change {
    id: String,
    name: String,
    outcome: String,
    outcome_kind: &'static str,
    origin: String,
    compare_url: Option<String>,
    cards: Vec<(&'static str, String)>,
    timeline: Option<Value>,
    rows: Vec<Value>,
    agents: Vec<Value>,
    other_stories: Vec<(String, &'static str)>,
    changes: Vec<Value>,
    failures: Vec<Value>,
    /// Tells whether the attempt completed its story, its name, and the end of what it printed.
    logs: Vec<(bool, String, String)>,
    gates: Vec<Value>,
    events: Vec<Value>,
    /// Files, with who changed them, and the lines added and removed.
    files: Vec<(String, String, String, String)>,
    /// The settings that were in force, each time with the attempt from which on.
    environments: Vec<(String, Vec<(&'static str, String)>)>,
    left_out: Vec<String>,
}

/// Options of the page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// True if everything on the page is unfolded, for printing.
    pub print: bool,
}

/// Returns the reports as a page.
pub fn page(reports: &[Report], options: Options) -> String {
    let pages = LIMITS.into_iter().map(|room| page_within(reports, options, room));
    let mut pages = pages.skip_while(|page| page.len() > MOST);
    // The last of the limits always fit.
    pages.next().unwrap_or_default()
}

fn page_within(reports: &[Report], options: Options, mut room: Room) -> String {
    let skipped = reports.len().saturating_sub(room.changes);
    let reports = &reports[skipped..];
    let mut changes: Vec<Change> = reports
        .iter()
        .enumerate()
        .map(|(number, report)| change_of(report, number, &mut room))
        .collect();
    if let Some(last) = changes.last_mut().filter(|_| skipped > 0) {
        let loops = counted(skipped, "loop", "loops");
        last.left_out
            .push(format!("{loops} before the first on this page"));
    }
    let title = match reports {
        [only] => only.change.to_string(),
        several => counted(several.len(), "change", "changes"),
    };
    let longest = reports
        .iter()
        .map(|report| report.totals.duration)
        .fold(1.0, f64::max);
    let bars = reports.iter().zip(&changes).map(|(report, change)| {
        json!({
            "title": change.name,
            "target": change.id,
            "width": (report.totals.duration / longest * 100.0).clamp(0.5, 100.0),
            "words": format!("{}, {}", how_far(&report.totals), time(report.totals.duration)),
        })
    });
    let first = reports.first();
    let page = json!({
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "git": first.and_then(|report| report.git.as_ref()),
        "print": options.print,
        "made": first.map_or_else(String::new, |report| moment(report.made)),
        "several": reports.len() != 1,
        "has_failed": changes.iter().any(|change| !change.failures.is_empty()),
        "bars": bars.collect::<Vec<_>>(),
        "changes": changes,
    });
    // The template is ours, and the tests render it.
    render("page.html", TEMPLATE, Serde(page)).unwrap_or_default()
}

fn change_of(report: &Report, number: usize, room: &mut Room) -> Change {
    let mut left_out: Vec<String> = report.dropped.iter().map(|what| short(what, LINE)).collect();
    let all = report.attempts();
    let skipped = beyond(all.len(), room.attempts, "earlier attempts", &mut left_out);
    let shown = &all[skipped..];
    let scale = Scale::of(report);
    let files = report.files.iter().take(room.files);
    let files = files.map(|file| {
        (
            short(&file.path, LINE),
            short(&changed_by(file), LINE),
            lines(file.insertions),
            lines(file.deletions),
        )
    });
    let agents = report.by_agent.iter().take(room.files);
    for (all, what) in [
        (report.files.len(), "files of the table by file"),
        (report.by_agent.len(), "agents of the table by agent"),
    ] {
        beyond(all, room.files, what, &mut left_out);
    }
    let unshown = report.environments.len().saturating_sub(room.files);
    let environments = report.environments[unshown..].iter();
    let mut change = Change {
        name: plain(report.change.as_str()).into_owned(),
        outcome: short(&report.outcome.text, LINE),
        outcome_kind: match report.outcome.kind {
            OutcomeKind::Finished | OutcomeKind::Complete
                if report.totals.complete >= report.totals.stories =>
            {
                "complete"
            }
            OutcomeKind::Stopped | OutcomeKind::Aborted => "failed",
            _ => "other",
        },
        origin: origin(report),
        compare_url: report.compare_url.clone(),
        cards: cards(report),
        agents: agents.map(|sums| agent_row(sums, 80)).collect(),
        gates: report
            .gates
            .iter()
            .map(|gate| gate_row(gate, "before any attempt", room))
            .collect(),
        files: files.collect(),
        environments: environments
            .map(|one| (short(&one.since, LINE), in_force(one)))
            .collect(),
        left_out,
        id: format!("c{number}"),
        ..Change::default()
    };
    let bars = add_stories(&mut change, report, shown, &scale, room);
    add_events(&mut change, report, room);
    let most = room.events;
    let unshown = beyond(
        change.gates.len(),
        most,
        "earlier runs of gates",
        &mut change.left_out,
    );
    change.gates.drain(..unshown);
    change.timeline = timeline_of(report, bars, &scale);
    change
}

/// Returns how many of `all` are more than `most`, and notes them as left out.
fn beyond(all: usize, most: usize, what: &str, left_out: &mut Vec<String>) -> usize {
    let skipped = all.saturating_sub(most);
    if skipped > 0 {
        left_out.push(format!("{skipped} {what}"));
    }
    skipped
}

/// Adds the stories and those of their attempts that are shown. Returns the bars of the time line, by story.
fn add_stories(
    change: &mut Change,
    report: &Report,
    shown: &[(&StoryReport, &AttemptReport)],
    scale: &Scale,
    room: &mut Room,
) -> Vec<(String, Vec<Value>)> {
    let mut bars_of_stories = Vec::new();
    for story in &report.stories {
        let title = short(&headed(story), TITLE);
        if story.attempts.is_empty() {
            let state = match story.state {
                StoryState::Complete => "complete before",
                StoryState::Skipped => "skipped",
                StoryState::Failed | StoryState::Open => "not attempted",
            };
            change.other_stories.push((title.clone(), state));
        }
        let of_story = shown.iter().enumerate();
        let of_story: Vec<_> = of_story
            .filter(|(_, (other, _))| std::ptr::eq(*other, story))
            .map(|(number, (_, attempt))| (format!("{}t{number}", change.id), *attempt))
            .collect();
        let mut bars = Vec::new();
        for (at, (target, attempt)) in of_story.iter().enumerate() {
            bars.extend(bars_of(attempt, scale, target));
            let mut row = add_attempt(change, report, story, attempt, target, room);
            // Where only what failed is shown, the first row may be another.
            let is_first_failed = || {
                let mut before = of_story[..at].iter();
                !attempt.is_complete() && before.all(|(_, before)| before.is_complete())
            };
            if at == 0 || is_first_failed() {
                row["story"] = json!(title);
            }
            change.rows.push(row);
        }
        if !bars.is_empty() {
            bars_of_stories.push((title, bars));
        }
    }
    bars_of_stories
}

/// Adds what an attempt changed, said and printed, and why it failed. Returns its row of the table.
fn add_attempt(
    change: &mut Change,
    report: &Report,
    story: &StoryReport,
    attempt: &AttemptReport,
    target: &str,
    room: &mut Room,
) -> Value {
    let mut row = row_of(attempt, target);
    let difference = format!("{target}d");
    let has_files = attempt.diff.as_ref().is_some_and(|files| !files.is_empty());
    if !attempt.is_complete() {
        let id = format!("{target}f");
        row["failure"] = json!(id);
        let mut failure = failure_of(report, attempt, &id, room);
        failure["difference"] = json!(has_files.then_some(&difference));
        change.failures.push(failure);
    }
    let words = words_of(story, attempt);
    if has_files || !words.is_empty() {
        let undone = if attempt.is_complete() { "" } else { ", undone" };
        let title = short(&headed(story), TITLE);
        let title = format!("{title} ({}{undone})", plain(&attempt.name()));
        let files = attempt.diff.as_deref();
        let mut one = difference_of(&difference, &title, files, attempt.patch.as_ref(), room);
        let words = words.into_iter();
        let words = words.filter_map(|(what, text)| Some((what, within(text, room)?)));
        one["words"] = json!(words.collect::<Vec<_>>());
        one["accepted"] = json!(attempt.is_complete());
        one["command"] = json!(has_files.then(|| command(report, "diff", attempt)));
        change.changes.push(one);
    }
    for gate in &attempt.gates {
        change.gates.push(gate_row(gate, &attempt.name(), room));
    }
    if let Some(log) = &attempt.log {
        let end = last_chars(log, room.logs);
        room.logs = room.logs.saturating_sub(weight(&end));
        let name = plain(&attempt.name()).into_owned();
        change.logs.push((attempt.is_complete(), name, end));
    }
    row
}

/// Adds what happened between the attempts.
fn add_events(change: &mut Change, report: &Report, room: &mut Room) {
    let most = room.events;
    let skipped = beyond(report.events.len(), most, "earlier events", &mut change.left_out);
    for (at, event) in report.events[skipped..].iter().enumerate() {
        change.events.push(json!({
            "t": moment(event.t),
            "kind": event.kind.words(),
            "took": event.duration.and_then(some_time).unwrap_or_default(),
            "text": short(&event.text, LINE),
        }));
        if let Some(files) = event.diff.as_ref().filter(|files| !files.is_empty()) {
            let title = format!("{}, {}", short(&event.text, LINE), moment(event.t));
            let id = format!("{}e{at}", change.id);
            let mut difference = difference_of(&id, &title, Some(files), event.patch.as_ref(), room);
            let oid = event.checkpoint.as_ref();
            difference["command"] = json!(oid.map(|oid| format!("git show {}", oid.short())));
            change.changes.push(difference);
        }
    }
}

fn cards(report: &Report) -> Vec<(&'static str, String)> {
    let totals = &report.totals;
    let of = |part: Option<u64>, what: &str| part.map(|part| format!(", {} {what}", tokens(part)));
    let read = totals.input_tokens.map(|read| {
        let cached = of(totals.cache_read_tokens, "from a cache").unwrap_or_default();
        format!("{}{cached}", tokens(read))
    });
    let parts = [
        (
            "Stories",
            Some(format!("{} of {} complete", totals.complete, totals.stories)),
        ),
        ("Attempts", Some(totals.attempts.to_string())),
        ("Time of attempts", Some(time(took_in_all(report)))),
        ("Start to end", Some(time(totals.duration))),
        ("Agents", some_time(totals.agent_duration)),
        ("Gates", some_time(totals.gate_duration)),
        ("Waiting", some_time(totals.waiting)),
        ("Cost", cost(totals)),
        ("Tokens read", read),
        ("Tokens written", totals.output_tokens.map(tokens)),
        ("Changed", size(totals.files, totals.insertions, totals.deletions)),
    ];
    parts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn row_of(attempt: &AttemptReport, id: &str) -> Value {
    let entry = &attempt.entry;
    let done = &entry.attempt;
    let gates: f64 = attempt.gates.iter().map(|gate| gate.duration).sum();
    let read = done.input_tokens.map(tokens);
    let written = done.output_tokens.map(tokens);
    let agent = attempt
        .agent
        .iter()
        .chain(&done.model)
        .cloned()
        .chain(done.boxed.as_deref().map(|boxed| {
            let is_there = !boxed.starts_with("none");
            if is_there { "in a box" } else { "without a box" }.to_owned()
        }))
        .chain(done.rounds.map(|rounds| format!("{rounds} rounds")))
        .collect::<Vec<_>>();
    json!({
        "id": id,
        "story": "",
        "attempt": done.attempt,
        "kind": kind_of(attempt),
        "verdict": done.verdict.words(),
        "reason": short(
            &in_one_line(done.reason.as_deref().unwrap_or_default()).unwrap_or_default(),
            ROW_LINE,
        ),
        "failure": null,
        "time": time(took(attempt)),
        "parts": some_time(gates).map_or_else(String::new, |gates| format!("gates {gates}")),
        "agent": short(&agent.join(", "), 80),
        "tokens": match (read, written) {
            (None, None) => String::new(),
            (read, written) => format!(
                "{} / {}",
                read.unwrap_or("?".into()),
                written.unwrap_or("?".into())
            ),
        },
        "cached": done.cache_read_tokens.map(tokens),
        "cost": done.cost_usd.map(dollars).unwrap_or_default(),
        "size": size(done.files, done.insertions, done.deletions).unwrap_or_default(),
        "kept": entry.kept.as_ref().map(|_| plain(&attempt.name()).into_owned()),
        "short": entry.checkpoint.as_ref().map(|oid| oid.short().to_owned()),
        "url": attempt.url.clone(),
        "reviews": review_rows(&attempt.reviews, ROW_LINE),
    })
}

fn command(report: &Report, verb: &str, attempt: &AttemptReport) -> String {
    let name = plain(&attempt.name()).into_owned();
    format!("git ralph {verb} {} {}", typed(&report.change), typed(&name))
}

fn failure_of(report: &Report, attempt: &AttemptReport, id: &str, room: &mut Room) -> Value {
    let done = &attempt.entry.attempt;
    let reason = done.reason.as_deref().unwrap_or_default();
    let most = REASON.min(room.reasons.max(LINE));
    let text = short(reason, most);
    room.reasons = room.reasons.saturating_sub(weight(&text));
    let told_this = attempt.told.as_deref() == Some(reason);
    let given = attempt.told.as_deref().filter(|_| !told_this);
    let given = given.map(|text| short(text, most));
    room.reasons = room.reasons.saturating_sub(given.as_deref().map_or(0, weight));
    let is_kept = attempt.entry.kept.is_some();
    let mut commands = Vec::new();
    if is_kept {
        commands.push(command(report, "diff", attempt));
        if report.phase != crate::state::Phase::Finished {
            commands.push(command(report, "restore", attempt));
        }
    }
    json!({
        "id": id,
        "title": format!("{}: {}", plain(&attempt.name()), done.verdict.words()),
        "reason": text,
        "told": given,
        "told_this": told_this,
        "commands": commands,
        "difference": null,
    })
}

/// Returns a run of a gate; `about` is the name of its attempt, or that there was none.
fn gate_row(gate: &Gate, about: &str, room: &mut Room) -> Value {
    let words = if gate.passed { "passed" } else { "failed" };
    let why = gate.reason.as_deref();
    let why = why.map_or_else(String::new, |why| format!(": {}", short(why, LINE)));
    json!({
        "about": short(about, TITLE),
        "passed": gate.passed,
        "command": short(&gate.command, LINE),
        "words": format!("{words} after {}{}{why}", time(gate.duration), when(gate)),
        "output": gate.output.as_deref().and_then(|output| within(output, room)),
    })
}
