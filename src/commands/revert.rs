//! `git ralph revert`.

use super::setup::Console;
use crate::cli;
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;

pub(super) async fn run(console: &Console, args: cli::ManualArgs) -> Result<Exit, Error> {
    let mut open = console.open(args.change.as_deref()).await?;
    if !engine::revert(&mut open).await? {
        console.say("the work tree is at the checkpoint already\n");
    }
    Ok(Exit::Done)
}
