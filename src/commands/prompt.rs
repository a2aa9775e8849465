//! `git ralph prompt`.

use super::open;
use crate::cli;
use crate::error::Error;
use crate::exit::Exit;
use crate::prompt;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::Prompt) -> Result<Exit, Error> {
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
    screen.answer(&session.prompt_text(&story, &settings)?);
    Ok(Exit::Done)
}
