//! The moments of a loop that records describe.

/// The kind of a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The beginning of the loop.
    Start,
    /// The last checkpoint.
    Checkpoint,
    /// The work of an attempt, while gates run with the tests of the checkpoint in its place.
    Judged,
}

impl Moment {
    /// Returns the name of a record of that moment.
    pub fn name(self, record: &str) -> String {
        match self {
            Self::Start => format!("{record}.start"),
            Self::Checkpoint => record.to_owned(),
            Self::Judged => format!("{record}.judged"),
        }
    }
}
