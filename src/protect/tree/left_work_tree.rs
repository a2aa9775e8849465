//! Moves all files that no commit keeps out of a work tree that is about to be removed, to the trash.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::fs::{Below, FileError, entries_of, file_error, path_below};
use crate::paths::{named_in, path_of};
use crate::protect::trash::free_name;

/// Moves all files of the work tree at `top` that are not `kept` by a commit to a directory named after `wanted`;
/// returns the directory if any was moved. `ignored` paths are moved as a whole, directories with a final slash; of a
/// nested repository, kept files stay, and its git directory is moved.
pub(crate) fn put_unkept_away(
    top: &Path,
    kept: &[Vec<u8>],
    ignored: &[Vec<u8>],
    (door, wanted): (&Below, &Path),
) -> Result<Option<PathBuf>, FileError> {
    let kept: HashSet<&[u8]> = kept.iter().map(Vec::as_slice).collect();
    let mut going: Vec<Vec<u8>> = ignored
        .iter()
        .map(|path| path.strip_suffix(b"/").unwrap_or(path).to_vec())
        .collect();
    let whole: HashSet<Vec<u8>> = going.iter().cloned().collect();
    let mut dirs = vec![Vec::new()];
    while let Some(dir) = dirs.pop() {
        let place = path_below(top, &dir);
        for entry in entries_of(&place)? {
            let is_git = entry.file_name() == ".git";
            let path = named_in(&dir, entry.file_name().as_encoded_bytes());
            if whole.contains(&path) || is_git && dir.is_empty() || kept.contains(path.as_slice()) {
                continue;
            }
            let kind = entry
                .file_type()
                .map_err(|error| file_error("read", &place, error))?;
            if kind.is_dir() && !is_git {
                dirs.push(path);
            } else {
                going.push(path);
            }
        }
    }
    if going.is_empty() {
        return Ok(None);
    }
    let trash = free_name(wanted)?;
    for path in going {
        let name = path_of(&path);
        let (from, to) = (top.join(name), trash.join(name));
        Below::new(top)
            .move_to(&from, door, &to)
            .map_err(|error| file_error("move to the trash", &from, error))?;
    }
    Ok(Some(trash))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn removal_leaves_kept_files_and_moves_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let (top, trash) = (dir.path().join("top"), dir.path().join("trash"));
        for path in [
            "kept",
            "sub/kept",
            "sub/other",
            ".git/HEAD",
            "inner/.git/HEAD",
            "inner/kept",
            "target/a/b",
        ] {
            let file = top.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, path).unwrap();
        }
        std::os::unix::fs::symlink("/none", top.join("sub/link")).unwrap();
        let kept = ["kept", "sub/kept", "inner/kept"].map(|path| path.as_bytes().to_vec());
        let ignored = [b"target/".to_vec()];
        let door = Below::new(trash.parent().unwrap());
        let moved = put_unkept_away(&top, &kept, &ignored, (&door, &trash)).unwrap();
        assert_eq!(moved, Some(trash.clone()));
        for path in ["kept", "sub/kept", ".git/HEAD", "inner/kept"] {
            assert!(top.join(path).exists() && !trash.join(path).exists(), "{path}");
        }
        for path in ["sub/other", "inner/.git/HEAD", "target/a/b", "sub/link"] {
            assert!(trash.join(path).symlink_metadata().is_ok(), "{path}");
            assert!(top.join(path).symlink_metadata().is_err(), "{path}");
        }
        assert_eq!(put_unkept_away(&top, &kept, &[], (&door, &trash)).unwrap(), None);
    }
}
