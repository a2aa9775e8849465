//! `git ralph pull`.

use super::setup::{context, tell_ignored};
use crate::cli::complete::changes_and_loops;
use crate::engine::{adopt, refuse_inside_attempt};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::names::Change;
use crate::names::typed;
use crate::remote::Server;
use crate::remote::handover::{fetch, note};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::require_same;
use crate::ui::{self, Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;

/// The arguments of `git ralph pull`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(changes_and_loops))]
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
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let mut narrator = Narrator::new(screen);
    let mut context = context(&mut narrator).await?;
    let settings = context.configuration.settings.clone();
    let server = Server::new(&context.repo, &settings, args.remote.as_deref())?;
    let change = match args.change.as_deref() {
        Some(name) => Change::new(name)?,
        None => context.resolve_change(None)?,
    };
    ui::set_subject(&change);
    tell_ignored(&mut context, &change);
    if args.take && !args.force {
        return Err(RemoteRefusal::TakeUnconfirmed(change.to_string()).into());
    }
    let found = fetch(&context, &server, &change, args.take).await?;
    let Some(portable) = found.portable else {
        note(&context, &server, &found.there)?;
        screen.say(&format!(
            "everything that {} has of {change} is here\n",
            server.name()
        ));
        return Ok(Exit::Done);
    };
    require_same(&context, &portable)?;
    let mut open = Box::pin(adopt(context, &change, portable, &settings)).await?;
    note(&open.context, &server, &found.there)?;
    if args.take {
        open.emit(What::HandedOver {
            from: None,
            remote: server.name().to_owned(),
        });
    }
    let (done, total) = (found.there.record.done, found.there.record.total);
    screen.say(&format!(
        "{change} is here: {done} of {total} stories are complete, checkpoint {}\nnext: git ralph run {change}\n",
        open.state.checkpoint.short(),
        change = typed(change)
    ));
    Ok(Exit::Done)
}
