//! Lifecycle hooks: the user's git hooks around the steps of a loop, run by `git hook run`, so that `core.hooksPath`
//! and configured hooks apply. `table` lists them.
//!
//! If no hook can exist, no process is started. Changes by hooks count as changes by the user: all cached facts are
//! dropped after a hook. No hook runs while an attempt is being judged, or before git's own files are restored, which
//! removes hooks that an agent planted.

mod origin;
pub(crate) mod refusal;
mod run;
pub(super) mod table;

use std::fs::File;

use super::output_tail::OutputTail;
use super::watch::changed_since;
use super::{Loop, numbers};
use crate::error::Error;
use crate::events::{Attempt, AttemptStarted, Event, What};
use crate::fs::seen;
use crate::names::Oid;
use crate::refs::KeptRef;
use crate::stories::{Listing, Story};

use refusal::HookRefused;
use run::{Call, HookResult, LOG};
pub use table::{Hook, TABLE};

/// Runs `ralph-pre-attempt`. Returns whether it ran; the inner error is the signal that asked git-ralph to stop.
pub(super) async fn before_attempt(
    open: &Loop<'_>,
    story: &Story,
    listing: &Listing,
) -> Result<Result<bool, i32>, Error> {
    let number = numbers::next_number(open, &story.id)?;
    let (done, total) = super::stories::progress_of(listing);
    let event = What::AttemptStarted(AttemptStarted {
        story: story.id.clone(),
        title: story.title.clone(),
        attempt: number,
        retries: open.state.failures_of(&story.id),
        max_retries: open.state.progress().max_retries,
        done,
        total,
        ..AttemptStarted::default()
    });
    let call = Call {
        hook: Hook::PreAttempt,
        title: Some(&story.title),
        event: event_of(open, event),
        log: None,
    };
    match run::call(open, call).await? {
        HookResult::Nothing => Ok(Ok(false)),
        HookResult::Yes => Ok(Ok(true)),
        HookResult::No(why, _) => Err(refused(open, Hook::PreAttempt, why).await?),
        HookResult::Interrupted(signal) => Ok(Err(signal)),
    }
}

/// The attempt that a hook is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    /// Its story.
    pub story: &'a Story,
    /// Its number.
    pub attempt: u32,
    /// Its log.
    pub log: &'a File,
}

/// The refusal of a hook.
pub(super) enum Refusal {
    /// The hook failed: the reason in words, and the end of its output.
    Failed(String, OutputTail),
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
}

/// Returns whether there may be a hook `ralph-pre-checkpoint`.
pub(super) async fn may_change_checkpoint(open: &Loop<'_>) -> Result<bool, Error> {
    run::may_be(open, Hook::PreCheckpoint).await
}

/// Runs `ralph-pre-checkpoint` with the event that the attempt has `ended`. Returns its refusal, if any.
pub(super) async fn before_checkpoint(
    open: &Loop<'_>,
    about: About<'_>,
    ended: Attempt,
) -> Result<Option<Refusal>, Error> {
    let hook = Hook::PreCheckpoint;
    let may_be = run::may_be(open, hook).await?;
    // A hook that an attempt deleted must not accept the attempt either.
    if let Some(why) = origin::refusal(open, hook).await? {
        return Ok(Some(Refusal::Failed(why, OutputTail::default())));
    }
    if !may_be {
        return Ok(None);
    }
    let before = open.read_work_tree().await?.tree;
    let call = Call {
        hook,
        title: Some(&about.story.title),
        event: event_of(open, What::AttemptEnded(Box::new(ended))),
        log: Some(about.log),
    };
    let said = run::call(open, call).await?;
    if !matches!(said, HookResult::Nothing) {
        keep_before_hook(open, &before, about).await?;
    }
    Ok(match said {
        HookResult::Nothing | HookResult::Yes => None,
        HookResult::Interrupted(signal) => Some(Refusal::Interrupted(signal)),
        HookResult::No(why, tail) => Some(Refusal::Failed(why, tail)),
    })
}

/// Keeps the work as it was before a hook that changed it: the hook's changes go into the checkpoint, or are undone
/// with the attempt.
async fn keep_before_hook(open: &Loop<'_>, before: &Oid, about: About<'_>) -> Result<(), Error> {
    let Some(names) = changed_since(open, before).await? else {
        return Ok(());
    };
    let name = open.state.change.attempt_ref(&about.story.id, about.attempt);
    let name = format!("{name}-before-hook");
    let message = format!("what the hook {} was given", Hook::PreCheckpoint.name());
    let oid = open.commit_on_checkpoint(before, &message).await?;
    let kept = KeptRef { name, oid };
    let kept = open.git().keep(&[kept], "ralph: before a hook").await?;
    let name = kept.into_iter().map(|kept| kept.name).collect::<String>();
    open.tell(format!(
        "the hook {} changed files: {names}; as they were before it: git show {name}",
        Hook::PreCheckpoint.name()
    ));
    Ok(())
}

/// Runs `ralph-pre-finish`; the event that follows has `how` and `branch`.
pub(super) async fn before_finish(open: &Loop<'_>, how: &str, branch: Option<String>) -> Result<(), Error> {
    let event = What::Finished {
        how: how.to_owned(),
        branch,
        kept: open.state.change.ralph_ref("finished"),
        worktree: None,
    };
    let call = Call {
        hook: Hook::PreFinish,
        title: None,
        event: event_of(open, event),
        log: None,
    };
    match run::call(open, call).await? {
        HookResult::Nothing | HookResult::Yes => Ok(()),
        HookResult::No(why, _) => Err(refused(open, Hook::PreFinish, why).await?),
        HookResult::Interrupted(signal) => Err(Error::Stopped(signal)),
    }
}

/// Runs the hooks for the events of this step; returns whether any ran. Nothing is in progress then.
pub(super) async fn tell_hooks(open: &Loop<'_>, about: Option<About<'_>>) -> Result<bool, Error> {
    let mut ran = false;
    for event in open.due.take() {
        let Some(hook) = Hook::after(&event.what) else {
            continue;
        };
        let call = Call {
            hook,
            title: about.map(|about| about.story.title.as_str()),
            event,
            log: about.map(|about| about.log),
        };
        match run::call(open, call).await? {
            HookResult::Nothing => continue,
            HookResult::Yes => {}
            HookResult::No(why, _) => {
                open.tell(format!("warning: the hook {} failed ({why})", hook.name()));
            }
            HookResult::Interrupted(_) => {
                open.tell(format!("warning: the hook {} was stopped", hook.name()));
            }
        }
        ran = true;
    }
    Ok(ran)
}

fn event_of(open: &Loop<'_>, what: What) -> Event {
    Event::now(open.change().as_str(), what)
}

/// Returns the error that reports the refusal of a hook.
async fn refused(open: &Loop<'_>, hook: Hook, why: String) -> Result<Error, Error> {
    run::may_be(open, hook).await?;
    let file = origin::file_of(open, hook);
    Ok(HookRefused {
        hook: hook.name(),
        why,
        file: file.filter(|file| seen(file).is_some()),
        log: open.file(LOG),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_that_git_is_asked_for() {
        let names: Vec<&str> = TABLE.iter().map(|row| row.hook.name()).collect();
        assert_eq!(
            names,
            [
                "ralph-pre-attempt",
                "ralph-pre-checkpoint",
                "ralph-post-attempt",
                "ralph-post-checkpoint",
                "ralph-post-revert",
                "ralph-pre-finish",
                "ralph-post-finish",
            ]
        );
    }
}
