//! Writes the report as Markdown, for the body of a pull request or the page of a CI job, from the template `markdown.md`.
//!
//! Invariants: the text is never longer than its limit, and says what it omits; quoted text never becomes markup, a
//! link, a mention or a reference; the source is readable without rendering.

use std::collections::BTreeMap;
use std::iter::once;

use minijinja::value::Serde;

use super::document::Document;
use super::how_far;
use super::room::Room;
use super::template::render;
use super::timeline::{self, Scale, Span};
use crate::names::counted;
use crate::report::Report;

/// Maximum length of the body of a pull request that every host accepts, in characters.
pub const PULL_REQUEST: usize = 60_000;
/// Maximum length of the page of a CI job, in characters: 900 KiB if each had four bytes.
pub const JOB_PAGE: usize = 900 * 1024 / 4;

/// The template.
const TEMPLATE: &str = include_str!("markdown.md");

/// The levels of omission, in order: the shares of the limit for diff lines and for texts, and the maximum number of
/// attempts. Diffs are omitted before texts, and texts before attempts.
const LEVELS: [(usize, usize, usize); 11] = [
    (1, 1, usize::MAX),
    (2, 2, usize::MAX),
    (4, 2, usize::MAX),
    (usize::MAX, 2, usize::MAX),
    (usize::MAX, usize::MAX, usize::MAX),
    (usize::MAX, usize::MAX, 300),
    (usize::MAX, usize::MAX, 100),
    (usize::MAX, usize::MAX, 30),
    (usize::MAX, usize::MAX, 10),
    (usize::MAX, usize::MAX, 3),
    (usize::MAX, usize::MAX, 0),
];

/// Width of a timeline, in characters.
const COLUMNS: usize = 20;
/// Maximum number of events, and of files, agents and settings.
const MOST_EVENTS: usize = 100;
const MOST_FILES: usize = 50;

/// Returns the reports as Markdown of at most `limit` characters.
pub fn markdown(reports: &[Report], limit: usize) -> String {
    let texts = LEVELS.into_iter().map(|(lines, texts, attempts)| Room {
        changes: reports.len(),
        attempts,
        events: attempts.min(MOST_EVENTS),
        files: attempts.min(MOST_FILES),
        texts: limit / texts,
        logs: 0,
        lines: limit / lines,
        left_out: BTreeMap::new(),
    });
    let mut texts = texts.map(|mut room| {
        let texts = reports.iter().map(|report| text_of(report, &mut room));
        texts.collect::<Vec<_>>().join("\n")
    });
    let shortest = texts.find(|text| text.chars().count() <= limit);
    shortest.unwrap_or_else(|| {
        let mut text = format!("{}\n", counted(reports.len(), "loop", "loops"));
        for report in reports {
            let line = format!("- {}: {}\n", report.change, how_far(report));
            if text.chars().count() + line.chars().count() > limit.saturating_sub(100) {
                text.push_str("- more; see them with: `git ralph report --all`\n");
                break;
            }
            text.push_str(&line);
        }
        text.chars().take(limit).collect()
    })
}

fn text_of(report: &Report, room: &mut Room) -> String {
    let mut document = Document::of(report, 0, room);
    document
        .environments
        .drain(..document.environments.len().saturating_sub(1));
    let scale = Scale::of(report);
    let mut lines = String::new();
    for (title, attempts) in &document.rows {
        let mut cells = ['·'; COLUMNS];
        for (_, attempt) in attempts {
            let with = if attempt.is_complete() { '█' } else { '▒' };
            let spans = once(timeline::of_agent(attempt)).chain(timeline::of_gates(attempt));
            draw(&scale, &mut cells, spans, with);
        }
        lines.extend(cells);
        lines.extend(["  ", title, "\n"]);
    }
    let waits = timeline::of_waits(report);
    if !waits.is_empty() {
        let mut cells = ['·'; COLUMNS];
        draw(&scale, &mut cells, waits, '░');
        lines.extend(cells);
        lines.push_str("  waiting\n");
    }
    document.timeline = (!document.rows.is_empty()).then(|| lines.into());
    // The template is ours, and the tests render it.
    render("markdown.md", TEMPLATE, Serde(document)).unwrap_or_default()
}

fn draw(scale: &Scale, cells: &mut [char], spans: impl IntoIterator<Item = Span>, with: char) {
    for span in spans {
        scale.draw(cells, span, with);
    }
}
