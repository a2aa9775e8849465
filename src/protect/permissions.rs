//! Restores permissions that an attempt removed from files and directories that have to be restored, or that git itself
//! has to write. Runs when no process of the attempt is alive.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Site;
use super::tree::stat_changes::tracked_directories;
use crate::events::Notices;
use crate::fs::{Below, FileError, file_error, lacks, path_below, seen_in, seen_itself, umask_now};

/// Paths that git has to write in a repository; if permissions are missing on one of them, all have to be checked.
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

/// Restores access to the top directory and to the paths that git has to write. Checks only a few paths if nothing is
/// wrong.
pub(crate) fn take_back(site: Site<'_>, notices: &dyn Notices) {
    let repo = site.repo;
    let mut opened = usize::from(make_usual(&repo.top));
    // In a linked work tree `.git` is a file.
    opened += usize::from(Below::new(&repo.top).give(Path::new(".git"), 0o600));
    let mut dirs = vec![&repo.common_dir];
    if !dirs.contains(&&repo.git_dir) {
        dirs.push(&repo.git_dir);
    }
    for dir in dirs {
        let logs = dir.join("logs/HEAD");
        let closed = GITS.iter().any(|name| lacks(&dir.join(name), 0o400)) || lacks(&logs, 0o600);
        if closed || site.slot.dirs().iter().any(|dir| lacks(dir, 0o400)) {
            opened += ["", "logs", "ralph"]
                .into_iter()
                .zip([0o400, 0o600, 0o600])
                .map(|(name, needed)| open(dir, &dir.join(name), needed))
                .sum::<usize>();
        }
    }
    if opened > 0 {
        let message = "the attempt took permissions away from the repository; they are given back";
        notices.tell(message.to_owned());
    }
}

/// Makes every directory of the files that `index` tracks writable; their permissions are restored with the savepoint.
pub(crate) fn open_directories(site: Site<'_>, index: &Path) {
    let below = Below::new(&site.repo.top);
    for dir in tracked_directories(site.repo, index).unwrap_or_default() {
        let path = path_below(&site.repo.top, &dir);
        if below.is_dir(&path) {
            below.give(&path, 0o700);
        }
    }
}

/// Runs `act` on a path below `top`; if permissions forbid it, opens the directories down to it to their owner and runs
/// it once more.
pub(crate) fn with_permissions<T>(
    top: &Path,
    path: &Path,
    mut act: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mut above: Vec<&Path> = path.ancestors().take_while(|dir| *dir != top).collect();
            above.reverse();
            // Moving a directory also writes to it.
            for dir in above {
                if !seen_itself(dir).is_some_and(|found| found.is_dir()) {
                    break;
                }
                Below::new(top).give(dir, 0o700);
            }
            act()
        }
        other => other,
    }
}

/// Reads a path below `top`, as [`with_permissions`] does.
pub(super) fn look_with_permissions<T>(
    top: &Path,
    path: &Path,
    look: impl Fn(&Path) -> Result<T, FileError>,
) -> Result<T, FileError> {
    with_permissions(top, path, || look(path).map_err(|error| error.source))
        .map_err(|source| file_error("look at", path, source))
}

/// Sets the usual permissions of new directories on one that its owner cannot use.
fn make_usual(dir: &Path) -> bool {
    let usual = 0o777 & !umask_now();
    lacks(dir, 0)
        && seen_itself(dir).is_some_and(|found| {
            let mode = found.permissions().mode() | usual | 0o700;
            Below::new(dir).set_mode(dir, mode & 0o7777).is_ok()
        })
}

/// Gives the owner these permissions for all files below `dir`, which is below `top`, and all permissions for directories; returns the number of
/// paths that lacked them.
fn open(top: &Path, dir: &Path, needed: u32) -> usize {
    let (below, mut opened) = (Below::new(top), 0);
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        opened += usize::from(below.give(&path, needed));
        if seen_itself(&path).is_some_and(|found| found.is_dir()) {
            todo.extend(seen_in(&path).map(|entry| entry.path()));
        }
    }
    opened
}
