//! `git ralph run` with several changes, one after another or in parallel, or with `--any`: changes that no other run
//! holds on a remote.

use std::env;
use std::ffi::OsString;

use super::beside::Part;
use super::choose::by_flag;
use super::one_story;
use super::run::{Args, Typed, goes_on, has_choice};
use super::setup::{Console, put_stories_in};
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::stories::source_of_new_loop;
use crate::engine::{Context, Finish, refuse_inside_attempt};
use crate::error::{Error, refuse};
use crate::exit::Exit;
use crate::names::{Change, typed};
use crate::runs::{Changes, Command, Schedule, beside, work};
use crate::settings::{FinishChoice, Settings};
use crate::state::{State, Store, live_in};
use crate::ui::Screen;

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    if let (Some(Part::Story(story)), Some(side)) = (args.part.clone(), args.changes.first().cloned()) {
        return Box::pin(one_story::run(screen, args, &side, &story)).await;
    }
    if let Some(jobs) = args.jobs.filter(|_| args.part.is_none()) {
        return Box::pin(side_by_side(screen, args, jobs)).await;
    }
    let schedule = if args.any {
        Schedule::of_queue()
    } else {
        named(screen, &args).await?
    };
    let command = Typed::new(screen, &args);
    Box::pin(work(&command, schedule)).await
}

/// Works on the named changes in parallel.
async fn side_by_side(screen: Screen, args: Args, jobs: u16) -> Result<Exit, Error> {
    let console = Console::new(screen);
    let context = console.context().await?;
    let mut settings = context.configuration.settings.clone();
    let is_kept = match by_flag(args.choice) {
        Some(finish) => finish == Finish::Keep,
        None => settings.finish == FinishChoice::Keep,
    };
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    if !is_kept {
        return refuse(FinishRefusal::NotKept(with_keep(&words)));
    }
    if args.strategy.unwrap_or(settings.strategy).leaves_head() {
        return refuse(StartRefusal::InPlaceBeside);
    }
    if let Some(Some(_)) = args.worktree.worktree {
        return refuse(StartRefusal::OneWorkTreeForSeveral);
    }
    if let Some(active) = live_in(&context.repo.common_dir, &context.repo.top)? {
        return refuse(StartRefusal::ActiveBeside(active.change.to_string()));
    }
    put_stories_in(&mut settings, &context, &args.stories)?;
    let mut changes = Vec::new();
    for name in &args.changes {
        let change = find(&context, name, &settings)?;
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let command = Typed::new(screen, &args);
    if args.any {
        return Box::pin(beside(&command, &words, Changes::of_queue(), jobs, &context)).await;
    }
    if let [change] = changes.as_slice() {
        command.say(&format!(
            "{change} is the only change: its stories are attempted one after another"
        ));
    }
    Box::pin(beside(&command, &words, Changes::named(changes), jobs, &context)).await
}

/// Returns the typed command, with `--keep`.
fn with_keep(words: &[OsString]) -> String {
    let mut words: Vec<String> = words.iter().map(|word| typed(word.to_string_lossy())).collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let agent = words.split_off(end);
    words.retain(|word| word != "--cleanup");
    words.push("--keep".to_owned());
    words.extend(agent);
    format!("git ralph {}", words.join(" "))
}

/// Returns the change of this name, which must have a loop or a list in this work tree.
fn find(context: &Context<'_>, name: &str, settings: &Settings) -> Result<Change, Error> {
    let change = Change::new(name)?;
    if !goes_on(context, &change) {
        source_of_new_loop(context, &change, settings)?;
    }
    Ok(change)
}

/// Returns the schedule of the named changes. Refuses, before any work, if a later change could not begin.
async fn named(screen: Screen, args: &Args) -> Result<Schedule, Error> {
    let named = &args.changes;
    let console = Console::new(screen);
    let context = console.context().await?;
    let mut settings = context.configuration.settings.clone();
    put_stories_in(&mut settings, &context, &args.stories)?;
    let find = |name: &String| find(&context, name, &settings);
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
