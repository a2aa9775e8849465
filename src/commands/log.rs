//! `git ralph log`.

use std::path::Path;
use std::time::Duration;

use super::setup::{Console, change_and_word};
use super::story_word::story_and_attempt;
use crate::cli::complete::{loops_and_attempts, offer_titled};
use crate::engine::look;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::stories::short_names;
use crate::error::Error;
use crate::events::log::{History, Log};
use crate::events::{Attempt, AttemptStarted};
use crate::exit::Exit;
use crate::fs::{file_error, target_of};
use crate::inspect::attempt_output::AttemptOutput;
use crate::names::Change;
use crate::signal::Stop;
use crate::state::{State, Store};
use crate::ui::{self, Printer, pager};

/// Time between two reads of a log that grows.
const POLL: Duration = Duration::from_millis(250);

/// The arguments of `git ralph log`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "git ralph log [--follow] [--raw | --json]\n       [<change>] [<story>[@<attempt>]]"
)]
pub struct Args {
    /// The change, the story or story@attempt, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = offer_titled(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// Show what the attempt prints until it ends; without a story, the attempt that is running
    #[arg(long)]
    pub follow: bool,
    /// Show exactly what the attempt printed, and JSON as JSON
    #[arg(long, conflicts_with = "json")]
    pub raw: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "follow")]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let (change, word) = change_and_word(&context, &args.words)?;
    let (context, state) = look(context, &change).await?;
    let store = Store::new(&context.repo.common_dir, &change);
    let events = store.file("events.jsonl");
    let running = running(&state);
    let wanted = match &word {
        Some(word) => Some(story_and_attempt(&context, &state, word).await?),
        None if args.follow || args.raw => {
            let newest = running.clone().or_else(|| newest(&History::read(&events).ok()?));
            Some(newest.ok_or_else(|| OpenRefusal::NoAttempts(change.to_string()))?)
        }
        None => None,
    };
    if let Some((story, number)) = wanted.as_ref().filter(|_| !args.json) {
        let shown = show(&args, &store, (story, *number), state.work_tree(), &context.stop).await?;
        return shown.ok_or_else(|| unknown(&change, word.as_ref().unwrap_or(story)));
    }
    let mut log = Log::read(change, &events)?;
    if !state.is_live() && !args.json {
        // Pruned attempts cannot be shown.
        let attempts = log.change.ralph_ref("attempts");
        let there = context.repo.git.refs(&[&attempts]).await?;
        let is_there = |name: &String| there.iter().any(|found| found.name == *name);
        for entry in &mut log.attempts {
            entry.kept = entry.kept.take().filter(is_there);
        }
    }
    if let Some((story, number)) = &wanted {
        let is_it = |attempt: &Attempt| {
            attempt.story == *story && number.is_none_or(|number| attempt.attempt == number)
        };
        log.attempts.retain(|entry| is_it(&entry.attempt));
        let is_its = |of: &String, at: Option<u32>| of == story && (number.is_none() || at == *number);
        log.messages
            .retain(|one| one.story.as_ref().is_some_and(|of| is_its(of, one.attempt)));
        if log.attempts.is_empty() {
            return Err(unknown(&log.change, word.as_ref().unwrap_or(story)));
        }
    }
    if args.json {
        console.document(&log);
        return Ok(Exit::Done);
    }
    let is_empty = log.attempts.is_empty() && log.messages.is_empty();
    if is_empty && running.is_none() {
        console.say("no attempt is recorded\n");
    } else if !is_empty {
        let text = ui::log::table(&log, &short_names(&state), console.columns());
        if running.is_none() {
            pager::show(console.screen, &context.repo.top, &text).await;
            return Ok(Exit::Done);
        }
        console.answer(&text);
    }
    if let Some((story, Some(number))) = running {
        let how = if store.is_held() {
            "is running; to watch it: git ralph log --follow"
        } else {
            "was cut off; the next command that takes a step ends it"
        };
        console.say(&format!("attempt {number} of story {story} {how}\n"));
    }
    Ok(Exit::Done)
}

fn unknown(change: &Change, attempt: &str) -> Error {
    OpenRefusal::UnknownAttempt {
        change: change.to_string(),
        attempt: attempt.to_owned(),
    }
    .into()
}

/// Returns the attempt in progress.
fn running(state: &State) -> Option<(String, Option<u32>)> {
    let story = state.attempted().filter(|_| state.intent.is_none())?;
    Some((story.id.clone(), Some(story.attempt)))
}

fn newest(history: &History) -> Option<(String, Option<u32>)> {
    let newest = history.begun().next_back()?;
    Some((newest.story.clone(), Some(newest.attempt)))
}

/// Shows the output of an attempt, by default of the newest, continuously while it is followed; returns `None` if there
/// is no such attempt.
async fn show(
    args: &Args,
    store: &Store,
    (story, number): (&str, Option<u32>),
    top: &Path,
    stop: &Stop,
) -> Result<Option<Exit>, Error> {
    let history = History::read(&store.file("events.jsonl"))?;
    let is_it =
        |begun: &&AttemptStarted| begun.story == story && number.is_none_or(|number| begun.attempt == number);
    let begun = history.begun().rfind(is_it);
    let Some(number) = number.or(begun.map(|begun| begun.attempt)) else {
        return Ok(None);
    };
    let path = store.attempt_log(story, number);
    if target_of(&path)?.is_none() {
        return Ok(None);
    }
    let format = begun.and_then(|begun| begun.format.as_deref());
    let mut output = AttemptOutput::open_named(&path, format, args.raw)?.below(top);
    let mut printer = Printer::new(args.raw);
    loop {
        // Checked before the rest is read: all output until then is in the log.
        let is_over = !args.follow || has_ended(store, story, number)?;
        while let Some(piece) = output.read().map_err(|error| file_error("read", &path, error))? {
            printer.print(&piece);
        }
        if is_over {
            printer.print(&output.rest());
            return Ok(Some(Exit::Done));
        }
        let mut stop = stop.clone();
        tokio::select! {
            signal = stop.asked(1) => return Ok(Some(Exit::Signal(signal))),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Returns whether an attempt, or its git-ralph, has ended.
fn has_ended(store: &Store, story: &str, number: u32) -> Result<bool, Error> {
    let state = store.load()?;
    let Some(state) = state.filter(|state| running(state) == Some((story.to_owned(), Some(number)))) else {
        return Ok(true);
    };
    Ok(!state.is_running() || !store.is_held())
}
