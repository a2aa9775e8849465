//! Where a loop stands, in the manner of `git status`.

use std::fmt::Write;

use jiff::Timestamp;

use super::narration::{bold, green, red, time};
use super::width::{hang, wrap};
use crate::async_cmd::quoted;
use crate::inspect::status::{CurrentStory, SessionStatus, Status};
use crate::names::heading;
use crate::state::Phase;

/// `git ralph status` of one loop, on a terminal with so many columns.
#[must_use]
pub fn table(status: &Status, columns: Option<usize>) -> String {
    let mut text = String::new();
    let change = &status.change;
    let from = status.original_branch.as_deref().unwrap_or("a detached HEAD");
    let _ = writeln!(
        text,
        "{} on {}, from {from}",
        bold(change.as_str()),
        status.branch
    );
    let _ = writeln!(text, "last checkpoint {}", status.checkpoint.short());
    if let (Some(done), Some(total)) = (status.stories_done, status.stories_total) {
        let _ = writeln!(text, "{done} of {total} stories are complete");
    }
    if status.commits_by_hand > 0 {
        let plural = if status.commits_by_hand == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "{} commit{plural} by hand since then",
            status.commits_by_hand
        );
    }
    if let Some(problem) = &status.problem {
        let _ = writeln!(text, "{}", red(problem));
    }
    let current = status
        .current
        .as_ref()
        .filter(|_| status.phase != Phase::Finished);
    text.push('\n');
    match (current, status.phase) {
        (Some(current), phase) => story(&mut text, current, phase, status.max_retries, columns),
        (None, Phase::Complete) => {
            let _ = writeln!(text, "{}", green("nothing is left to do"));
        }
        (None, Phase::Finished) => text.push_str("finished\n"),
        // Why none can be told is said above.
        (None, _) => {}
    }
    if let Some(session) = status.session.as_ref().and_then(of_session) {
        let _ = writeln!(text, "  {session}");
    }
    if let Some(command) = &status.way_back {
        let what = "to go on from the checkpoint, with what came after it as edits";
        let _ = writeln!(text, "  (use \"{command}\" {what})");
    } else {
        for (command, what) in next_commands(status) {
            let _ = writeln!(text, "  (use \"git ralph {command}\" {what})");
        }
    }
    wrap(&text, columns)
}

fn story(text: &mut String, current: &CurrentStory, phase: Phase, max_retries: u32, columns: Option<usize>) {
    let _ = writeln!(text, "story {}", heading(&current.id, &current.title));
    match phase {
        Phase::Failed | Phase::Exhausted => {
            let used = format!("failed, {} of {max_retries} retries used", current.retries);
            let _ = writeln!(text, "  {}", red(&used));
            for line in current.reason.iter().flat_map(|reason| reason.lines()) {
                let _ = writeln!(text, "{}", hang(&format!("    {line}"), 4, columns));
            }
        }
        Phase::Running => text.push_str("  an attempt is running, or was cut off\n"),
        _ => {}
    }
}

/// What there is to say of an agent's own session.
fn of_session(session: &SessionStatus) -> Option<String> {
    if let Some(error) = &session.error {
        return Some(red(&format!("an error has stopped the agent's session: {error}")));
    }
    if session.ended_early {
        return Some(red("the agent's session has ended, although the loop goes on"));
    }
    let silent = Timestamp::now().duration_since(session.seen).as_secs_f64();
    let what = match session.story {
        Some(_) => "was given it",
        None => "was told to go on",
    };
    session
        .at_work
        .then(|| format!("an agent's session {what} {} ago", time(silent)))
}

/// What can be typed next, and what for.
fn next_commands(status: &Status) -> Vec<(String, &'static str)> {
    let change = &status.change;
    let seen = status.current.as_ref().and_then(|current| {
        let attempt = quoted(&format!("{}@{}", current.id, current.attempt?));
        Some((format!("diff {change} {attempt}"), "to see what was tried"))
    });
    let one = |verb: &str, what| (format!("{verb} {change}"), what);
    match status.phase {
        Phase::Ready if status.problem.is_some() => vec![one("stories", "to see what is there")],
        Phase::Ready => vec![one("next", "to have the agent attempt it")],
        Phase::Running => vec![one("next", "to go on")],
        Phase::Failed => [one("retry", "to try again")].into_iter().chain(seen).collect(),
        Phase::Exhausted => [
            one("skip", "to pass over the story"),
            one("finish", "to close the loop"),
        ]
        .into_iter()
        .chain(seen)
        .collect(),
        Phase::Complete => vec![one("finish", "to close the loop")],
        Phase::Finished => vec![one("start", "to begin anew")],
    }
}
