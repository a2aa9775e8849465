//! `git ralph complete`.

use super::{open_loop, step_exit};
use crate::cli;
use crate::engine::{self, AttemptOptions};
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::ManualArgs) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let mut open = open_loop(&mut narrator, args.change.as_deref()).await?;
    let options = AttemptOptions {
        force: false,
        settings: open.settings(),
        ..AttemptOptions::default()
    };
    let end = engine::complete(&mut open, &options).await?;
    Ok(step_exit(&open, end))
}
