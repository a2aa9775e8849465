//! Caches index files. Reading a large index takes longer than most queries of it, and a step makes several.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::index_file::IndexFile;
use super::stamp::Stamp;
use crate::fs::{Links, open_regular};

/// The cached index files, by path.
#[derive(Clone, Debug, Default)]
pub struct KnownIndexes(Arc<Mutex<HashMap<PathBuf, Known>>>);

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    file: Arc<IndexFile>,
}

impl KnownIndexes {
    /// Reads an index file at this time, from memory if it has not changed since; `oid` is the length of an object id
    /// in bytes.
    pub(super) fn read(&self, path: &Path, oid: usize, now: SystemTime) -> io::Result<Arc<IndexFile>> {
        let mut file = open_regular(path, Links::Followed)?;
        let stamp = Stamp::of(&file.metadata()?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(path).filter(|known| known.stamp == stamp) {
            return Ok(Arc::clone(&known.file));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let file = Arc::new(IndexFile::new(bytes, oid));
        if stamp.is_settled(now) {
            let file = Arc::clone(&file);
            known.insert(path.to_owned(), Known { stamp, file });
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use super::*;
    use crate::git::stamp::SETTLED;

    const LENGTH: usize = 20;

    fn changed(path: &Path) -> SystemTime {
        let file = fs::metadata(path).unwrap();
        let since = Duration::new(
            file.ctime().try_into().unwrap(),
            file.ctime_nsec().try_into().unwrap(),
        );
        SystemTime::UNIX_EPOCH + since
    }

    #[test]
    fn an_index_is_read_once_while_it_certainly_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        fs::write(&path, "one").unwrap();
        let known = KnownIndexes::default();
        let later = changed(&path) + SETTLED * 2;
        let read = |now| known.read(&path, LENGTH, now).unwrap();
        let first = read(later);
        assert!(Arc::ptr_eq(&first, &read(later)));
        // Git replaces its index by another file.
        let other = dir.path().join("index.lock");
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(read(later).bytes(), b"two");
        fs::remove_file(&path).unwrap();
        assert!(known.read(&path, LENGTH, later).is_err());
    }

    #[test]
    fn an_index_that_is_too_large_for_the_memory_is_an_error() {
        // The only file system here that takes a file of this size.
        let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
            return;
        };
        let path = dir.path().join("index");
        let file = File::create(&path).unwrap();
        if file.set_len(1 << 62).is_err() {
            return;
        }
        let known = KnownIndexes::default();
        assert!(known.read(&path, LENGTH, SystemTime::now()).is_err());
    }

    #[test]
    fn an_index_that_was_just_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let known = KnownIndexes::default();
        // The same size and inode. Whether the change time differs depends on the system's clock.
        for content in ["one", "two", "six"] {
            fs::write(&path, content).unwrap();
            let now = changed(&path) + SETTLED;
            let read = known.read(&path, LENGTH, now).unwrap();
            assert_eq!(read.bytes(), content.as_bytes());
            assert!(known.0.lock().unwrap().is_empty());
        }
    }
}
