//! Which repository a directory is in, and its branch, from files alone (gitrepository-layout(5)): for questions
//! that are asked often and mostly have nothing to do with a loop. What is not as usual is left to git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A repository around a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby {
    /// The top directory of the work tree.
    pub top: PathBuf,
    /// The git directory of the work tree.
    pub git_dir: PathBuf,
    /// The one that all work trees share.
    pub common_dir: PathBuf,
}

/// What the file HEAD says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NearbyHead {
    /// The full name of a branch.
    Branch(String),
    /// No branch.
    Detached,
    /// Only git can tell: the refs are not in files.
    Unknown,
}

impl Nearby {
    /// The repository whose work tree holds `dir`, as far as plain files tell.
    #[must_use]
    pub fn around(dir: &Path) -> Option<Self> {
        // The shell may have come here through a link.
        let real = dir.canonicalize();
        real.as_deref().unwrap_or(dir).ancestors().find_map(Self::at)
    }

    fn at(top: &Path) -> Option<Self> {
        let dot_git = top.join(".git");
        let git_dir = if dot_git.is_dir() {
            dot_git
        } else {
            let text = fs::read(&dot_git).ok()?;
            top.join(path_of(text.strip_prefix(b"gitdir: ")?))
        };
        if !git_dir.join("HEAD").exists() {
            return None;
        }
        let common_dir = match fs::read(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(path_of(&text)),
            Err(_) => git_dir.clone(),
        };
        Some(Self {
            top: top.to_owned(),
            git_dir,
            common_dir,
        })
    }

    /// What HEAD is on.
    #[must_use]
    pub fn head(&self) -> NearbyHead {
        let text = fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        match text.strip_prefix("ref:").map(str::trim) {
            // Where refs are in tables, the file names no branch that could be.
            Some("refs/heads/.invalid") => NearbyHead::Unknown,
            Some(name) => NearbyHead::Branch(name.to_owned()),
            None => NearbyHead::Detached,
        }
    }
}

fn path_of(line: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_work_tree_leads_to_the_shared_directory() {
        let temp = tempfile::tempdir().unwrap();
        let main = temp.path().join("main/.git");
        let own = main.join("worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::write(main.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/ralph/c\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let linked = temp.path().join("linked/deep/er");
        fs::create_dir_all(&linked).unwrap();
        let link = format!("gitdir: {}\n", own.display());
        fs::write(temp.path().join("linked/.git"), link).unwrap();
        let found = Nearby::around(&linked).unwrap();
        assert_eq!(
            found.common_dir.canonicalize().unwrap(),
            main.canonicalize().unwrap()
        );
        assert_eq!(found.head(), NearbyHead::Branch("refs/heads/ralph/c".to_owned()));
        let found = Nearby::around(&temp.path().join("main/no/such/dir")).unwrap();
        assert_eq!(found.head(), NearbyHead::Branch("refs/heads/main".to_owned()));
        fs::write(main.join("HEAD"), "ref: refs/heads/.invalid\n").unwrap();
        assert_eq!(found.head(), NearbyHead::Unknown);
        fs::write(main.join("HEAD"), "0123456789012345678901234567890123456789\n").unwrap();
        assert_eq!(found.head(), NearbyHead::Detached);
        assert_eq!(Nearby::around(&temp.path().join("elsewhere")), None);
    }
}
