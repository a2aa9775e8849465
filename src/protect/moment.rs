//! The moments of a loop that records describe.

/// The kind of a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The beginning of the loop.
    Start,
    /// The last checkpoint.
    Checkpoint,
}

impl Moment {
    /// Returns the name of a record of that moment.
    pub fn name(self, record: &str) -> String {
        match self {
            Self::Start => format!("{record}.start"),
            Self::Checkpoint => record.to_owned(),
        }
    }
}
