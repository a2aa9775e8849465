//! `git ralph abort`.

use super::setup::open_loop;
use crate::cli;
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::state::{Effect, Ending};
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::ManualArgs) -> Result<Exit, Error> {
    let narrator = Narrator::new(screen);
    let mut open = open_loop(&narrator, args.change.as_deref()).await?;
    // An abort that was cut off is complete once the loop is open.
    if open.completed != Some(Effect::Closed(Ending::Abort)) {
        engine::abort(&mut open).await?;
    }
    Ok(Exit::Done)
}
