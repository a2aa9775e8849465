//! `git ralph doctor`.

use super::setup::{context, here};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::doctor::examine;
use crate::remote::Server;
use crate::remote::probe::probe;
use crate::ui::{Narrator, Screen, doctor};

/// The arguments of `git ralph doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Try out whether this git remote keeps loops, with a ref that is deleted again
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    if let Some(remote) = &args.remote {
        return try_out(screen, &args, remote).await;
    }
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

/// Tries out what a remote accepts.
async fn try_out(screen: Screen, args: &Args, remote: &str) -> Result<Exit, Error> {
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let settings = &context.configuration.settings;
    let server = Server::new(&context.repo, settings, Some(remote))?;
    let findings = probe(&context.repo, &server).await?;
    if args.json {
        screen.document(&findings);
    } else {
        screen.answer(&doctor::remote(&findings));
    }
    Ok(if findings.are_good() {
        Exit::Done
    } else {
        Exit::Error
    })
}
