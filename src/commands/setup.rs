//! Opens the repository and the loop for the verbs, and provides a step's settings and its exit code.

use std::env;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::pick::without_loop;
use crate::cli;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::{self, Context, Loop, StepEnd, refuse_side};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::fs::target_of;
use crate::inspect::status::Status;
use crate::names::{Change, typed_path};
use crate::settings::{Choice, Options, Settings, Strategy};
use crate::state::Phase;
use crate::stories::from_directory;
use crate::ui::{self, Narrator, Screen};

/// Returns the options of a command that may begin a loop. The words after `--` are its agent.
pub(super) fn typed_options(settings: &cli::Settings, agent: &[OsString]) -> Options {
    let mut typed = Options::from(settings);
    if !agent.is_empty() {
        // A line that a shell splits into the same words.
        let words = agent.iter().map(|word| typed_path(word.as_ref()));
        typed.agent = Some(words.collect::<Vec<_>>().join(" "));
    }
    typed
}

/// Returns the current directory.
pub(super) fn here() -> Result<PathBuf, Error> {
    env::current_dir().or_else(|source| {
        // An attempt may have deleted the shell's current directory.
        let named = env::var_os("PWD").map(PathBuf::from);
        let above = named.as_deref().into_iter().flat_map(Path::ancestors);
        for dir in above.filter(|dir| dir.is_absolute()) {
            if target_of(dir)?.is_some_and(|found| found.is_dir()) {
                return Ok(dir.to_owned());
            }
        }
        Err(Error::System {
            what: "find the current directory",
            source,
        })
    })
}

/// The screen of a command, and the narrator of the loop that it opens.
pub(super) struct Console {
    pub(super) screen: Screen,
    pub(super) narrator: Narrator,
}

impl Deref for Console {
    type Target = Screen;

    fn deref(&self) -> &Screen {
        &self.screen
    }
}

impl Console {
    pub(super) fn new(screen: Screen) -> Self {
        let narrator = Narrator::new(screen);
        Self { screen, narrator }
    }

    /// Opens the repository around the current directory.
    pub(super) async fn context(&self) -> Result<Context<'_>, Error> {
        let context = Context::open(&here()?, &self.narrator).await?;
        self.settle_colours(context.configuration.colour);
        Ok(context)
    }

    /// Opens the loop of a step.
    pub(super) async fn open(&self, change: Option<&str>) -> Result<Loop<'_>, Error> {
        let context = self.context().await?;
        let change = match resolve(&context, change) {
            Ok(change) => change,
            Err(error) => return Err(without_loop(&context, error).await),
        };
        Box::pin(open_to_change(context, &change)).await
    }

    /// Opens the loop of a command that takes one more word, and returns the word if it was typed.
    pub(super) async fn open_with_word(&self, words: &[String]) -> Result<(Loop<'_>, Option<String>), Error> {
        let context = self.context().await?;
        let (change, word) = change_and_word(&context, words)?;
        Ok((Box::pin(open_to_change(context, &change)).await?, word))
    }

    /// Prints the result of a command as a document, or else as text.
    pub(super) fn conclude(&self, json: bool, document: &impl Serialize, words: &str) {
        if json {
            self.document(document);
        } else {
            self.say(words);
        }
    }

    /// Prints an answer as a document, or else as text.
    pub(super) fn present(&self, json: bool, document: &impl Serialize, text: impl FnOnce() -> String) {
        if json {
            self.document(document);
        } else {
            self.answer(&text());
        }
    }
}

/// Opens a loop for a command that changes something.
pub(super) async fn open_to_change<'o>(context: Context<'o>, change: &Change) -> Result<Loop<'o>, Error> {
    refuse_side(&context, change)?;
    let mut open = engine::open(context, change).await?;
    // A run may have ended before it took the requests. An unreadable list must not prevent an abort.
    if open.state.is_live()
        && let Err(error) = engine::take_skips(&mut open, &[]).await
    {
        open.tell(format!("a request to skip a story waits: {error}"));
    }
    Ok(open)
}

/// Finds the change of a command; later errors name it.
pub(super) fn resolve(context: &Context<'_>, name: Option<&str>) -> Result<Change, Error> {
    let change = context.resolve_change(name)?;
    ui::set_subject(&change);
    Ok(change)
}

/// Returns the settings for this command on an existing loop.
pub(super) fn step_settings(open: &Loop<'_>, typed: &cli::Settings) -> Settings {
    let mut settings = open.settings();
    Options::from(typed).apply(&mut settings);
    settings
}

/// Uses a list named on the command line, relative to the current directory.
pub(super) fn put_stories_in(
    settings: &mut Settings,
    context: &Context<'_>,
    given: &cli::StoriesFrom,
) -> Result<(), Error> {
    if let Some(path) = &given.path {
        settings.stories = Some(from_directory(&context.repo.top, &context.below_top, path)?);
    }
    if let Some(adapter) = &given.adapter {
        settings.adapter = Some(adapter.clone());
    }
    Ok(())
}

/// Reports that no story is left if a step completed the last one, and returns its exit code. A signal during the
/// completion of a step does not interrupt it, but ends the command.
pub(super) fn end_step(open: &Loop<'_>, end: StepEnd) -> Exit {
    if end == StepEnd::Checkpointed
        && open.state.phase() == Phase::Complete
        && let Some(listed) = open.state.listed()
    {
        open.emit(What::complete(listed.done, listed.total));
    }
    match (end, open.context.stop.signal()) {
        (StepEnd::Interrupted(signal), _) | (_, Some(signal)) => Exit::Signal(signal),
        (StepEnd::Checkpointed, None) => Exit::Done,
        (StepEnd::Failed { retries_left: true }, None) => Exit::RetriesLeft,
        (StepEnd::Failed { retries_left: false }, None) => Exit::RetriesSpent,
        (StepEnd::Limited(_) | StepEnd::Asked | StepEnd::Skipped, None) => Exit::Limit,
    }
}

/// Prints the stories that only the list, or only the agent, calls complete, if no story is left.
pub(super) fn tell_unseen(console: &Console, open: &Loop<'_>) -> Result<(), Error> {
    if open.state.phase() == Phase::Complete {
        let mut status = Status::remembered(&open.state);
        status.add_attempts(&open.repo().common_dir, &open.state, &open.tally()?);
        console.say(&ui::summary::unseen(&status));
    }
    Ok(())
}

/// Splits words into the change and the rest: the first word is the change if it names a loop, or if there are two.
pub(super) fn change_and_word(
    context: &Context<'_>,
    words: &[String],
) -> Result<(Change, Option<String>), Error> {
    match words {
        [] => Ok((resolve(context, None)?, None)),
        [word] => match resolve(context, Some(word)) {
            Ok(change) => Ok((change, None)),
            Err(unknown) => match resolve(context, None) {
                Ok(change) => Ok((change, Some(word.clone()))),
                Err(missing) => Err(which_is_missing(word, unknown, missing)),
            },
        },
        [change, word, ..] => Ok((resolve(context, Some(change))?, Some(word.clone()))),
    }
}

/// Returns the error about a word that names no loop, if a loop is needed: that there is none, or several, unless the
/// word may be meant as a loop's name.
fn which_is_missing(word: &str, unknown: Error, missing: Error) -> Error {
    let is_change = matches!(&unknown, Error::Open(OpenRefusal::UnknownLoop { name, changes, .. }) if changes.contains(name));
    let is_first =
        matches!(&missing, Error::Open(OpenRefusal::NoLoop { finished, .. }) if finished.is_empty());
    if word.contains('@') || is_first && !is_change {
        missing
    } else {
        unknown
    }
}

/// Reports settings of `git -c` that an active loop ignores: it keeps its original list.
pub(super) fn tell_fixed(open: &Loop<'_>) {
    for key in ["ralph.adapter", "ralph.stories"] {
        if open.context.configuration.given(key).is_some() {
            open.tell(format!(
                "{key} has no effect on an active loop: it keeps the story list that it began with"
            ));
        }
    }
}

/// Reports that an active loop keeps its adapter.
pub(super) fn tell_adapter(open: &Loop<'_>, typed: Option<&str>) {
    let kept: &str = open.state.source().adapter.into();
    if typed.is_some_and(|typed| typed != kept) {
        open.tell("--adapter has no effect on an active loop: it keeps the story list that it began with");
    }
}

/// Reports that an active loop keeps its strategy.
pub(super) fn tell_strategy(open: &Loop<'_>, typed: Option<Strategy>) {
    let kept = open.state.common.strategy;
    if typed.is_some_and(|typed| typed != kept) {
        open.tell(format!(
            "--strategy has no effect on an active loop: it keeps the strategy {}",
            kept.name()
        ));
    }
}

/// Reports settings that have no effect.
pub(super) fn tell_ignored(context: &Context<'_>, change: &Change) {
    for message in context.configuration.ignored.clone() {
        context.tell(change, message);
    }
}
