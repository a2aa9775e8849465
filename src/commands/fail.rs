//! `git ralph fail`.

use super::setup::{Console, change_and_word, end_step, open_to_change};
use crate::cli::complete::{loops, offer};
use crate::engine::{self, StepEnd};
use crate::error::Error;
use crate::exit::Exit;
use crate::remote::require_not_held;
use crate::state::{Effect, Phase};

/// The arguments of `git ralph fail`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph fail [--json] [<change>] [<reason>...]")]
pub struct Args {
    /// The change, the reason, or both; a single word that names no loop is the reason, as are more than two
    #[arg(num_args = 0.., value_names = ["CHANGE", "REASON"], add = offer(loops))]
    pub words: Vec<String>,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let names_loop = |word: &String| context.resolve_change(Some(word)).is_ok();
    let words = match args.words.as_slice() {
        [first, rest @ ..] if rest.len() > 1 && names_loop(first) => vec![first.clone(), rest.join(" ")],
        words if words.len() > 2 => vec![words.join(" ")],
        words => words.to_vec(),
    };
    let (change, reason) = change_and_word(&context, &words)?;
    let mut open = Box::pin(open_to_change(context, &change)).await?;
    let retries_left = match open.state.phase() {
        Phase::Failed => Some(true),
        Phase::Exhausted => Some(false),
        _ => None,
    };
    let end = match retries_left.filter(|_| open.completed == Some(Effect::Failed)) {
        // The same command was interrupted, and opening the loop has completed it: it must not count twice.
        Some(retries_left) => StepEnd::Failed { retries_left },
        None => {
            require_not_held(&open, &open.settings()).await?;
            engine::fail(&mut open, reason).await?
        }
    };
    Ok(end_step(&open, end))
}
