//! The commits whose tests the user has stood for.

use serde::{Deserialize, Serialize};

use crate::names::Oid;

/// A stretch of the loop's history: what it changed, the user has seen or allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stood {
    /// The checkpoint before it.
    pub from: Oid,
    /// The checkpoint at its end.
    pub to: Oid,
}
