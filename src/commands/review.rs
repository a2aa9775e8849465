//! `git ralph review`.

use super::setup::Console;
use super::story_word::story_and_attempt;
use crate::cli::complete::{agents, loops_and_attempts, offer_anywhere, offer_titled};
use crate::engine::{self, Unanswered, at_limit};
use crate::error::Error;
use crate::exit::Exit;
use crate::prompt;
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
    let (open, word) = console.open_with_word(&args.words).await?;
    let (story, attempt) = match &word {
        Some(word) => Some(story_and_attempt(&open.context, &open.state, word).await?),
        None => None,
    }
    .unzip();
    let mut settings = open.settings();
    if let Some(agent) = args.agent {
        settings.review = vec![agent];
    }
    let reviewed = engine::review(&open, &settings, story.as_deref(), attempt.flatten()).await?;
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
