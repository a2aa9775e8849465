//! `review`: a person asks the reviewer about an attempt that has ended, such as the one that made the last checkpoint.
//! Nothing is counted, and nothing but the reviewer's prompt and output is written.

use jiff::Timestamp;

use super::asking::{Ground, Work, ask};
use super::only_look;
use super::opinion::Opinion;
use super::reviewer::Reviewer;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::numbers::kept_range;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::run_command::{plain_job, run_name, variable};
use crate::engine::stories::{listing_of, story_called};
use crate::engine::{Loop, guard_rail, refuse_inside_attempt};
use crate::error::Error;
use crate::events::log;
use crate::names::Oid;
use crate::prompt::neutral;
use crate::settings::Settings;
use crate::state::Running;

/// The file with the output of such a review, in the loop's directory.
const LOG: &str = "review.log";

/// The verdict of a reviewer that a person asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Reviewed {
    /// The story's id.
    pub story: String,
    /// The attempt's number, if it is known.
    pub attempt: Option<u32>,
    /// The commit before the work.
    pub from: Oid,
    /// The commit with the work.
    pub to: Oid,
    /// The reviewer's name, or that of its program.
    pub reviewer: String,
    /// True if it accepted the work; `None` if this signal asked git-ralph to stop.
    pub accepted: Result<bool, i32>,
    /// The end of its last message, without the verdict.
    pub words: String,
    /// Seconds it took.
    pub duration: f64,
    /// Its cost in US dollars, if it reports it.
    pub cost_usd: Option<f64>,
}

/// Asks the reviewer of the settings about an attempt at a story: the latest one if no number is given, and that of the
/// last checkpoint if no story is.
///
/// # Errors
/// If there is no reviewer or no such attempt, or the reviewer gives no verdict.
pub async fn review(
    open: &mut Loop<'_>,
    settings: &Settings,
    story: Option<&str>,
    attempt: Option<u32>,
) -> Result<Reviewed, Error> {
    refuse_inside_attempt()?;
    open.require_live()?;
    let reviewer = Reviewer::of(settings, &open.context.repo.top)?.ok_or(AttemptRefusal::NoReviewer)?;
    let last = open.state.progress.completed.last();
    let story = match (story, last) {
        (Some(story), _) => story.to_owned(),
        (None, Some(last)) => last.id.clone(),
        (None, None) => return Err(AttemptRefusal::NothingToReview(open.change().to_string()).into()),
    };
    let (from, to) = range(open, &story, attempt).await?;
    let listing = listing_of(&open.state, &open.context.repo.top).await?;
    let story = story_called(&open.state, &listing, &story)?;
    let git = &open.context.repo.git;
    let (from, to) = (git.commit_of_name(&from).await?, git.commit_of_name(&to).await?);
    let (before, after) = (git.tree_of(&from).await?, git.tree_of(&to).await?);
    let changes = git.diff_trees(&before, &after).await?;
    let path = open.file(LOG);
    let log = open.store.door().begin_file(&path)?;
    // If this process dies, the next command ends the reviewer.
    let run = run_name(Timestamp::now());
    open.state.running = Some(Running::gates(&run));
    open.save()?;
    let seen = only_look::begin(open).await?;
    let guard = guard_rail::set_up(open, settings.guard).await;
    let mut job = plain_job(open, &run, guard);
    job.env.extend([
        variable("RALPH_STORY", &story.id),
        variable("RALPH_STORY_TITLE", &neutral(&story.title)),
        variable("RALPH_CHECKPOINT", from.as_str()),
        variable("RALPH_TREE", after.as_str()),
    ]);
    let work = Work {
        story: &story,
        attempt: attempt.unwrap_or_default(),
        from: from.clone(),
        to: to.clone(),
        changes,
        gates: &[],
    };
    let answer = ask(open, &reviewer, &work, settings, job, Ground::Person(&log)).await;
    let kept = open.change().attempt_ref(&story.id, attempt.unwrap_or_default());
    only_look::end_beside_person(open, seen, &kept).await?;
    open.state.running = None;
    open.save()?;
    let answer = answer?;
    let no_opinion = |why: String| AttemptRefusal::NoOpinion {
        reviewer: reviewer.name(),
        reason: why,
        log: path.clone(),
    };
    let accepted = match answer.opinion {
        Opinion::Accepted => Ok(true),
        Opinion::Rejected => Ok(false),
        Opinion::Interrupted(signal) => Err(signal),
        Opinion::None(why) => return Err(no_opinion(why).into()),
        Opinion::Away(unavailable) => return Err(no_opinion(unavailable.reason).into()),
    };
    Ok(Reviewed {
        story: story.id,
        attempt,
        from,
        to,
        reviewer: reviewer.name(),
        accepted,
        words: answer.words,
        duration: answer.time.as_secs_f64(),
        cost_usd: answer.report.cost_usd,
    })
}

/// Finds the commits before and after an attempt.
async fn range(open: &Loop<'_>, story: &str, attempt: Option<u32>) -> Result<(String, String), Error> {
    let known = log::range_of(&open.file("events.jsonl"), story, attempt)?;
    // The events may be another clone's, or lost.
    let kept = match known {
        Some(range) => Some(range),
        None => kept_range(&open.context.repo.git, &open.state, story, attempt).await?,
    };
    let word = match attempt {
        Some(number) => format!("{story}@{number}"),
        None => story.to_owned(),
    };
    kept.ok_or_else(|| OpenRefusal::of_attempt(open.change(), word).into())
}
