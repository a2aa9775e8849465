//! Files that gates made and that are in no checkpoint.

use serde::{Deserialize, Serialize};

use crate::names::Oid;
use crate::paths::{percent_decode, percent_encode};

/// A new file that only a gate made. It stays in the work tree and out of every checkpoint while it has this content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateFile {
    /// Its path from the top of the work tree, percent-encoded.
    path: String,
    /// Its blob.
    oid: Oid,
}

impl GateFile {
    /// Describes the file at this path.
    #[must_use]
    pub fn new(path: &[u8], oid: Oid) -> Self {
        Self {
            path: percent_encode(path),
            oid,
        }
    }

    /// Returns its path and its blob.
    #[must_use]
    pub fn entry(&self) -> (Vec<u8>, Oid) {
        (percent_decode(&self.path), self.oid.clone())
    }
}
