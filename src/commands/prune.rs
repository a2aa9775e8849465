//! `git ralph prune`.

use super::engine;
use crate::cli;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::Named) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let mut engine = engine(&mut narrator).await?;
    let change = match &args.change {
        Some(name) => Some(engine.resolve_change(Some(name))?),
        None => None,
    };
    if engine.prune(change.as_ref()).await? == 0 {
        screen.say("nothing is old enough to be removed\n");
    }
    Ok(Exit::Done)
}
