//! Moves of refs, as data: what a ref transaction does, and what a written intent remembers of it.

use serde::{Deserialize, Serialize};

use crate::names::Oid;

/// A ref and what it must keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRef {
    /// Full ref name.
    pub name: String,
    /// The object.
    pub oid: Oid,
}

/// One line of a ref transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Moves a ref from `old` (`None`: it must not exist) to `new`.
    Move {
        /// Full name.
        name: String,
        /// New value.
        new: Oid,
        /// Expected old value.
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<Oid>,
    },
    /// Sets a ref whatever it was; for refs that only git-ralph writes.
    Set {
        /// Full name.
        name: String,
        /// New value.
        new: Oid,
    },
    /// Deletes a ref that is at `old`.
    Delete {
        /// Full name.
        name: String,
        /// Expected old value.
        old: Oid,
    },
}

impl Update {
    /// Keeps an object under a name of git-ralph's own.
    #[must_use]
    pub fn keep(kept: &KeptRef) -> Self {
        Self::Set {
            name: kept.name.clone(),
            new: kept.oid.clone(),
        }
    }

    /// The move as a line of `git update-ref --stdin`.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Move { name, new, old } => {
                let old = old.as_ref().map_or_else(|| new.zero_like(), ToString::to_string);
                format!("update {name} {new} {old}\n")
            }
            Self::Set { name, new } => format!("update {name} {new}\n"),
            Self::Delete { name, old } => format!("delete {name} {old}\n"),
        }
    }
}
