//! Reads and writes HEAD and refs as files: a power cut or an agent can leave an empty or unreadable one, and git then
//! finds no repository, or no branch.

use std::io;
use std::path::Path;

use crate::fs::{Below, Durability, FileError, Links, read_regular_text, seen, seen_itself};
use crate::names::Oid;

/// Maximum length of a ref's file or log that is read, in bytes.
const MOST: u64 = 1 << 26;

/// Directories of refs that every work tree has for itself (gitglossary(7), "per-worktree ref").
const OWN: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// Returns whether every work tree has a ref of this full name for itself.
pub(super) fn is_own(name: &str) -> bool {
    OWN.into_iter().any(|dir| name.starts_with(dir))
}

/// The content of the file of HEAD or of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefFile {
    /// No file, or a directory of refs.
    Missing,
    /// An object id.
    Oid(Oid),
    /// The name of another ref.
    Symbolic(String),
    /// Content that git cannot read.
    Damaged,
    /// The operating system denies access.
    Unseen,
}

impl RefFile {
    /// Reads the file of HEAD or of a ref.
    pub fn read(path: &Path) -> Self {
        let text = match read_regular_text(path, Links::Followed, MOST) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                // Git lists no ref for a dangling symlink, and refuses to create one in its place.
                return match seen_itself(path) {
                    Some(_) => Self::Damaged,
                    None => Self::Missing,
                };
            }
            Err(_) if seen(path).is_some_and(|found| found.is_dir()) => return Self::Missing,
            // An entry that is no file, or no text, has no such code.
            Err(error) if error.raw_os_error().is_some() => return Self::Unseen,
            Err(_) => return Self::Damaged,
        };
        match text.strip_prefix("ref:") {
            Some(name) if name.trim().starts_with("refs/") => Self::Symbolic(name.trim().to_owned()),
            Some(_) => Self::Damaged,
            None => Oid::parse(&text).map_or(Self::Damaged, Self::Oid),
        }
    }

    /// Writes the file of HEAD or of a ref, with these permissions, below git's directory.
    pub fn write(&self, door: &Below, path: &Path, mode: u32) -> Result<(), FileError> {
        let text = match self {
            Self::Oid(oid) => format!("{oid}\n"),
            Self::Symbolic(name) => format!("ref: {name}\n"),
            Self::Missing | Self::Damaged | Self::Unseen => return Ok(()),
        };
        door.write(path, text.as_bytes(), mode, Durability::Synced)
    }
}

/// Returns the last value in the log of HEAD or of a ref: lines of `<old> <new> <who> <when>\t<why>`.
pub fn last_logged(log: &Path) -> Option<Oid> {
    let text = read_regular_text(log, Links::Followed, MOST).ok()?;
    let line = text.lines().rfind(|line| !line.is_empty())?;
    Oid::parse(line.split(' ').nth(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ref_file_reader_agrees_with_git() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("HEAD");
        assert_eq!(RefFile::read(&file), RefFile::Missing);
        assert_eq!(RefFile::read(dir.path()), RefFile::Missing);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("refs/heads/none", &link).unwrap();
        assert_eq!(RefFile::read(&link), RefFile::Damaged);
        let refused = dir.path().join("n".repeat(256));
        assert_eq!(RefFile::read(&refused), RefFile::Unseen);
        for damaged in ["", "\n", "1234\n", "ref: \n", "ref: nothing\n", "\0\0\0"] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(RefFile::read(&file), RefFile::Damaged, "{damaged:?}");
        }
        for sound in [
            RefFile::Symbolic("refs/heads/main".to_owned()),
            RefFile::Oid(Oid::parse(&"1".repeat(40)).unwrap()),
        ] {
            sound.write(&Below::new(dir.path()), &file, 0o644).unwrap();
            assert_eq!(RefFile::read(&file), sound);
        }
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        fs::write(&file, format!("{one} {two} A <a@b> 1 +0000\tcommit\n")).unwrap();
        assert_eq!(last_logged(&file), Oid::parse(&two));
    }
}
