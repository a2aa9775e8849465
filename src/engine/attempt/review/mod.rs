//! A second opinion (`ralph.review`): another agent, in a process of its own, reviews work whose gates passed.
//!
//! - `reviewer` is the agent of the settings; `asking` runs it once: its prompt, its process, its answer.
//! - `by_hand` runs it for the user, about an attempt that has ended.
//! - `opinion` reads the answer (pure); `reviewer_changes` undoes the changes of a reviewer.
//! - `instructions` shows it the files that instruct agents as they were before the attempt.
//!
//! Without a verdict of the reviewer, git-ralph does not accept the work, and does not count the attempt.

mod asking;
mod by_hand;
mod instructions;
mod opinion;
mod reviewer;
mod reviewer_changes;

use std::path::Path;

use self::asking::{Answer, Ground, Work, ask};
use super::agent_run::job;
use super::backoff::{Backoff, Unanswered, Unavailable, wait_for_service};
use super::begun::Begun;
use super::gates::variables;
use super::held::ForReview;
use super::outcome::{Outcome, Spent};
use super::verdict::{Judgement, Unjudged};
use crate::engine::{Loop, guard_rail};
use crate::error::Error;
use crate::names::{OUTPUT, Oid};
use crate::paths::is_of_work_tree;
use crate::prompt::{Template, review as prompt};
use crate::settings::Settings;
use crate::state::Verdict;
use crate::stories::Story;

pub use by_hand::review;
use opinion::Opinion;
use reviewer::Reviewer;
pub(crate) use reviewer::name;

/// Maximum number of times that a reviewer without a verdict is asked.
const ROUNDS: u32 = 2;

/// Refuses an attempt whose review could not begin, before the attempt costs anything.
pub(crate) fn require_usable(open: &Loop<'_>, story: &Story, settings: &Settings) -> Result<(), Error> {
    let known = open.review_template.take();
    if let Some(reviewer) = Reviewer::all(settings, &open.repo().top, known)?.pop() {
        prompt::check(&reviewer.template, open.change().as_str(), story)?;
        open.review_template.replace(Some(reviewer.template));
    }
    Ok(())
}

/// Asks the reviewers, if there are any, about the work tree of an attempt. Returns a line about the review for the
/// checkpoint, or the judgement that ends the attempt; adds the cost to the outcome. `gates` have judged the work.
pub(crate) async fn run(
    open: &Loop<'_>,
    begun: &Begun,
    outcome: &mut Outcome,
    gates: &[String],
    held: &ForReview,
) -> Result<Result<Option<String>, Judgement>, Error> {
    let settings = &begun.settings;
    let known = open.review_template.borrow().clone();
    let known = match known {
        Some(known) => Some(known),
        None => template_at(open, settings, open.state.checkpoint()).await?,
    };
    let top = &open.repo().top;
    let names = name(settings, top).unwrap_or_default();
    let reviewers = match Reviewer::all(settings, top, known) {
        Ok(reviewers) if reviewers.is_empty() => return Ok(Ok(None)),
        Ok(reviewers) => reviewers,
        Err(error) => return Ok(Err(unreviewed(&names, &error.to_string()))),
    };
    let known = Evidence {
        promised: !outcome.judgement.unpromised,
        gates,
        held,
    };
    let spent = outcome.review.insert(Spent {
        reviewer: names,
        ..Spent::default()
    });
    let mut lines = Vec::new();
    for reviewer in &reviewers {
        match decide(open, begun, known, reviewer, spent).await? {
            Ok(line) => lines.push(line),
            Err(judgement) => return Ok(Err(judgement)),
        }
    }
    Ok(Ok(Some(lines.join(", "))))
}

/// The evidence for the work of an attempt besides the review.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    /// The gates that have judged the work.
    gates: &'a [String],
    /// The changes of held files that the reviewers decide about.
    held: &'a ForReview,
    /// True if the agent said that the story is complete.
    promised: bool,
}

/// Asks one reviewer; returns a line about the review, or the judgement that ends the attempt.
async fn decide(
    open: &Loop<'_>,
    begun: &Begun,
    known: Evidence<'_>,
    reviewer: &Reviewer,
    spent: &mut Spent,
) -> Result<Result<String, Judgement>, Error> {
    let (name, settings) = (reviewer.name(), &begun.settings);
    let mut backoff = Backoff::default();
    let mut round = 1;
    loop {
        let answer = ask_about_attempt(open, begun, known, reviewer).await?;
        spent.add(&answer.report);
        let why = match answer.opinion {
            Opinion::Accepted => return Ok(Ok(format!("{name} (accepted, {}s)", answer.time.as_secs()))),
            Opinion::Rejected => return Ok(Err(rejected(&name, known.held, &answer.words))),
            Opinion::Interrupted(signal) => return Ok(Err(Judgement::interrupted(signal))),
            Opinion::Away(unavailable) => {
                if let Some(judgement) = wait(open, &mut backoff, unavailable, settings).await? {
                    return Ok(Err(judgement));
                }
                continue;
            }
            Opinion::None(why) => why,
        };
        if round == ROUNDS {
            return Ok(Err(unreviewed(&name, &why)));
        }
        round += 1;
        open.tell(format!("no verdict from the reviewer: {why}; asking again"));
    }
}

/// Returns the template in a commit from before the attempt, if the commit has it.
async fn template_at(open: &Loop<'_>, settings: &Settings, commit: &Oid) -> Result<Option<Template>, Error> {
    let Some(path) = template_path(open, settings) else {
        return Ok(None);
    };
    let bytes = open.git().file_of(commit, path).await?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.map(|text| Template::named(path, text)))
}

/// Returns the path of the template from the top of the work tree, if it is inside.
fn template_path<'s>(open: &Loop<'_>, settings: &'s Settings) -> Option<&'s str> {
    let path = settings.review_prompt.as_deref()?;
    let below = Path::new(path).strip_prefix(&open.repo().top).ok();
    let path = below.and_then(Path::to_str).unwrap_or(path);
    let path = path.trim_start_matches("./");
    is_of_work_tree(path.as_bytes()).then_some(path)
}

/// Runs the reviewer of an attempt once.
async fn ask_about_attempt(
    open: &Loop<'_>,
    begun: &Begun,
    known: Evidence<'_>,
    reviewer: &Reviewer,
) -> Result<Answer, Error> {
    let (story, settings) = (&begun.story, &begun.settings);
    let tree = open.read_work_tree().await?.tree;
    let changes = open.git().diff_trees(open.state.checkpoint_tree(), &tree).await?;
    let aside = instructions::changed(open, &tree, open.state.checkpoint_tree(), &changes).await?;
    let kept = open.change().attempt_ref(&story.id, begun.number);
    let before = reviewer_changes::begin(open, tree.clone(), aside.tree.as_ref()).await?;
    if let Some(why) = aside.put(open, &tree, &aside.back).await? {
        reviewer_changes::end(open, before, &kept).await?;
        return Ok(Answer::none(why));
    }
    let guard = guard_rail::set_up(open, settings.guard, None).await;
    let mut job = job(open, begun, guard);
    job.env.extend(variables(open, &tree));
    let work = Work {
        story,
        attempt: begun.number,
        from: open.state.checkpoint().clone(),
        to: tree,
        changes,
        aside: aside.paths,
        gates: known.gates,
        held: Some(known.held),
        promised: known.promised,
    };
    let answer = ask(open, reviewer, &work, settings, job, Ground::Attempt(&begun.log)).await;
    reviewer_changes::end(open, before, &kept).await?;
    answer
}

/// Waits for the reviewer's service; returns the judgement that ends the attempt if the wait is too long.
async fn wait(
    open: &Loop<'_>,
    backoff: &mut Backoff,
    unavailable: Unavailable,
    settings: &Settings,
) -> Result<Option<Judgement>, Error> {
    let reason = words_of_reviewer(&unavailable);
    let ended = |why| Judgement {
        unjudged: Some(why),
        ..Judgement::new(Verdict::RateLimited, reason)
    };
    let waited = wait_for_reviewer(open, backoff, unavailable, settings).await?;
    Ok(waited.err().map(|why| match why {
        Unanswered::Limited(why) => ended(Unjudged::Limited(why)),
        Unanswered::Asked => ended(Unjudged::Asked),
        Unanswered::Interrupted(signal) => Judgement::interrupted(signal),
    }))
}

fn words_of_reviewer(unavailable: &Unavailable) -> String {
    format!("the reviewer: {}", unavailable.reason)
}

/// Waits until it makes sense to ask the reviewer again; removes its record in the state afterwards.
async fn wait_for_reviewer(
    open: &Loop<'_>,
    backoff: &mut Backoff,
    unavailable: Unavailable,
    settings: &Settings,
) -> Result<Result<(), Unanswered>, Error> {
    let unavailable = Unavailable {
        reason: words_of_reviewer(&unavailable),
        ..unavailable
    };
    let waited = wait_for_service(open, backoff, &unavailable, settings).await;
    open.state.end_wait();
    open.save()?;
    Ok(waited)
}

/// Returns the judgement of work that the reviewer rejected with these words.
fn rejected(name: &str, held: &ForReview, words: &str) -> Judgement {
    let mut what = format!("the reviewer {name} rejected the work");
    if let Some(why) = held.why() {
        what = format!("{what}; {why}");
    }
    Judgement::new(
        Verdict::ReviewRejected,
        match words {
            "" => what,
            words => format!("{what}\n\n{OUTPUT}\n\n{words}"),
        },
    )
}

/// Returns the judgement of work without a review: it is not accepted, and the attempt is not blamed.
fn unreviewed(name: &str, why: &str) -> Judgement {
    Judgement::unjudged(Unjudged::NoVerdict(name.to_owned()), why)
}
