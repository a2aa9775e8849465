//! Numbers attempts. No number is used twice, so that a kept attempt can always be found by its number.
//!
//! The logs of attempts determine the numbers. A ref without a local log, from an earlier loop or another clone,
//! reserves its number with an empty log.

use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Loop;
use crate::error::Error;
use crate::events::log;
use crate::fs::{FileError, entries_of, file_error, is_seen_as_file, may_exist, seen};
use crate::git::{Git, GitError};
use crate::names::{Change, Oid, ref_component};
use crate::state::{Given, State, Store};

/// Reserves the numbers of the refs that keep attempts.
pub(crate) fn take_numbers<'n>(
    store: &Store,
    change: &Change,
    refs: impl IntoIterator<Item = &'n str>,
) -> Result<(), Error> {
    let attempts = change.ralph_ref("attempts/");
    for name in refs {
        let Some((story, taken)) = name
            .strip_prefix(&attempts)
            .and_then(|rest| rest.rsplit_once('/'))
        else {
            continue;
        };
        if taken.parse::<u32>().is_ok() {
            let path = store.file(&format!("attempts/{story}.{taken}.log"));
            store
                .door()
                .open_or_make(&path)
                .map_err(|error| file_error("make", &path, error))?;
        }
    }
    Ok(())
}

/// Returns the number of the next attempt at a story: the highest number that has a log, plus one. Logs of an earlier
/// loop of the same change count.
pub(crate) fn next_number(open: &Loop<'_>, story: &str) -> Result<u32, FileError> {
    let recorded = open.state.current_at(story).map_or(0, |current| current.attempt);
    let mut numbers = open.numbers.borrow_mut();
    // Listing the logs of very many attempts is slow; while this process holds the loop, it only has to count on.
    let last = match numbers.get(story) {
        Some(known) => {
            let is_taken = |number: &u32| may_exist(&log_of(open, story, *number));
            let next = known.saturating_add(1)..u32::MAX;
            next.take_while(is_taken).last().unwrap_or(*known)
        }
        None => logged(&open.file("attempts"), story)?,
    };
    numbers.insert(story.to_owned(), last);
    Ok(last.max(recorded).saturating_add(1))
}

/// Returns the highest number of an attempt at a story that has a log in this directory; 0 if none has.
pub(super) fn logged(attempts: &Path, story: &str) -> Result<u32, FileError> {
    let prefix = format!("{}.", ref_component(story));
    let number_of = |name: &str| {
        let number = name.strip_prefix(&prefix)?.strip_suffix(".log")?;
        number.parse::<u32>().ok()
    };
    let logs = entries_of(attempts)?.into_iter();
    let names = logs.filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter_map(|name| number_of(&name)).max().unwrap_or(0))
}

/// Returns the path of an attempt's log.
pub(crate) fn log_of(open: &Loop<'_>, story: &str, attempt: u32) -> PathBuf {
    open.store.attempt_log(story, attempt)
}

/// Makes the log of an attempt; returns it, and its name in events.
pub(crate) fn make_log(
    open: &Loop<'_>,
    story: &str,
    attempt: u32,
) -> Result<(File, Option<String>), FileError> {
    let path = log_of(open, story, attempt);
    let made = open.store.door().make_file(&path, 0o600);
    let log = made.map_err(|error| file_error("make", &path, error))?;
    let name = path.file_name();
    Ok((
        log,
        name.map(|name| format!("attempts/{}", name.to_string_lossy())),
    ))
}

/// Returns the ref that keeps the work of an attempt, and the log with its output, if they exist.
pub(crate) fn left_by(open: &Loop<'_>, story: &str, attempt: u32) -> (Option<String>, Option<PathBuf>) {
    let change = open.change().worked_on();
    let kept = change.attempt_ref(story, attempt);
    let log = Store::new(&open.repo().common_dir, &change).attempt_log(story, attempt);
    let is_kept = is_seen_as_file(&open.repo().common_dir.join(&kept));
    let is_logged = seen(&log).is_some_and(|log| log.len() > 0);
    (is_kept.then_some(kept), is_logged.then_some(log))
}

/// Returns the record of a story that is given to a session now.
pub(crate) fn given_now(open: &Loop<'_>, story: &str) -> Result<Given, FileError> {
    Ok(Given {
        story: story.to_owned(),
        attempt: next_number(open, story)?,
        checkpoint: open.state.checkpoint().clone(),
        since: Timestamp::now(),
    })
}

/// Returns whether the story that was given to an agent's session is still at the same checkpoint and attempt.
pub(crate) fn still_stands(open: &Loop<'_>, given: &Given) -> Result<bool, FileError> {
    Ok(given.checkpoint == open.state.common.checkpoint && next_number(open, &given.story)? == given.attempt)
}

/// Finds the commit that keeps an attempt at a story; the latest attempt if no number is given.
pub(crate) async fn kept_attempt(
    git: &Git,
    change: &Change,
    story: &str,
    attempt: Option<u32>,
) -> Result<Option<(u32, Oid)>, GitError> {
    let attempts = change.ralph_ref("attempts");
    let of_story = format!("{attempts}/{}/", ref_component(story));
    let refs = git.refs(&[&attempts]).await?;
    let found = refs.into_iter().filter_map(|found| {
        let number = found.name.strip_prefix(&of_story)?.parse().ok()?;
        Some((number, found.oid))
    });
    Ok(found
        .filter(|(number, _)| attempt.is_none_or(|wanted| wanted == *number))
        .max())
}

/// Finds the range of commits that shows the work of an attempt; with `as_left`, before a merge. The events name it; if
/// they do not, it begins at the merge base of the checkpoint and the commit that keeps the attempt.
pub async fn range_of(
    git: &Git,
    store: &Store,
    state: &State,
    story: &str,
    attempt: Option<u32>,
    as_left: bool,
) -> Result<Option<(String, String)>, Error> {
    let events = store.file("events.jsonl");
    if let Some(range) = log::range_of(&events, story, attempt, as_left)? {
        return Ok(Some(range));
    }
    let Some((_, kept)) = kept_attempt(git, &state.change, story, attempt).await? else {
        return Ok(None);
    };
    let below = git.merge_base(state.checkpoint(), &kept).await?;
    Ok(below.map(|below| (below.to_string(), kept.to_string())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn unreadable_log_directory_is_an_error_and_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(logged(&dir.path().join("none"), "1").unwrap(), 0);
        for name in ["1.2.log", "1.10.log", "2.11.log", "1.12.txt"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(logged(dir.path(), "1").unwrap(), 10);
        logged(&dir.path().join("n".repeat(256)), "1").unwrap_err();
    }
}
