//! `git ralph prompt`.

use super::setup::open_loop;
use crate::cli::complete::{loops, stories};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::stories::{listing_of, story_called, story_to_do};
use crate::engine::unmarked_stories::refuse_unmarked;
use crate::engine::{note_prompted, prompt_text};
use crate::error::Error;
use crate::exit::Exit;
use crate::prompt;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

/// The arguments of `git ralph prompt`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// The story; defaults to that of the next attempt
    #[arg(long, value_name = "ID", conflicts_with = "template", add = ArgValueCandidates::new(stories))]
    pub story: Option<String>,
    /// Print the built-in template, as a start for your own (ralph.prompt)
    #[arg(long)]
    pub template: bool,
    /// Print one JSON document: the story and its prompt
    #[arg(long, conflicts_with = "template")]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    if args.template {
        screen.answer(prompt::DEFAULT);
        return Ok(Exit::Done);
    }
    let mut narrator = Narrator::new(screen);
    let mut open = open_loop(&mut narrator, args.change.as_deref()).await?;
    if !open.state.is_live() {
        return Err(StepRefusal::LoopFinished(open.change().to_string()).into());
    }
    let listing = listing_of(&open.state, &open.context.repo.top).await?;
    let story = match &args.story {
        None => {
            refuse_unmarked(&open.state, &listing)?;
            story_to_do(&open.state, &listing)?
        }
        Some(id) => story_called(&open.state, &listing, id)?,
    };
    let text = prompt_text(&open, &story, &open.settings())?;
    note_prompted(&mut open, &story)?;
    if args.json {
        let change = open.change();
        screen
            .document(&json!({ "change": change, "story": story.id, "title": story.title, "prompt": text }));
    } else {
        screen.answer_exactly(&text);
    }
    Ok(Exit::Done)
}
