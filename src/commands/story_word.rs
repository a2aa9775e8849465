//! Finds the story, and the attempt, that a typed word names.

use super::setup::{Console, change_and_word, open_to_change};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::stories::{listing_of, short_names};
use crate::engine::{Context, Loop};
use crate::error::{Error, refuse};
use crate::events::News;
use crate::events::log::attempts;
use crate::state::{State, Store};

/// Returns the id of the story that a word names: the id itself, a position in the list, or a unique beginning of an id
/// or title. Returns any other word unchanged.
///
/// # Errors
/// If several stories begin with the word.
pub(super) async fn story_named(context: &Context<'_>, state: &State, word: &str) -> Result<String, Error> {
    context.observer.hear(News::Names(&short_names(state)));
    let progress = state.progress();
    let known = progress.completed.iter().map(|done| &done.id);
    let known = known.chain(&progress.skipped);
    let mut ids: Vec<String> = known.cloned().collect();
    ids.extend(attempted(context, state).into_iter().map(|(story, _)| story));
    // A tracker's command is not run if the state knows the id.
    if word.is_empty() || ids.iter().any(|id| id == word) {
        return Ok(word.to_owned());
    }
    let listing = listing_of(state, &context.repo.top).await.ok();
    let listed = listing
        .as_ref()
        .map_or_else(Vec::new, |listing| listing.named(word));
    if let [only] = listed.as_slice()
        && (only.id == word || word.parse::<usize>().is_ok())
    {
        return Ok(only.id.clone());
    }
    let begins = |id: &String| id.to_lowercase().starts_with(&word.to_lowercase());
    let mut found: Vec<String> = listed.into_iter().map(|story| story.id.clone()).collect();
    found.extend(ids.into_iter().filter(begins));
    found.sort();
    found.dedup();
    match found.as_slice() {
        [] => Ok(word.to_owned()),
        [only] => Ok(only.clone()),
        _ => refuse(OpenRefusal::SeveralStories {
            change: state.change.to_string(),
            word: word.to_owned(),
            stories: found,
        }),
    }
}

/// Parses `<story>@<number>`; `<story>` alone is a story, `<story>@` its latest attempt, and `@` the latest of all.
///
/// # Errors
/// If the text after the last `@` is no number, or there was no attempt.
pub(super) async fn story_and_attempt(
    context: &Context<'_>,
    state: &State,
    word: &str,
) -> Result<(String, Option<u32>), Error> {
    let no_attempt = || Error::from(OpenRefusal::NoAttempt(word.to_owned()));
    let Some((story, number)) = word.rsplit_once('@') else {
        return Ok((story_named(context, state, word).await?, None));
    };
    let story = story_named(context, state, story).await?;
    if number.is_empty() {
        let attempts = attempted(context, state).into_iter();
        let mut of_story = attempts.filter(|(of, _)| story.is_empty() || *of == story);
        let (story, number) = of_story.next_back().ok_or_else(no_attempt)?;
        return Ok((story, Some(number)));
    }
    match number.parse() {
        Ok(number) if !story.is_empty() => Ok((story, Some(number))),
        _ => Err(no_attempt()),
    }
}

impl Console {
    /// Opens the loop of a command that names an attempt. Also returns the word that names the attempt, its story, and
    /// its number if the word has one.
    pub(super) async fn open_attempt(
        &self,
        words: &[String],
    ) -> Result<(Loop<'_>, String, (String, Option<u32>)), Error> {
        let context = self.context().await?;
        let (change, word) = change_and_word(&context, words)?;
        let word = word.ok_or_else(|| OpenRefusal::NoAttempt(words.concat()))?;
        let open = Box::pin(open_to_change(context, &change)).await?;
        let named = story_and_attempt(&open.context, &open.state, &word).await?;
        Ok((open, word, named))
    }
}

/// Lists the attempts of the loop with their stories, in order of time; the last may still be running.
fn attempted(context: &Context<'_>, state: &State) -> Vec<(String, u32)> {
    let store = Store::new(&context.repo.common_dir, &state.change);
    let entries = attempts(&store.file("events.jsonl")).unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.attempt);
    let ended = names.map(|attempt| (attempt.story, attempt.attempt));
    let running = state.attempted().map(|story| (story.id.clone(), story.attempt));
    ended.chain(running).collect()
}
