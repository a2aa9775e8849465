//! Events in words, in git's tone: short, lower-case, one line each.

use std::fmt::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::SignedDuration;

use crate::events::{Attempt, What};
use crate::names::heading;
use crate::state::Verdict;

/// What standard error says about an event; `None` for events that the output itself shows.
pub(super) fn of(what: &What) -> Option<String> {
    let mut text = String::new();
    match what {
        What::Started {
            branch,
            original_branch,
            original_head,
            source,
            ..
        } => {
            let from = original_branch.as_deref().unwrap_or("a detached HEAD");
            let at = original_head.as_ref().map_or("no commit yet", |oid| oid.short());
            line(
                &mut text,
                &format!("started on {branch}, from {from} ({at}); stories: {source}"),
            );
        }
        What::AttemptStarted {
            story,
            title,
            attempt,
            retries,
            max_retries,
        } => {
            let which = if *retries == 0 || retries > max_retries {
                format!("attempt {attempt}")
            } else {
                format!("attempt {attempt}, retry {retries} of {max_retries}")
            };
            let _ = writeln!(
                text,
                "{}",
                bold(&format!("story {} ({which})", heading(story, title)))
            );
        }
        What::AttemptEnded(attempt) => text = ended(attempt),
        What::Checkpoint { story, oid, .. } => match story {
            Some(story) => line(&mut text, &format!("checkpoint {}: {story}", oid.short())),
            None => line(&mut text, &format!("checkpoint {}: edits", oid.short())),
        },
        What::Reverted { oid, kept, .. } => {
            line(&mut text, &format!("back at checkpoint {}", oid.short()));
            if let Some(kept) = kept {
                line(&mut text, &format!("what was undone is kept: git show {kept}"));
            }
        }
        What::Retry {
            retries, max_retries, ..
        } => line(
            &mut text,
            &format!(
                "{} of {max_retries} retries left",
                max_retries - retries.min(max_retries)
            ),
        ),
        What::Waiting { reason, seconds, .. } => {
            let wait = SignedDuration::from_secs(i64::try_from(*seconds).unwrap_or(i64::MAX));
            line(
                &mut text,
                &format!("the agent's service cannot answer now ({reason}); trying again in {wait:#}"),
            );
        }
        What::StoryProgress { done, total } => {
            line(&mut text, &format!("{done} of {total} stories are complete"));
        }
        What::MaxRetriesExceeded { story, max_retries } => {
            let _ = writeln!(
                text,
                "{}",
                red(&format!("story {story} failed after {max_retries} retries"))
            );
        }
        What::RefMoved {
            name,
            new,
            refused: true,
            ..
        } => line(
            &mut text,
            &match new {
                Some(_) => format!("refused: the agent tried to move {name}"),
                None => format!("refused: the agent tried to delete {name}"),
            },
        ),
        What::Notice { message } => line(&mut text, message),
        What::Complete { .. } => {
            let _ = writeln!(text, "{}", green("nothing is left to do"));
        }
        What::AwaitingChoice { .. } => {
            line(
                &mut text,
                "to finish: git ralph finish --cleanup, or: git ralph finish --keep",
            );
        }
        What::Finished { how, branch, kept } => {
            let on = branch.as_deref().unwrap_or("a detached HEAD");
            let what = match how.as_str() {
                "cleanup" => format!("finished: on {on} again, with all changes uncommitted"),
                "abort" => format!("aborted: on {on} again, and all is as it was before the loop"),
                _ => format!("finished: on {on}, with its commits"),
            };
            line(&mut text, &what);
            line(&mut text, &format!("the loop's commits are kept: git log {kept}"));
        }
        What::RefMoved { .. } | What::Output { .. } | What::Error { .. } => return None,
    }
    Some(text)
}

/// What is left of a wait, in one line; empty at its end.
pub(super) fn countdown(left: Duration) -> String {
    if left.is_zero() {
        return String::new();
    }
    let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    let left = SignedDuration::from_secs(seconds.saturating_add(1));
    format!("waiting, {left:#} left (Ctrl-C stops)")
}

fn ended(attempt: &Attempt) -> String {
    let mut text = String::new();
    let seconds = attempt.duration.round();
    let mut words = format!("{} after {seconds}s", attempt.verdict);
    if let Some(cost) = attempt.cost_usd {
        let _ = write!(words, ", ${cost:.2}");
    }
    let words = if attempt.verdict == Verdict::Complete {
        green(&words)
    } else {
        red(&words)
    };
    let _ = writeln!(text, "{words}");
    for reason_line in attempt.reason.iter().flat_map(|reason| reason.lines()) {
        let _ = writeln!(text, "  {reason_line}");
    }
    text
}

fn line(text: &mut String, words: &str) {
    let _ = writeln!(text, "{words}");
}

fn styled(style: Style, words: &str) -> String {
    format!("{style}{words}{style:#}")
}

pub(super) fn bold(words: &str) -> String {
    styled(Style::new().bold(), words)
}

pub(super) fn red(words: &str) -> String {
    styled(AnsiColor::Red.on_default().bold(), words)
}

pub(super) fn green(words: &str) -> String {
    styled(AnsiColor::Green.on_default(), words)
}

pub(super) fn yellow(words: &str) -> String {
    styled(AnsiColor::Yellow.on_default().bold(), words)
}
