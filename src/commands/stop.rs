//! `git ralph stop`.

use super::setup::{Console, resolve};
use crate::cli::complete::{loops, offer};
use crate::engine::refuse_side;
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::follow::{asked, driver, is_driven};
use crate::names::typed;
use crate::state::Store;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

/// The arguments of `git ralph stop`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Stop the attempt that is running too (SIGTERM): it is undone, and does not count
    #[arg(long)]
    pub now: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let change = resolve(&context, args.change.as_deref())?;
    refuse_side(&context, &change)?;
    let store = Store::new(&context.repo.common_dir, &change);
    let question = asked(&store).filter(|_| !is_driven(&store));
    let (pid, how) = match (&question, driver(&store)) {
        (Some(question), _) => {
            store.ask_to_stop(question.pid)?;
            (Some(question.pid), Some("question"))
        }
        (None, Some(holder)) if args.now => {
            // The process then reports this reason for its end.
            store.ask_to_stop(holder)?;
            // Background jobs of a script ignore SIGINT.
            kill(Pid::from_raw(holder), Signal::SIGTERM).map_err(Error::system("send a signal"))?;
            (Some(holder), Some("now"))
        }
        (None, Some(holder)) => {
            store.ask_to_stop(holder)?;
            (Some(holder), Some("after_attempt"))
        }
        (None, None) => (None, None),
    };
    let document = json!({ "v": 1, "change": change, "pid": pid, "stops": how });
    let holder = pid.map_or_else(String::new, |pid| format!("process {pid}"));
    let process = question.map_or(holder, |question| question.process());
    let words = match how {
        None => format!("no git-ralph is working on {change}\n"),
        Some("question") => format!("git-ralph ({process}) leaves its question unanswered and ends\n"),
        Some("now") => format!("git-ralph ({process}) stops the attempt and ends\n"),
        Some(_) => format!(
            "git-ralph ({process}) ends after this attempt, or before the next round of it; to end it at once: git ralph stop --now \
             {change}\n",
            change = typed(change)
        ),
    };
    console.conclude(args.json, &document, &words);
    Ok(Exit::Done)
}
