//! Finds files in the work tree that git-ralph's own output goes to, such as `nohup.out` or `ralph.log`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fs::{link_of, target_of};
use crate::git::Repo;
use crate::git::worktree::Reading;

/// Returns the paths below `top` of the regular files that standard output and standard error go to. Where the system has no
/// `/proc`, there is none.
pub(super) fn files_below(top: &Path) -> Vec<Vec<u8>> {
    let streams = [
        (io::stdout().as_fd(), "/proc/self/fd/1"),
        (io::stderr().as_fd(), "/proc/self/fd/2"),
    ]
    .map(|(stream, name)| file_of(stream, name));
    let below = streams.into_iter().flatten().filter_map(|file| {
        let path = file.strip_prefix(top).ok()?;
        Some(path.as_os_str().as_bytes().to_vec())
    });
    let mut below: Vec<Vec<u8>> = below.collect();
    below.dedup();
    below
}

/// Leaves these files out of the reading of a work tree in which a loop begins, and of the index `work`, unless the user's
/// index has them.
pub(super) async fn leave_out(repo: &Repo, work: &Path, mut reading: Reading) -> Result<Reading, Error> {
    let mut files = files_below(&repo.top);
    if files.is_empty() {
        return Ok(reading);
    }
    let users = repo.read_index_or_none(&repo.index())?;
    files.retain(|path| users.index().is_some_and(|index| index.find(path).is_none()));
    repo.update_index(work, &["--force-remove"], &files).await?;
    reading.tree = repo.git.write_tree(work).await?;
    reading.changes = None;
    Ok(reading)
}

/// Returns the path of the regular file that a stream goes to.
fn file_of(stream: BorrowedFd<'_>, name: &str) -> Option<PathBuf> {
    let open = File::from(stream.try_clone_to_owned().ok()?).metadata().ok()?;
    let path = link_of(Path::new(name)).ok().filter(|_| open.is_file())?;
    let there = target_of(&path).ok()??;
    ((open.dev(), open.ino()) == (there.dev(), there.ino())).then_some(path)
}
