//! `git ralph prompt`.

use super::open;
use crate::cli::complete::{loops, stories};
use crate::error::Error;
use crate::exit::Exit;
use crate::prompt;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;

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
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    if args.template {
        screen.answer(prompt::DEFAULT);
        return Ok(Exit::Done);
    }
    let mut narrator = Narrator::new(screen);
    let session = open(&mut narrator, args.change.as_deref()).await?;
    if !session.state.is_live() {
        return Err(Error::LoopFinished(session.change().to_string()));
    }
    let listing = session.listing().await?;
    let story = match &args.story {
        None => {
            session.refuse_unmarked(&listing)?;
            session.story_to_do(&listing)?
        }
        Some(id) => session.story_called(&listing, id)?,
    };
    let settings = session.engine.configuration.for_step(&session.state.settings)?;
    screen.answer_exactly(&session.prompt_text(&story, &settings)?);
    Ok(Exit::Done)
}
