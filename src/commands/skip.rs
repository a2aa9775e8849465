//! `git ralph skip`.

use super::{change_and_word, here};
use crate::cli;
use crate::engine::{Engine, Session};
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Skip) -> Result<Exit, Error> {
    let words = screen;
    let engine = Engine::open(&here()?, &mut screen).await?;
    let (change, story) = change_and_word(&engine, &args.words)?;
    let mut session = Session::open(engine, &change).await?;
    let id = session.skip(story.as_deref(), args.undo).await?;
    let what = if args.undo {
        "is to be done again"
    } else {
        "is skipped"
    };
    words.say(&format!("story {id} {what}\n"));
    Ok(Exit::Done)
}
