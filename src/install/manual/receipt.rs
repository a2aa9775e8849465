//! Records the files that installations wrote into a `share` directory, so that a later version, or `--uninstall`, can
//! distinguish them from files that the user changed or created.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::fs::{file_error, read_if_there};

/// Its path below the `share` directory.
pub(super) const PLACE: &str = "git-ralph/installed.json";
/// The format that this version writes, and the newest that it reads.
const VERSION: u32 = 1;

/// The receipt of one `share` directory; paths are relative to it, except for directories above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    version: u32,
    /// Directories that were created.
    pub(super) directories: BTreeSet<PathBuf>,
    /// Files, with every text that may have been written there.
    pub(super) files: BTreeMap<PathBuf, Vec<String>>,
}

impl Default for Receipt {
    fn default() -> Self {
        Self {
            version: VERSION,
            directories: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }
}

impl Receipt {
    /// Reads the receipt; returns `None` if nothing was installed.
    pub(super) fn load(share: &Path) -> Result<Option<Self>, Error> {
        let path = share.join(PLACE);
        let Some(text) = read_if_there(&path)? else {
            return Ok(None);
        };
        let receipt: Self =
            serde_json::from_slice(&text).map_err(|error| file_error("read", &path, error.into()))?;
        if receipt.version > VERSION {
            let newer = io::Error::other("it was written by a newer git-ralph");
            return Err(file_error("read", &path, newer).into());
        }
        Ok(Some(receipt))
    }

    /// Returns whether an installation may have written this text there.
    pub(super) fn knows(&self, place: &Path, text: &[u8]) -> bool {
        self.files
            .get(place)
            .is_some_and(|texts| texts.iter().any(|known| known.as_bytes() == text))
    }

    /// Returns the text of the receipt file.
    pub(super) fn text(&self) -> Result<String, Error> {
        let text = serde_json::to_string(self).map_err(Error::system("note what is installed"))?;
        Ok(text + "\n")
    }
}
