//! Moves files that git cannot store to the trash of the loop.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Site;
use super::permissions::with_permissions;
use crate::fs::{Below, FileError, file_error, is_absent, is_there};

/// Returns this path, or the first free one with a number appended.
pub(crate) fn free_name(wanted: &Path) -> Result<PathBuf, FileError> {
    let mut place = wanted.to_owned();
    let mut number = 1;
    while is_there(&place)? {
        number += 1;
        let mut name = wanted.as_os_str().to_owned();
        name.push(format!(".{number}"));
        place = name.into();
    }
    Ok(place)
}

/// Moves `from` to the free path `to`, and creates the directories above it.
pub(super) fn move_away(site: Site<'_>, from: &Path, to: &Path) -> Result<(), FileError> {
    site.door(from)
        .move_to(from, &site.door(to), to)
        .map_err(|error| file_error("move to the trash", from, error))
}

/// Moves a file to the directory `trash`, if it exists.
pub(super) fn set_aside(site: Site<'_>, file: &Path, trash: &Path) -> Result<(), FileError> {
    if !is_there(file)? {
        return Ok(());
    }
    let name = file.file_name().map(PathBuf::from).unwrap_or_default();
    move_away(site, file, &free_name(&trash.join(name))?)
}

/// Moves a path of the work tree to the directory `trash`; `nested` are the user's nested repositories, which stay.
pub(super) fn put_away(
    site: Site<'_>,
    nested: &[Vec<u8>],
    path: &[u8],
    trash: &Path,
) -> Result<(), FileError> {
    let name = OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path));
    let below = [name.as_bytes(), b"/"].concat();
    let is_users = |nested: &Vec<u8>| *nested == name.as_bytes() || nested.starts_with(&below);
    if nested.iter().any(is_users) {
        return Ok(());
    }
    let top = &site.repo.top;
    let from = top.join(name);
    let mut to = trash.join(name);
    let mut copy = 1;
    let (here, there) = (Below::new(top), site.door(&to));
    while there.exists(&to)? {
        copy += 1;
        to = trash.join(format!("{copy}")).join(name);
    }
    match with_permissions(top, &from, || here.move_to(&from, &there, &to)) {
        Err(source) if !is_absent(&source) => Err(file_error("move to the trash", &from, source)),
        // A path behind a symlink is not in the work tree.
        Err(source) if here.is_free(&from)? && here.exists(&from)? => {
            Err(file_error("move to the trash", &from, source))
        }
        _ => Ok(()),
    }
}

impl Site<'_> {
    /// Moves the patches that `git am` has not applied yet to the directory `trash`: they are nowhere else.
    pub fn put_patches_away(self, trash: &Path) -> Result<(), FileError> {
        set_aside(self, &self.repo.git_dir.join("rebase-apply"), trash)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn free_name_takes_a_name_only_if_it_is_certainly_unused() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("file");
        assert_eq!(free_name(&wanted).unwrap(), wanted);
        fs::write(&wanted, "").unwrap();
        assert_eq!(free_name(&wanted).unwrap(), dir.path().join("file.2"));
        // The operating system rejects such a name.
        free_name(&dir.path().join("n".repeat(256))).unwrap_err();
    }
}
