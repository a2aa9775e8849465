//! Writes the report as one HTML file without scripts, from the template `page.html`.
//!
//! Invariants: the template escapes every text; the page of any loop has at most a few megabytes, and says what it
//! leaves out.

use minijinja::value::Serde;
use serde_json::json;

use super::document::Document;
use super::drawing::timeline_of;
use super::room::{LIMITS, Room};
use super::template::render;
use super::{how_far, moment};
use crate::names::counted;
use crate::report::Report;
use crate::ui::amounts::time;

/// The template.
const TEMPLATE: &str = include_str!("page.html");

/// Maximum size of a page, in bytes.
const MOST: usize = 5 << 20;

/// Returns the reports as a page; with `print`, everything on it is unfolded for printing.
pub fn page(reports: &[Report], print: bool) -> String {
    let pages = LIMITS.into_iter().map(|room| page_within(reports, print, room));
    let mut pages = pages.skip_while(|page| page.len() > MOST);
    // The last of the limits always fit.
    pages.next().unwrap_or_default()
}

fn page_within(reports: &[Report], print: bool, mut room: Room) -> String {
    let skipped = reports.len().saturating_sub(room.changes);
    let reports = &reports[skipped..];
    let changes = reports.iter().enumerate().map(|(number, report)| {
        let mut change = Document::of(report, number, &mut room);
        change.timeline = timeline_of(report, &change.rows);
        change
    });
    let mut changes: Vec<Document> = changes.collect();
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
            "words": format!("{}, {}", how_far(report), time(report.totals.duration)),
        })
    });
    let first = reports.first();
    let page = json!({
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "git": first.and_then(|report| report.git.as_ref()),
        "print": print,
        "made": first.map_or_else(String::new, |report| moment(report.made)),
        "several": reports.len() != 1,
        "has_failed": reports.iter().any(|report| report.attempts().iter().any(|(_, one)| !one.is_complete())),
        "bars": bars.collect::<Vec<_>>(),
        "changes": changes,
    });
    // The template is ours, and the tests render it.
    render("page.html", TEMPLATE, Serde(page)).unwrap_or_default()
}
