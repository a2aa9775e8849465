//! `git ralph restore`.

use super::setup::{change_and_word, context};
use super::story_word::story_and_attempt;
use crate::cli::complete::loops_and_kept_attempts;
use crate::engine;
use crate::engine::open_refusal::OpenRefusal;
use crate::error::Error;
use crate::exit::Exit;
use crate::names::typed;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

/// The arguments of `git ralph restore`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph restore [--json] [<change>] <story>[@<attempt>]")]
pub struct Args {
    /// The change and the attempt, or only the attempt: story@number, or a story for its latest attempt
    #[arg(
        num_args = 1..=2,
        required = true,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = ArgValueCandidates::new(loops_and_kept_attempts)
    )]
    pub words: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let (change, attempt) = change_and_word(&context, &args.words)?;
    let Some(attempt) = attempt else {
        return Err(OpenRefusal::NoAttempt(args.words.concat()).into());
    };
    let mut open = engine::open(context, &change).await?;
    let (story, number) = story_and_attempt(&open.context, &open.state, &attempt).await?;
    let number = engine::restore(&mut open, &story, number, false).await?;
    if args.json {
        screen.document(&json!({ "change": change, "story": story, "attempt": number }));
        return Ok(Exit::Done);
    }
    screen.say(&format!(
        "the work of {story}@{number} is back; to make it the story's checkpoint: git ralph complete {change}\n",
        change = typed(change)
    ));
    Ok(Exit::Done)
}
