//! Describes the events of a report other than attempts, and cuts long texts.

use super::Kind;
use crate::events::{What, handed_over, said};
use crate::names::counted;
use crate::state::Verdict;

/// Cuts a text to `most` characters, between lines if it has several; a last line says so.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            let begin = &text[..end];
            let begin = begin.rsplit_once('\n').map_or(begin, |(lines, _)| lines);
            format!("{begin}\n… the rest is left out")
        }
        None => text.to_owned(),
    }
}

/// Returns the kind and the description of an event; `None` for events that a report does not list.
pub(super) fn of(what: &What) -> Option<(Kind, String)> {
    Some(match what {
        What::Waiting { reason, .. } => (Kind::Waiting, reason.clone()),
        What::Checkpoint { story: None, .. } => (Kind::Edits, "edits by hand".to_owned()),
        What::ListPutBack(back) => {
            let name = format!("{}@{}", back.story, back.attempt);
            (
                Kind::Notice,
                format!("{name}: {}: put back: {}", back.list, back.what),
            )
        }
        What::RoundStarted {
            story,
            attempt,
            round,
            why,
            left,
        } => {
            let words = why.words(left.as_deref());
            (Kind::Notice, format!("{story}@{attempt}, round {round}: {words}"))
        }
        What::Redone { stories, words, .. } => {
            let names = stories.iter().map(|one| format!("{}@{}", one.story, one.attempt));
            let names = names.collect::<Vec<_>>().join(", ");
            let why = words
                .as_ref()
                .map(|words| format!(": {words}"))
                .unwrap_or_default();
            (Kind::Moved, format!("undone by git ralph redo: {names}{why}"))
        }
        What::Committed { oid, commits } => {
            let commits = counted(*commits, "commit", "commits");
            (Kind::Edits, format!("{commits} by hand, up to {}", oid.short()))
        }
        What::RefMoved(moved) => {
            let did = match (&moved.new, moved.refused) {
                (Some(_), true) => "tried to move",
                (None, true) => "tried to delete",
                (Some(_), false) => "moved",
                (None, false) => "deleted",
            };
            let kind = if moved.refused { Kind::Refused } else { Kind::Moved };
            let of = format!("{}@{}", moved.story, moved.attempt);
            (kind, format!("the agent of {of} {did} {}", moved.name))
        }
        What::HandedOver { from, remote } => (Kind::Moved, handed_over(from.as_deref(), remote)),
        What::Left { to } => (Kind::Moved, format!("HEAD left the loop's branch for {to}")),
        What::Returned { branch } => (Kind::Moved, format!("HEAD is on {branch} again")),
        What::Message { text, during } => (Kind::Notice, said(text, during.as_deref())),
        What::Notice { message } => (Kind::Notice, message.clone()),
        What::AttemptEnded(attempt) if attempt.verdict == Verdict::Interrupted => {
            let why = attempt.reason.as_deref().and_then(|why| why.lines().next());
            let why = why.unwrap_or("no reason is known");
            (
                Kind::Interrupted,
                format!("{}@{}: {why}", attempt.story, attempt.attempt),
            )
        }
        What::MaxRetriesExceeded { story, deferred, .. } => {
            let put_off = if *deferred { "; it was put off" } else { "" };
            let text = format!("story {story} failed, no retries left{put_off}");
            (Kind::Notice, text)
        }
        What::Finished {
            how, branch, kept, ..
        } => {
            let on = branch.as_deref().unwrap_or("a detached HEAD");
            (Kind::Finished, format!("{how}, on {on}; kept as {kept}"))
        }
        _ => return None,
    })
}
