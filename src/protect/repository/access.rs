//! Restores the permissions that git needs and an attempt removed: for the top directory, and for the paths that git
//! writes. Runs when no process of the attempt is alive.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fs::{Below, lacks, seen_in, seen_itself, umask_now};
use crate::protect::Site;

/// Paths that git writes in a repository; if one of them lacks permissions, all have to be checked.
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

/// Restores access to the top directory and to the paths that git writes. Checks only a few paths unless one lacks
/// permissions.
pub(in crate::protect) fn take_back(site: Site<'_>) {
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
        site.tell(message.to_owned());
    }
}

/// Gives a directory that its owner cannot use the permissions of a new directory.
fn make_usual(dir: &Path) -> bool {
    let usual = 0o777 & !umask_now();
    lacks(dir, 0)
        && seen_itself(dir).is_some_and(|found| {
            let mode = found.permissions().mode() | usual | 0o700;
            Below::new(dir).set_mode(dir, mode & 0o7777).is_ok()
        })
}

/// Gives the owner `needed` permissions for all files below `dir`, which is below `top`, and all permissions for
/// directories; returns the number of paths that lacked them.
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
