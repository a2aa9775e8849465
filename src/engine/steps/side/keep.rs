//! Keeps work of a side that is no longer judged.

use std::fs::File;
use std::io;

use super::Made;
use crate::engine::{Loop, numbers};
use crate::error::Error;
use crate::events::{Attempt, AttemptStarted, What};
use crate::fs::{Links, open_regular};
use crate::refs::KeptRef;
use crate::state::Verdict;

/// Keeps work that is no longer judged, and reports why. The log records the attempt; its promise does not count.
pub(super) async fn keep(open: &Loop<'_>, made: &Made, why: &str) -> Result<(), Error> {
    let story = &made.attempt.story;
    let number = numbers::next_number(open, story)?;
    // The log reserves the number; a failure must not prevent the loop's end.
    let log = match numbers::make_log(open, story, number) {
        Ok((mut log, name)) => {
            copy_log(open, made, &mut log);
            name
        }
        Err(error) => {
            open.tell(error.to_string());
            None
        }
    };
    let name = open.change().attempt_ref(story, number);
    let wanted = made.commit.clone().map(|commit| KeptRef::new(name, commit));
    let kept = open
        .keep_refs(wanted.as_slice(), "ralph: an attempt that is not judged")
        .await?;
    open.tell(format!(
        "the attempt at story {story} is not judged, because {why}"
    ));
    if let Some(begun) = made.begun.clone() {
        open.emit(What::AttemptStarted(AttemptStarted {
            attempt: number,
            log,
            slot: Some(made.slot),
            ..begun
        }));
    }
    let reason = format!("not judged, because {why}");
    let ended = match made.attempt.verdict {
        Verdict::Complete => (Verdict::Interrupted, Some(reason)),
        verdict => (verdict, made.attempt.reason.clone().or(Some(reason))),
    };
    open.emit(What::AttemptEnded(Box::new(Attempt {
        attempt: number,
        verdict: ended.0,
        reason: ended.1,
        rests_on: Vec::new(),
        slot: Some(made.slot),
        base: Some(made.base.clone()),
        ..made.attempt.clone()
    })));
    open.emit(What::Reverted {
        story: Some(story.clone()),
        attempt: Some(number),
        oid: open.state.checkpoint().clone(),
        changed: !kept.is_empty(),
        kept: kept.into_iter().next().map(|kept| kept.name),
        slot: Some(made.slot),
    });
    Ok(())
}

/// Copies the output of an attempt to its log in the loop.
pub(super) fn copy_log(open: &Loop<'_>, made: &Made, log: &mut File) {
    let copied = open_regular(&made.log, Links::Refused);
    if let Err(error) = copied.and_then(|mut made| io::copy(&mut made, log)) {
        open.tell(format!("cannot write the log of the attempt: {error}"));
    }
}
