//! `git ralph skip`.

use super::setup::{change_and_word, context};
use super::story_word::story_named;
use crate::cli::complete::loops_and_stories_to_skip;
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

/// The arguments of `git ralph skip`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change, the story, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY"],
        add = ArgValueCandidates::new(loops_and_stories_to_skip)
    )]
    pub words: Vec<String>,
    /// Take the skip back
    #[arg(long)]
    pub undo: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let (change, story) = change_and_word(&context, &args.words)?;
    let mut open = engine::open(context, &change).await?;
    let story = match &story {
        Some(word) => Some(story_named(&open.context, &open.state, word).await?),
        None => None,
    };
    let id = engine::skip(&mut open, story.as_deref(), args.undo).await?;
    if args.json {
        let skipped = !args.undo;
        screen.document(&json!({ "change": change, "story": id, "skipped": skipped }));
        return Ok(Exit::Done);
    }
    let what = if args.undo {
        "is no longer skipped"
    } else {
        "is skipped"
    };
    screen.say(&format!("story {id} {what}\n"));
    Ok(Exit::Done)
}
