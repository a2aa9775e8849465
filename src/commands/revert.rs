//! `git ralph revert`.

use super::setup::open_loop;
use crate::cli;
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::ManualArgs) -> Result<Exit, Error> {
    let narrator = Narrator::new(screen);
    let mut open = open_loop(&narrator, args.change.as_deref()).await?;
    if !engine::revert(&mut open).await? {
        screen.say("the work tree is at the checkpoint already\n");
    }
    Ok(Exit::Done)
}
