//! Files that gates made and that are in no checkpoint.

use serde::{Deserialize, Serialize};

use crate::git::StagedEntry;
use crate::names::Oid;
use crate::paths::{percent_decode, percent_encode};

/// A new file that only a gate made. It stays in the work tree and out of every checkpoint while it has this content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateFile {
    /// Its path from the top of the work tree, percent-encoded.
    path: String,
    /// Its mode, as an index has it.
    mode: String,
    /// Its blob, which the ref `refs/ralph/<change>/gate-files` keeps.
    oid: Oid,
}

impl GateFile {
    /// Describes a file by the entry of an index.
    pub fn of(entry: &StagedEntry) -> Self {
        Self {
            path: percent_encode(&entry.path),
            mode: entry.mode.clone(),
            oid: entry.oid.clone(),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> Vec<u8> {
        percent_decode(&self.path)
    }

    /// Returns its entry of an index.
    pub fn entry(&self) -> StagedEntry {
        StagedEntry {
            path: self.path(),
            mode: self.mode.clone(),
            oid: self.oid.clone(),
        }
    }
}
