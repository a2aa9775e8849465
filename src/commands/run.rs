//! `git ralph run`.

use super::finish::{by_flag, question};
use super::{engine, put_in, put_stories_in, step_settings, summarise, tell_ignored};
use crate::cli;
use crate::cli::complete::changes_and_loops;
use crate::engine::driver::{self, Stopped};
use crate::engine::{AttemptOptions, Engine, Finish, Session, StartOptions, agent_of, start};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::names::Change;
use crate::settings::FinishChoice;
use crate::ui::choice::ask;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use std::ffi::OsString;

/// The arguments of `git ralph run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(changes_and_loops))]
    pub change: Option<String>,
    /// The choice.
    #[command(flatten)]
    pub choice: cli::Choice,
    /// Settings.
    #[command(flatten)]
    pub settings: cli::Settings,
    /// The story list.
    #[command(flatten)]
    pub stories: cli::StoriesFrom,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    crate::engine::refuse_inside_attempt()?;
    let mut narrator = Narrator::new(screen);
    let mut engine = engine(&mut narrator).await?;
    let change = match &args.change {
        Some(name) => Change::new(name)?,
        None => engine.resolve_change(None)?,
    };
    tell_ignored(&mut engine, &change);
    let mut settings = engine.configuration.settings.clone();
    put_in(&mut settings, &args.settings);
    put_stories_in(&mut settings, &args.stories);
    if agent_of(&args.agent, &settings, &engine.repo.top).is_none() && !goes_on(&engine, &change) {
        return Err(Error::NoAgent(format!("run {change}")));
    }
    let options = StartOptions {
        settings,
        agent: args.agent.clone(),
        restart: false,
    };
    let mut session = Box::pin(start(engine, &change, &options)).await?.session;
    let step = AttemptOptions {
        settings: Some(step_settings(&session, &args.settings)?),
        agent: args.agent,
        started: 0,
    };
    let exit = match Box::pin(driver::run(&mut session, &step)).await {
        Ok(stopped) => conclude(screen, &mut session, &stopped, by_flag(args.choice)).await,
        Err(error) => Err(error),
    };
    summarise(&mut session);
    exit
}

/// Whether the loop is live already, so that its state may name the agent.
fn goes_on(engine: &Engine<'_>, change: &Change) -> bool {
    engine.resolve_change(Some(change.as_str())).is_ok()
}

/// The completion choice: given, set, asked for on a terminal, or left to a later `finish`.
async fn conclude(
    screen: Screen,
    session: &mut Session<'_>,
    stopped: &Stopped,
    given: Option<Finish>,
) -> Result<Exit, Error> {
    if let Stopped::Limit(limit) = stopped {
        session.tell(format!("stopped at a limit: {limit}"));
    }
    let set = match session.state.settings.finish {
        FinishChoice::Ask => None,
        FinishChoice::Cleanup => Some(Finish::Cleanup { index: false }),
        FinishChoice::Keep => Some(Finish::Keep),
    };
    // After a limit or a signal the same command goes on later: only a person may close the loop then.
    let at_its_end = matches!(stopped, Stopped::Complete | Stopped::RetriesSpent);
    let mut choice = given.or(set).filter(|_| at_its_end);
    if choice.is_none() && screen.can_ask() {
        let stop = session.engine.stop.clone();
        choice = ask(screen, &question(session).await, &stop).await;
    }
    match choice {
        Some(choice) => session.finish(choice).await?,
        None if at_its_end => session.emit(What::AwaitingChoice {
            options: vec!["cleanup".to_owned(), "keep".to_owned()],
        }),
        None => session.tell(format!("to go on: git ralph run {}", session.change())),
    }
    Ok(stopped.exit())
}
