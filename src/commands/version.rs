//! `git ralph version`.

use super::setup::here;
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::doctor::versions;
use crate::ui::Screen;

/// The arguments of `git ralph version`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document, with the version of git too
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    if args.json {
        screen.document(&versions(&here()?).await);
    } else {
        screen.answer(concat!("git-ralph ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    Ok(Exit::Done)
}
