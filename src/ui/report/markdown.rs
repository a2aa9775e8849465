//! Writes the report as Markdown, for the body of a pull request or the page of a CI job.
//!
//! Invariants: the text is never longer than its limit, and says what it leaves out; text of others never becomes
//! markup, a link, a mention or a reference.

use std::fmt::Write;

use super::agents::{markdown_rows, markdown_table};
use super::harmless::{fenced, inline};
use super::timeline::{self, Scale};
use super::{
    NO_LIMIT, changed_by, cost, headed, how_far, in_force, last_chars, lines, moment, origin, short, size,
    some_time, took, words_of,
};
use crate::names::counted;
use crate::names::dollars;
use crate::names::typed;
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

/// Width of a timeline, in characters.
const COLUMNS: usize = 20;
/// Maximum lengths of a title, a line and a reason, in characters.
const TITLE: usize = 120;
const LINE: usize = 200;
const REASON: usize = 4000;
/// Maximum number of lines shown of one difference.
const DIFF_LINES: usize = 300;
/// Maximum number of gates in the table.
const MOST_GATES: usize = 20;
/// Maximum number of files in a list.
const FILES: usize = 50;

/// The brevity of the text; each level leaves out more than the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Brevity {
    Whole,
    /// Without diffs.
    NoDiffs,
    /// With only the first line of each reason.
    ShortReasons,
    /// With one line for each complete story.
    Folded,
    /// With only the last rows of the table, this many.
    Rows(usize),
}

/// Returns the reports as Markdown of at most `limit` characters.
pub fn markdown(reports: &[Report], limit: usize) -> String {
    let all = |brevity| {
        let texts = reports.iter().map(|report| one(report, brevity));
        texts.collect::<Vec<_>>().join("\n")
    };
    let fits = |text: &String| text.chars().count() <= limit;
    let levels = [
        Brevity::Whole,
        Brevity::NoDiffs,
        Brevity::ShortReasons,
        Brevity::Folded,
    ];
    let rows = [1000, 300, 100, 30, 10, 3, 0].map(Brevity::Rows);
    let shortest = levels.into_iter().chain(rows).map(all).find(fits);
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

fn one(report: &Report, brevity: Brevity) -> String {
    let mut text = format!("### git ralph: {}\n\n", report.change);
    let _ = writeln!(text, "**{}**\n", inline(&report.outcome.text, 300));
    let _ = writeln!(text, "{}\n", summary(report));
    let _ = writeln!(text, "{}\n", inline(&origin(report), 300));
    if let Some(url) = &report.compare_url {
        let _ = writeln!(text, "[What the loop changed]({url})\n");
    }
    let mut left_out = report.dropped.clone();
    if report.totals.attempts > 0 {
        text.push_str(&table(report, brevity, &mut left_out));
    } else {
        text.push_str("No attempt was made.\n");
    }
    if !matches!(brevity, Brevity::Rows(_)) {
        failures(&mut text, report, brevity);
        text.push_str(&markdown_table(report));
        gates(&mut text, report, brevity);
        happenings(&mut text, report);
        files(&mut text, report);
        changes(&mut text, report, brevity);
        environment(&mut text, report);
    } else if !report.events.is_empty() {
        left_out.push("what happened in between".to_owned());
    }
    if brevity >= Brevity::NoDiffs && report.attempts().iter().any(|(_, a)| a.patch.is_some()) {
        left_out.push("the differences".to_owned());
    }
    if brevity >= Brevity::ShortReasons {
        left_out.push(
            "reasons beyond their first line, and what stories ask for, agents said and gates printed"
                .to_owned(),
        );
    }
    if !left_out.is_empty() {
        let left_out: Vec<_> = left_out.iter().map(|what| inline(what, LINE)).collect();
        let _ = writeln!(
            text,
            "\nLeft out: {}. All of it: `git ralph report {}`",
            left_out.join("; "),
            typed(&report.change)
        );
    }
    text
}

fn summary(report: &Report) -> String {
    use OutcomeKind::{Aborted, Complete, Finished, Open};
    let totals = &report.totals;
    let parts = [
        (!matches!(report.outcome.kind, Finished | Aborted | Complete | Open)).then(|| how_far(totals)),
        Some(counted(totals.attempts, "attempt", "attempts")),
        Some(time(totals.duration)),
        cost(totals),
        match totals.files {
            Some(0) => Some("git sees no change".to_owned()),
            files => size(files, totals.insertions, totals.deletions),
        },
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

fn table(report: &Report, brevity: Brevity, left_out: &mut Vec<String>) -> String {
    let scale = Scale::of(report);
    let mut rows = Vec::new();
    for story in &report.stories {
        let is_complete = story.state == StoryState::Complete;
        if brevity >= Brevity::Folded && is_complete && story.attempts.len() > 1 {
            rows.push(folded(story, &scale));
            continue;
        }
        for (number, attempt) in story.attempts.iter().enumerate() {
            let title = if number == 0 { headed(story) } else { String::new() };
            rows.push(row(&title, attempt, &scale) + &markdown_rows(attempt));
        }
        if story.attempts.is_empty() && !is_complete {
            let state = if story.state == StoryState::Skipped {
                "skipped"
            } else {
                "open"
            };
            rows.push(format!(
                "| {} | | {state} | | | |\n",
                inline(&headed(story), TITLE)
            ));
        }
    }
    if let Brevity::Rows(most) = brevity
        && rows.len() > most
    {
        left_out.push(format!("{} rows", rows.len() - most));
        rows.drain(..rows.len() - most);
    }
    let waits = timeline::of_waits(report);
    if !waits.is_empty() {
        let mut cells = ['·'; COLUMNS];
        for wait in waits {
            scale.draw(&mut cells, wait, '░');
        }
        let waited = some_time(report.totals.waiting).unwrap_or_default();
        rows.push(format!("| waiting | | | {waited} | | {} |\n", blocks(&cells)));
    }
    let head = "| story | try | verdict | time | cost | timeline |\n|---|---|---|---|---|---|\n";
    format!("{head}{}", rows.concat())
}

fn blocks(cells: &[char]) -> String {
    format!("`{}`", cells.iter().collect::<String>())
}

fn row(title: &str, attempt: &AttemptReport, scale: &Scale) -> String {
    let entry = &attempt.entry;
    let verdict = match (&entry.checkpoint, &entry.attempt.reason) {
        (Some(oid), reason) => {
            let made = match &attempt.url {
                Some(url) => format!("complete [`{}`]({url})", oid.short()),
                None => format!("complete `{}`", oid.short()),
            };
            let why = reason.as_deref().and_then(in_one_line);
            why.map_or(made.clone(), |why| format!("{made}: {}", inline(&why, LINE)))
        }
        (None, Some(reason)) => {
            let reason = inline(&in_one_line(reason).unwrap_or_default(), LINE);
            format!("{}: {reason}", entry.attempt.verdict.words())
        }
        (None, None) => entry.attempt.verdict.words().to_owned(),
    };
    let mut cells = ['·'; COLUMNS];
    let with = if attempt.is_complete() { '█' } else { '▒' };
    scale.draw(&mut cells, timeline::of_agent(attempt), with);
    for gate in timeline::of_gates(attempt) {
        scale.draw(&mut cells, gate, with);
    }
    format!(
        "| {} | @{} | {verdict} | {} | {} | {} |\n",
        inline(title, TITLE),
        entry.attempt.attempt,
        time(took(attempt)),
        entry.attempt.cost_usd.map(dollars).unwrap_or_default(),
        blocks(&cells)
    )
}

/// Returns the row of the table for a complete story with all its attempts.
fn folded(story: &StoryReport, scale: &Scale) -> String {
    let mut cells = ['·'; COLUMNS];
    for attempt in &story.attempts {
        let with = if attempt.is_complete() { '█' } else { '▒' };
        scale.draw(&mut cells, timeline::of_agent(attempt), with);
    }
    let costs: Vec<f64> = story
        .attempts
        .iter()
        .filter_map(|attempt| attempt.entry.attempt.cost_usd)
        .collect();
    let cost = if costs.is_empty() {
        String::new()
    } else {
        dollars(costs.iter().sum())
    };
    format!(
        "| {} | {} | complete | {} | {cost} | {} |\n",
        inline(&headed(story), TITLE),
        story.attempts.len(),
        time(story.attempts.iter().map(took).sum()),
        blocks(&cells)
    )
}

fn failures(text: &mut String, report: &Report, brevity: Brevity) {
    let all = report.attempts();
    let failed = all.iter().filter(|(_, attempt)| !attempt.is_complete());
    let failed = failed.filter(|(_, attempt)| {
        let reason = attempt.entry.attempt.reason.as_deref().unwrap_or_default();
        // Its first line is in the table.
        let is_kept = attempt.entry.kept.is_some() && attempt.entry.attempt.verdict.counts();
        reason.trim().lines().count() > 1 || is_kept
    });
    let failed: Vec<_> = failed.collect();
    if failed.is_empty() || brevity >= Brevity::ShortReasons {
        return;
    }
    text.push_str("\n#### Failed attempts\n\n");
    for (story, attempt) in failed {
        let entry = &attempt.entry;
        let reason = entry.attempt.reason.as_deref().unwrap_or_default();
        let name = inline(&attempt.name(), TITLE);
        let line = inline(&in_one_line(reason).unwrap_or_default(), LINE);
        let _ = writeln!(
            text,
            "<details><summary>{name} {}: {line}</summary>\n",
            entry.attempt.verdict.words()
        );
        text.push_str(&fenced("", &short(reason, REASON)));
        words(text, words_of(story, attempt));
        if let Some(files) = attempt.diff.as_ref().filter(|files| !files.is_empty()) {
            text.push_str(&fenced("", &stat(files)));
        }
        if entry.kept.is_some() {
            let command = format!(
                "git ralph diff {} {}",
                typed(&report.change),
                typed(attempt.name())
            );
            let _ = writeln!(text, "What it left: {}\n", inline(&command, LINE));
        }
        text.push_str("</details>\n");
    }
}

/// Appends a table of the gates, and the end of the output of the last run of each.
fn gates(text: &mut String, report: &Report, brevity: Brevity) {
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
    if runs.is_empty() {
        return;
    }
    text.push_str("\n#### Gates\n\n| gate | passed | failed | time |\n|---|---|---|---|\n");
    for ((command, held), runs) in &runs {
        let when = if *held {
            ", with the tests as they were"
        } else {
            ""
        };
        let passed = runs.iter().filter(|gate| gate.passed).count();
        let took = time(runs.iter().map(|gate| gate.duration).sum());
        let failed = runs.len() - passed;
        let _ = writeln!(
            text,
            "| {}{when} | {passed} | {failed} | {took} |",
            inline(command, LINE)
        );
    }
    let last = runs
        .iter()
        .filter_map(|((command, _), runs)| Some((command, runs.last()?.output.as_ref()?)));
    for (command, output) in last.filter(|_| brevity < Brevity::ShortReasons) {
        let command = inline(command, LINE);
        let output = fenced("", &last_chars(output, REASON));
        let summary = format!("the end of what {command} printed last");
        let _ = write!(
            text,
            "\n<details><summary>{summary}</summary>\n\n{output}</details>\n"
        );
    }
}

fn happenings(text: &mut String, report: &Report) {
    if report.events.is_empty() {
        return;
    }
    text.push_str("\n#### What happened in between\n\n");
    let skipped = report.events.len().saturating_sub(100);
    if skipped > 0 {
        let _ = writeln!(text, "- {skipped} earlier events");
    }
    for event in report.events.iter().skip(skipped) {
        let took = event.duration.and_then(some_time);
        let took = took.map_or_else(String::new, |took| format!(" ({took})"));
        let said = inline(first_line(&event.text), LINE);
        let _ = writeln!(text, "- {} {}{took}: {said}", moment(event.t), event.kind.words());
    }
}

/// Appends a table of the files that were changed, with those that changed them.
fn files(text: &mut String, report: &Report) {
    if report.files.is_empty() {
        return;
    }
    text.push_str("\n#### Files\n\n| file | stories | added | removed |\n|---|---|---|---|\n");
    for file in report.files.iter().take(FILES) {
        let (path, who) = (inline(&file.path, LINE), inline(&changed_by(file), LINE));
        let (added, removed) = (lines(file.insertions), lines(file.deletions));
        let _ = writeln!(text, "| {path} | {who} | {added} | {removed} |");
    }
    if report.files.len() > FILES {
        let _ = writeln!(text, "\nand {} more", report.files.len() - FILES);
    }
}

fn changes(text: &mut String, report: &Report, brevity: Brevity) {
    let all = report.attempts();
    let complete = all.iter().filter(|(_, attempt)| attempt.is_complete());
    let complete = complete.map(|(story, attempt)| {
        let words = words_of(story, attempt);
        (headed(story), &attempt.diff, &attempt.patch, words)
    });
    let edits = report.events.iter().filter(|event| event.checkpoint.is_some());
    let edits = edits.map(|event| (event.text.clone(), &event.diff, &event.patch, Vec::new()));
    let mut is_first = true;
    for (title, files, patch, quotes) in complete.chain(edits) {
        let files = files.as_deref().unwrap_or_default();
        if files.is_empty() && quotes.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) {
            text.push_str("\n#### Changes\n\n");
        }
        let insertions = files.iter().filter_map(|file| file.insertions).sum();
        let deletions = files.iter().filter_map(|file| file.deletions).sum();
        let count = u64::try_from(files.len()).ok();
        let size = size(count, Some(insertions), Some(deletions)).unwrap_or_default();
        let _ = writeln!(
            text,
            "<details><summary>{}: {size}</summary>\n",
            inline(&title, TITLE)
        );
        if brevity < Brevity::ShortReasons {
            words(text, quotes);
        }
        match patch.as_ref().filter(|_| brevity == Brevity::Whole) {
            _ if files.is_empty() => {}
            Some(patch) => text.push_str(&fenced("diff", &lines_of(patch))),
            None => text.push_str(&fenced("", &stat(files))),
        }
        text.push_str("</details>\n");
    }
}

/// Appends the settings that were last in force.
fn environment(text: &mut String, report: &Report) {
    let Some(last) = report.environments.last() else {
        return;
    };
    text.push_str("\n#### Settings in force\n\n");
    if report.environments.len() > 1 {
        let since = inline(&last.since, TITLE);
        let _ = writeln!(text, "- From {since} on; others before");
    }
    for (name, value) in in_force(last).into_iter().filter(|(_, value)| value != NO_LIMIT) {
        let _ = writeln!(text, "- {name}: {}", inline(&value, 1000));
    }
}

/// Appends texts of others with their headings.
fn words(text: &mut String, words: Vec<(&'static str, &str)>) {
    for (what, said) in words {
        let _ = write!(text, "{what}:\n\n{}", fenced("", &last_chars(said, REASON)));
    }
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
    let mut text = String::new();
    for file in files.iter().take(FILES) {
        let path = short(&file.path, LINE).replace('\n', "^J");
        let _ = writeln!(
            text,
            "{:8} +{} -{}  {path}",
            file.status,
            lines(file.insertions),
            lines(file.deletions)
        );
    }
    if files.len() > FILES {
        let _ = writeln!(text, "and {} more", files.len() - FILES);
    }
    text
}
