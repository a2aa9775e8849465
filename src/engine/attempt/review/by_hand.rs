//! `review`: the user asks the reviewer about an attempt that has ended, such as the one that made the last checkpoint.
//! Counts nothing, and writes only the reviewer's prompt and output.

use std::fs::File;

use jiff::Timestamp;

use super::asking::{Answer, Ground, Work, ask};
use super::opinion::Opinion;
use super::reviewer::Reviewer;
use super::{instructions, reviewer_changes, template_at, template_path, wait_for_reviewer};
use crate::engine::attempt::backoff::{Backoff, Unanswered};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::numbers::range_of;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::run_command::{plain_job, run_name, variable};
use crate::engine::stories::{listing_of, story_in};
use crate::engine::{Loop, guard_rail, refuse_inside_attempt};
use crate::error::{Error, refuse};
use crate::names::Oid;
use crate::prompt::{neutral, review as prompt};
use crate::settings::Settings;
use crate::state::Running;

/// The file with the output of a review by hand, in the loop's directory.
const LOG: &str = "review.log";

/// The verdict of a reviewer that the user asked.
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
    /// The names of the reviewers that gave the verdict, or those of their programs.
    pub reviewer: String,
    /// True if the reviewers accepted the work; an error if a service gave no answer.
    pub accepted: Result<bool, Unanswered>,
    /// The end of its last message, without the verdict.
    pub words: String,
    /// Duration of the review in seconds.
    pub duration: f64,
    /// Cost of the review in US dollars, if the reviewer reports it.
    pub cost_usd: Option<f64>,
}

/// Asks the reviewer of the settings about an attempt at a story: the latest one without a number, and the attempt of
/// the last checkpoint without a story. Waits for an unavailable service, as an attempt does.
pub async fn review(
    open: &Loop<'_>,
    settings: &Settings,
    story: Option<&str>,
    attempt: Option<u32>,
) -> Result<Reviewed, Error> {
    refuse_inside_attempt()?;
    open.require_live()?;
    let mut reviewers = Reviewer::all(settings, &open.repo().top, None)?;
    if reviewers.is_empty() {
        return Err(AttemptRefusal::NoReviewer.into());
    }
    let last = open.state.progress().completed.last();
    let story = match (story, last) {
        (Some(story), _) => story.to_owned(),
        (None, Some(last)) => last.id.clone(),
        (None, None) => return Err(AttemptRefusal::NothingToReview(open.change().to_string()).into()),
    };
    let (from, to) = range(open, &story, attempt).await?;
    let listing = listing_of(&open.state, &open.repo().top).await?;
    let story = story_in(open.state.source(), &listing, &story)?;
    let git = open.git();
    let (from, to) = (git.commit_of_name(&from).await?, git.commit_of_name(&to).await?);
    let (before, after) = (git.tree_of(&from).await?, git.tree_of(&to).await?);
    let changes = git.diff_trees(&before, &after).await?;
    let is_changed = |path: &str| changes.iter().any(|(_, changed)| changed == path.as_bytes());
    if let Some(path) = template_path(open, settings).filter(|path| is_changed(path)) {
        let before = template_at(open, settings, &from).await?;
        let template = match before {
            Some(before) => before,
            None => prompt::load(&open.repo().top, None)?,
        };
        for reviewer in &mut reviewers {
            reviewer.template = template.clone();
        }
        open.tell(format!(
            "the attempt changed the template of reviews: the review uses it as it was before: {path}"
        ));
    }
    let path = open.file(LOG);
    let log = open.store.door().begin_file(&path)?;
    let mut work = Work {
        story: &story,
        attempt: attempt.unwrap_or_default(),
        from: from.clone(),
        to: to.clone(),
        changes,
        aside: Vec::new(),
        gates: &[],
        held: None,
        promised: false,
    };
    // The age of the loop limits its attempts, but not the user's question.
    let patience = Settings {
        max_duration: None,
        ..settings.clone()
    };
    let mut reviewed = Reviewed {
        story: story.id.clone(),
        attempt,
        from,
        to,
        reviewer: String::new(),
        accepted: Ok(true),
        words: String::new(),
        duration: 0.0,
        cost_usd: None,
    };
    for reviewer in &reviewers {
        let mut backoff = Backoff::default();
        let answer = loop {
            let answer = ask_once(open, reviewer, &mut work, [&before, &after], settings, &log).await?;
            let unavailable = match &answer.opinion {
                Opinion::Accepted => break answer,
                Opinion::Rejected => {
                    reviewed.accepted = Ok(false);
                    // The verdict is this reviewer's alone.
                    reviewed.reviewer.clear();
                    break answer;
                }
                Opinion::Interrupted(signal) => {
                    reviewed.accepted = Err(Unanswered::Interrupted(*signal));
                    break answer;
                }
                Opinion::None(why) => {
                    return refuse(AttemptRefusal::NoOpinion {
                        reviewer: reviewer.name(),
                        reason: why.clone(),
                        log: path,
                    });
                }
                Opinion::Away(unavailable) => unavailable.clone(),
            };
            let waited = wait_for_reviewer(open, &mut backoff, unavailable, &patience).await?;
            if let Err(why) = waited {
                reviewed.accepted = Err(why);
                break answer;
            }
        };
        reviewed.add(&reviewer.name(), &answer);
        if reviewed.accepted != Ok(true) {
            break;
        }
    }
    Ok(reviewed)
}

impl Reviewed {
    /// Adds the answer of a further reviewer.
    fn add(&mut self, name: &str, answer: &Answer) {
        let parts = [
            (&mut self.reviewer, ", ", name),
            (&mut self.words, "\n\n", &answer.words),
        ];
        for (all, between, part) in parts {
            if !all.is_empty() && !part.is_empty() {
                all.push_str(between);
            }
            all.push_str(part);
        }
        self.duration += answer.time.as_secs_f64();
        if let Some(cost) = answer.report.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or_default() + cost);
        }
    }
}

/// Runs the reviewer once about work from the tree `before` to `tree`. Meanwhile, files that instruct agents are
/// restored from before the work, unless they were changed after it.
async fn ask_once(
    open: &Loop<'_>,
    reviewer: &Reviewer,
    work: &mut Work<'_>,
    [before, tree]: [&Oid; 2],
    settings: &Settings,
    log: &File,
) -> Result<Answer, Error> {
    // If this process dies, the next command ends the reviewer.
    let run = run_name(Timestamp::now());
    open.state.begin_running(Running::gates(&run));
    open.save()?;
    let now = open.read_work_tree().await?.tree;
    let since = open.git().diff_trees(tree, &now).await?;
    let mut left = work.changes.clone();
    left.retain(|(_, path)| since.iter().all(|(_, changed)| changed != path));
    let aside = instructions::changed(open, &now, before, &left).await?;
    let seen = reviewer_changes::begin(open, now.clone(), aside.tree.as_ref()).await?;
    let refused = aside.put(open, &now, &[]).await?;
    work.aside = aside.paths;
    let guard = guard_rail::set_up(open, settings.guard, None).await;
    let mut job = plain_job(open, &run, guard);
    job.env.extend([
        variable("RALPH_STORY", &work.story.id),
        variable("RALPH_STORY_TITLE", &neutral(&work.story.title)),
        variable("RALPH_CHECKPOINT", work.from.as_str()),
        variable("RALPH_TREE", tree.as_str()),
    ]);
    let answer = match refused {
        Some(why) => Ok(Answer::none(why)),
        None => ask(open, reviewer, work, settings, job, Ground::Person(log)).await,
    };
    let kept = open.change().attempt_ref(&work.story.id, work.attempt);
    reviewer_changes::end_in_users_work_tree(open, seen, &kept).await?;
    open.state.end_running();
    open.save()?;
    answer
}

/// Finds the commits before and after an attempt.
async fn range(open: &Loop<'_>, story: &str, attempt: Option<u32>) -> Result<(String, String), Error> {
    let kept = range_of(open.git(), &open.store, &open.state, story, attempt, false).await?;
    let word = attempt.map_or_else(|| story.to_owned(), |number| format!("{story}@{number}"));
    kept.ok_or_else(|| OpenRefusal::of_attempt(open.change(), word).into())
}
