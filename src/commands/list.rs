//! `git ralph list`.

use super::setup::{change_and_word, context};
use super::story_word::story_and_attempt;
use crate::cli::complete::loops_and_attempts;
use crate::engine;
use crate::engine::open_refusal::OpenRefusal;
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;

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
        add = ArgValueCandidates::new(loops_and_attempts)
    )]
    pub take: Vec<String>,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let (change, attempt) = change_and_word(&context, &args.take)?;
    let Some(attempt) = attempt else {
        return Err(OpenRefusal::NoAttempt(args.take.concat()).into());
    };
    let mut open = engine::open(context, &change).await?;
    let (story, number) = story_and_attempt(&open.context, &open.state, &attempt).await?;
    engine::take_list(&mut open, &story, number).await?;
    let list = &open.state.source().path;
    screen.say(&format!(
        "{list} has what {attempt} made of it, as your own edit\n"
    ));
    Ok(Exit::Done)
}
