//! `git ralph run`.

use super::finish::{by_flag, question};
use super::{context, put_in, put_stories_in, step_settings, summarise, tell_ignored};
use crate::cli;
use crate::cli::complete::changes_and_loops;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::stories::wanted;
use crate::engine::{
    self, AttemptOptions, Context, Finish, Loop, StartOptions, Stopped, agent_of, refuse_inside_attempt,
    start,
};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::names::Change;
use crate::settings::FinishChoice;
use crate::stories::Source;
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
    refuse_inside_attempt()?;
    let mut narrator = Narrator::new(screen);
    let mut context = context(&mut narrator).await?;
    let change = match &args.change {
        Some(name) => Change::new(name)?,
        None => context.resolve_change(None)?,
    };
    tell_ignored(&mut context, &change);
    let mut settings = context.configuration.settings.clone();
    put_in(&mut settings, &args.settings);
    put_stories_in(&mut settings, &args.stories);
    if agent_of(&args.agent, &settings, &context.repo.top).is_none() && !goes_on(&context, &change) {
        // A name that was mistyped is not repeated in the hint.
        Source::resolve(&context.repo.top, change.as_str(), &wanted(&settings, &change))?;
        return Err(AttemptRefusal::NoAgent(format!("run {change}")).into());
    }
    let options = StartOptions {
        settings,
        agent: args.agent.clone(),
        restart: false,
    };
    let mut open = Box::pin(start(context, &change, &options)).await?.open;
    let step = AttemptOptions {
        settings: Some(step_settings(&open, &args.settings)?),
        agent: args.agent,
        started: 0,
    };
    let exit = match Box::pin(engine::run(&mut open, &step)).await {
        Ok(stopped) => conclude(screen, &mut open, &stopped, by_flag(args.choice)).await,
        Err(error) => Err(error),
    };
    summarise(&mut open);
    exit
}

/// Whether the loop is live already, so that its state may name the agent.
fn goes_on(context: &Context<'_>, change: &Change) -> bool {
    context.resolve_change(Some(change.as_str())).is_ok()
}

/// The completion choice: given, set, asked for on a terminal, or left to a later `finish`.
async fn conclude(
    screen: Screen,
    open: &mut Loop<'_>,
    stopped: &Stopped,
    given: Option<Finish>,
) -> Result<Exit, Error> {
    if let Stopped::Limit(limit) = stopped {
        open.tell(format!("stopped at a limit: {limit}"));
    }
    let set = match open.state.settings.finish {
        FinishChoice::Ask => None,
        FinishChoice::Cleanup => Some(Finish::Cleanup { index: false }),
        FinishChoice::Keep => Some(Finish::Keep),
    };
    // After a limit or a signal the same command goes on later: only a person may close the loop then.
    let at_its_end = matches!(stopped, Stopped::Complete | Stopped::RetriesSpent);
    let mut choice = given.or(set).filter(|_| at_its_end);
    if choice.is_none() && screen.can_ask() {
        let stop = open.context.stop.clone();
        choice = ask(screen, &question(open).await, &stop).await;
    }
    match choice {
        Some(choice) => engine::finish(open, choice).await?,
        None if at_its_end => open.emit(What::AwaitingChoice {
            options: vec!["cleanup".to_owned(), "keep".to_owned()],
        }),
        None => open.tell(format!("to go on: git ralph run {}", open.change())),
    }
    Ok(stopped.exit())
}
