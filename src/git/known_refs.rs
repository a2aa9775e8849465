//! Keeps the values of loose refs that were read: a loop with many attempts has many, and reads all of them before and
//! after each attempt.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::ref_file::RefFile;
use super::stamp::Stamp;
use crate::fs::seen_itself;
use crate::names::Oid;

/// The object ids of refs that were read, by the paths of their files.
#[derive(Clone, Debug, Default)]
pub struct KnownRefs(Arc<Mutex<HashMap<PathBuf, (Stamp, Oid)>>>);

impl KnownRefs {
    /// Reads the regular file of a ref at this time, unless it is known and has not changed since.
    pub(super) fn read(&self, path: &Path, now: SystemTime) -> RefFile {
        // Before the content: a file that changes in between has another stamp the next time.
        let stamp = seen_itself(path).map(|file| Stamp::of(&file));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, oid)) = known.get(path).filter(|(was, _)| Some(*was) == stamp) {
            return RefFile::Oid(oid.clone());
        }
        let read = RefFile::read(path);
        if let (Some(stamp), RefFile::Oid(oid)) = (stamp.filter(|stamp| stamp.is_settled(now)), &read) {
            known.insert(path.to_owned(), (stamp, oid.clone()));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::stamp::SETTLED;

    #[test]
    fn a_ref_is_read_again_when_its_file_may_have_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("main");
        let value = |digit: &str| format!("{}\n", digit.repeat(40));
        let oid = |digit: &str| RefFile::Oid(Oid::parse(&digit.repeat(40)).unwrap());
        let known = KnownRefs::default();
        fs::write(&path, value("1")).unwrap();
        // Just written: the next change may have the same time.
        assert_eq!(known.read(&path, SystemTime::UNIX_EPOCH), oid("1"));
        assert!(known.0.lock().unwrap().is_empty());
        let later = SystemTime::now() + SETTLED * 2;
        assert_eq!(known.read(&path, later), oid("1"));
        assert!(known.0.lock().unwrap().contains_key(&path));
        // Git replaces the file by another one.
        let lock = dir.path().join("main.lock");
        fs::write(&lock, value("2")).unwrap();
        fs::rename(&lock, &path).unwrap();
        assert_eq!(known.read(&path, later), oid("2"));
        fs::remove_file(&path).unwrap();
        assert_eq!(known.read(&path, later), RefFile::Missing);
    }
}
