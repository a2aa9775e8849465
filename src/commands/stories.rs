//! `git ralph stories`.

use super::pick::change_to_run;
use super::setup::{Console, put_stories_in, resolve};
use crate::cli;
use crate::cli::complete::{changes_and_loops, offer};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::stories::{list_of_new_loop, listing_from_head};
use crate::engine::{Context, look};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::stories::Stories;
use crate::names::Change;
use crate::ui;

/// The arguments of `git ralph stories`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(changes_and_loops))]
    pub change: Option<String>,
    /// Another story list than that of the loop.
    #[command(flatten)]
    pub from: cli::StoriesFrom,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let is_named = args.from.path.is_some() || args.from.adapter.is_some();
    let stories = match (resolve(&context, args.change.as_deref()), &args.change) {
        (Ok(change), _) if is_named => as_start_would(&context, &change, &args.from).await?,
        (Ok(change), _) => {
            let (context, state) = look(context, &change).await?;
            let listing = listing_from_head(&state, &context.head, &context.repo).await?;
            Stories::of(&change, state.source(), listing, Some(state.progress()))
        }
        // There is no loop of this name.
        (Err(_), Some(name)) => as_start_would(&context, &Change::new(name)?, &args.from).await?,
        // Without a loop, the only change.
        (Err(Error::Open(OpenRefusal::NoLoop { .. })), None) => {
            let settings = context.configuration.settings.clone();
            let change = match &args.from.path {
                Some(list) => Change::of_list(list),
                None => change_to_run(console.screen, &context, &settings, "stories").await?,
            };
            as_start_would(&context, &change, &args.from).await?
        }
        (Err(error), None) => return Err(error),
    };
    if args.json {
        console.document(&stories);
    } else {
        console.answer(&ui::stories::table(&stories, console.columns()));
        console.say(&ui::stories::warnings(&stories));
    }
    Ok(Exit::Done)
}

/// Returns the list that `start` would find.
async fn as_start_would(
    context: &Context<'_>,
    change: &Change,
    from: &cli::StoriesFrom,
) -> Result<Stories, Error> {
    let mut settings = context.configuration.settings.clone();
    put_stories_in(&mut settings, context, from)?;
    let (source, listing) = list_of_new_loop(context, change, &settings, false).await?;
    Ok(Stories::of(change, &source, listing, None))
}
