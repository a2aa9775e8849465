//! `git ralph prompt`.

use super::pick::{change_to_run, only_change};
use super::setup::Console;
use crate::cli::complete::{changes_and_loops, offer, offer_titled, stories as story_ids};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::stories::{first_story, list_of_new_loop, listing_of, story_in, story_to_do};
use crate::engine::unmarked_stories::refuse_unmarked;
use crate::engine::{self, Context, first_prompt, note_prompted, prompt_text, take_messages};
use crate::error::Error;
use crate::exit::Exit;
use crate::names::Change;
use crate::prompt;
use crate::stories::{SourceError, Story};
use crate::ui::{self, Screen};
use serde_json::json;

/// The arguments of `git ralph prompt`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The change, or a story of the loop; defaults to that of the current branch, to the only active loop, or to the only
    /// change with open stories
    #[arg(add = offer(changes_and_loops))]
    pub change: Option<String>,
    /// The story; defaults to that of the next attempt
    #[arg(long, value_name = "ID", conflicts_with = "template", add = offer_titled(story_ids))]
    pub story: Option<String>,
    /// Print the built-in template, as a start for your own (ralph.prompt)
    #[arg(long)]
    pub template: bool,
    /// Print one JSON document: the story and its prompt
    #[arg(long, conflicts_with = "template")]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    if args.template {
        console.answer(prompt::DEFAULT);
        return Ok(Exit::Done);
    }
    let context = console.context().await?;
    let mut id = args.story.clone();
    let change = match (context.resolve_change(args.change.as_deref()), &args.change) {
        (Ok(change), _) => change,
        (
            Err(unknown @ Error::Open(OpenRefusal::UnknownLoop { .. } | OpenRefusal::LostState { .. })),
            Some(name),
        ) => {
            let mut answered = match Change::new(name) {
                Ok(change) => before(console.screen, &context, change, &args).await,
                Err(error) => Err(error.into()),
            };
            let active = context.resolve_change(None);
            if answered.is_err()
                && id.is_none()
                && matches!(active, Err(Error::Open(OpenRefusal::NoLoop { .. })))
                && let Some(only) = only_change(&context, &context.configuration.settings).await
            {
                let story = Some(name.clone());
                let of_story = before(
                    console.screen,
                    &context,
                    only,
                    &Args {
                        story,
                        ..args.clone()
                    },
                )
                .await;
                answered = of_story.or(answered);
            }
            match (answered, active) {
                (Ok(exit), _) => return Ok(exit),
                (_, Ok(change)) if id.is_none() => {
                    id = Some(name.clone());
                    change
                }
                // The user means another change.
                (Err(Error::Source(SourceError::NoStories { changes, .. })), _) if !changes.is_empty() => {
                    return Err(unknown);
                }
                (Err(error), _) => return Err(error),
            }
        }
        (Err(Error::Open(OpenRefusal::NoLoop { .. })), None) => {
            let change = change_to_run(
                console.screen,
                &context,
                &context.configuration.settings,
                "prompt",
            )
            .await?;
            return before(console.screen, &context, change, &args).await;
        }
        (Err(error), _) => return Err(error),
    };
    ui::set_subject(&change);
    let mut open = engine::open(context, &change).await?;
    open.require_live()?;
    engine::require_own_list(&open).await?;
    let listing = listing_of(&open.state, &open.repo().top).await?;
    let story = match &id {
        None => {
            refuse_unmarked(&open.state, &listing)?;
            story_to_do(&open.state, &listing)?
        }
        Some(id) => story_in(open.state.source(), &listing, id)?,
    };
    take_messages(&mut open)?;
    let text = prompt_text(&open, &listing, &story, &open.settings())?;
    note_prompted(&mut open, &story)?;
    answer(console.screen, open.change(), &story, &text, args.json);
    Ok(Exit::Done)
}

/// Prints the prompt that the first attempt would get if the loop began now.
async fn before(screen: Screen, context: &Context<'_>, change: Change, args: &Args) -> Result<Exit, Error> {
    ui::set_subject(&change);
    let settings = &context.configuration.settings;
    let (source, listing) = list_of_new_loop(context, &change, settings, true).await?;
    let story = match &args.story {
        None => first_story(&context.repo.top, &change, &source, &listing)?,
        Some(id) => story_in(&source, &listing, id)?,
    };
    let text = first_prompt(context, &change, &source, &listing, &story, settings)?;
    answer(screen, &change, &story, &text, args.json);
    screen.say("the loop has not begun: this is what its first attempt would get\n");
    Ok(Exit::Done)
}

fn answer(screen: Screen, change: &Change, story: &Story, text: &str, json: bool) {
    if json {
        screen
            .document(&json!({ "change": change, "story": story.id, "title": story.title, "prompt": text }));
    } else {
        screen.answer_exactly(text);
    }
}
