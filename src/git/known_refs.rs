//! Caches the values of loose refs: a loop with many attempts has many refs, and reads all of them before and after
//! each attempt.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::ref_file::RefFile;
use super::stamp::Stamp;
use crate::names::Oid;

/// The object ids of known refs, by the inodes of their files: paths are slow to build and to compare, and the stamp
/// identifies the rest.
#[derive(Clone, Debug, Default)]
pub struct KnownRefs(Arc<Mutex<HashMap<u64, (Stamp, Oid)>>>);

impl KnownRefs {
    /// Reads the regular file of a ref at this time, from memory if it has not changed since. `found` is its earlier
    /// metadata: a file that changes in between has another stamp at the next read.
    pub(super) fn read(
        &self,
        path: impl FnOnce() -> PathBuf,
        found: Option<&Metadata>,
        now: SystemTime,
    ) -> RefFile {
        let stamp = found.map(|found| (found.ino(), Stamp::of(found)));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(inode, now): (u64, Stamp)| known.get(&inode).filter(|(was, _)| *was == now);
        if let Some((_, oid)) = stamp.and_then(is_same) {
            return RefFile::Oid(oid.clone());
        }
        let read = RefFile::read(&path());
        if let (Some((inode, stamp)), RefFile::Oid(oid)) = (stamp, &read)
            && stamp.is_settled(now)
        {
            known.insert(inode, (stamp, oid.clone()));
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
        let read = |now| known.read(|| path.clone(), seen_itself(&path).as_ref(), now);
        fs::write(&path, value("1")).unwrap();
        // Just written: the next change may have the same time.
        assert_eq!(read(SystemTime::UNIX_EPOCH), oid("1"));
        assert!(known.0.lock().unwrap().is_empty());
        let later = SystemTime::now() + SETTLED * 2;
        assert_eq!(read(later), oid("1"));
        let inode = std::fs::metadata(&path).unwrap().ino();
        assert!(known.0.lock().unwrap().contains_key(&inode));
        // Git replaces the file by another one.
        let lock = dir.path().join("main.lock");
        fs::write(&lock, value("2")).unwrap();
        fs::rename(&lock, &path).unwrap();
        assert_eq!(read(later), oid("2"));
        fs::remove_file(&path).unwrap();
        assert_eq!(read(later), RefFile::Missing);
    }
}
