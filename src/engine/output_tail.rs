//! The end of a process's output, for reasons and prompts.

use std::fs::File;

use crate::events::Stretch;

/// Number of lines of output that go into a reason.
const LINES: usize = 40;

/// Returns the part of a log after its first `from` bytes; `None` if that cannot be told.
pub(crate) fn printed(log: &File, from: Option<u64>) -> Option<Stretch> {
    let (from, to) = (from?, length(log)?);
    Some(Stretch { from, to })
}

/// Returns the length of a log in bytes; `None` if that cannot be told.
pub(super) fn length(log: &File) -> Option<u64> {
    log.metadata().ok().map(|about| about.len())
}

/// The end of some output, limited in size.
#[derive(Default)]
pub(crate) struct OutputTail(Vec<u8>);

impl OutputTail {
    const KEPT: usize = 16 * 1024;

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let excess = self.0.len().saturating_sub(Self::KEPT);
        self.0.drain(..excess);
    }

    /// Returns the last lines.
    pub(crate) fn text(&self) -> String {
        let text = self.all();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// Returns the whole kept output.
    pub(super) fn all(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}
