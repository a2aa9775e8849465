//! `git ralph status`.

use super::here;
use crate::cli;
use crate::engine::report::Status;
use crate::engine::{Engine, look};
use crate::error::Error;
use crate::exit::Exit;
use crate::state::{self, Store};
use crate::ui::{Screen, tables};

pub(super) async fn run(mut screen: Screen, args: cli::Listing) -> Result<Exit, Error> {
    let words = screen;
    let engine = Engine::open(&here()?, &mut screen).await?;
    if let Some(name) = &args.change {
        let change = engine.resolve_change(Some(name))?;
        let (engine, state) = look(engine, &change).await?;
        let status = Status::of(&state, &engine.repo.top).await;
        if args.json {
            words.document(&status);
        } else {
            words.answer(&tables::status(&status));
        }
        return Ok(Exit::Done);
    }
    let mut engine = engine;
    let mut all = Vec::new();
    let mut exit = Exit::Done;
    for change in state::changes(&engine.repo.common_dir)? {
        // One that cannot be read must not hide the others.
        if let Err(error) = Store::new(&engine.repo.common_dir, &change).load() {
            words.fail(change.as_str(), &error.into());
            exit = Exit::Error;
            continue;
        }
        let (back, state) = look(engine, &change).await?;
        engine = back;
        all.push(Status::of(&state, &engine.repo.top).await);
    }
    if args.json {
        words.document(&all);
    } else if all.is_empty() && exit == Exit::Done {
        words.say("there is no loop here; to begin one: git ralph start <change>\n");
    } else {
        let texts: Vec<String> = all.iter().map(tables::status).collect();
        words.answer(&texts.join("\n"));
    }
    Ok(exit)
}
