//! A process, as far as it matters here.

use std::path::PathBuf;

/// One entry of the system's table of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// True if it has ended and waits for its parent to notice.
    pub dead: bool,
    pub parent: i32,
    pub session: i32,
    /// True if it has a terminal that can end it, or if that cannot be seen.
    pub on_terminal: bool,
    /// The start, in ticks of the system's own: clock ticks since boot on Linux, seconds since 1970 on other systems.
    pub started: u64,
}

/// The program that a process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// The name of its file, which the system may shorten.
    pub name: Vec<u8>,
    /// The words of its command line; none if they cannot be seen.
    pub words: Vec<Vec<u8>>,
    /// The directory that it works in; `None` if that cannot be seen, as for other users' processes.
    pub directory: Option<PathBuf>,
}
