//! The output of the attempt that is shown: read from its log, as far as it is there.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;

use super::lines::Lines;
use super::model::{Attempt, Story};
use crate::events::log::range_of;
use crate::inspect::attempt_output::AttemptOutput;
use crate::state::Store;
use crate::ui::shown::AgentOutput;

/// The most bytes that are read of what was printed before.
const BEFORE: u64 = 2 << 20;
/// The most bytes that are read of what was printed since the last look: nobody reads more in that time.
const SINCE: u64 = 128 << 10;

/// A log, and the name of its format.
type Log = (PathBuf, Option<String>);

/// The output on the screen.
#[derive(Default)]
pub(super) struct Showing {
    of: Option<(Log, bool)>,
    output: Option<AttemptOutput>,
    pub lines: Lines,
}

impl Showing {
    /// Reads on in this log; returns true if there is something new.
    pub fn look(&mut self, log: Option<Log>, raw: bool) -> bool {
        let of = log.map(|log| (log, raw));
        let mut changed = self.of != of;
        if changed {
            self.of = of;
            self.output = None;
            self.lines = Lines::default();
        }
        let mut most = SINCE;
        if self.output.is_none()
            && let Some(((path, format), raw)) = &self.of
        {
            self.output = AttemptOutput::open_named(path, format.as_deref(), *raw).ok();
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
        changed
    }

    /// Returns a file without a name with the whole output, fit for a terminal.
    pub fn whole(&self, raw: bool) -> io::Result<File> {
        let Some(((path, format), _)) = &self.of else {
            return Err(io::Error::other("nobody has worked on this story yet"));
        };
        let mut output = AttemptOutput::open_named(path, format.as_deref(), raw).map_err(io::Error::other)?;
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

/// Returns the two states that an attempt lies between, once it has ended.
pub(super) fn range(store: &Store, story: &Story, attempt: &Attempt) -> Option<(String, String)> {
    range_of(&store.file("events.jsonl"), &story.id, Some(attempt.number)).ok()?
}
