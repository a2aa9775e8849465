//! A process, as far as it matters here.

/// One entry of the system's table of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// True if it has ended and waits for its parent to notice.
    pub dead: bool,
    pub parent: i32,
    pub session: i32,
    /// True if it has a terminal that can end it, or if that cannot be seen.
    pub on_terminal: bool,
    /// The start, in ticks of the system's own: clock ticks since boot on Linux, seconds since 1970 elsewhere.
    pub started: u64,
}
