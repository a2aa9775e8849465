//! `git ralph abort`.

use super::open;
use crate::cli;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Hand) -> Result<Exit, Error> {
    let mut session = open(&mut screen, args.change.as_deref()).await?;
    session.abort().await?;
    Ok(Exit::Done)
}
