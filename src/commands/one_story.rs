//! The process that attempts one story of a change beside others (`git ralph run <change> --jobs`): it makes an attempt, again
//! if the agent's service did not answer, and shows what its agent prints. The run that started it takes in what it made.

use super::run::Args;
use super::setup::{here, step_settings};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::{
    AttemptOptions, Context, StartOptions, StepEnd, attempt, begin_side, refuse_inside_attempt,
    settings_of_side,
};
use crate::error::Error;
use crate::events::{News, Observer, What};
use crate::exit::Exit;
use crate::names::Change;
use crate::settings::Options;
use crate::ui::{Narrator, Screen};

/// Shows the agent's work; the parent run reports the end of the attempt.
struct Work(Narrator);

impl Observer for Work {
    fn hear(&self, news: News<'_>) {
        let is_shown = match &news {
            News::Event(event) => matches!(
                event.what,
                What::AttemptStarted(_) | What::RoundStarted { .. } | What::RoundEnded { .. }
            ),
            News::Limits(_) | News::Begins(_) => false,
            _ => true,
        };
        if is_shown {
            self.0.hear(news);
        }
    }
}

/// Makes an attempt at a story in the side with this name.
pub(super) async fn run(screen: Screen, args: Args, side: &str, story: &str) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let side = Change::new(side)?;
    let work = Work(Narrator::new(screen));
    let context = Context::open(&here()?, &work).await?;
    let unknown = || context.unknown_loop(side.as_str(), &[]);
    let (change, place) = side.side_of().ok_or_else(unknown)?;
    let of = context.state_of(&change)?;
    let mut settings = of.settings_in(&context.configuration);
    let typed = Options::from(&args.settings);
    typed.apply(&mut settings);
    let options = StartOptions {
        settings,
        typed: Options {
            verify: Vec::new(),
            agent: typed.agent.clone().or(of.here.commands.agent.clone()),
            plain: of.common.settings.plain,
        },
        agent: args.agent.clone(),
        allow_red: true,
        ..StartOptions::default()
    };
    let mut open = Box::pin(begin_side(context, &of, (story, place), &options)).await?;
    let step = open.state.progress().next_step();
    let mut settings = step_settings(&open, &args.settings);
    args.limits.apply(&mut settings);
    let options = AttemptOptions {
        settings: settings_of_side(&settings),
        agent: args.agent,
        // It is not the first attempt of its command.
        started: 1,
        leave: args.allow_test_changes,
        ..AttemptOptions::default()
    };
    let end = match Box::pin(attempt(&mut open, step, &options)).await {
        // The run reports it when it takes the attempt in, with the place of its output then.
        Err(Error::Attempt(AttemptRefusal::AgentUnable { .. })) => StepEnd::Failed { retries_left: true },
        end => end?,
    };
    Ok(match end {
        StepEnd::Checkpointed => Exit::Done,
        StepEnd::Failed { .. } => Exit::RetriesLeft,
        StepEnd::Limited(_) | StepEnd::Asked | StepEnd::Skipped => Exit::Limit,
        StepEnd::Interrupted(signal) => Exit::Signal(signal),
    })
}
