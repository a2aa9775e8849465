//! `git ralph stop`.

use super::setup::{context, resolve};
use crate::cli::complete::loops;
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::follow::{asked, driver, is_driven};
use crate::names::typed;
use crate::state::Store;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The arguments of `git ralph stop`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Stop the attempt that is running too (SIGTERM): it is undone, and does not count
    #[arg(long)]
    pub now: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let context = context(&mut narrator).await?;
    let change = resolve(&context, args.change.as_deref())?;
    let store = Store::new(&context.repo.common_dir, &change);
    let question = asked(&store).filter(|_| !is_driven(&store));
    let Some(holder) = driver(&store) else {
        screen.say(&format!("no git-ralph is working on {change}\n"));
        return Ok(Exit::Done);
    };
    if let Some(question) = question {
        store.ask_to_stop(question.pid)?;
        screen.say(&format!(
            "git-ralph ({}) leaves its question unanswered and ends\n",
            question.process()
        ));
    } else if args.now {
        // The background jobs of a script ignore SIGINT.
        kill(Pid::from_raw(holder), Signal::SIGTERM).map_err(|error| Error::System {
            what: "send a signal",
            source: error.into(),
        })?;
        screen.say(&format!(
            "git-ralph (process {holder}) stops the attempt and ends\n"
        ));
    } else {
        store.ask_to_stop(holder)?;
        screen.say(&format!(
            "git-ralph (process {holder}) ends after this attempt; to end it at once: git ralph stop --now {change}\n",
            change = typed(change)
        ));
    }
    Ok(Exit::Done)
}
