//! Modification times of restored files. Build tools that compare whole seconds (Python's bytecode cache) miss a change
//! if a file of the same size is changed and restored within one second: such a file gets the next second.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::fs::{path_below, seen_itself};

/// Modification times before files are restored: seconds, nanoseconds and inode, by path.
#[derive(Debug, Default)]
pub(super) struct Times(BTreeMap<Vec<u8>, (i64, i64, u64)>);

impl Times {
    /// Records the times of files that may be restored; the first recorded time of a file stays.
    pub fn note<'p>(&mut self, top: &Path, paths: impl Iterator<Item = &'p Vec<u8>>) {
        for path in paths {
            if let Some(time) = time_of(top, path) {
                self.0.entry(path.clone()).or_insert(time);
            }
        }
    }

    /// Sets the next second on files that were rewritten within the second of their previous content. Returns their
    /// paths.
    pub fn make_distinct(self, top: &Path) -> Vec<Vec<u8>> {
        let mut changed = Vec::new();
        for (path, was) in self.0 {
            let is_in_same_second = |is: (i64, i64, u64)| is.0 == was.0 && is != was;
            if !time_of(top, &path).is_some_and(is_in_same_second) {
                continue;
            }
            let file = path_below(top, &path);
            let next = u64::try_from(was.0).unwrap_or_default() + 1;
            let next = SystemTime::UNIX_EPOCH + Duration::from_secs(next);
            // A build cannot use a file that cannot be opened.
            if File::open(&file).and_then(|file| file.set_modified(next)).is_ok() {
                changed.push(path);
            }
        }
        changed
    }
}

fn time_of(top: &Path, path: &[u8]) -> Option<(i64, i64, u64)> {
    let found = seen_itself(&path_below(top, path))?;
    found
        .is_file()
        .then(|| (found.mtime(), found.mtime_nsec(), found.ino()))
}
