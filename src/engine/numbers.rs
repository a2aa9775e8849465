//! Numbers of attempts: none is used twice, so that what is kept of an attempt can always be found by its number.
//!
//! Attempts are numbered by their logs. A ref without a log here, of an earlier loop or of another clone, takes its
//! number by an empty log.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::Loop;
use crate::error::Error;
use crate::fs::file_error;
use crate::git::{Git, GitError};
use crate::names::{Change, Oid, ref_component};
use crate::state::{Given, State, Store};

/// Takes the numbers of these refs, where they keep attempts.
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
            OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(&path)
                .map_err(|error| file_error("make", &path, error))?;
        }
    }
    Ok(())
}

/// Returns the number of the next attempt at a story: one more than any that left a log, a loop of the same change that
/// was finished before included.
pub(crate) fn next_number(open: &Loop<'_>, story: &str) -> u32 {
    let prefix = format!("{}.", ref_component(story));
    let number_of = |name: &str| {
        let number = name.strip_prefix(&prefix)?.strip_suffix(".log")?;
        number.parse::<u32>().ok()
    };
    let logs = fs::read_dir(open.file("attempts")).into_iter().flatten();
    let names = logs.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let logged = names.filter_map(|name| number_of(&name)).max().unwrap_or(0);
    let recorded = match &open.state.progress.story {
        Some(current) if current.id == story => current.attempt,
        _ => 0,
    };
    logged.max(recorded).saturating_add(1)
}

/// Returns the path of an attempt's log.
pub(crate) fn log_of(open: &Loop<'_>, story: &str, attempt: u32) -> PathBuf {
    open.store.attempt_log(story, attempt)
}

/// Returns whether nothing has happened since to the story that an agent's session was given.
pub(crate) fn still_stands(open: &Loop<'_>, given: &Given) -> bool {
    given.checkpoint == open.state.checkpoint && next_number(open, &given.story) == given.attempt
}

/// Finds what is kept of an attempt at a story; of the latest when no number is given.
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

/// Finds what to compare to see what an attempt did that no event reports: what keeps it, and the last commit below it
/// that the loop has too.
///
/// # Errors
/// When git cannot read refs or commits.
pub async fn kept_range(
    git: &Git,
    state: &State,
    story: &str,
    attempt: Option<u32>,
) -> Result<Option<(String, String)>, GitError> {
    let Some((_, kept)) = kept_attempt(git, &state.change, story, attempt).await? else {
        return Ok(None);
    };
    let below = git.merge_base(&state.checkpoint, &kept).await?;
    Ok(below.map(|below| (below.to_string(), kept.to_string())))
}
