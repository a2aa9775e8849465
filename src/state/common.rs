//! The part of a state that every machine with the loop has: the table `[loop]`, which a remote gets.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Completed, ListNotes, Listed, Progress};
use crate::names::Oid;
use crate::settings::{LoopSettings, Strategy, is_default};
use crate::stories::Source;

/// The part of a state that may leave this machine. A field here must hold nothing that runs a command, no command line
/// (it can contain keys), no path of a machine, and nothing that belongs to one work tree or one process; texts in it
/// are made public when it leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Short name of the branch that HEAD is on during the loop; `HEAD` if it is detached.
    pub branch: String,
    /// The place of the checkpoints.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strategy: Strategy,
    /// Short name of the branch on which the loop began; absent if HEAD was detached.
    pub original_branch: Option<String>,
    /// The commit on which the loop began; absent on a branch without commits.
    pub original_head: Option<Oid>,
    /// The commit "initial state".
    pub initial: Oid,
    /// The latest checkpoint.
    pub checkpoint: Oid,
    /// The tree of the latest checkpoint.
    pub checkpoint_tree: Oid,
    /// Time of the loop's beginning.
    pub started: Timestamp,
    /// The part that the state machine decides.
    #[serde(flatten)]
    pub progress: Progress,
    /// The settings that the loop keeps.
    pub settings: LoopSettings,
    /// The source of the stories.
    pub source: Source,
    /// Stories with a checkpoint that their source has not listed as done since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmarked: Vec<Completed>,
    /// Number of consecutive stories that were complete without any change to the work tree.
    #[serde(default)]
    pub unchanged: u32,
    /// The summary of the story list when it was last read; absent in files of older versions.
    pub listed: Option<Listed>,
    /// Notes on the story list.
    #[serde(default, skip_serializing_if = "is_default")]
    pub list: ListNotes,
    /// The ranges whose changes to tests the user made or allowed since the loop began.
    #[serde(rename = "stood", default, skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<ApprovedRange>,
}

/// A range of checkpoints whose changes the user has seen or allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedRange {
    /// The checkpoint before the range.
    pub from: Oid,
    /// The checkpoint at its end.
    pub to: Oid,
}
