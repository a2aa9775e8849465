//! `git ralph skip`.

use super::setup::{Console, change_and_word, open_to_change};
use super::story_word::story_named;
use crate::cli::complete::{loops_and_stories_to_skip, offer_titled};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::stories::listing_of;
use crate::engine::{self, Context, refuse_side, refuse_word_of_attempt, story_to_skip};
use crate::error::{Error, refuse};
use crate::exit::Exit;
use crate::inspect::beside::ParallelAttempt;
use crate::inspect::follow::is_driven;
use crate::names::Change;
use crate::state::{State, Store};
use serde_json::json;

/// The arguments of `git ralph skip`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph skip [--undo] [--json] [<change>] [<story>]")]
pub struct Args {
    /// The change, the story, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY"],
        add = offer_titled(loops_and_stories_to_skip)
    )]
    pub words: Vec<String>,
    /// Take the skip back
    #[arg(long)]
    pub undo: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let (change, word) = change_and_word(&context, &args.words)?;
    let store = Store::new(&context.repo.common_dir, &change);
    if is_driven(&store) {
        return ask(console, &context, (&store, &change), word.as_deref(), &args).await;
    }
    let mut open = Box::pin(open_to_change(context, &change)).await?;
    let story = match &word {
        Some(word) => Some(story_named(&open.context, &open.state, word).await?),
        None => None,
    };
    let id = engine::skip(&mut open, story.as_deref(), args.undo).await?;
    let document = json!({ "change": open.change(), "story": id, "skipped": !args.undo });
    let again = if args.undo { "no longer " } else { "" };
    console.conclude(args.json, &document, &format!("story {id} is {again}skipped\n"));
    Ok(Exit::Done)
}

/// Asks the process that holds the loop to skip the story.
async fn ask(
    console: &Console,
    context: &Context<'_>,
    (store, change): (&Store, &Change),
    word: Option<&str>,
    args: &Args,
) -> Result<Exit, Error> {
    refuse_word_of_attempt(context)?;
    refuse_side(context, change)?;
    let state = context.state_of(change)?;
    let running = running_stories(context, &state);
    let story = match (word, running.as_slice()) {
        (Some(word), _) => Some(story_named(context, &state, word).await?),
        (None, [_, _, ..]) if !args.undo => {
            let change = change.to_string();
            return refuse(OpenRefusal::WhichToSkip { change, running });
        }
        (None, running) => running.first().filter(|_| !args.undo).cloned(),
    };
    let asked = store.asked_to_skip()?.into_iter();
    let mut asked = asked.filter(|asked| args.undo && story.as_ref().is_none_or(|id| id == asked));
    let id = match asked.next_back() {
        Some(asked) => asked,
        None => {
            let listing = listing_of(&state, state.work_tree()).await?;
            story_to_skip(&state, &listing, story.as_deref(), args.undo)?
        }
    };
    store.ask_to_skip(&id, args.undo)?;
    let is_running = running.contains(&id) && !args.undo;
    let document = json!({ "change": change, "story": id, "asked": true, "undo": args.undo });
    let words = match (is_running, args.undo) {
        (true, _) => {
            format!("git-ralph ends the attempt at story {id}, keeps its work, and skips the story\n")
        }
        (_, false) => format!("git-ralph skips story {id} before it begins another attempt\n"),
        (_, true) => format!("git-ralph no longer skips story {id} when it begins another attempt\n"),
    };
    console.conclude(args.json, &document, &words);
    Ok(Exit::Done)
}

/// Returns the stories that are being attempted.
fn running_stories(context: &Context<'_>, state: &State) -> Vec<String> {
    let beside = ParallelAttempt::all_of(&context.repo.common_dir, state).into_iter();
    let beside = beside.filter(ParallelAttempt::is_running).map(|one| one.story);
    let mut all: Vec<String> = beside
        .chain(state.attempted().map(|story| story.id.clone()))
        .collect();
    all.dedup();
    all
}
