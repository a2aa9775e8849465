//! Decides whether a file is unchanged since the last read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// Time after which a new change to a file certainly changes its change time: more than a tick of the file systems'
/// clock.
pub(super) const SETTLED: Duration = Duration::from_millis(50);

/// Identifies the state of a file that was not changed immediately before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of the file that has this metadata.
    pub fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }

    /// Returns whether any later change gives the file another stamp.
    pub fn is_settled(self, now: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1)) else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        now.duration_since(changed).is_ok_and(|age| age > SETTLED)
    }
}
