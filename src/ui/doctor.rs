//! Prints the findings of `git ralph doctor` as text.

use std::fmt::Write;
use std::path::PathBuf;

use super::preview::described;
use super::style::{bold, green, red};
use super::width::wrap;
use crate::inspect::doctor::{Examination, FoundBox, FoundChange, FoundLoop, KnownAgent, Repository};
use crate::names::{counted, typed};
use crate::remote::probe::Findings;
use crate::settings::BoxMode;
use crate::state::Phase;

/// Formats `git ralph doctor` for a terminal with so many columns.
pub fn table(found: &Examination, columns: Option<usize>) -> String {
    let mut text = match (found.problems.len(), found.advice.len()) {
        (0, 0) => format!("{}\n", green("nothing has to be repaired")),
        (0, advice) => format!("nothing stops a loop; {}\n", counted(advice, "note", "notes")),
        (problems, _) => format!(
            "{}\n",
            red(&format!("{} to repair", counted(problems, "problem", "problems")))
        ),
    };
    for problem in &found.problems {
        let _ = writeln!(text, "\n{}\nhint: {}", red(&problem.message), problem.hint);
    }
    for advice in &found.advice {
        let _ = writeln!(text, "\n{}\nhint: {}", advice.message, advice.hint);
    }
    text.push('\n');
    let git = found.git.as_deref().unwrap_or("not found");
    let _ = writeln!(text, "git: {}", git.trim_start_matches("git version "));
    for feature in &found.features {
        if feature.available == Some(false) {
            let _ = writeln!(text, "  git older than {}: {}", feature.since, feature.without);
        }
    }
    if let Some(agent) = &found.agent {
        let _ = writeln!(text, "agent: {}", described(agent));
    }
    match &found.repository {
        Some(found) => repository(&mut text, found),
        None => text.push_str("repository: none here\n"),
    }
    if let Some(found) = &found.boxed {
        the_box(&mut text, found);
    }
    let none = || "not found".to_owned();
    let manual = found.installation.manual.as_ref();
    let manual = manual.map_or_else(none, |page| page.display().to_string());
    let _ = writeln!(text, "manual page: {manual}");
    for completion in &found.installation.completions {
        let file = completion.file.as_ref();
        let file = file.map_or_else(none, |file| file.display().to_string());
        let _ = writeln!(text, "completion for {}: {file}", completion.shell);
    }
    agents(&mut text, &found.agents);
    wrap(&text, columns)
}

fn repository(text: &mut String, found: &Repository) {
    let _ = writeln!(text, "repository: {}", found.top.display());
    for found in &found.loops {
        let _ = writeln!(
            text,
            "  loop {}: {}",
            bold(found.change.as_str()),
            loop_words(found)
        );
    }
    for found in &found.changes {
        let _ = writeln!(text, "  change {}: {}", bold(&found.change), change_words(found));
    }
}

fn the_box(text: &mut String, found: &FoundBox) {
    let mode = match found.mode {
        BoxMode::Off => "off",
        BoxMode::On => "on",
        BoxMode::Require => "required",
        BoxMode::All => "required, for hooks and commands of trackers too",
    };
    let works = match &found.trouble {
        None => "it works here".to_owned(),
        Some(trouble) => format!("it does not work here: {trouble}"),
    };
    let _ = writeln!(text, "box (ralph.box): {mode}; {works}");
    if found.mode == BoxMode::Off {
        return;
    }
    let mut row = |what: &str, items: Vec<String>| {
        if !items.is_empty() {
            let _ = writeln!(text, "  {what}: {}", items.join(", "));
        }
    };
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    row("written", paths(&found.written));
    row("empty", paths(&found.empty));
    row("read all the same", paths(&found.read));
    row("copies", paths(&found.copied));
    row("without the keys in them", paths(&found.without_keys));
    let hidden = format!("variables that are not seen ({})", found.hidden.len());
    row(&hidden, found.hidden.clone());
}

fn loop_words(found: &FoundLoop) -> &'static str {
    match (found.phase, found.busy) {
        (None, _) => "its state cannot be read",
        (_, true) => "a process works on it",
        (Some(Phase::Ready), _) => "ready",
        (Some(Phase::Running), _) => "an attempt is running, or was interrupted",
        (Some(Phase::Failed), _) => "a story failed, retries are left",
        (Some(Phase::Exhausted), _) => "stories are left that failed or are skipped",
        (Some(Phase::Complete), _) => "no story is left",
        (Some(Phase::Finished), _) => "finished",
    }
}

fn change_words(found: &FoundChange) -> String {
    let from = match (&found.source, found.adapter) {
        (Some(source), Some(adapter)) => format!("{source} ({adapter})"),
        _ => String::new(),
    };
    let stories = |total| counted(total, "story is", "stories are");
    let state = match (found.done, found.stories, found.warnings) {
        _ if found.error.is_some() => "cannot be read".to_owned(),
        (Some(done), Some(total), Some(0)) => format!("{done} of {} complete", stories(total)),
        (Some(done), Some(total), Some(warnings)) => format!(
            "{done} of {} complete, {}: git ralph stories {}",
            stories(total),
            counted(warnings, "warning", "warnings"),
            typed(&found.change)
        ),
        _ => "a command lists the stories".to_owned(),
    };
    if from.is_empty() {
        state
    } else {
        format!("{from}, {state}")
    }
}

fn agents(text: &mut String, agents: &[KnownAgent]) {
    let (there, others): (Vec<_>, Vec<_>) = agents.iter().partition(|known| known.installed);
    if !there.is_empty() {
        text.push_str("\nagents, in the order in which they are searched:\n");
    }
    let wide = |known: &&KnownAgent| known.name.len();
    let width = there.iter().map(wide).max().unwrap_or(0);
    for known in there {
        let version = known.version.as_deref();
        let version = version.unwrap_or("installed, but does not tell its version");
        let _ = writeln!(text, "  {:width$}  {version}", known.name);
        let _ = writeln!(text, "  {:width$}  {}", "", known.command);
        if let Some(argument) = known.unasked {
            let _ = writeln!(text, "  {:width$}  acts without asking: {argument}", "");
        }
        if !known.tried {
            let _ = writeln!(text, "  {:width$}  not tried with the real program", "");
        }
    }
    let names: Vec<&str> = others.iter().map(|known| known.name).collect();
    if !names.is_empty() {
        let _ = writeln!(
            text,
            "\nknown agents that are not installed: {}",
            names.join(", ")
        );
    }
}
/// Formats the test results of a remote.
pub fn remote(findings: &Findings) -> String {
    let mut text = format!("{}, refs below {}\n", findings.remote, findings.refs);
    for trial in &findings.trials {
        let answer = if trial.passed { "yes" } else { "no" };
        text.push_str(&format!("  {}: {answer}\n", trial.what));
        for line in trial.words.lines() {
            text.push_str(&format!("    {line}\n"));
        }
        if let Some(hint) = &trial.hint {
            text.push_str(&format!("  hint: {hint}\n"));
        }
    }
    text
}
