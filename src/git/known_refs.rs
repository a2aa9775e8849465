//! Keeps the values of loose refs that were read: a loop with many attempts has many, and reads all of them before and
//! after each attempt.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::ref_file::RefFile;
use super::stamp::Stamp;
use crate::names::Oid;

/// The object ids of refs that were read, by the paths of their files as text: the parts of paths take long to compare.
#[derive(Clone, Debug, Default)]
pub struct KnownRefs(Arc<Mutex<HashMap<OsString, (Stamp, Oid)>>>);

impl KnownRefs {
    /// Reads the regular file of a ref at this time, unless it is known and has not changed since. `found` was seen before: a
    /// file that changes in between has another stamp the next time.
    pub(super) fn read(&self, path: &Path, found: Option<&Metadata>, now: SystemTime) -> RefFile {
        let stamp = found.map(Stamp::of);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, oid)) = known.get(path.as_os_str()).filter(|(was, _)| Some(*was) == stamp) {
            return RefFile::Oid(oid.clone());
        }
        let read = RefFile::read(path);
        if let (Some(stamp), RefFile::Oid(oid)) = (stamp.filter(|stamp| stamp.is_settled(now)), &read) {
            known.insert(path.as_os_str().to_owned(), (stamp, oid.clone()));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::seen_itself;
    use crate::git::stamp::SETTLED;

    #[test]
    fn a_ref_is_read_again_when_its_file_may_have_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("main");
        let value = |digit: &str| format!("{}\n", digit.repeat(40));
        let oid = |digit: &str| RefFile::Oid(Oid::parse(&digit.repeat(40)).unwrap());
        let known = KnownRefs::default();
        let read = |now| known.read(&path, seen_itself(&path).as_ref(), now);
        fs::write(&path, value("1")).unwrap();
        // Just written: the next change may have the same time.
        assert_eq!(read(SystemTime::UNIX_EPOCH), oid("1"));
        assert!(known.0.lock().unwrap().is_empty());
        let later = SystemTime::now() + SETTLED * 2;
        assert_eq!(read(later), oid("1"));
        assert!(known.0.lock().unwrap().contains_key(path.as_os_str()));
        // Git replaces the file by another one.
        let lock = dir.path().join("main.lock");
        fs::write(&lock, value("2")).unwrap();
        fs::rename(&lock, &path).unwrap();
        assert_eq!(read(later), oid("2"));
        fs::remove_file(&path).unwrap();
        assert_eq!(read(later), RefFile::Missing);
    }
}
