//! `git ralph run` with several changes, one after another, or with `--any`: those that no other run holds on a remote.

use super::run::{Args, Typed, goes_on, has_choice};
use super::setup::{Console, put_stories_in};
use crate::engine::refuse_inside_attempt;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::stories::source_of_new_loop;
use crate::error::{Error, refuse};
use crate::exit::Exit;
use crate::names::Change;
use crate::runs::{Schedule, work};
use crate::state::{State, Store};
use crate::ui::Screen;

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let schedule = if args.any {
        Schedule::of_queue()
    } else {
        named(screen, &args).await?
    };
    let command = Typed::new(screen, &args);
    Box::pin(work(&command, schedule)).await
}

/// Returns the schedule of the named changes. Refuses before any work if a later change could not begin.
async fn named(screen: Screen, args: &Args) -> Result<Schedule, Error> {
    let named = &args.changes;
    let console = Console::new(screen);
    let context = console.context().await?;
    let mut settings = context.configuration.settings.clone();
    put_stories_in(&mut settings, &context, &args.stories)?;
    let find = |name: &String| -> Result<Change, Error> {
        let change = Change::new(name)?;
        if !goes_on(&context, &change) {
            source_of_new_loop(&context, &change, &settings)?;
        }
        Ok(change)
    };
    if !has_choice(args, &settings) {
        return refuse(FinishRefusal::NoChoiceForSeveral {
            is_agent: !named.iter().skip(1).any(|name| find(name).is_ok()),
            changes: named.clone(),
        });
    }
    let changes = named.iter().map(find).collect::<Result<_, _>>()?;
    let here = context.change_of_branch();
    let active = here.map(|here| Store::new(&context.repo.common_dir, &here).load());
    let active = active.transpose()?.flatten().filter(State::is_live);
    let active = active.map(|state| state.change);
    Ok(Schedule::of_named(changes, active.as_ref()))
}
