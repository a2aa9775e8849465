//! `git ralph doctor`.

use serde_json::json;

use super::setup::{Console, here};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::doctor::examine;
use crate::remote::Server;
use crate::remote::probe::probe;
use crate::ui::doctor;

/// The arguments of `git ralph doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Check that this git remote can keep loops, with a ref that is deleted again
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    if let Some(remote) = &args.remote {
        return try_out(console, &args, remote).await;
    }
    let found = examine(&here()?).await.inspect_err(|error| {
        if args.json {
            let problem = json!({ "message": error.to_string(), "hint": error.hint() });
            console.document(&json!({ "problems": [problem] }));
        }
    })?;
    console.present(args.json, &found, || doctor::table(&found, console.columns()));
    let is_good = found.problems.is_empty();
    Ok(if is_good { Exit::Done } else { Exit::Error })
}

/// Tests what a remote accepts.
async fn try_out(console: &Console, args: &Args, remote: &str) -> Result<Exit, Error> {
    let context = console.context().await?;
    let settings = &context.configuration.settings;
    let server = Server::new(&context.repo, settings, Some(remote))?;
    let findings = probe(&context.repo, &server).await?;
    console.present(args.json, &findings, || doctor::remote(&findings));
    let is_good = findings.are_good();
    Ok(if is_good { Exit::Done } else { Exit::Error })
}
