//! `git ralph complete`.

use super::{open, step_exit};
use crate::cli;
use crate::engine::AttemptOptions;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::ManualArgs) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let mut session = open(&mut narrator, args.change.as_deref()).await?;
    let settings = session.engine.configuration.for_step(&session.state.settings)?;
    let options = AttemptOptions {
        settings: Some(settings),
        agent: Vec::new(),
        started: 0,
    };
    let end = session.complete(&options).await?;
    Ok(step_exit(&session, end))
}
