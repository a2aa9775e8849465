//! The values for the template `page.html`: texts that can be shown, and positions.

use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Page {
    pub title: String,
    pub version: &'static str,
    pub git: Option<String>,
    pub print: bool,
    pub made: String,
    pub several: bool,
    /// True if something failed, and something else did not.
    pub has_failed: bool,
    pub bars: Vec<ChangeBar>,
    pub changes: Vec<Change>,
}

/// The bar of a change in a report on several.
#[derive(Serialize)]
pub(super) struct ChangeBar {
    pub title: String,
    pub target: String,
    pub width: f64,
    pub words: String,
}

#[derive(Serialize)]
pub(super) struct Change {
    pub id: String,
    pub name: String,
    pub outcome: String,
    pub outcome_kind: &'static str,
    pub origin: String,
    pub compare_url: Option<String>,
    pub cards: Vec<(&'static str, String)>,
    pub timeline: Option<Timeline>,
    pub rows: Vec<Row>,
    pub agents: Vec<AgentRow>,
    pub other_stories: Vec<(String, &'static str)>,
    pub changes: Vec<Difference>,
    pub failures: Vec<Failure>,
    /// Whether the attempt completed its story, its name, and the end of what it printed.
    pub logs: Vec<(bool, String, String)>,
    pub gates: Vec<GateRow>,
    pub events: Vec<EventRow>,
    /// Files, with who changed them, and the lines added and removed.
    pub files: Vec<(String, String, String, String)>,
    /// The settings that were in force, each time with the attempt from which on.
    pub environments: Vec<(String, Vec<(&'static str, String)>)>,
    pub left_out: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Timeline {
    pub height: f64,
    pub bottom: f64,
    pub rows: Vec<TimelineRow>,
    pub gaps: Vec<(f64, String)>,
    /// Horizontal positions with the times there.
    pub ticks: Vec<(f64, String)>,
    pub start: String,
    pub end: String,
    pub has_waits: bool,
}

#[derive(Serialize)]
pub(super) struct TimelineRow {
    pub y: f64,
    pub label: String,
    pub full: String,
    pub bars: Vec<Bar>,
}

#[derive(Serialize)]
pub(super) struct Bar {
    pub x: f64,
    pub width: f64,
    pub kind: &'static str,
    pub title: String,
    pub target: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Row {
    pub id: String,
    pub story: String,
    pub attempt: u32,
    pub kind: &'static str,
    pub verdict: &'static str,
    pub reason: String,
    pub failure: Option<String>,
    pub time: String,
    pub parts: String,
    pub agent: String,
    pub tokens: String,
    pub cached: Option<String>,
    pub cost: String,
    pub size: String,
    pub kept: Option<String>,
    pub short: Option<String>,
    pub url: Option<String>,
    pub reviews: Vec<ReviewRow>,
}

#[derive(Serialize)]
pub(super) struct ReviewRow {
    pub kind: &'static str,
    pub verdict: &'static str,
    pub words: String,
    pub time: String,
    pub cost: String,
    pub reviewer: String,
}

/// The sums of an agent.
#[derive(Serialize)]
pub(super) struct AgentRow {
    pub agent: String,
    pub attempts: usize,
    pub complete: usize,
    pub failed: usize,
    pub time: String,
    pub cost: String,
    pub tokens: String,
}

#[derive(Serialize)]
pub(super) struct Difference {
    pub id: String,
    pub more: usize,
    pub title: String,
    pub size: String,
    pub files: Vec<FileRow>,
    pub lines: Vec<(&'static str, String)>,
    pub note: Option<String>,
    /// True if it is part of what was accepted.
    pub accepted: bool,
    /// Texts with their headings.
    pub words: Vec<(&'static str, String)>,
    pub command: Option<String>,
}

#[derive(Serialize)]
pub(super) struct FileRow {
    pub path: String,
    pub status: &'static str,
    pub lines: String,
}

#[derive(Serialize)]
pub(super) struct Failure {
    pub id: String,
    pub title: String,
    pub reason: String,
    pub told: Option<String>,
    pub told_this: bool,
    pub commands: Vec<String>,
    pub difference: Option<String>,
}

#[derive(Serialize)]
pub(super) struct GateRow {
    /// The name of its attempt, or that there was none.
    pub about: String,
    pub passed: bool,
    pub command: String,
    pub words: String,
    pub output: Option<String>,
}

#[derive(Serialize)]
pub(super) struct EventRow {
    pub t: String,
    pub kind: &'static str,
    pub took: String,
    pub text: String,
}
