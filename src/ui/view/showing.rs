//! The output of the shown attempt, read from its log, and the pages that replace it.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use super::chosen::Page;
use super::files::Found;
use super::keys::TABLE;
use super::lines::Lines;
use super::model::{Attempt, Story};
use crate::agent::decode::Usage;
use crate::events::log::range_of;
use crate::fs::{Links, read_regular_text};
use crate::inspect::attempt_output::AttemptOutput;
use crate::inspect::changed_files::{Unknown, WithNewFiles};
use crate::inspect::story_text::story_text;
use crate::state::{Current, Store};
use crate::ui::agent_output::AgentOutput;
use crate::ui::shown::plain;

/// Maximum number of bytes of earlier output that are read.
const BEFORE: u64 = 2 << 20;
/// Maximum number of bytes of new output that are read at once: a user cannot read more in that time.
const SINCE: u64 = 128 << 10;

/// A log, and the name of its format.
type Log = (PathBuf, Option<String>);

/// The output on the screen.
#[derive(Default)]
pub(super) struct Showing {
    of: Option<(Log, bool)>,
    output: Option<AttemptOutput>,
    pub lines: Lines,
    /// The use of the model by the attempt so far, according to the output.
    pub used: Usage,
}

impl Showing {
    /// Reads on in this log of an attempt in the work tree `top`; returns true if anything is new.
    pub fn look(&mut self, log: Option<Log>, top: &Path, raw: bool) -> bool {
        let of = log.map(|log| (log, raw));
        let mut changed = self.of != of;
        if changed {
            self.of = of;
            self.output = None;
            (self.lines, self.used) = (Lines::default(), Usage::default());
        }
        let mut most = SINCE;
        if self.output.is_none()
            && let Some(((path, format), raw)) = &self.of
        {
            let output = AttemptOutput::open_named(path, format.as_deref(), *raw);
            self.output = output.ok().map(|output| output.below(top));
            most = BEFORE;
        }
        let Some(output) = &mut self.output else {
            return changed;
        };
        if output.pass_over_all_but(most).unwrap_or(false) {
            self.lines.push(b"\n... (the whole log: Enter)\n");
        }
        // An agent may print faster than this reads.
        let mut read = 0;
        while read <= most
            && let Ok(Some(piece)) = output.read()
        {
            read += piece.len() as u64 + 1;
            self.lines.push(&piece);
            changed = true;
        }
        self.used = output.usage();
        changed
    }

    /// Returns an unnamed file with the whole output, safe for a terminal.
    pub fn whole(&self, top: &Path, raw: bool) -> io::Result<File> {
        let Some(((path, format), _)) = &self.of else {
            return Err(io::Error::other("no attempt has worked on this story yet"));
        };
        let output = AttemptOutput::open_named(path, format.as_deref(), raw);
        let mut output = output.map_err(io::Error::other)?.below(top);
        let mut filter = AgentOutput::new(true);
        let mut file = tempfile::tempfile()?;
        while let Some(piece) = output.read()? {
            file.write_all(&filter.take(&piece))?;
        }
        file.write_all(&filter.take(&output.rest()))?;
        file.rewind()?;
        Ok(file)
    }
}

/// The states before and after an attempt.
pub(super) enum Sides {
    /// The attempt has ended: two commits.
    Kept(String, String),
    /// The attempt is running: its checkpoint, and the work tree.
    Now(String, WithNewFiles),
}

/// Returns the states before and after an attempt.
///
/// # Errors
/// A line for the user.
pub(super) fn sides(store: &Store, story: &Story, attempt: &Attempt) -> Result<Sides, String> {
    let range = range_of(&store.file("events.jsonl"), &story.id, Some(attempt.number), true);
    if let Some((from, to)) = range.map_err(|error| error.to_string())? {
        return Ok(Sides::Kept(from, to));
    }
    let state = store.load().map_err(|error| error.to_string())?;
    let is_it = |running: &Current| running.id == story.id && running.attempt == attempt.number;
    let state = state.filter(|state| state.attempted().is_some_and(is_it));
    let state = state.ok_or("nothing is kept of this attempt")?;
    let files = WithNewFiles::make_now(store, &state).map_err(|error| error.to_string())?;
    Ok(Sides::Now(state.checkpoint().to_string(), files))
}

/// Maximum number of bytes of a prompt that are shown.
const PROMPT: u64 = 1 << 20;

/// Returns the text of a page.
pub(super) fn page_text(
    page: Page,
    store: &Store,
    story: Option<&Story>,
    attempt: Option<&Attempt>,
    files: Option<&Found>,
) -> Lines {
    let no_attempt = || "no attempt has worked on this story yet".to_owned();
    let text = match (page, story, attempt) {
        (Page::Help, ..) => help(),
        (_, None, _) => "there is no story".to_owned(),
        (Page::Story, Some(story), _) => story_text(store, &story.id, &story.title).unwrap_or_else(|why| why),
        (_, _, None) => no_attempt(),
        (Page::Prompt, Some(story), Some(attempt)) => {
            let file = store.attempt_prompt(&story.id, attempt.number);
            let none =
                "there is no prompt: you, an agent's session or an earlier git-ralph made this attempt";
            read_regular_text(&file, Links::Refused, PROMPT).unwrap_or_else(|_| none.to_owned())
        }
        (Page::Files, ..) => files_text(files),
    };
    let mut lines = Lines::default();
    lines.push(plain(&text).as_bytes());
    lines.push(b"\n");
    lines
}

fn files_text(files: Option<&Found>) -> String {
    match files.map(|(_, files)| files) {
        None => "git has not counted them yet".to_owned(),
        Some(Err(Unknown::TooLong)) => "git takes too long to count them; d shows the difference".to_owned(),
        Some(Err(Unknown::NotNow(why))) => why.clone(),
        Some(Ok(files)) if files.is_empty() => "git sees no change".to_owned(),
        Some(Ok(files)) => {
            let lines = files.iter().map(|(path, letter)| format!("{letter}  {path}\n"));
            lines.collect()
        }
    }
}

fn help() -> String {
    let keys = TABLE
        .iter()
        .map(|row| format!(" {:<20} {}\n", row.keys.join(", "), row.words));
    keys.collect()
}
