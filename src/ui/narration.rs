//! Events as text, in git's style: short, lower-case, one line each.

use std::fmt::Write;

use jiff::tz::TimeZone;

use super::amounts::{far, time, time_of_gate, waiting_time};
use super::style::{bold, green, red, verdict};
use crate::events::{Attempt, ReviewEnded, What, handed_over, said};
use crate::names::{Oid, counted, dollars, heading, typed};
use crate::paths::shown;
use crate::state::Verdict;

/// Returns the message on standard error about an event of a change; `None` for events that the output itself shows.
pub(super) fn of(change: &str, what: &What) -> Option<String> {
    let words = match what {
        What::Started {
            branch,
            original_branch,
            original_head,
            source,
            ..
        } => started(branch, original_branch.as_deref(), original_head.as_ref(), source),
        What::AttemptStarted(_) => bold(&attempt_heading(what)?),
        What::RoundStarted { round, why, left, .. } => {
            format!("  round {round}: {}", why.words(left.as_deref()))
        }
        What::AttemptEnded(attempt) => ended(attempt),
        What::Gate(gate) => {
            let after = time_of_gate(gate.duration);
            let when = match (&gate.story, gate.held) {
                (None, _) => " before any work",
                (Some(_), true) => " with the tests as they were",
                (Some(_), false) => "",
            };
            let words = match &gate.reason {
                None => green(&format!("passed after {after}")),
                Some(why) => red(&format!("failed after {after} ({why})")),
            };
            format!("  gate{when} {words}: {}", gate.command)
        }
        What::Review(review) => reviewed(review),
        What::ListPutBack(back) => {
            let (list, what, see) = (shown(back.list.as_bytes()), &back.what, &back.shown);
            let attempt = typed(format!("{}@{}", back.story, back.attempt));
            let take = format!(
                "if you made this change: git ralph list --take {} {attempt}",
                typed(change)
            );
            red(&format!("  {list}: put back: {what}; to see it: {see}\n  {take}"))
        }
        What::Checkpoint { story, oid, .. } => match story {
            Some(story) => format!("  checkpoint {}: {story}", oid.short()),
            None => format!("checkpoint {}: edits", oid.short()),
        },
        What::Reverted {
            oid, changed: false, ..
        } => format!("  still at checkpoint {}: no file was changed", oid.short()),
        What::Reverted {
            oid,
            kept,
            story,
            attempt,
            changed: true,
            ..
        } => {
            let back = format!("  back at checkpoint {}", oid.short());
            match kept {
                None => back,
                Some(kept) => {
                    let attempt = story.as_ref().zip(*attempt);
                    format!("{back}\n  kept: {}", command_that_shows(change, attempt, kept))
                }
            }
        }
        What::Redone { stories, oid, .. } => {
            let lines = stories.iter().map(|one| {
                let kept = command_that_shows(change, Some((&one.story, one.attempt)), &one.kept);
                format!("  story {} is undone; kept: {kept}\n", one.story)
            });
            let lines: String = lines.collect();
            format!("{lines}  back at checkpoint {}", oid.short())
        }
        What::Retry {
            retries, max_retries, ..
        } => {
            let left = max_retries - retries.min(max_retries);
            format!("  {left} of {} left", counted(*max_retries, "retry", "retries"))
        }
        // The line about the attempt has the agent's message.
        What::Waiting { seconds, until, .. } => {
            let when = waiting_time(*seconds, &until.to_zoned(TimeZone::system()));
            format!("cannot work now; trying again {when}")
        }
        What::StoryProgress { done, total, skipped } => far(*done, *total, skipped),
        What::MaxRetriesExceeded {
            story,
            deferred: true,
            ..
        } => red(&format!(
            "story {story} failed, no retries left; it is put off until the others are through"
        )),
        What::MaxRetriesExceeded { story, .. } => red(&format!("story {story} failed, no retries left")),
        What::RefMoved(moved) if moved.refused => {
            let tried = if moved.new.is_some() { "move" } else { "delete" };
            format!("  refused: the agent tried to {tried} {}", moved.name)
        }
        What::Message { text, during } => said(text.lines().next()?, during.as_deref()),
        What::Notice { message } => message.clone(),
        What::Finished {
            how,
            branch,
            kept,
            worktree,
        } => {
            let on = branch.as_deref().unwrap_or("a detached HEAD");
            let end = finished(change, how, on, worktree.as_deref());
            let kept = typed(kept);
            format!("{end}\nthe loop's commits are kept: git log {kept}")
        }
        What::StartUndone { branch } => {
            let on = branch.as_deref().unwrap_or("a detached HEAD");
            format!("nothing was started: on {on}, as before")
        }
        What::Committed { oid, commits } => {
            let commits = counted(*commits, "commit", "commits");
            format!("{commits} by hand, up to {}", oid.short())
        }
        What::HandedOver { from, remote } => handed_over(from.as_deref(), remote),
        What::Left { to } => format!("HEAD is on {to}"),
        What::Returned { branch } => format!("HEAD is on {branch} again"),
        // The summary of a run reports completion and the choices.
        What::AwaitingChoice { .. }
        | What::Complete { .. }
        | What::RunEnded { .. }
        | What::RoundEnded { .. }
        | What::RefMoved(_)
        | What::Output { .. }
        | What::Error { .. } => return None,
    };
    Some(words + "\n")
}

fn started(branch: &str, original_branch: Option<&str>, head: Option<&Oid>, source: &str) -> String {
    let from = original_branch.unwrap_or("a detached HEAD");
    let commit = head.map_or("no commit yet", Oid::short);
    let is_in_place = original_branch.unwrap_or("HEAD") == branch;
    let begun = if is_in_place {
        format!("started on {from} ({commit}), which stays as it is (strategy stash)")
    } else {
        format!("started on {branch}, from {from} ({commit})")
    };
    format!("{begun}\nstories: {source}")
}

fn reviewed(review: &ReviewEnded) -> String {
    let cost = review.cost_usd.map(|cost| format!(", {}", dollars(cost)));
    let after = format!("after {}{}", time(review.duration), cost.unwrap_or_default());
    let words = match review.accepted {
        Some(true) => green(&format!("accepted {after}")),
        Some(false) => red(&format!("rejected {after}")),
        None => red(&format!("without a verdict {after}")),
    };
    format!("  review {words}: {}", review.reviewer)
}

/// Returns the command that shows undone work: an attempt, or another commit.
fn command_that_shows(change: &str, attempt: Option<(&String, u32)>, kept: &str) -> String {
    match attempt {
        Some((story, attempt)) => {
            let (change, attempt) = (typed(change), typed(format!("{story}@{attempt}")));
            format!("git ralph diff {change} {attempt}")
        }
        None => format!("git show {kept}"),
    }
}

/// Returns where HEAD and the changes are after the end of a loop.
fn finished(change: &str, how: &str, on: &str, worktree: Option<&str>) -> String {
    match (how, worktree) {
        ("cleanup", Some(into)) => format!("finished: all changes are in {into}, uncommitted, on {on}"),
        ("cleanup", None) => {
            format!("finished: on {on} again, with all changes uncommitted; review and commit them")
        }
        ("abort", Some(_)) => "aborted: the loop's work tree is left".to_owned(),
        ("abort", None) => format!(
            "aborted: on {on} again, with HEAD, the index and all files that are not ignored as before the loop"
        ),
        ("keep", Some(stays)) => format!("finished: on {on}, with its commits, in {stays}"),
        ("aside", _) => "set aside".to_owned(),
        _ if on == format!("ralph/{change}") => format!("finished: on {on}, with its commits"),
        _ => format!("finished: HEAD stays on {on}"),
    }
}

/// Returns the heading of an attempt that begins, on one line: `[2/3] 2. Check (retry 1 of 3)`. `None` for any other
/// event.
pub(super) fn attempt_heading(what: &What) -> Option<String> {
    let What::AttemptStarted(begun) = what else {
        return None;
    };
    let mut text = String::new();
    // An optional story that is done by hand exceeds the total.
    if begun.done < begun.total {
        let _ = write!(text, "[{}/{}] ", begun.done + 1, begun.total);
    }
    text.push_str(&heading(&begun.story, &begun.title));
    // Attempt numbers continue from loop to loop; the heading counts tries in this one.
    match begun.retries {
        0 => {}
        retries if retries <= begun.max_retries => {
            let _ = write!(text, " (retry {retries} of {})", begun.max_retries);
        }
        _ => {
            let _ = write!(text, " (attempt {})", begun.attempt);
        }
    }
    Some(text)
}

/// Returns the line about an attempt whose gate failed: its output and its time have just been shown.
pub(super) fn failed_by_gate(attempt: &Attempt) -> Option<String> {
    let reason = attempt.reason.as_deref()?.lines().next()?;
    let words = format!("attempt {}", Verdict::Failed);
    Some(format!("  {}: {reason}\n", verdict(attempt.verdict, &words)))
}

fn ended(attempt: &Attempt) -> String {
    let mut words = format!("{} after {}", attempt.verdict, time(attempt.duration));
    if let Some(rounds) = attempt.rounds {
        let _ = write!(words, ", {rounds} rounds");
    }
    if let Some(cost) = attempt.cost_usd {
        let _ = write!(words, ", {}", dollars(cost));
    }
    let mut text = format!("  {}", verdict(attempt.verdict, &words));
    let reason: Vec<&str> = attempt.reason.iter().flat_map(|reason| reason.lines()).collect();
    if let Some((first, others)) = reason.split_first() {
        let _ = write!(text, ": {first}");
        for line in others {
            text.push('\n');
            text.push_str(format!("     {line}").trim_end());
        }
    }
    text
}
