//! `git ralph retry`.

use crate::cli;
use crate::engine::Step;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(screen: Screen, args: cli::StepArgs) -> Result<Exit, Error> {
    super::attempt::attempt(screen, Step::Retry, args).await
}
