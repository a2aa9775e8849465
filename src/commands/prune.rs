//! `git ralph prune`.

use super::here;
use crate::cli;
use crate::engine::Engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Named) -> Result<Exit, Error> {
    let words = screen;
    let mut engine = Engine::open(&here()?, &mut screen).await?;
    let change = match &args.change {
        Some(name) => Some(engine.resolve_change(Some(name))?),
        None => None,
    };
    if engine.prune(change.as_ref()).await? == 0 {
        words.say("nothing is old enough to be removed\n");
    }
    Ok(Exit::Done)
}
