//! `git ralph fail`.

use super::{change_and_word, here, step_exit};
use crate::cli;
use crate::engine::{Engine, Session};
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::Screen;

pub(super) async fn run(mut screen: Screen, args: cli::Fail) -> Result<Exit, Error> {
    let engine = Engine::open(&here()?, &mut screen).await?;
    let (change, reason) = change_and_word(&engine, &args.words)?;
    let mut session = Session::open(engine, &change).await?;
    let end = session.fail(reason).await?;
    Ok(step_exit(&session, end))
}
