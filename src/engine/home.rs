//! Whether the repository is where it was before a process of the agent's ran. An agent may move or delete
//! `.git`; git would then find another repository above, and take its work tree for ours.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use super::Session;
use super::trash::move_away;
use crate::error::Error;
use crate::fs::file_error;
use crate::git::Repo;

/// What leads from the work tree to its repository.
pub(super) struct Home {
    /// The git directories, and which directories they are: device and inode.
    dirs: [(PathBuf, Option<(u64, u64)>); 2],
    /// What stands at `.git` in the top directory, where that is no directory.
    link: Link,
}

#[derive(PartialEq, Eq)]
enum Link {
    /// Nothing that could be made anew.
    None,
    /// A file that names the git directory (gitrepository-layout(5)).
    File(Vec<u8>),
    /// A symbolic link.
    Symbolic(PathBuf),
}

impl Home {
    pub fn of(repo: &Repo) -> Self {
        let dir = |path: &Path| (path.to_owned(), identity(path));
        Self {
            dirs: [dir(&repo.git_dir), dir(&repo.common_dir)],
            link: Link::at(&repo.top.join(".git")),
        }
    }
}

impl Link {
    fn at(path: &Path) -> Self {
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => fs::read(path).map_or(Self::None, Self::File),
            Ok(found) if found.is_symlink() => fs::read_link(path).map_or(Self::None, Self::Symbolic),
            _ => Self::None,
        }
    }

    fn make(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::File(content) => fs::write(path, content),
            Self::Symbolic(target) => symlink(target, path),
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

impl Session<'_> {
    /// Sees to it that git finds the same repository as before; called before anything else when processes
    /// of the agent's have ended.
    ///
    /// # Errors
    /// When the git directory itself is gone: nothing may be touched then.
    pub(super) fn come_home(&mut self, home: &Home) -> Result<(), Error> {
        // Behind a closed directory nothing can be seen.
        self.take_rights_back();
        if let Some((dir, _)) = home.dirs.iter().find(|(dir, was)| identity(dir) != *was) {
            return Err(Error::RepositoryGone(dir.clone()));
        }
        let path = self.engine.repo.top.join(".git");
        if home.link == Link::None || Link::at(&path) == home.link {
            return Ok(());
        }
        let top = &self.engine.repo.top;
        fs::create_dir_all(top).map_err(|error| file_error("make", top, error))?;
        if path.symlink_metadata().is_ok() {
            let trash = self.file("trash");
            let mut place = trash.join("dot-git");
            let mut number = 1;
            while place.symlink_metadata().is_ok() {
                number += 1;
                place = trash.join(format!("dot-git.{number}"));
            }
            let moved = fs::create_dir_all(&trash).and_then(|()| move_away(&path, &place));
            moved.map_err(|error| file_error("move away", &path, error))?;
        }
        home.link
            .make(&path)
            .map_err(|error| file_error("write", &path, error))?;
        self.tell(format!(
            "{} no longer led to the repository; it is put back",
            path.display()
        ));
        Ok(())
    }
}
