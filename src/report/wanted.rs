//! The parts that a report has.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::changes::Diffs;
use super::redact::Redaction;
use crate::names::Oid;

/// The options of a report.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The detail in which changes are shown.
    pub diffs: Diffs,
    /// True if the end of each attempt's output is included.
    pub logs: bool,
    /// Time before which ended attempts and events are left out.
    pub since: Option<Timestamp>,
    /// Expressions whose matches are replaced.
    pub redaction: Redaction,
    /// The configured web address of a commit, with `{oid}` in it.
    pub link: Option<String>,
    /// The commits of refs that keep attempts, of a loop whose refs are not here.
    pub kept: BTreeMap<String, Oid>,
}
