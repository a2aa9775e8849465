//! Pipes and other special files, and symlinks to them, in the place of git's own files: git would wait for them. They
//! are moved away before any git runs after an attempt.

use std::path::{Path, PathBuf};

use crate::fs::{seen, seen_in};
use crate::paths::shown;
use crate::protect::trash::set_aside;
use crate::protect::{ProtectError, Site};

/// Moves special files in git's directories, for which git would wait, to the trash.
pub(in crate::protect) fn clear(site: Site<'_>) -> Result<(), ProtectError> {
    let repo = site.repo;
    let mut found = Vec::new();
    let mut open = vec![repo.common_dir.clone()];
    if !repo.git_dir.starts_with(&repo.common_dir) {
        open.push(repo.git_dir.clone());
    }
    let own = repo.common_dir.join("ralph");
    while let Some(dir) = open.pop() {
        for (path, is_dir) in entries(&dir, leads_to_pipe) {
            if !is_dir {
                found.push(path);
            } else if path != own {
                open.push(path);
            }
        }
    }
    for path in found {
        set_aside(site, &path, &site.trash().join("damaged"))?;
        let path = shown(path.as_os_str().as_encoded_bytes());
        site.tell(format!("{path} was no file; it is moved away"));
    }
    Ok(())
}

/// Lists the subdirectories and the special files of a directory, without reading any. `is_bad_link` selects the
/// symlinks that count.
pub(in crate::protect) fn entries(
    dir: &Path,
    is_bad_link: fn(&Path) -> bool,
) -> impl Iterator<Item = (PathBuf, bool)> {
    seen_in(dir).filter_map(move |entry| {
        let kind = entry.file_type().ok()?;
        let is_good = kind.is_file() || kind.is_symlink() && !is_bad_link(&entry.path());
        (!is_good).then(|| (entry.path(), kind.is_dir()))
    })
}

/// Returns whether a symlink leads to a special file. The null device is none, because users disable hooks with it.
fn leads_to_pipe(link: &Path) -> bool {
    let is_other = seen(link).is_some_and(|target| !target.is_file() && !target.is_dir());
    is_other
        && link
            .canonicalize()
            .is_ok_and(|target| target != Path::new("/dev/null"))
}
