//! What a loop would begin with, and what a loop needs, as a person reads it.

use std::fmt::Write;

use super::stories;
use crate::engine::doctor::{Examination, KnownAgent};
use crate::engine::report::{ChosenAgent, Preview};
use crate::settings::Mark;

/// `git ralph start --dry-run`, on a terminal with so many columns.
#[must_use]
pub fn preview(preview: &Preview, columns: Option<usize>) -> String {
    let mut text = stories::table(&preview.stories, columns);
    let settings = &preview.settings;
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name}: {value}");
    };
    match &preview.agent {
        None => line("agent", "none is named; git ralph next -- <agent command>"),
        Some(agent) => line("agent", &described(agent)),
    }
    for gate in &settings.verify {
        line("gate", gate);
    }
    if settings.verify.is_empty() {
        line("gates", "none");
    }
    let limit =
        |limit: Option<jiff::SignedDuration>| limit.map_or("none".to_owned(), |limit| format!("{limit:#}"));
    line("retries a story", &settings.max_retries.to_string());
    line("time limit of an attempt", &limit(settings.timeout));
    line("time limit without output", &limit(settings.idle_timeout));
    line("time limit of the loop", &limit(settings.max_duration));
    line(
        "complete stories are marked by",
        match settings.mark {
            Mark::Auto => "git-ralph",
            Mark::Agent => "the agent",
            Mark::Never => "nobody",
        },
    );
    line(
        "prompt",
        settings.prompt.as_deref().unwrap_or("the built-in template"),
    );
    text
}

/// `git ralph doctor`.
#[must_use]
pub fn examination(found: &Examination) -> String {
    let mut text = String::new();
    let git = found.git.as_deref().unwrap_or("not found");
    let _ = writeln!(text, "git: {}", git.trim_start_matches("git version "));
    if let Some(agent) = &found.agent {
        let _ = writeln!(text, "agent: {}", described(agent));
    }
    let _ = writeln!(text, "\nknown agents, in the order in which they are searched:");
    let wide = |known: &KnownAgent| known.name.len();
    let width = found.agents.iter().map(wide).max().unwrap_or(0);
    for known in &found.agents {
        let version = match (&known.version, known.installed) {
            (Some(version), _) => version.as_str(),
            (None, true) => "installed, but does not tell its version",
            (None, false) => "not found",
        };
        let _ = writeln!(text, "  {:width$}  {version}", known.name);
        let _ = writeln!(text, "  {:width$}  {}", "", known.command);
        if let Some(argument) = known.unasked {
            let _ = writeln!(text, "  {:width$}  acts without asking: {argument}", "");
        }
        if !known.tried {
            let _ = writeln!(text, "  {:width$}  not tried with the real program", "");
        }
    }
    for problem in &found.problems {
        let _ = writeln!(text, "\n{}\nhint: {}", problem.message, problem.hint);
    }
    text
}

/// An agent in one line.
fn described(agent: &ChosenAgent) -> String {
    let name = agent.name.as_ref().map(|name| format!("{name}: "));
    let asks = agent
        .unasked
        .map(|argument| format!(" (acts without asking: {argument})"));
    [
        name.unwrap_or_default(),
        agent.command.clone(),
        asks.unwrap_or_default(),
    ]
    .concat()
}
