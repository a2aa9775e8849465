//! `git ralph restore`.

use super::{change_and_word, here, story_and_attempt};
use crate::cli;
use crate::engine::{Engine, Session};
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Restore) -> Result<Exit, Error> {
    let words = screen;
    let engine = Engine::open(&here()?, &mut screen).await?;
    let (change, attempt) = change_and_word(&engine, &args.words)?;
    let Some(attempt) = attempt else {
        return Err(Error::NoAttempt(args.words.concat()));
    };
    let (story, number) = story_and_attempt(&attempt)?;
    let mut session = Session::open(engine, &change).await?;
    let number = session.restore(&story, number).await?;
    words.say(&format!(
        "the work of {story}@{number} is back; to make it the story's checkpoint: git ralph complete {change}\n"
    ));
    Ok(Exit::Done)
}
