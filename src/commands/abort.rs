//! `git ralph abort`.

use super::setup::Console;
use crate::cli;
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::state::{Effect, Ending};

pub(super) async fn run(console: &Console, args: cli::ManualArgs) -> Result<Exit, Error> {
    let mut open = console.open(args.change.as_deref()).await?;
    // Opening the loop has completed an interrupted abort.
    if open.completed != Some(Effect::Closed(Ending::Abort)) {
        engine::abort(&mut open).await?;
    }
    Ok(Exit::Done)
}
