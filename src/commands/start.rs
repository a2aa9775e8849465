//! `git ralph start`.

use super::{here, put_in, put_stories_in, tell_ignored};
use crate::cli;
use crate::engine::report::Status;
use crate::engine::{Engine, StartOptions, resume, start};
use crate::error::Error;
use crate::exit::Exit;
use crate::names::Change;
use crate::state::Store;
use crate::ui::{Screen, tables};

pub(super) async fn run(mut screen: Screen, args: cli::Start) -> Result<Exit, Error> {
    let change = Change::new(&args.change)?;
    let words = screen;
    let mut engine = Engine::open(&here()?, &mut screen).await?;
    tell_ignored(&mut engine, &change);
    let mut settings = engine.configuration.settings.clone();
    put_in(&mut settings, &args.settings);
    put_stories_in(&mut settings, &args.stories);
    let options = StartOptions {
        settings,
        agent: Vec::new(),
        restart: args.restart,
    };
    let lost = args.resume && !Store::new(&engine.repo.common_dir, &change).state_file().exists();
    let (session, already) = if lost {
        (resume(engine, &change, &options).await?, false)
    } else {
        let started = start(engine, &change, &options).await?;
        (started.session, started.already)
    };
    if already {
        words.say("the loop goes on already; nothing was changed\n");
    } else if session.state.settings.agent.is_none() {
        words.say(
            "no agent is named: git ralph next -- <agent command>, or do it by hand: git ralph complete\n",
        );
    }
    if !words.json {
        let status = Status::of(&session.state, &session.engine.repo.top);
        words.answer(&tables::status(&status));
    }
    Ok(Exit::Done)
}
