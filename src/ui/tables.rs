//! Listings as a person reads them: status, stories, log.

use std::fmt::Write;

use super::narration::{bold, green, red};
use crate::engine::doctor::{Examination, KnownAgent};
use crate::engine::report::{ChosenAgent, Log, Preview, Status, Stories};
use crate::names::heading;
use crate::settings::Mark;
use crate::state::{Phase, Verdict};

/// `git ralph status` of one loop, in the manner of `git status`.
#[must_use]
pub fn status(status: &Status) -> String {
    let mut text = String::new();
    let change = &status.change;
    let _ = writeln!(text, "{} on {}", bold(change.as_str()), status.branch);
    let from = status.original_branch.as_deref().unwrap_or("a detached HEAD");
    let _ = writeln!(text, "from {from}, last checkpoint {}", status.checkpoint.short());
    if let (Some(done), Some(total)) = (status.stories_done, status.stories_total) {
        let _ = writeln!(text, "{done} of {total} stories are complete");
    }
    if let Some(current) = status
        .current
        .as_ref()
        .filter(|_| status.phase != Phase::Finished)
    {
        let _ = writeln!(text, "story {}", heading(&current.id, &current.title));
        if matches!(status.phase, Phase::Failed | Phase::Exhausted) {
            let used = format!(
                "failed, {} of {} retries used",
                current.retries, status.max_retries
            );
            let _ = writeln!(text, "  {}", red(&used));
            for line in current.reason.iter().flat_map(|reason| reason.lines()) {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    let (means, command) = match status.phase {
        Phase::Ready => ("to work on it", format!("git ralph next {change}")),
        Phase::Running => (
            "an attempt is running, or was cut off; to go on",
            format!("git ralph next {change}"),
        ),
        Phase::Failed => ("to try again", format!("git ralph retry {change}")),
        Phase::Exhausted => (
            "to close the loop, or to pass over the story",
            format!("git ralph finish {change}, or: git ralph skip {change}"),
        ),
        Phase::Complete => (
            "nothing is left to do; to close the loop",
            format!("git ralph finish {change}"),
        ),
        Phase::Finished => ("finished; to begin anew", format!("git ralph start {change}")),
    };
    let _ = writeln!(text, "({means}: {command})");
    text
}

/// `git ralph stories`.
#[must_use]
pub fn stories(stories: &Stories) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} ({}): {} of {} complete",
        bold(stories.change.as_str()),
        stories.source,
        stories.done,
        stories.total
    );
    let width = stories
        .stories
        .iter()
        .map(|listed| listed.story.id.chars().count())
        .max()
        .unwrap_or(0);
    for listed in &stories.stories {
        let story = &listed.story;
        let mark = match (story.done, listed.skipped) {
            (true, _) => green("x"),
            (false, true) => "-".to_owned(),
            (false, false) => " ".to_owned(),
        };
        let done = story.tasks.iter().filter(|task| task.done).count();
        let of = story.tasks.len();
        let padding = width.saturating_sub(story.id.chars().count());
        let note = if listed.skipped {
            " (skipped)"
        } else if story.optional {
            " (optional)"
        } else {
            ""
        };
        // The formatting macros would take most of the time of a long list.
        for part in ["  [", &mark, "] ", &story.id] {
            text.push_str(part);
        }
        text.extend(std::iter::repeat_n(' ', padding));
        for part in ["  ", &story.title, "  "] {
            text.push_str(part);
        }
        let _ = writeln!(text, "{done}/{of}{note}");
    }
    text
}

/// `git ralph start --dry-run`.
#[must_use]
pub fn preview(preview: &Preview) -> String {
    let mut text = stories(&preview.stories);
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

/// The warnings of a story list.
#[must_use]
pub fn warnings(stories: &Stories) -> String {
    stories
        .warnings
        .iter()
        .map(|warning| {
            format!(
                "warning: {}:{}: {}\n",
                stories.source, warning.line, warning.message
            )
        })
        .collect()
}

/// `git ralph log`.
#[must_use]
pub fn log(log: &Log) -> String {
    let mut text = String::new();
    let width = log
        .attempts
        .iter()
        .map(|entry| entry.attempt.story.chars().count())
        .max()
        .unwrap_or(0);
    for entry in &log.attempts {
        let attempt = &entry.attempt;
        let verdict = format!("{:13}", attempt.verdict.words());
        let verdict = if attempt.verdict == Verdict::Complete {
            green(&verdict)
        } else {
            red(&verdict)
        };
        let kept = match (&entry.checkpoint, &entry.kept) {
            (Some(oid), _) => oid.short().to_owned(),
            (None, Some(kept)) => kept.clone(),
            (None, None) => String::new(),
        };
        let cost = attempt
            .cost_usd
            .map(|cost| format!("${cost:.2}"))
            .unwrap_or_default();
        let row = format!(
            "{:width$} @{:<3} {verdict} {:>7.0}s {cost:>7}  {kept}",
            attempt.story, attempt.attempt, attempt.duration
        );
        let _ = writeln!(text, "{}", row.trim_end());
        if let Some(first) = attempt.reason.as_ref().and_then(|reason| reason.lines().next()) {
            let _ = writeln!(text, "{:width$}      {first}", "");
        }
    }
    text
}
