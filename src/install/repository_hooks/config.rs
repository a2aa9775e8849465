//! The repository's configuration: finds the value of `core.hooksPath`, and changes the file so that the change can be
//! undone byte for byte.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fs::{Below, FileError, file_error, read, target_of};
use crate::git::Repo;
use crate::git::index::lock_of;
use crate::paths::real;

/// Returns the path of the file, with symlinks resolved.
pub(super) fn file(common_dir: &Path) -> PathBuf {
    real(&common_dir.join("config"))
}

/// Replaces the file's bytes, if they are still `expected`, under git's own lock. Returns whether it did.
pub(super) fn replace(door: &Below, path: &Path, expected: &[u8], bytes: &[u8]) -> Result<bool, FileError> {
    let lock = lock_of(path);
    let mode = target_of(path)?.map_or(0o644, |found| found.mode() & 0o7777);
    let mut file = door
        .make_file(&lock, 0o600)
        .map_err(|source| file_error("make", &lock, source))?;
    let done = (|| -> io::Result<bool> {
        if read(path).map_err(|error| error.source)? != expected {
            return Ok(false);
        }
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        door.rename(&lock, door, path)?;
        Ok(true)
    })();
    if !matches!(done, Ok(true)) {
        let _ = door.remove_file(&lock);
    }
    done.map_err(|source| file_error("write", path, source))
}

/// A value of `core.hooksPath`, and its scope.
pub(super) struct HooksPath {
    /// The scope, in git's words.
    pub scope: String,
    /// The directory.
    pub value: String,
}

/// Lists the values that git reads, the effective one last; without the one that git-ralph sets for its own calls.
pub(super) async fn hooks_paths(repo: &Repo) -> Result<Vec<HooksPath>, Error> {
    let asked = repo
        .git
        .cmd("config", ["-z", "--show-scope", "--get-all", "core.hooksPath"]);
    let output = asked.any_exit().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split('\0');
    let mut found = Vec::new();
    while let (Some(scope), Some(value)) = (words.next(), words.next()) {
        found.push(HooksPath {
            scope: scope.to_owned(),
            value: value.to_owned(),
        });
    }
    found.pop_if(|last| last.scope == "command" && last.value == "/dev/null");
    Ok(found)
}
