//! The values for the template `page.html`: texts that can be shown, and positions.

use serde::Serialize;
use serde_json::Value;

#[derive(Default, Serialize)]
pub(super) struct Change {
    pub id: String,
    pub name: String,
    pub outcome: String,
    pub outcome_kind: &'static str,
    pub origin: String,
    pub compare_url: Option<String>,
    pub cards: Vec<(&'static str, String)>,
    pub timeline: Option<Value>,
    pub rows: Vec<Row>,
    pub agents: Vec<AgentRow>,
    pub other_stories: Vec<(String, &'static str)>,
    pub changes: Vec<Difference>,
    pub failures: Vec<Failure>,
    /// Whether the attempt completed its story, its name, and the end of what it printed.
    pub logs: Vec<(bool, String, String)>,
    pub gates: Vec<Value>,
    pub events: Vec<Value>,
    /// Files, with who changed them, and the lines added and removed.
    pub files: Vec<(String, String, String, String)>,
    /// The settings that were in force, each time with the attempt from which on.
    pub environments: Vec<(String, Vec<(&'static str, String)>)>,
    pub left_out: Vec<String>,
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

#[derive(Default, Serialize)]
pub(super) struct Difference {
    pub id: String,
    pub more: usize,
    pub title: String,
    pub size: String,
    pub files: Vec<Value>,
    pub lines: Vec<(&'static str, String)>,
    pub note: Option<String>,
    /// True if it is part of what was accepted.
    pub accepted: bool,
    /// Texts with their headings.
    pub words: Vec<(&'static str, String)>,
    pub command: Option<String>,
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
