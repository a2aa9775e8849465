//! The link from a work tree to its repository. If an agent moves or deletes `.git`, git finds another repository in a
//! parent directory, and uses its work tree instead of this one.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::pipes;
use crate::fs::{
    Below, Durability, FileError, is_there, kind_of, link_of, may_exist, read, target_of, umask_now,
};
use crate::protect::repository::{access, directories, own_directory, pipes as gits_pipes};
use crate::protect::{ProtectError, Site, trash};

/// The directories of a repository and the link to them, at one moment.
pub(crate) struct RepoLink {
    /// The git directories.
    dirs: [GitDir; 2],
    /// Device and inode of the top directory of the work tree.
    top: Option<(u64, u64)>,
    link: Link,
    /// The directory of its objects, without which git finds no repository; `None` if it is not the usual one.
    objects: Option<PathBuf>,
    since: SystemTime,
}

/// A git directory, which is recognized after a move.
struct GitDir {
    path: PathBuf,
    /// Device and inode.
    identity: Option<(u64, u64)>,
    /// True if its path is a symlink.
    is_linked: bool,
    open: Option<File>,
}

impl GitDir {
    fn at(path: &Path) -> Result<Self, FileError> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity(path)?,
            is_linked: is_link(path)?,
            open: File::open(path).ok(),
        })
    }

    /// Returns whether the directory is in its place; a symlink to its new place does not count.
    fn is_in_place(&self) -> Result<bool, FileError> {
        Ok(identity(&self.path)? == self.identity && is_link(&self.path)? == self.is_linked)
    }

    /// Returns the place to which the directory was moved, if the system can tell.
    fn place(&self) -> Option<PathBuf> {
        let open = self.open.as_ref()?.as_raw_fd();
        let place = link_of(Path::new(&format!("/proc/self/fd/{open}"))).ok()?;
        (identity(&place).ok()? == self.identity).then_some(place)
    }

    /// Moves the directory back if it is not in its place; a replacement goes to its own trash.
    fn put_back(&self, site: Site<'_>) -> Result<(), ProtectError> {
        if self.is_in_place()? {
            return Ok(());
        }
        let gone = || ProtectError::RepositoryGone(self.path.clone());
        let moved = self.place().ok_or_else(gone)?;
        let above = |path: &Path| Below::new(path.parent().unwrap_or(path));
        if is_there(&self.path)? {
            let own = site.trash();
            let own = own.strip_prefix(&self.path).map_err(|_| gone())?;
            let place = trash::free_name(&moved.join(own).join("dot-git"))?;
            let door = Below::new(&moved);
            above(&self.path)
                .rename(&self.path, &door, &place)
                .map_err(|_| gone())?;
        }
        above(&moved)
            .rename(&moved, &above(&self.path), &self.path)
            .map_err(|_| gone())?;
        site.tell(format!(
            "{} was moved to {}; it is moved back",
            self.path.display(),
            moved.display()
        ));
        Ok(())
    }
}

/// The kind of `.git` in the top directory, unless it is a directory.
#[derive(PartialEq, Eq)]
pub(super) enum Link {
    /// No entry that can be recreated.
    None,
    /// A file that names the git directory (gitrepository-layout(5)).
    File(Vec<u8>),
    /// A symbolic link.
    Symbolic(PathBuf),
}

impl Site<'_> {
    /// Records the link before an agent's process runs.
    pub fn repo_link(self) -> Result<RepoLink, FileError> {
        let repo = self.repo;
        let objects = repo.common_dir.join("objects");
        Ok(RepoLink {
            objects: is_there(&objects)?.then_some(objects),
            dirs: [GitDir::at(&repo.common_dir)?, GitDir::at(&repo.git_dir)?],
            top: identity(&repo.top)?,
            link: Link::at(&repo.top.join(".git"))?,
            since: SystemTime::now(),
        })
    }
}

impl RepoLink {
    /// Detects an agent that moved, replaced or deleted `.git`, and moves it back. Must be the first call after the
    /// agent's processes have ended.
    ///
    /// # Errors
    /// [`ProtectError::RepositoryGone`] if the git directory itself is gone: then no file may be touched.
    pub fn restore(&self, site: Site<'_>) -> Result<(), ProtectError> {
        self.restore_link(site)?;
        gits_pipes::clear(site)?;
        pipes::clear(site, self.since)
    }

    /// Returns whether the work tree still exists: its directory, or another one that leads to a repository.
    pub fn has_tree(&self, site: Site<'_>) -> bool {
        let top = &site.repo.top;
        may_exist(&top.join(".git")) || identity(top).is_ok_and(|found| found.is_some() && found == self.top)
    }

    fn restore_link(&self, site: Site<'_>) -> Result<(), ProtectError> {
        // Entries of a directory without permissions are invisible.
        access::take_back(site);
        for dir in &self.dirs {
            dir.put_back(site)?;
        }
        if let Some(objects) = &self.objects
            && !is_there(objects)?
        {
            return Err(ProtectError::RepositoryGone(objects.clone()));
        }
        own_directory::restore(site)?;
        directories::restore(site)?;
        let top = &site.repo.top;
        let path = top.join(".git");
        if self.link == Link::None || Link::at(&path)? == self.link {
            return Ok(());
        }
        let door = Below::new(top);
        door.make_dir(top, 0o777)?;
        if is_there(&path)? {
            let place = trash::free_name(&site.trash().join("dot-git"))?;
            trash::move_away(site, &path, &place)?;
        }
        self.link.make(&door, &path)?;
        site.tell(format!(
            "{} no longer led to the repository; it is put back",
            path.display()
        ));
        Ok(())
    }
}

impl Link {
    /// Returns the kind of `.git` at this path.
    pub fn at(path: &Path) -> Result<Self, FileError> {
        match kind_of(path)? {
            Some(found) if found.is_file() => read(path).map(Self::File),
            Some(found) if found.is_symlink() => link_of(path).map(Self::Symbolic),
            _ => Ok(Self::None),
        }
    }

    /// Recreates it at this path below a directory.
    pub fn make(&self, door: &Below, path: &Path) -> Result<(), FileError> {
        match self {
            Self::None => Ok(()),
            Self::File(content) => door.write(path, content, 0o666 & !umask_now(), Durability::Atomic),
            Self::Symbolic(target) => door.link(target, path),
        }
    }
}

fn is_link(path: &Path) -> Result<bool, FileError> {
    Ok(kind_of(path)?.is_some_and(|found| found.is_symlink()))
}

/// Returns the device and the inode of a path; `None` if it does not exist.
pub(super) fn identity(path: &Path) -> Result<Option<(u64, u64)>, FileError> {
    Ok(target_of(path)?.map(|found| (found.dev(), found.ino())))
}
