//! The record of an attempt's work while gates run with the tests of the last checkpoint in its place.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::git::Head;
use crate::names::Oid;

/// The place of what an attempt left, while the work tree has other tests: whoever finds this puts it back first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldTests {
    /// The tree of the work tree.
    pub tree: Oid,
    /// The commit that keeps it, at `refs/ralph/<change>/judged`.
    pub commit: Oid,
    /// Time before the first file was changed.
    pub since: Timestamp,
    /// The branch of HEAD; absent if it is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit of HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// The tip of the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
}

impl HeldTests {
    /// Returns where HEAD was.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            branch: self.branch.clone(),
            oid: self.head.clone(),
        }
    }
}
