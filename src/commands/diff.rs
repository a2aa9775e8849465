//! `git ralph diff`.

use super::setup::{Console, change_and_word};
use super::story_word::story_and_attempt;
use crate::cli::complete::{loops_and_attempts, offer};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::{look, range_of};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::Git;
use crate::names::{Change, typed};
use crate::state::Store;
use crate::ui::Screen;
use serde_json::json;

/// The arguments of `git ralph diff`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change, the story or story@attempt, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = offer(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// Show only which files changed, and by how much
    #[arg(long)]
    pub stat: bool,
    /// Print one JSON document: the two commits, and the files that differ
    #[arg(long, conflicts_with = "stat")]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let (change, attempt) = change_and_word(&context, &args.words)?;
    let (context, state) = look(context, &change).await?;
    let (from, to) = match attempt {
        None => (state.initial().to_string(), state.checkpoint().to_string()),
        Some(word) => {
            let (story, number) = story_and_attempt(&context, &state, &word).await?;
            let store = Store::new(&context.repo.common_dir, &change);
            range_of(
                &context.repo.git,
                &store,
                &state,
                &story,
                number,
                number.is_some(),
            )
            .await?
            .ok_or_else(|| OpenRefusal::of_attempt(&change, word))?
        }
    };
    if args.json {
        let git = &context.repo.git;
        let (from, to) = (git.commit_of_name(&from).await?, git.commit_of_name(&to).await?);
        let files = git
            .diff_trees(&git.tree_of(&from).await?, &git.tree_of(&to).await?)
            .await?;
        let files = files.iter().map(|(kind, path)| {
            json!({ "path": String::from_utf8_lossy(path), "status": char::from(*kind).to_string() })
        });
        let files: Vec<serde_json::Value> = files.collect();
        console.document(&json!({ "change": change, "from": from, "to": to, "files": files }));
        return Ok(Exit::Done);
    }
    let mut git_args = vec!["diff"];
    if args.stat {
        git_args.push("--stat");
    }
    git_args.extend([from.as_str(), to.as_str(), "--"]);
    tell_empty(console.screen, &context.repo.git, &change, [&from, &to]).await?;
    // Git takes over, with the user's pager and colours.
    Err(context.repo.git.take_over(&git_args).into())
}

/// Says that there is nothing to see, where git would print nothing.
async fn tell_empty(screen: Screen, git: &Git, change: &Change, sides: [&str; 2]) -> Result<(), Error> {
    let [from, to] = sides;
    if git.tree_of_name(from).await? == git.tree_of_name(to).await? {
        let log = format!("git ralph log {}", typed(change.as_str()));
        screen.say(&format!("git sees no change; what the attempts did: {log}\n"));
    }
    Ok(())
}
