//! `git ralph stories`.

use super::here;
use crate::adapters::Source;
use crate::cli;
use crate::engine::report::Stories;
use crate::engine::{Engine, listing_of, look, wanted};
use crate::error::Error;
use crate::exit::Exit;
use crate::names::Change;
use crate::ui::{Screen, tables};

pub(super) async fn run(mut screen: Screen, args: cli::Listing) -> Result<Exit, Error> {
    let words = screen;
    let engine = Engine::open(&here()?, &mut screen).await?;
    let stories = match engine.resolve_change(args.change.as_deref()) {
        Ok(change) => {
            let (engine, state) = look(engine, &change).await?;
            let listing = listing_of(&state, &engine.repo.top).await?;
            Stories::of(&change, &state.source, listing, &state.progress.skipped)
        }
        // No loop of this name: the list as `start` would find it.
        Err(error) => {
            let Some(name) = &args.change else {
                return Err(error);
            };
            let change = Change::new(name)?;
            let wanted = wanted(&engine.configuration.settings, &change);
            let source = Source::resolve(&engine.repo.top, change.as_str(), &wanted)?;
            let listing = source.list(&engine.repo.top).await?;
            Stories::of(&change, &source, listing, &[])
        }
    };
    if args.json {
        words.document(&stories);
    } else {
        words.answer(&tables::stories(&stories));
        words.say(&tables::warnings(&stories));
    }
    Ok(Exit::Done)
}
