//! `git ralph start`.

use super::{here, put_in, put_stories_in, tell_ignored};
use crate::cli;
use crate::engine::report::Status;
use crate::engine::{Engine, StartOptions, agent_of, preview, resume, start};
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
    if args.dry_run {
        return match preview(&engine, &change, &options).await? {
            Some(preview) if words.json => {
                words.document(&preview);
                Ok(Exit::Done)
            }
            Some(preview) => {
                words.answer(&tables::preview(&preview));
                words.say(&tables::warnings(&preview.stories));
                Ok(Exit::Done)
            }
            None => {
                words.say("the loop goes on already; nothing would be changed\n");
                Ok(Exit::Done)
            }
        };
    }
    let lost = args.resume && !Store::new(&engine.repo.common_dir, &change).state_file().exists();
    let (session, already) = if lost {
        (resume(engine, &change, &options).await?, false)
    } else {
        let started = start(engine, &change, &options).await?;
        (started.session, started.already)
    };
    if already {
        words.say("the loop goes on already; nothing was changed\n");
    } else if agent_of(&[], &session.state.settings, &session.engine.repo.top).is_none() {
        words.say(
            "no agent is named, and none that git ralph doctor lists is installed: git ralph next -- <agent command>, or do it by hand: git ralph complete\n",
        );
    }
    if !words.json {
        let status = Status::of(&session.state, &session.engine.repo.top).await;
        words.answer(&tables::status(&status));
    }
    // One that came while the gates ran ends the command; the loop has begun all the same.
    let signal = session.engine.stop.signal();
    Ok(signal.map_or(Exit::Done, Exit::Signal))
}
