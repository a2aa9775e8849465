//! `git ralph abort`.

use super::open;
use crate::cli;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::ManualArgs) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let mut session = open(&mut narrator, args.change.as_deref()).await?;
    session.abort().await?;
    Ok(Exit::Done)
}
