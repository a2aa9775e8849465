//! `git ralph pull`.

use super::setup::{Console, tell_ignored};
use crate::cli::complete::{changes_and_loops, offer};
use crate::engine::{Context, adopt, refuse_inside_attempt};
use crate::error::{Error, refuse};
use crate::events::What;
use crate::exit::Exit;
use crate::names::{Change, typed};
use crate::remote::handover::{fetch, named, note};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, There, progress, require_same};
use crate::state::Phase;
use crate::ui;
use serde_json::{Value, json};

/// Finds the loop to pull if none is named: the loop of this work tree, if the remote has it, else the only unfinished
/// one there, else the only one.
async fn only_one(context: &Context<'_>, server: &Server, is_typed: bool) -> Result<Change, Error> {
    let loops = server.list().await?;
    if let Ok(here) = context.resolve_change(None)
        && loops.contains_key(&here)
    {
        return Ok(here);
    }
    let all: Vec<Change> = loops.keys().cloned().collect();
    // An unreadable loop is named, with the reason.
    let is_over = |found: Result<There, _>| found.is_ok_and(|found| found.record.phase == Phase::Finished);
    let going_on = loops
        .into_iter()
        .filter_map(|(change, found)| (!is_over(found)).then_some(change));
    let mut going_on: Vec<Change> = going_on.collect();
    let remote = server.name().to_owned();
    if going_on.is_empty() {
        going_on = all;
    }
    match going_on.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(RemoteRefusal::NoLoops { remote }.into()),
        several => refuse(RemoteRefusal::SeveralLoops {
            changes: several.iter().map(ToString::to_string).collect(),
            remote,
            is_typed,
        }),
    }
}

/// The arguments of `git ralph pull`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of this work tree, if the remote has it, or to the only loop there
    #[arg(add = offer(changes_and_loops))]
    pub change: Option<String>,
    /// The remote that keeps loops (ralph.remote)
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Take the loop from the run that holds it: what that run does from then on stays on its machine
    #[arg(long)]
    pub take: bool,
    /// Take it without being asked
    #[arg(long, requires = "take")]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let context = console.context().await?;
    let settings = context.configuration.settings.clone();
    let server = named(&context.repo, &settings, args.remote.as_deref()).await?;
    let change = match args.change.as_deref() {
        Some(name) => Change::new(name)?,
        None => only_one(&context, &server, args.remote.is_some()).await?,
    };
    ui::set_subject(&change);
    tell_ignored(&context, &change);
    if args.take && !args.force {
        return Err(RemoteRefusal::TakeUnconfirmed(change.to_string()).into());
    }
    let mut found = fetch(&context, &server, &change, args.take).await?;
    let Some(portable) = found.portable else {
        if args.take || server.is_here(&found.there) {
            note(&context, &server, &found.there)?;
        }
        let document = document(&found.there, server.name(), false, args.take);
        let words = format!("everything that {} has of {change} is here\n", server.name());
        console.conclude(args.json, &document, &words);
        return Ok(Exit::Done);
    };
    require_same(&context, &portable)?;
    let open = Box::pin(adopt(context, &change, portable, &settings)).await?;
    note(&open.context, &server, &found.there)?;
    if args.take {
        open.emit(What::HandedOver {
            from: None,
            remote: server.name().to_owned(),
        });
    }
    // The numbers come from the local state instead of the message.
    let (done, total) = progress(&open).await?;
    let record = &mut found.there.record;
    (record.done, record.total) = (done, total);
    record.skipped = open.state.skipped_of(done, total);
    let document = document(&found.there, server.name(), true, args.take);
    let (name, remote) = (typed(&change), typed(server.name()));
    let next = if open.state.is_live() {
        format!("git ralph run {name} --remote {remote}")
    } else {
        format!("git ralph status {name}")
    };
    let words = format!(
        "{name} is here: {done} of {total} stories are complete, checkpoint {}\nnext: {next}\n",
        open.state.checkpoint().short()
    );
    console.conclude(args.json, &document, &words);
    Ok(Exit::Done)
}

/// Returns the document of `git ralph pull --json`.
fn document(there: &There, remote: &str, pulled: bool, taken: bool) -> Value {
    let record = &there.record;
    json!({
        "v": 1,
        "change": record.change,
        "remote": remote,
        "pulled": pulled,
        "taken": taken,
        "phase": record.shown_phase(),
        "done": record.done,
        "total": record.total,
        "skipped": record.skipped,
        "checkpoint": record.checkpoint,
    })
}
