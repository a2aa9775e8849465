//! Prints the preview of a loop as text.

use std::fmt::Write;

use super::stories;
use super::width::wrap;
use crate::inspect::stories::{ChosenAgent, Preview};
use crate::names::{dollars, id_and_title};
use crate::settings::{BoxMode, Mark, NoSignal};

/// Formats `git ralph start --dry-run` for a terminal with so many columns.
pub fn table(preview: &Preview, columns: Option<usize>) -> String {
    let mut text = stories::table(&preview.stories, columns);
    let settings = &preview.settings;
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name}: {value}");
    };
    if let Some(next) = &preview.next {
        let story = id_and_title(&next.story, ", ", &next.title);
        let retry = match next.failures {
            0 => String::new(),
            failures => format!(" (retry {failures} of {})", settings.max_retries),
        };
        match &next.unreviewed {
            None => line("next attempt", &format!("story {story}{retry}")),
            Some(attempt) => line(
                "next",
                &format!(
                    "no reviewer has judged the work of {attempt} at story {story}: it is judged, and no agent starts"
                ),
            ),
        }
    }
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
    for pathspec in &settings.tests.pathspecs {
        line("tests", pathspec);
    }
    for reviewer in &settings.review {
        line("reviewer", reviewer);
    }
    if settings.no_signal == NoSignal::Gates {
        let judges = match (settings.verify.is_empty(), !settings.review.is_empty()) {
            (false, true) => "the gates and the reviewer",
            (false, false) => "the gates",
            (true, _) => "the reviewer",
        };
        line("work without a promise is judged by", judges);
    }
    let limit =
        |limit: Option<jiff::SignedDuration>| limit.map_or("none".to_owned(), |limit| format!("{limit:#}"));
    match settings.boxing.mode {
        BoxMode::Off => {}
        BoxMode::On => line("box", "where that works"),
        BoxMode::Require => line("box", "required"),
        BoxMode::All => line("box", "required, for hooks and commands of trackers too"),
    }
    line("retries a story", &settings.max_retries.to_string());
    match settings.limit_of_rounds() {
        Some(limit) => line("time limit of a round", &limit),
        None => line("time limit of an attempt", &limit(settings.timeout)),
    }
    line("time limit without output", &limit(settings.idle_timeout));
    line("time limit of the loop", &limit(settings.max_duration));
    if let Some(most) = settings.max_attempts {
        line("attempts of the loop", &format!("at most {most}"));
    }
    if let Some(most) = settings.max_cost {
        line("cost of the loop", &format!("at most {}", dollars(most)));
    }
    line(
        "complete stories are marked by",
        match settings.mark {
            Mark::Auto => "git-ralph",
            Mark::Agent => "the agent",
            Mark::Never => "the loop alone",
        },
    );
    line(
        "prompt",
        settings.prompt.as_deref().unwrap_or("the built-in template"),
    );
    wrap(&text, columns)
}

/// Describes an agent in one line.
pub(super) fn described(agent: &ChosenAgent) -> String {
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
