//! `git ralph restore`.

use super::setup::Console;
use crate::cli::complete::{loops_and_kept_attempts, offer_titled};
use crate::engine;
use crate::engine::stories::{listing_of, story_to_do};
use crate::error::Error;
use crate::exit::Exit;
use crate::names::typed;
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
        add = offer_titled(loops_and_kept_attempts)
    )]
    pub words: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let (mut open, _, (story, number)) = console.open_attempt(&args.words).await?;
    let number = engine::restore(&mut open, &story, number, false).await?;
    let document = json!({ "change": open.change(), "story": story, "attempt": number });
    let listing = listing_of(&open.state, &open.repo().top).await.ok();
    let next = listing.and_then(|listing| story_to_do(&open.state, &listing).ok());
    let words = if next.is_some_and(|next| next.id == story) {
        let change = typed(open.change());
        format!(
            "the work of {story}@{number} is back; to make it the story's checkpoint: git ralph complete {change}\n"
        )
    } else {
        format!("the work of {story}@{number} is back, as your own edit: story {story} is not the next one\n")
    };
    console.conclude(args.json, &document, &words);
    Ok(Exit::Done)
}
