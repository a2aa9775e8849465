//! One file a verb: turns arguments into one engine call and prints the result.

mod abort;
mod complete;
mod demo;
mod diff;
mod doctor;
mod fail;
mod finish;
pub mod git_hook;
pub mod guard;
mod help;
pub mod hook;
mod hooks;
mod install;
mod log;
mod next;
mod prompt;
mod prune;
mod restore;
mod retry;
mod revert;
mod run;
mod skip;
mod start;
mod status;
mod stories;

use std::env;
use std::path::{Path, PathBuf};

use crate::cli::{self, Cli, Command};
use crate::engine::progress::Step;
use crate::engine::{AttemptOptions, Engine, Session, StepEnd};
use crate::error::Error;
use crate::events::Event;
use crate::events::What;
use crate::events::log::{Log, attempts};
use crate::exit::Exit;
use crate::names::Change;
use crate::settings::Settings;
use crate::ui::{self, Narrator, Screen, github};

/// Runs what was typed.
pub async fn run(cli: Cli) -> Exit {
    let mut screen = Screen {
        quiet: cli.quiet,
        verbose: cli.verbose,
        json: false,
        colour: cli.colour,
    };
    screen.settle_colours(None);
    let result = match cli.command {
        Command::Start(args) => Box::pin(start::run(with_json(&mut screen, args.json), args)).await,
        Command::Next(args) => next::run(with_json(&mut screen, args.json), args).await,
        Command::Retry(args) => retry::run(with_json(&mut screen, args.json), args).await,
        Command::Finish(args) => finish::run(with_json(&mut screen, args.json), args).await,
        Command::Run(args) => run::run(with_json(&mut screen, args.json), args).await,
        Command::Status(args) => status::run(screen, args).await,
        Command::Stories(args) => stories::run(screen, args).await,
        Command::Prompt(args) => prompt::run(screen, args).await,
        Command::Log(args) => log::run(screen, args).await,
        Command::Complete(args) => complete::run(with_json(&mut screen, args.json), args).await,
        Command::Fail(args) => fail::run(with_json(&mut screen, args.json), args).await,
        Command::Revert(args) => revert::run(with_json(&mut screen, args.json), args).await,
        Command::Skip(args) => skip::run(screen, args).await,
        Command::Abort(args) => abort::run(with_json(&mut screen, args.json), args).await,
        Command::Diff(args) => diff::run(screen, args).await,
        Command::Restore(args) => restore::run(screen, args).await,
        Command::Prune(args) => prune::run(screen, args).await,
        Command::Doctor(args) => doctor::run(screen, args).await,
        Command::Demo(args) => demo::run(screen, args).await,
        Command::Install(args) => install::run(screen, args).await,
        Command::Hooks(args) => hooks::run(screen, args).await,
        Command::Help(args) => help::run(screen, args).await,
        Command::DemoAgent => demo::agent(),
    };
    result.unwrap_or_else(|error| {
        screen.fail("", &error);
        error.exit()
    })
}

/// Standard output carries events from here on; listings print a document of their own instead.
fn with_json(screen: &mut Screen, json: bool) -> Screen {
    screen.json = json;
    *screen
}

/// The directory that the command is about.
fn here() -> Result<PathBuf, Error> {
    env::current_dir().or_else(|source| {
        // An attempt may have deleted it under the shell that stands in it.
        let named = env::var_os("PWD").map(PathBuf::from);
        let above = named.as_deref().into_iter().flat_map(Path::ancestors);
        let there = above.filter(|dir| dir.is_absolute()).find(|dir| dir.is_dir());
        there.map(Path::to_owned).ok_or(Error::System {
            what: "find the current directory",
            source,
        })
    })
}

/// Opens the repository around the current directory.
async fn engine(narrator: &mut Narrator) -> Result<Engine<'_>, Error> {
    let screen = narrator.screen();
    let engine = Engine::open(&here()?, narrator).await?;
    screen.settle_colours(engine.configuration.colour);
    Ok(engine)
}

/// Opens the loop that a step is about.
async fn open<'o>(narrator: &'o mut Narrator, change: Option<&str>) -> Result<Session<'o>, Error> {
    let engine = engine(narrator).await?;
    let change = engine.resolve_change(change)?;
    Session::open(engine, &change).await
}

/// One attempt, and its exit code.
async fn attempt(screen: Screen, step: Step, args: cli::Step) -> Result<Exit, Error> {
    crate::engine::refuse_inside_attempt()?;
    let mut narrator = Narrator::new(screen);
    let mut session = open(&mut narrator, args.change.as_deref()).await?;
    let settings = step_settings(&session, &args.settings)?;
    let options = AttemptOptions {
        agent: args.agent,
        settings: Some(settings),
        started: 0,
    };
    let end = session.attempt(step, &options).await?;
    if let StepEnd::Limited(limit) = &end {
        session.tell(format!("stopped at a limit: {limit}"));
    }
    Ok(step_exit(&session, end))
}

/// The frozen settings with what this command line and `git -c` say put in.
fn step_settings(session: &Session<'_>, given: &cli::Settings) -> Result<Settings, Error> {
    let mut settings = session.engine.configuration.for_step(&session.state.settings)?;
    put_in(&mut settings, given);
    Ok(settings)
}

fn put_in(settings: &mut Settings, given: &cli::Settings) {
    if let Some(line) = &given.agent_line {
        settings.agent = Some(line.clone());
    }
    if let Some(retries) = given.max_retries {
        settings.max_retries = retries;
    }
    if let Some(limit) = given.timeout {
        settings.timeout = limit.0;
    }
    if let Some(limit) = given.idle_timeout {
        settings.idle_timeout = limit.0;
    }
    if !given.verify.is_empty() {
        settings.verify.clone_from(&given.verify);
    }
}

fn put_stories_in(settings: &mut Settings, given: &cli::StoriesFrom) {
    if let Some(path) = &given.path {
        settings.stories = Some(path.clone());
    }
    if let Some(adapter) = &given.adapter {
        settings.adapter = Some(adapter.clone());
    }
}

/// The exit code of a step. A signal that came while a step was being completed did not cut it off,
/// but ends the command.
fn step_exit(session: &Session<'_>, end: StepEnd) -> Exit {
    match (end, session.engine.stop.signal()) {
        (StepEnd::Interrupted(signal), _) | (_, Some(signal)) => Exit::Signal(signal),
        (StepEnd::Checkpointed, None) => Exit::Done,
        (StepEnd::Failed { retries_left: true }, None) => Exit::RetriesLeft,
        (StepEnd::Failed { retries_left: false }, None) => Exit::RetriesSpent,
        (StepEnd::Limited(_), None) => Exit::Limit,
    }
}

/// Puts the attempts of the loop on the page of the job that this runs in, if it runs in one.
fn summarise(session: &mut Session<'_>) {
    let attempts = attempts(&session.file("events.jsonl")).unwrap_or_default();
    let log = Log {
        change: session.change().clone(),
        attempts,
    };
    if let Err(error) = github::summarise(|| ui::log::markdown(&log)) {
        session.tell(format!("cannot write the summary of the job: {error}"));
    }
}

/// Splits words into the change and the rest: a first word that is a loop, or the first of two, is
/// the change.
fn change_and_word(engine: &Engine<'_>, words: &[String]) -> Result<(Change, Option<String>), Error> {
    match words {
        [] => Ok((engine.resolve_change(None)?, None)),
        [word] => match engine.resolve_change(Some(word)) {
            Ok(change) => Ok((change, None)),
            Err(_) => Ok((engine.resolve_change(None)?, Some(word.clone()))),
        },
        [change, word, ..] => Ok((engine.resolve_change(Some(change))?, Some(word.clone()))),
    }
}

/// Splits `<story>@<number>`; a word without a number is a story.
fn story_and_attempt(word: &str) -> Result<(String, Option<u32>), Error> {
    match word.rsplit_once('@') {
        None => Ok((word.to_owned(), None)),
        Some((story, number)) => match number.parse() {
            Ok(number) if !story.is_empty() => Ok((story.to_owned(), Some(number))),
            _ => Err(Error::NoAttempt(word.to_owned())),
        },
    }
}

/// Tells the settings that this version does not act upon.
fn tell_ignored(engine: &mut Engine<'_>, change: &Change) {
    for key in engine.configuration.ignored.clone() {
        let message = format!("the setting {key} has no effect in this version");
        engine
            .observer
            .event(&Event::now(change.as_str(), What::Notice { message }));
    }
}
