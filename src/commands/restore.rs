//! `git ralph restore`.

use super::{change_and_word, engine, story_and_attempt};
use crate::cli;
use crate::engine::Session;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::Restore) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let engine = engine(&mut narrator).await?;
    let (change, attempt) = change_and_word(&engine, &args.words)?;
    let Some(attempt) = attempt else {
        return Err(Error::NoAttempt(args.words.concat()));
    };
    let (story, number) = story_and_attempt(&attempt)?;
    let mut session = Session::open(engine, &change).await?;
    let number = session.restore(&story, number).await?;
    screen.say(&format!(
        "the work of {story}@{number} is back; to make it the story's checkpoint: git ralph complete {change}\n"
    ));
    Ok(Exit::Done)
}
