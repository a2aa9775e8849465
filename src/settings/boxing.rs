//! The settings of the box in which the processes of an attempt run.

use serde::{Deserialize, Serialize};

use super::choices::BoxMode;
use crate::sandbox::Allowed;

/// The box: whether there is one, and what the user adds to what is seen in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Boxing {
    /// Whether there is one.
    pub mode: BoxMode,
    /// Lists what is seen in it as well.
    #[serde(flatten)]
    pub allowed: Allowed,
    /// True if lifecycle hooks and the commands of trackers run in it too, as the former setting `ralph.boxCommands` says.
    pub has_hooks: bool,
    /// The part of it that a file of the work tree asks for.
    #[serde(skip)]
    pub of_tree: Least,
}

/// The least box of a loop: what a file of the work tree asked for when the loop began. An attempt can write that file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Least {
    /// Whether there is one; `off` if no such file asks for it.
    #[serde(default, rename = "box")]
    pub mode: BoxMode,
    /// True if lifecycle hooks and the commands of trackers run in it too.
    #[serde(default)]
    pub commands: bool,
}

impl Least {
    /// Forgets what a setting that is not in such a file overrides; its key is in lower case.
    pub(super) fn forget(&mut self, key: &str) {
        match key {
            "ralph.box" => self.mode = BoxMode::Off,
            "ralph.boxcommands" => self.commands = false,
            _ => {}
        }
    }
}

impl BoxMode {
    /// Returns whether nothing runs without it.
    pub fn is_required(self) -> bool {
        self >= Self::Require
    }
}

impl Boxing {
    /// Returns whether lifecycle hooks and the commands of trackers run in it too.
    pub fn is_for_commands(&self) -> bool {
        self.mode == BoxMode::All || self.has_hooks && self.mode != BoxMode::Off
    }

    /// Takes the change of a value that is in a file of the work tree, where the box is not weaker with it; returns whether
    /// it does.
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
