//! Sets or clears the times of files in an index (gitformat-index(5)) without reading the files: its other content,
//! including cached trees, stays valid.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::checksum::seal;
use super::discover::Repo;
use super::error::GitError;

use crate::fs::{path_below, seen_itself};

/// Length of an entry's times, in bytes: the change time and the modification time, each in seconds and nanoseconds.
const TIMES: usize = 16;

/// The lower 32 bits: an index stores no more of a number.
fn low(number: impl TryInto<i128>) -> [u8; 4] {
    let number: i128 = number.try_into().unwrap_or_default();
    u32::try_from(number & 0xffff_ffff)
        .unwrap_or_default()
        .to_be_bytes()
}

impl Repo {
    /// Updates the times of files of which only the times have changed since git recorded them. Returns `false`, with
    /// the index unchanged, if that is not certain for all of them. No other process may use this index.
    pub fn note_times(&self, index: &Path, paths: &[Vec<u8>]) -> Result<bool, GitError> {
        let read = self.read_index(index)?;
        let Some(parsed) = read.index() else {
            return Ok(false);
        };
        let bytes = read.bytes().to_vec();
        let mut changes = Vec::new();
        for path in paths {
            let Some(start) = parsed.start_of(path) else {
                return Ok(false);
            };
            let Some(file) = seen_itself(&path_below(&self.top, path)) else {
                return Ok(false);
            };
            // The inode, the owner, the group and the size; git normalizes the mode, and may leave out the device.
            let same = [
                (20, low(file.ino())),
                (28, low(file.uid())),
                (32, low(file.gid())),
                (36, low(file.size())),
            ];
            if same
                .iter()
                .any(|(at, value)| bytes.get(start + at..start + at + 4) != Some(value))
            {
                return Ok(false);
            }
            let times = [
                low(file.ctime()),
                low(file.ctime_nsec()),
                low(file.mtime()),
                low(file.mtime_nsec()),
            ];
            changes.push((start, times.concat()));
        }
        self.write_times(index, bytes, &changes)
    }

    /// Clears the times of files, so that git reads them again. Returns `false`, with the index unchanged, if the index
    /// cannot be changed. No other process may use it.
    pub fn forget_times(&self, index: &Path, paths: &[Vec<u8>]) -> Result<bool, GitError> {
        if paths.is_empty() {
            return Ok(true);
        }
        let read = self.read_index(index)?;
        let Some(parsed) = read.index() else {
            return Ok(false);
        };
        let starts = paths.iter().filter_map(|path| parsed.start_of(path));
        let changes: Vec<_> = starts.map(|start| (start, vec![0; TIMES])).collect();
        self.write_times(index, read.bytes().to_vec(), &changes)
    }

    /// Writes times at these offsets of an index with these bytes.
    fn write_times(
        &self,
        index: &Path,
        mut bytes: Vec<u8>,
        changes: &[(usize, Vec<u8>)],
    ) -> Result<bool, GitError> {
        for (start, times) in changes {
            if let Some(noted) = bytes.get_mut(*start..start + times.len()) {
                noted.copy_from_slice(times);
            }
        }
        if !seal(&mut bytes, self.oid_length) {
            return Ok(false);
        }
        self.door(index).replace(index, |file| {
            file.write_all(&bytes)?;
            file.set_permissions(fs::Permissions::from_mode(0o600))
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::git::{Git, discover};

    #[test]
    fn git_sees_no_change_in_a_file_whose_new_time_was_noted() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            for format in ["sha1", "sha256"] {
                let dir = tempfile::tempdir().unwrap();
                let git = Git::at(dir.path()).with_own_identity(true);
                git.cmd("init", ["-q", "--object-format", format])
                    .done()
                    .await
                    .unwrap();
                let (repo, _) = discover(dir.path()).await.unwrap();
                for name in ["a", "b/c", "d"] {
                    let file = repo.top.join(name);
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::write(file, name).unwrap();
                }
                git.cmd("add", ["-A"]).done().await.unwrap();
                git.cmd("commit", ["-q", "-m", "x"]).done().await.unwrap();
                let held = repo.held_tree(&repo.index());
                let later = SystemTime::now() + Duration::from_secs(3600);
                let touch = |name: &str| File::open(repo.top.join(name)).unwrap().set_modified(later);
                let changed = async || {
                    let asked = git.cmd("diff-files", ["--name-only", "-z"]).fields().await;
                    asked.unwrap()
                };
                touch("b/c").unwrap();
                touch("d").unwrap();
                assert_eq!(changed().await.len(), 2);
                let noted = repo.note_times(&repo.index(), &[b"b/c".to_vec(), b"d".to_vec()]);
                assert!(noted.unwrap());
                assert!(changed().await.is_empty());
                assert!(repo.is_intact(&repo.index()).unwrap());
                assert!(held.is_some() && held == repo.held_tree(&repo.index()));
                // Changed content, an untracked file, and a missing one.
                fs::write(repo.top.join("a"), "other").unwrap();
                fs::write(repo.top.join("new"), "").unwrap();
                fs::remove_file(repo.top.join("d")).unwrap();
                let before = fs::read(repo.index()).unwrap();
                for name in ["a", "new", "d"] {
                    assert!(!repo.note_times(&repo.index(), &[name.into()]).unwrap(), "{name}");
                }
                assert_eq!(fs::read(repo.index()).unwrap(), before);
            }
        });
    }
}
