//! `git ralph review`.

use super::setup::{change_and_word, context};
use super::story_word::story_and_attempt;
use crate::cli::complete::{agents, loops_and_attempts};
use crate::engine::{self, Unanswered, at_limit};
use crate::error::Error;
use crate::exit::Exit;
use crate::prompt;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

/// The arguments of `git ralph review`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change, the story or story@attempt, or both; a single word that names no loop is the story; defaults to the story of the last checkpoint
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        conflicts_with = "template",
        add = ArgValueCandidates::new(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// The reviewer: a name that git ralph doctor lists, or a shell command line (ralph.review)
    #[arg(long, value_name = "AGENT", conflicts_with = "template", add = ArgValueCandidates::new(agents))]
    pub agent: Option<String>,
    /// Print the built-in template of its prompt, as a start for your own (ralph.reviewPrompt)
    #[arg(long)]
    pub template: bool,
    /// Print one JSON document: the two commits, the verdict and its reasons
    #[arg(long, conflicts_with = "template")]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    if args.template {
        screen.answer(prompt::review::DEFAULT);
        return Ok(Exit::Done);
    }
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let (change, word) = change_and_word(&context, &args.words)?;
    let open = engine::open(context, &change).await?;
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
            drop(open);
            drop(narrator);
            screen.say(&format!("{}\n", at_limit(&limit)));
            return Ok(Exit::Limit);
        }
    };
    drop(open);
    drop(narrator);
    let verdict = if accepted { "accepted" } else { "rejected" };
    if args.json {
        screen.document(&json!({
            "change": change,
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
            screen.answer(&format!("{}\n\n", reviewed.words));
        }
        screen.answer(&format!(
            "the reviewer {} {verdict} story {}\n",
            reviewed.reviewer, reviewed.story
        ));
    }
    Ok(if accepted { Exit::Done } else { Exit::Person })
}
