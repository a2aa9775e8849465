//! One attempt: `git ralph next` and `git ralph retry`.

use super::dry_run::{self, Planned};
use super::setup::{Console, end_step, resolve, step_settings, tell_fixed, tell_unseen};
use crate::cli;
use crate::engine::{self, AttemptOptions, Step, StepEnd, raised_in, refuse_inside_attempt};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::next_steps::Driver;
use crate::inspect::status::Status;
use crate::remote::require_not_held;
use crate::ui;

/// Makes one attempt, and returns its exit code.
pub(super) async fn attempt(console: &Console, step: Step, args: cli::StepArgs) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    if args.dry_run {
        let context = console.context().await?;
        let change = resolve(&context, args.change.as_deref())?;
        let given = (&args.settings, args.agent.as_slice());
        let shown = dry_run::of_loop(console.screen, context, &change, Planned::Step(step), given);
        return Box::pin(shown).await;
    }
    let mut open = console.open(args.change.as_deref()).await?;
    tell_fixed(&open);
    let mut settings = step_settings(&open, &args.settings);
    args.tests.apply(&mut settings);
    require_not_held(&open, &settings).await?;
    let options = AttemptOptions {
        settings,
        agent: args.agent,
        force: args.force,
        ..AttemptOptions::default()
    };
    let end = Box::pin(engine::attempt(&mut open, step, &options)).await?;
    if let StepEnd::Limited(limit) = &end {
        open.tell(format!("stopped at a limit: {limit}"));
    }
    tell_unseen(console, &open)?;
    let mut status = Status::remembered(&open.state);
    status.raised_by = raised_in(&open)?;
    // The commands that only show something were printed with the failure.
    let mut next = status.next_steps(Driver::Steps);
    next.retain(|step| !step.only_shows);
    console.say(&ui::summary::next(&next));
    Ok(end_step(&open, end))
}
