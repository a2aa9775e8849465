//! Records of data that git does not store and an attempt must not lose, in `unversioned/` in the slot: lists of paths,
//! permissions, inventories, and copies of small ignored files. They are never git objects: a mirror push must not
//! publish an ignored secret.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::Site;
use crate::fs::{
    Below, Durability, FileError, Links, file_error, is_directory, kind_of, may_exist, path_below,
    read_regular,
};
use crate::git::{joined_z, split_z};
use crate::paths::parents;

/// Paths relative to the top.
pub(super) type Paths = BTreeSet<Vec<u8>>;

/// The records of a loop.
#[derive(Clone, Debug)]
pub(super) struct Records {
    pub(super) dir: PathBuf,
    pub(super) top: PathBuf,
    /// The handle for `dir`.
    pub(super) door: Below,
}

impl Records {
    /// Returns the records of this loop.
    pub fn of(site: Site<'_>) -> Self {
        Self {
            dir: site.file("unversioned"),
            top: site.repo.top.clone(),
            door: site.own_door(),
        }
    }

    /// Returns whether such a record exists; it is gone if an agent deleted the slot.
    pub fn knows(&self, name: &str) -> bool {
        may_exist(&self.dir.join(name))
    }

    /// Reads a list of paths.
    pub fn paths(&self, name: &str) -> Result<Paths, FileError> {
        Ok(split_z(&self.read(name)?).into_iter().collect())
    }

    /// Saves a list of paths.
    pub fn save_paths(&self, name: &str, paths: &Paths) -> Result<(), FileError> {
        self.write(name, &joined_z(paths))
    }

    /// Removes a list of paths.
    pub fn forget_paths(&self, name: &str) -> Result<(), FileError> {
        self.door.remove_file(&self.dir.join(name))
    }

    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
        let path = self.dir.join(name);
        match read_regular(&path, Links::Refused, u64::MAX) {
            Ok(bytes) => Ok(bytes),
            // The records may have been deleted with the loop's directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(file_error("read", &path, error)),
        }
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.dir.join(name);
        // Most records do not change from story to story.
        let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if read_regular(&path, Links::Refused, most).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        self.door.make_dir(&self.dir, 0o777)?;
        self.door.write(&path, bytes, 0o600, Durability::Atomic)
    }
}

/// Removes copies below `dir` that block the copy of the file `path`: a file became a directory, or the reverse.
pub(super) fn make_room(door: &Below, dir: &Path, path: &[u8]) -> Result<(), FileError> {
    for above in parents(path) {
        let above = path_below(dir, above);
        if kind_of(&above)?.is_some_and(|found| !found.is_dir()) {
            door.remove_file(&above)?;
        }
    }
    let copy = path_below(dir, path);
    if is_directory(&copy)? {
        door.remove(&copy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn unchanged_record_is_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records {
            dir: dir.path().join("unversioned"),
            top: dir.path().to_owned(),
            door: Below::new(dir.path()),
        };
        let file = records.dir.join("inventory");
        let write = |bytes: &[u8]| {
            records.write("inventory", bytes).unwrap();
            assert_eq!(fs::read(&file).unwrap(), bytes);
            file.metadata().unwrap().ino()
        };
        for (bytes, longer) in [(&b""[..], &b"a\0"[..]), (b"a\0", b"a\0b\0")] {
            let first = write(bytes);
            assert_eq!(write(bytes), first);
            assert_ne!(write(longer), first);
            assert_ne!(write(bytes), write(longer));
        }
    }
}
