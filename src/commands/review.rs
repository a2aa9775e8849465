//! `git ralph review`.

use super::setup::{Console, end_step, tell_unseen};
use super::story_word::story_and_attempt;
use crate::cli::complete::{agents, loops_and_attempts, offer_anywhere, offer_titled};
use crate::engine::{self, AttemptOptions, Loop, StepEnd, Unanswered, at_limit};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::next_steps::Driver;
use crate::inspect::status::Status;
use crate::names::Oid;
use crate::prompt;
use crate::state::Verdict;
use crate::ui;
use serde_json::json;

/// The arguments of `git ralph review`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change, the story or story@attempt, or both; a single word that names no loop is the story; defaults to the story of the last checkpoint
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        conflicts_with = "template",
        add = offer_titled(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// The reviewer: a name that git ralph doctor lists, or a shell command line (ralph.review)
    #[arg(long, value_name = "AGENT", conflicts_with = "template", add = offer_anywhere(agents))]
    pub agent: Option<String>,
    /// Print the built-in template of its prompt, as a start for your own (ralph.reviewPrompt)
    #[arg(long)]
    pub template: bool,
    /// Print one JSON document: the two commits, the verdict and its reasons
    #[arg(long, conflicts_with = "template")]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    if args.template {
        console.answer(prompt::review::DEFAULT);
        return Ok(Exit::Done);
    }
    let (mut open, word) = console.open_with_word(&args.words).await?;
    let (story, attempt) = match &word {
        Some(word) => Some(story_and_attempt(&open.context, &open.state, word).await?),
        None => None,
    }
    .unzip();
    let mut settings = open.settings();
    if let Some(agent) = args.agent {
        settings.review = vec![agent];
    }
    let attempt = attempt.flatten();
    if engine::waits_for_review(&open.state, story.as_deref(), attempt) {
        let from = open.state.checkpoint().clone();
        let options = AttemptOptions {
            settings: settings.clone(),
            ..AttemptOptions::default()
        };
        if let Some(end) = Box::pin(engine::judge_waiting(&mut open, &options)).await? {
            return tell_judged(console, &open, from, end, args.json).await;
        }
    }
    if let Some(limit) = engine::limit_of_cost(&open, &settings)? {
        console.say(&format!("{}\n", at_limit(&limit)));
        return Ok(Exit::Limit);
    }
    let reviewed = engine::review(&open, &settings, story.as_deref(), attempt).await?;
    let accepted = match reviewed.accepted {
        Ok(accepted) => accepted,
        Err(Unanswered::Interrupted(signal)) => return Ok(Exit::Signal(signal)),
        Err(Unanswered::Asked) => return Ok(Exit::Limit),
        Err(Unanswered::Limited(limit)) => {
            console.narrator.end_words();
            console.say(&format!("{}\n", at_limit(&limit)));
            return Ok(Exit::Limit);
        }
    };
    console.narrator.end_words();
    let verdict = if accepted { "accepted" } else { "rejected" };
    if args.json {
        console.document(&json!({
            "change": open.change(),
            "story": reviewed.story,
            "attempt": reviewed.attempt,
            "from": reviewed.from,
            "to": reviewed.to,
            "reviewer": reviewed.reviewer,
            "verdict": verdict,
            "words": reviewed.words,
            "duration": reviewed.duration,
            "cost_usd": reviewed.cost_usd,
        }));
    } else {
        if !reviewed.words.is_empty() {
            console.answer(&format!("{}\n\n", reviewed.words));
        }
        console.answer(&format!(
            "the reviewer {} {verdict} story {}\n",
            reviewed.reviewer, reviewed.story
        ));
    }
    Ok(if accepted { Exit::Done } else { Exit::Person })
}

/// Prints the result of judging unreviewed work since the checkpoint `from`, and returns the exit code of a step.
async fn tell_judged(
    console: &Console,
    open: &Loop<'_>,
    from: Oid,
    end: StepEnd,
    json: bool,
) -> Result<Exit, Error> {
    if let StepEnd::Limited(limit) = &end {
        open.tell(format!("stopped at a limit: {limit}"));
    }
    console.narrator.end_words();
    if !json {
        tell_unseen(console, open)?;
        let mut next = Status::remembered(&open.state).next_steps(Driver::Steps);
        next.retain(|step| !step.only_shows);
        console.say(&ui::summary::next(&next));
        return Ok(end_step(open, end));
    }
    let entry = open.latest_history()?.history.ended().next_back().cloned();
    if let Some(entry) = entry {
        let (judged, kept) = (&entry.attempt, entry.kept.as_deref());
        let to = match kept {
            Some(kept) => Some(open.git().commit_of_name(kept).await?),
            None => entry.checkpoint.clone(),
        };
        let last = entry.reviews.last().and_then(|(_, review)| review.words.clone());
        console.document(&json!({
            "change": open.change(),
            "story": judged.story,
            "attempt": judged.attempt,
            "from": from,
            "to": to,
            "reviewer": judged.reviewer,
            "verdict": match judged.verdict {
                Verdict::Complete => "accepted",
                Verdict::ReviewRejected => "rejected",
                _ => "none",
            },
            "words": last.or_else(|| judged.reason.clone()).unwrap_or_default(),
            "duration": entry.reviews.iter().map(|(_, review)| review.duration).sum::<f64>(),
            "cost_usd": judged.review_cost_usd,
        }));
    }
    Ok(end_step(open, end))
}
