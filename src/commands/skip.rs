//! `git ralph skip`.

use super::setup::Console;
use super::story_word::story_named;
use crate::cli::complete::{loops_and_stories_to_skip, offer};
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use serde_json::json;

/// The arguments of `git ralph skip`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change, the story, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY"],
        add = offer(loops_and_stories_to_skip)
    )]
    pub words: Vec<String>,
    /// Take the skip back
    #[arg(long)]
    pub undo: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let (mut open, story) = console.open_with_word(&args.words).await?;
    let story = match &story {
        Some(word) => Some(story_named(&open.context, &open.state, word).await?),
        None => None,
    };
    let id = engine::skip(&mut open, story.as_deref(), args.undo).await?;
    let document = json!({ "change": open.change(), "story": id, "skipped": !args.undo });
    let again = if args.undo { "no longer " } else { "" };
    console.conclude(args.json, &document, &format!("story {id} is {again}skipped\n"));
    Ok(Exit::Done)
}
