//! `git ralph list`.

use super::setup::Console;
use crate::cli::complete::{loops_and_attempts, offer_titled};
use crate::engine;
use crate::error::Error;
use crate::exit::Exit;

/// The arguments of `git ralph list`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph list --take [<change>] <story>[@<attempt>]")]
pub struct Args {
    /// Merge what this attempt made of the story list into the list
    #[arg(
        long,
        num_args = 1..=2,
        required = true,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = offer_titled(loops_and_attempts)
    )]
    pub take: Vec<String>,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let (mut open, attempt, (story, number)) = console.open_attempt(&args.take).await?;
    let is_taken = engine::take_list(&mut open, &story, number).await?;
    let list = &open.state.source().path;
    console.say(&if is_taken {
        format!("{list} has what {attempt} made of it, as your own edit\n")
    } else {
        format!("{list} already has all that {attempt} made of it; nothing was changed\n")
    });
    Ok(Exit::Done)
}
