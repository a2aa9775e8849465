//! `git ralph log`.

use super::here;
use crate::cli;
use crate::engine::report::{self, Log};
use crate::engine::{Engine, look};
use crate::error::Error;
use crate::exit::Exit;
use crate::state::Store;
use crate::ui::{Screen, tables};

pub(super) async fn run(mut screen: Screen, args: cli::Listing) -> Result<Exit, Error> {
    let words = screen;
    let engine = Engine::open(&here()?, &mut screen).await?;
    let change = engine.resolve_change(args.change.as_deref())?;
    let (engine, _) = look(engine, &change).await?;
    let events = Store::new(&engine.repo.common_dir, &change).file("events.jsonl");
    let log = Log {
        attempts: report::attempts(&events)?,
        change,
    };
    if args.json {
        words.document(&log);
    } else if log.attempts.is_empty() {
        words.say("no attempt was made yet\n");
    } else {
        words.answer(&tables::log(&log));
    }
    Ok(Exit::Done)
}
