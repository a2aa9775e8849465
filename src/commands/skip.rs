//! `git ralph skip`.

use super::{change_and_word, engine};
use crate::cli;
use crate::engine::Session;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::Skip) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let engine = engine(&mut narrator).await?;
    let (change, story) = change_and_word(&engine, &args.words)?;
    let mut session = Session::open(engine, &change).await?;
    let id = session.skip(story.as_deref(), args.undo).await?;
    let what = if args.undo {
        "is to be done again"
    } else {
        "is skipped"
    };
    screen.say(&format!("story {id} {what}\n"));
    Ok(Exit::Done)
}
