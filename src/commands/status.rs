//! `git ralph status`.

use super::pick::without_loop;
use super::setup::{Console, here, resolve};
use crate::cli::complete::{loops, offer};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::{Context, look};
use crate::error::Error;
use crate::error::advice::Advise;
use crate::exit::Exit;
use crate::inspect::status::{HeldThere, Status};
use crate::inspect::status_line;
use crate::remote::{held_there, last_remote};
use crate::state::{self, State, Store};
use crate::stories;
use crate::ui;

/// The arguments of `git ralph status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print one line for a shell prompt or a status bar; nothing if no loop is active
    #[arg(long, conflicts_with = "json")]
    pub short: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    if args.short {
        // A shell prompt needs exactly one line or none, in any directory.
        if let Ok(dir) = here()
            && let Some(line) = status_line::line(&dir, args.change.as_deref()).await
        {
            console.answer(&format!("{line}\n"));
        }
        return Ok(Exit::Done);
    }
    let context = console.context().await?;
    if let Some(name) = &args.change {
        let change = resolve(&context, Some(name))?;
        let (context, state) = look(context, &change).await?;
        let status = seen(&context, &state).await?;
        console.present(args.json, &status, || {
            ui::status::table(&status, console.columns())
        });
        return Ok(Exit::Done);
    }
    let mut context = context;
    let mut all = Vec::new();
    let mut exit = Exit::Done;
    for change in state::loops(&context.repo.common_dir)? {
        // An unreadable loop must not hide the others.
        if let Err(error) = Store::new(&context.repo.common_dir, &change).load() {
            console.fail(change.as_str(), &error.into());
            exit = Exit::Error;
            continue;
        }
        let (back, state) = look(context, &change).await?;
        context = back;
        all.push(seen(&context, &state).await?);
    }
    if args.json {
        console.document(&all);
    } else if all.is_empty() && exit == Exit::Done {
        let of_branch = context.change_of_branch();
        let of_branch = of_branch.map(|change| context.unknown_loop(change.as_str(), &[]));
        if let Some(lost) = of_branch.or_else(|| context.first_lost_loop().map(Error::from)) {
            let hint = lost.advice().hint.unwrap_or_default();
            console.say(&format!("{lost}; {hint}\n"));
            return Ok(exit);
        }
        let (finished, changes) = (Vec::new(), stories::changes(&context.repo.top));
        let none = OpenRefusal::NoLoop {
            finished,
            changes,
            checklist: None,
        }
        .into();
        let why = match without_loop(&context, none).await {
            none @ Error::Open(OpenRefusal::NoLoop { .. }) => {
                let hint = none.advice().hint.unwrap_or_default();
                format!("to begin one: {hint}")
            }
            of_list => of_list.to_string(),
        };
        console.say(&format!("no loop has been started in this repository; {why}\n"));
    } else {
        let columns = console.columns();
        let texts = all.iter().map(|status| ui::status::table(status, columns));
        let texts: Vec<String> = texts.collect();
        console.answer(&texts.join("\n"));
    }
    Ok(exit)
}

/// Returns the status of a loop, including its last remote and the run that holds it there, as far as known.
async fn seen(context: &Context<'_>, state: &State) -> Result<Status, Error> {
    let mut status = Status::seen_from(context, state).await?;
    status.shared_on = last_remote(&context.repo, &state.change);
    status.held_there = held_there(&context.repo, &state.change).map(|held| HeldThere {
        holder: held.holder,
        remote: held.remote,
        until: held.until,
    });
    Ok(status)
}
