//! `git ralph redo`.

use super::setup::{Console, open_to_change, resolve};
use super::story_word::story_named;
use crate::cli::complete::{loops_and_complete_stories, offer_titled};
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;
use crate::names::typed;
use crate::state::Effect;

/// The arguments of `git ralph redo`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph redo [--force] [--json] [<change>] <story> [<words>...]")]
pub struct Args {
    /// The change and the story, or only the story; and what is to be different, for the next prompt
    #[arg(
        num_args = 1..,
        required = true,
        value_names = ["CHANGE", "STORY", "WORDS"],
        add = offer_titled(loops_and_complete_stories)
    )]
    pub words: Vec<String>,
    /// Undo the stories that were completed later, too
    #[arg(long)]
    pub force: bool,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let mut words = args.words.as_slice();
    let named = words.first().filter(|_| words.len() > 1);
    let change = match named.map(|word| resolve(&context, Some(word))) {
        Some(Ok(change)) => {
            words = &words[1..];
            change
        }
        _ => resolve(&context, None)?,
    };
    let said = words.get(1..).unwrap_or_default().join(" ");
    let said = Some(said).filter(|said| !said.trim().is_empty());
    let mut open = Box::pin(open_to_change(context, &change)).await?;
    let story = story_named(&open.context, &open.state, &words[0]).await?;
    // Opening the loop has completed the same command, if it was interrupted.
    let is_same = open
        .state
        .progress()
        .redone_at(&story)
        .is_some_and(|(_, words)| words == said.as_deref());
    if open.completed != Some(Effect::Redone) || !is_same {
        engine::redo(&mut open, &story, said, args.force).await?;
    }
    console.say(&format!("to do it again: git ralph run {}\n", typed(&change)));
    Ok(Exit::Done)
}
