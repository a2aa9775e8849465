//! `git ralph log`.

use super::context;
use crate::cli::complete::loops;
use crate::engine::look;
use crate::error::Error;
use crate::events::log::{self, Log};
use crate::exit::Exit;
use crate::state::Store;
use crate::ui::{self, Narrator, Screen, pager};
use clap_complete::engine::ArgValueCandidates;

/// The arguments of `git ralph log`.
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
    let context = context(&mut narrator).await?;
    let change = context.resolve_change(args.change.as_deref())?;
    let (context, _) = look(context, &change).await?;
    let events = Store::new(&context.repo.common_dir, &change).file("events.jsonl");
    let log = Log {
        attempts: log::attempts(&events)?,
        change,
    };
    if args.json {
        screen.document(&log);
    } else if log.attempts.is_empty() {
        screen.say("no attempt was made yet\n");
    } else {
        let text = ui::log::table(&log, screen.columns());
        pager::show(screen, &context.repo.top, &text).await;
    }
    Ok(Exit::Done)
}
