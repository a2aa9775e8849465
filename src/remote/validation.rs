//! Decides whether the content of a remote can be the state of a loop. Every number, name, path and time is limited, so
//! that every command can read, show and abort a loop that was taken over. Pure.

use std::path::{Component, Path};

use jiff::Timestamp;

use crate::events::{Attempt, Event, ReviewEnded, What};
use crate::names::{Change, ref_component};
use crate::state::State;

/// The highest number of an attempt, a retry or a story.
const MOST: u64 = 1_000_000;

/// The highest number of tokens or lines.
const MANY: u64 = 1 << 40;

/// The longest duration in seconds, and the highest cost in dollars.
const LONG: f64 = 1e9;

/// The longest name of a story in the name of a file or of a ref, in bytes.
const MOST_ID: usize = 200;

/// The longest title, in bytes.
const MOST_TITLE: usize = 64 << 10;

/// Returns whether this program can have been used at this time. Very late times would overflow in additions.
pub(super) fn is_time(time: Timestamp) -> bool {
    (0..=100_000_000_000).contains(&time.as_second())
}

/// Returns what is wrong with a state of this change, before its objects are read.
pub(super) fn check_state(change: &Change, state: &State) -> Result<(), &'static str> {
    let is_other = state.change != *change || !state.has_branch() || state.common.branch != change.branch();
    if is_other {
        return Err("it is the state of another loop");
    }
    if !state.common.original_branch.as_deref().is_none_or(is_branch_name) {
        return Err("its original branch has no valid name");
    }
    if !is_time(state.common.started) {
        return Err("it began at no possible time");
    }
    let progress = state.progress();
    let mut ids: Vec<&str> = progress.skipped.iter().map(String::as_str).collect();
    let mut titles = Vec::new();
    for done in progress.completed.iter().chain(&state.common.unmarked) {
        ids.push(&done.id);
        titles.push(&done.title);
    }
    let mut numbers = vec![u64::from(state.common.unchanged)];
    let put_off = progress.put_off.iter().map(|other| &other.story);
    numbers.extend(progress.put_off.iter().map(|other| other.completed as u64));
    for story in progress.current().into_iter().chain(put_off) {
        ids.push(&story.id);
        titles.push(&story.title);
        numbers.extend([story.retries, story.failures, story.attempt].map(u64::from));
    }
    if let Some(listed) = state.listed() {
        ids.extend(listed.next.as_deref());
        numbers.extend([listed.done, listed.total].map(|number| number as u64));
    }
    if numbers.iter().any(|number| *number > MOST) {
        return Err("it has a number that is too high");
    }
    if !ids.into_iter().all(is_id) || titles.iter().any(|title| title.len() > MOST_TITLE) {
        return Err("a story has no possible name");
    }
    let path = &state.source().path;
    if state.source().commands.is_none() && !Path::new(path).is_absolute() && !is_list(path) {
        return Err("its story list is in no place for one");
    }
    Ok(())
}

/// Returns whether a story list can have this path. (Users of the path refuse one outside the work tree.)
fn is_list(path: &str) -> bool {
    let is_plain = |part| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        // The adopting machine names it.
        Component::ParentDir => true,
        _ => false,
    };
    !path.is_empty()
        && path.len() < 4096
        && !path.contains(char::is_control)
        && Path::new(path).components().all(is_plain)
}

/// Returns whether a text can be the id of a story: its attempts have files and refs of this name.
fn is_id(id: &str) -> bool {
    !id.is_empty() && ref_component(id).len() <= MOST_ID
}

/// Returns whether this can be the end of a ref, after `attempts/`, that keeps an attempt: its story, and its number
/// with a suffix for other kept commits.
pub(super) fn is_attempt(rest: &str) -> bool {
    let Some((story, number)) = rest.split_once('/') else {
        return false;
    };
    let digits = number.split('-').next().unwrap_or_default();
    let is_number = digits.parse::<u64>().is_ok_and(|number| number <= MOST) && !digits.starts_with('+');
    let is_rest = number
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    !story.is_empty()
        && story.len() <= MOST_ID
        && is_component(story)
        && is_number
        && is_rest
        && number.len() <= 100
}

/// Returns whether an event can belong to this change.
pub(super) fn is_event(change: &Change, event: &Event) -> bool {
    let is_story = |story: &Option<String>| story.as_deref().is_none_or(is_id);
    let is_number = |number: u32| u64::from(number) <= MOST;
    let is_ref = |name: &str| name == "HEAD" || name.starts_with("refs/") && !name.contains(char::is_control);
    let is_kept = |name: &str| {
        name.strip_prefix(&change.ralph_ref("attempts/"))
            .is_some_and(is_attempt)
            || name == change.ralph_ref("finished")
    };
    let is_sane = match &event.what {
        What::AttemptStarted(begun) => {
            let own = format!("attempts/{}.{}.log", ref_component(&begun.story), begun.attempt);
            let is_own = begun.log.as_ref().is_none_or(|log| *log == own);
            is_id(&begun.story) && is_number(begun.attempt) && is_own
        }
        What::RoundStarted { story, attempt, .. } => is_id(story) && is_number(*attempt),
        What::AttemptEnded(attempt) => is_attempt_event(attempt),
        What::Gate(gate) => {
            let is_one = is_story(&gate.story) && gate.attempt.is_none_or(is_number);
            is_one && is_amount(Some(gate.duration))
        }
        What::RoundEnded {
            story,
            attempt,
            duration,
            cost_usd,
            ..
        }
        | What::Review(ReviewEnded {
            story,
            attempt,
            duration,
            cost_usd,
            ..
        }) => is_id(story) && is_number(*attempt) && is_amount(Some(*duration)) && is_amount(*cost_usd),
        What::ListPutBack(back) => is_id(&back.story) && is_number(back.attempt) && is_kept(&back.kept),
        What::Checkpoint { story, attempt, .. } => is_story(story) && attempt.is_none_or(is_number),
        What::Reverted {
            story, attempt, kept, ..
        } => is_story(story) && attempt.is_none_or(is_number) && kept.as_deref().is_none_or(is_kept),
        What::Redone { stories, .. } => {
            let mut stories = stories.iter();
            stories.all(|one| is_id(&one.story) && is_number(one.attempt) && is_kept(&one.kept))
        }
        What::Retry { story, .. } | What::MaxRetriesExceeded { story, .. } => is_id(story),
        What::Waiting { seconds, until, .. } => *seconds <= MANY && is_time(*until),
        What::StoryProgress { skipped, .. } => skipped.iter().all(|id| is_id(id)),
        What::RefMoved(moved) => is_id(&moved.story) && is_number(moved.attempt) && is_ref(&moved.name),
        What::Finished { kept, .. } => is_kept(kept),
        What::Started { .. }
        | What::StartUndone { .. }
        | What::Output { .. }
        | What::Committed { .. }
        | What::Left { .. }
        | What::Returned { .. }
        | What::HandedOver { .. }
        | What::Message { .. }
        | What::Notice { .. }
        | What::Error { .. }
        | What::AwaitingChoice { .. }
        | What::RunEnded { .. }
        | What::Complete { .. } => true,
    };
    event.change == change.as_str() && is_time(event.t) && is_sane
}

fn is_attempt_event(attempt: &Attempt) -> bool {
    let counts = [
        attempt.input_tokens,
        attempt.cache_read_tokens,
        attempt.cache_write_tokens,
        attempt.output_tokens,
        attempt.review_input_tokens,
        attempt.review_output_tokens,
        attempt.turns,
        attempt.files,
        attempt.insertions,
        attempt.deletions,
    ];
    is_id(&attempt.story)
        && u64::from(attempt.attempt) <= MOST
        && is_time(attempt.started)
        && is_amount(Some(attempt.duration))
        && is_amount(attempt.cost_usd)
        && is_amount(attempt.review_cost_usd)
        && counts.iter().flatten().all(|count| *count <= MANY)
}

fn is_amount(amount: Option<f64>) -> bool {
    amount.is_none_or(|amount| (0.0..=LONG).contains(&amount))
}

/// Returns whether a text can be the short name of a branch (git-check-ref-format(1)).
fn is_branch_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.len() <= MOST_ID && !part.starts_with('-') && is_component(part)
    };
    text != "HEAD" && text.len() <= 1000 && text.split('/').all(is_part)
}

/// Returns whether a text can be a component of a ref.
fn is_component(text: &str) -> bool {
    let text = text.replace('%', "-");
    ref_component(&text) == text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_refuses_invalid_names() {
        for bad in [
            "", "a//b", "../x", "-x", "a.lock", "a/b.lock", "x~1", "a b", "@", "HEAD", "x@{1}", "a\nb", "a.",
        ] {
            assert!(!is_branch_name(bad), "{bad:?}");
        }
        assert!(is_branch_name("main") && is_branch_name("user/größe-2") && is_branch_name("a.lock.b"));
        for bad in [
            "",
            "1",
            "/1",
            "../1",
            "a/b/1",
            "a/../1",
            "1/x",
            "1/-1",
            "1/+1",
            "1/4294967295",
            "1/1/2",
            "a b/1",
            "1/1.lock",
        ] {
            assert!(!is_attempt(bad), "{bad:?}");
        }
        for good in ["2/1", "a%20b%2Fc/12", "1.2/3-0123456789", "%2E%2E/1-before-hook"] {
            assert!(is_attempt(good), "{good:?}");
        }
        for bad in ["", ".git/config", "a/.GIT/x", "a\u{7}b"] {
            assert!(!is_list(bad), "{bad:?}");
        }
    }

    #[test]
    fn check_refuses_misleading_events() {
        let change = Change::new("c").unwrap();
        let time = r#""t":"2026-01-01T00:00:00Z""#;
        let ended = r#""event":"attempt_ended","story":"1","attempt":1,"verdict":"failed","reason":null,"started":"2026-01-01T00:00:00Z","duration":1.0,"exit_code":0,"cost_usd":null,"input_tokens":null,"output_tokens":null"#;
        let begun = r#""event":"attempt_started","story":"1","title":"t","attempt":1,"retries":0,"max_retries":1,"done":0,"total":1,"log":"attempts/1.1.log""#;
        let undone = r#""event":"reverted","story":"1","attempt":1,"oid":"0123456789012345678901234567890123456789","ref":"refs/ralph/c/attempts/1/1","changed":true"#;
        let is_sane = |what: &str, time: &str, name: &str| {
            let line = format!(r#"{{"v":1,{time},{what},"change":"{name}"}}"#);
            is_event(&change, &serde_json::from_str(&line).unwrap())
        };
        for what in [ended, begun, undone] {
            assert!(is_sane(what, time, "c"));
            assert!(!is_sane(what, time, "other"));
            assert!(!is_sane(what, r#""t":"9999-12-01T00:00:00Z""#, "c"));
        }
        for (what, from, to) in [
            (ended, "\"attempt\":1", "\"attempt\":4294967295"),
            (ended, "1.0", "-1.0"),
            (ended, "1.0", "1e300"),
            (
                ended,
                "\"input_tokens\":null",
                "\"input_tokens\":18446744073709551615",
            ),
            (begun, "attempts/1.1.log", "../../../../etc/passwd"),
            (undone, "refs/ralph/c/attempts/1/1", "--output=x"),
            (
                undone,
                "refs/ralph/c/attempts/1/1",
                "refs/ralph/c/attempts/../../x/1",
            ),
        ] {
            assert!(!is_sane(&what.replace(from, to), time, "c"), "{to}");
        }
    }
}
