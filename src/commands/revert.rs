//! `git ralph revert`.

use super::open;
use crate::cli;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Hand) -> Result<Exit, Error> {
    let words = screen;
    let mut session = open(&mut screen, args.change.as_deref()).await?;
    if !session.revert().await? {
        words.say("the work tree is at the checkpoint already\n");
    }
    Ok(Exit::Done)
}
