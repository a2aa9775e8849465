//! `git ralph prompt`.

use super::open;
use crate::cli;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Named) -> Result<Exit, Error> {
    let words = screen;
    let session = open(&mut screen, args.change.as_deref()).await?;
    if !session.state.is_live() {
        return Err(Error::LoopFinished(session.change().to_string()));
    }
    let listing = session.state.source.list(&session.engine.repo.top)?;
    let story = session.story_to_do(&listing)?;
    let settings = session.engine.configuration.for_step(&session.state.settings)?;
    words.answer(&session.prompt_text(&story, &settings)?);
    Ok(Exit::Done)
}
