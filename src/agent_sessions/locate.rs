//! Finds the loop of a session without a process: agents call their hooks in every directory.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::git::{LayoutHead, RepoLayout};
use crate::names::Change;
use crate::state::{self, StateError, Store};

/// The loop of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopHere {
    /// The top directory of the work tree.
    pub top: PathBuf,
    /// The change, if HEAD names it.
    pub change: Option<Change>,
}

/// Finds the live loop around `dir` that uses the user's branch, or whose branch is checked out there.
pub fn locate(dir: &Path) -> Result<Option<LoopHere>, Error> {
    let Some((top, layout)) = RepoLayout::above(dir) else {
        return Ok(None);
    };
    let is_live = |change: &Change| -> Result<bool, StateError> {
        let state = Store::new(&layout.common_dir, change).load()?;
        Ok(state.is_some_and(|state| state.is_live()))
    };
    for change in state::changes(&layout.common_dir)? {
        let state = Store::new(&layout.common_dir, &change).load_live()?;
        if state.is_some_and(|state| !state.has_branch() && state.work_tree() == top) {
            let change = Some(change);
            return Ok(Some(LoopHere { top, change }));
        }
    }
    let change = match layout.head() {
        LayoutHead::Detached(_) => return Ok(None),
        LayoutHead::Branch(name) => {
            let change = name.strip_prefix("refs/heads/ralph/").map(Change::new);
            let Some(Ok(change)) = change else {
                return Ok(None);
            };
            if !is_live(&change)? {
                return Ok(None);
            }
            Some(change)
        }
        LayoutHead::Unknown => {
            let known = state::changes(&layout.common_dir)?;
            if !known.iter().any(|change| is_live(change).unwrap_or(true)) {
                return Ok(None);
            }
            None
        }
    };
    Ok(Some(LoopHere { top, change }))
}
