//! `git ralph complete`.

use super::setup::{Console, end_step, tell_unseen};
use crate::cli;
use crate::engine::{self, AttemptOptions, StepEnd};
use crate::error::Error;
use crate::exit::Exit;
use crate::remote::require_not_held;
use crate::state::Effect;

pub(super) async fn run(console: &Console, args: cli::CompleteArgs) -> Result<Exit, Error> {
    let mut open = console.open(args.change.as_deref()).await?;
    // The same command was interrupted, and opening the loop has completed it: it does not apply to the next story.
    if open.completed == Some(Effect::Completed) {
        return Ok(end_step(&open, StepEnd::Checkpointed));
    }
    let mut settings = open.settings();
    args.tests.apply(&mut settings);
    require_not_held(&open, &settings).await?;
    let options = AttemptOptions {
        settings,
        ..AttemptOptions::default()
    };
    let end = engine::complete(&mut open, &options).await?;
    tell_unseen(console, &open)?;
    Ok(end_step(&open, end))
}
