//! Permissions that the owner of a file needs, and removal of special files from git-ralph's directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};

use super::below::Below;
use super::error::{FileError, file_error};
use super::looking::is_special;
use super::place::widened;
use super::reading::has_other_names;

/// Returns the umask: the permissions that new files and directories do not get.
pub fn umask_now() -> u32 {
    // The only way to read the umask is to set it.
    let mask = umask(Mode::from_bits_truncate(0o022));
    umask(mask);
    widened(mask.bits())
}

/// Returns whether a path exists whose owner lacks one of these permissions (for a directory, any permission).
pub fn lacks(path: &Path, needed: u32) -> bool {
    path.symlink_metadata().is_ok_and(|found| {
        let needed = if found.is_dir() { 0o700 } else { needed };
        !found.is_symlink() && found.permissions().mode() & needed != needed
    })
}

impl Below {
    /// Removes symlinks, pipes, sockets and devices from a directory, but not from its subdirectories; returns their
    /// paths. The target of a symlink is not touched.
    pub fn remove_specials(&self, dir: &Path) -> Result<Vec<PathBuf>, FileError> {
        let entries = fs::read_dir(self.path(dir)).map_err(|source| file_error("read", dir, source))?;
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let specials: Vec<PathBuf> = paths.filter(|path| is_special(path)).collect();
        for path in &specials {
            self.remove_file(path)?;
        }
        Ok(specials)
    }

    /// Gives the owner these permissions (for a directory, all of them); returns whether they were missing.
    pub fn give(&self, path: &Path, needed: u32) -> bool {
        if !lacks(&self.path(path), needed) {
            return false;
        }
        self.path(path).symlink_metadata().is_ok_and(|found| {
            let needed = if found.is_dir() { 0o700 } else { needed };
            let mode = (found.permissions().mode() | needed) & 0o7777;
            !has_other_names(&found) && self.set_mode(path, mode).is_ok()
        })
    }

    /// Gives the owner read access to the user's files below the directory `dir` (and write access to directories);
    /// returns how many modes changed. Skips git's own directories.
    pub fn make_accessible(&self, dir: &Path) -> usize {
        let mut changed = 0;
        let mut open = vec![self.path(dir)];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().filter_map(Result::ok) {
                let path = entry.path();
                let Ok(metadata) = path.symlink_metadata() else {
                    continue;
                };
                let needed = match metadata.file_type() {
                    kind if kind.is_dir() => 0o700,
                    kind if kind.is_file() => 0o400,
                    _ => continue,
                };
                let mode = metadata.permissions().mode();
                if mode & needed != needed && !has_other_names(&metadata) {
                    // The mode that a new file would get: the old modes are unknown.
                    let usual = if metadata.is_dir() { 0o777 } else { 0o666 } & !umask_now();
                    let better = (mode | needed | usual) & 0o7777;
                    changed += usize::from(self.set_mode(&path, better).is_ok());
                }
                if metadata.is_dir() && entry.file_name() != ".git" {
                    open.push(path);
                }
            }
        }
        changed
    }
}
