//! `git ralph doctor`.

use super::here;
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::doctor::examine;
use crate::ui::{Screen, doctor};

/// The arguments of `git ralph doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let found = examine(&here()?).await?;
    if args.json {
        screen.document(&found);
    } else {
        screen.answer(&doctor::table(&found, screen.columns()));
    }
    Ok(if found.problems.is_empty() {
        Exit::Done
    } else {
        Exit::Error
    })
}
