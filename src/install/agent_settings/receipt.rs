//! Records, by path, what was created for hooks in settings of agents and is not visible there afterwards. Saves no text
//! of a setting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::edit::Empties;
use super::error::{SettingsFileError, failed};
use crate::fs::{Durability, make_named_dir, read_if_there, remove_named, remove_named_dir, write_named};
use crate::paths::of_user;

/// The things created for one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Made {
    /// True if the file itself was created.
    pub file: bool,
    /// True if its directory was created.
    pub directory: bool,
    /// The text between brackets that were empty.
    pub empties: Empties,
}

/// The receipts of all files.
pub(super) struct Receipts {
    path: Option<PathBuf>,
    files: BTreeMap<PathBuf, Made>,
}

impl Receipts {
    /// Reads the receipts; returns none if there is no place for them.
    pub fn load() -> Result<Self, SettingsFileError> {
        let state = of_user("XDG_STATE_HOME", ".local/state");
        let path = state.map(|state| state.join("git-ralph/agent-hooks.json"));
        let bytes = path.as_deref().map(read_if_there).transpose()?.flatten();
        let bytes = bytes.unwrap_or_else(|| b"{}".to_vec());
        let files = serde_json::from_slice(&bytes)
            .map_err(|error| failed("read", path.as_deref().unwrap_or(Path::new("")), error.into()))?;
        Ok(Self { path, files })
    }

    pub fn of(&self, file: &Path) -> Option<Made> {
        self.files.get(file).cloned()
    }

    /// Changes the receipt of a file, and saves all; leaves no file if there are none.
    pub fn put(&mut self, file: &Path, made: Option<Made>) -> Result<(), SettingsFileError> {
        match made {
            Some(made) => self.files.insert(file.to_owned(), made),
            None => self.files.remove(file),
        };
        let Some(path) = &self.path else { return Ok(()) };
        let dir = path.parent().unwrap_or(Path::new("/"));
        if self.files.is_empty() {
            let _ = remove_named(path);
            let _ = remove_named_dir(dir);
            return Ok(());
        }
        make_named_dir(dir, 0o700)?;
        let text =
            serde_json::to_vec_pretty(&self.files).map_err(|source| failed("write", path, source.into()))?;
        write_named(path, &text, 0o600, Durability::Atomic)?;
        Ok(())
    }
}
