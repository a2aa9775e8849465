//! The settings of the sandbox in which the processes of an attempt run.

use serde::{Deserialize, Serialize};

use super::choices::BoxMode;
use crate::sandbox::Allowed;

/// The sandbox: whether there is one, and what the user makes accessible in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Boxing {
    /// Whether there is a sandbox.
    pub mode: BoxMode,
    /// The additional accessible paths and variables.
    #[serde(flatten)]
    pub allowed: Allowed,
    /// True if lifecycle hooks and trackers' commands run in it too (former setting `ralph.boxCommands`).
    pub has_hooks: bool,
    /// The part that a file of the work tree requires.
    #[serde(skip)]
    pub of_tree: MinimumBox,
}

/// The least box of a loop: what a file of the work tree asked for when the loop began. An attempt can write that file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinimumBox {
    /// Whether there is a sandbox; `off` if no such file requires one.
    #[serde(default, rename = "box")]
    pub mode: BoxMode,
    /// True if lifecycle hooks and trackers' commands run in it too.
    #[serde(default)]
    pub commands: bool,
}

impl MinimumBox {
    /// Drops the part that a setting outside of such a file overrides; its key is in lower case.
    pub(super) fn forget(&mut self, key: &str) {
        match key {
            "ralph.box" => self.mode = BoxMode::Off,
            "ralph.boxcommands" => self.commands = false,
            _ => {}
        }
    }
}

impl BoxMode {
    /// Returns whether nothing may run without a sandbox.
    pub fn is_required(self) -> bool {
        self >= Self::Require
    }
}

impl Boxing {
    /// Returns whether lifecycle hooks and trackers' commands run in it too.
    pub fn is_for_commands(&self) -> bool {
        self.mode == BoxMode::All || self.has_hooks && self.mode != BoxMode::Off
    }

    /// Applies a changed value from a file of the work tree, unless it weakens the sandbox; returns whether it was
    /// applied.
    pub(super) fn take_from_tree(&mut self, changed: Self) -> bool {
        let lists =
            |Self { allowed, .. }: &Self| [&allowed.read, &allowed.written, &allowed.variables].map(Vec::len);
        let opens_more = lists(self).iter().zip(lists(&changed)).any(|(was, is)| is > *was);
        if opens_more || changed.mode < self.mode || self.has_hooks && !changed.has_hooks {
            return false;
        }
        let mut of_tree = self.of_tree;
        if changed.mode > self.mode {
            of_tree.mode = changed.mode;
        }
        of_tree.commands |= changed.has_hooks && !self.has_hooks;
        *self = Self { of_tree, ..changed };
        true
    }
}
