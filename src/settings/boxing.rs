//! The settings of the box in which the processes of an attempt run.

use serde::{Deserialize, Serialize};

/// Whether the processes of an attempt run in a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoxMode {
    /// They do not.
    #[default]
    Off,
    /// They do where that works; elsewhere this is told.
    On,
    /// They do, or there is no attempt.
    Require,
}

/// The box: whether there is one, and what the user adds to what is seen in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Boxing {
    /// Whether there is one.
    pub mode: BoxMode,
    /// Paths that can be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Paths that can be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// Names of variables that are seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// True if lifecycle hooks and the commands of trackers run in it too.
    pub has_hooks: bool,
}
