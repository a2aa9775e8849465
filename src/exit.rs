//! Exit codes: one table, used by the code, the help and the manual.

use strum::{EnumIter, IntoEnumIterator};

/// The result of a command, as a script sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumIter)]
pub enum Exit {
    /// The step was done.
    Done,
    /// An error: no step is half done, and the message says what to type.
    #[default]
    Error,
    /// The command line is wrong.
    Usage,
    /// The attempt failed, retries are left.
    RetriesLeft,
    /// The attempt failed, retries are spent.
    RetriesSpent,
    /// No story is left to do.
    NoStory,
    /// Stopped at a limit, or by a rate limit.
    Limit,
    /// The user has to decide or act.
    Person,
    /// Another process holds the loop, or another git the repository.
    Busy,
    /// A hook of the guard refused; only the commands that hooks run return this.
    Refused,
    /// This signal ended it; the same command resumes.
    #[strum(disabled)]
    Signal(i32),
}

impl Exit {
    /// Returns the exit code of the process; 128 + n for signal n.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::RetriesLeft => 3,
            Self::RetriesSpent => 4,
            Self::NoStory => 5,
            Self::Limit => 6,
            Self::Person => 7,
            Self::Busy => 75,
            Self::Refused => 76,
            Self::Signal(n) => u8::try_from(128 + n).unwrap_or(u8::MAX),
        }
    }
}

impl From<u8> for Exit {
    /// Returns the result with this code; an error if there is none.
    fn from(code: u8) -> Self {
        match code {
            129.. => Self::Signal(i32::from(code) - 128),
            _ => Self::iter().find(|exit| exit.code() == code).unwrap_or_default(),
        }
    }
}

/// Each code, its meaning, and the next step of a script: a table of the manual and of docs/scripting.md.
pub const TABLE: &[(&str, &str, &str)] = &[
    (
        "0",
        "the step was done (next: story checkpointed; run: every story complete)",
        "go on",
    ),
    (
        "1",
        "error; nothing is left half done, and the message says what to type",
        "stop",
    ),
    ("2", "wrong usage", "stop"),
    ("3", "the attempt failed, retries are left", "git ralph retry"),
    (
        "4",
        "the attempt failed, retries are spent",
        "git ralph finish or git ralph skip",
    ),
    ("5", "no story is left to do", "git ralph finish"),
    (
        "6",
        "stopped at a limit or by a rate limit",
        "run the same command later",
    ),
    ("7", "manual intervention needed", "stop, and look at the message"),
    (
        "75",
        "another process or an agent's session holds this loop, or another git the repository",
        "try again later",
    ),
    ("128+n", "ended by signal n", "run the same command to resume"),
];
