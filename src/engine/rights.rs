//! Permissions that an attempt took away, from files and directories that are to be put back or that git
//! itself has to write (hazard D15). They are given back when nothing of the attempt is alive.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Session;
use super::touched::tracked_directories;
use crate::fs::{give, lacks, umask_now};

/// What git has to write in a repository; one of these without our rights means that all need a look.
const GITS: &[&str] = &[
    "",
    "HEAD",
    "config",
    "index",
    "objects",
    "refs",
    "refs/heads",
    "refs/heads/ralph",
    "refs/ralph",
    "logs",
    "info",
    "hooks",
    "ralph",
];

impl Session<'_> {
    /// Gives us back the top directory and what git has to write. A few looks where nothing is wrong.
    pub(super) fn take_rights_back(&mut self) {
        let repo = &self.engine.repo;
        let mut opened = usize::from(make_usual(&repo.top));
        // In a linked work tree it is a file.
        opened += usize::from(give(&repo.top.join(".git"), 0o600));
        let (own, common) = (repo.git_dir.clone(), repo.common_dir.clone());
        let mut dirs = vec![common];
        if !dirs.contains(&own) {
            dirs.push(own);
        }
        for dir in dirs {
            let logs = dir.join("logs/HEAD");
            let closed = GITS.iter().any(|name| lacks(&dir.join(name), 0o400)) || lacks(&logs, 0o600);
            if closed || lacks(&self.store.file(""), 0o400) {
                opened +=
                    open(&dir, 0o400) + open(&dir.join("logs"), 0o600) + open(&dir.join("ralph"), 0o600);
            }
        }
        if opened > 0 {
            self.tell("the attempt took permissions away from the repository; they are given back");
        }
    }

    /// Lets us write in every directory of tracked files; what the permissions were comes back with the
    /// checkpoint.
    pub(super) fn open_directories(&self) {
        for dir in tracked_directories(&self.file("checkpoint.index"), self.oid_length()) {
            let path = self.engine.repo.top.join(OsStr::from_bytes(&dir));
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                give(&path, 0o700);
            }
        }
    }

    /// Does something to a path of the work tree; when permissions forbid it, once more without them.
    pub(super) fn with_rights<T>(
        &self,
        path: &Path,
        mut act: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let top = &self.engine.repo.top;
                let mut above: Vec<&Path> = path.ancestors().take_while(|dir| *dir != top).collect();
                above.reverse();
                // A directory that moves is written to as well.
                for dir in above {
                    if dir.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                        give(dir, 0o700);
                    }
                }
                act()
            }
            other => other,
        }
    }
}

/// Gives a directory that its owner cannot use the permissions that new ones get.
fn make_usual(dir: &Path) -> bool {
    let usual = 0o777 & !umask_now();
    lacks(dir, 0)
        && dir.symlink_metadata().is_ok_and(|found| {
            let mode = found.permissions().mode() | usual | 0o700;
            fs::set_permissions(dir, fs::Permissions::from_mode(mode)).is_ok()
        })
}

/// Gives the owner these permissions for all files below, and all for directories; how many lacked them.
fn open(dir: &Path, needed: u32) -> usize {
    let mut opened = 0;
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        opened += usize::from(give(&path, needed));
        let is_dir = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_dir {
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            todo.extend(entries.map(|entry| entry.path()));
        }
    }
    opened
}
