//! `git ralph fail`.

use super::{change_and_word, engine, step_exit};
use crate::cli;
use crate::engine::Session;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

pub(super) async fn run(screen: Screen, args: cli::Fail) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let engine = engine(&mut narrator).await?;
    let (change, reason) = change_and_word(&engine, &args.words)?;
    let mut session = Session::open(engine, &change).await?;
    let end = session.fail(reason).await?;
    Ok(step_exit(&session, end))
}
