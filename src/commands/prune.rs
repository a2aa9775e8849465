//! `git ralph prune`.

use super::setup::{context, resolve};
use crate::cli::complete::loops;
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

/// The arguments of `git ralph prune`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let mut context = context(&mut narrator).await?;
    let change = match &args.change {
        Some(name) => Some(resolve(&context, Some(name))?),
        None => None,
    };
    let removed = engine::prune(&mut context, change.as_ref()).await?;
    if args.json {
        screen.document(&json!({ "removed": removed }));
    } else if removed == 0 {
        screen.say("nothing is old enough to be removed\n");
    }
    Ok(Exit::Done)
}
