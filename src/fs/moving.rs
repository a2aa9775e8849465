//! Moves files without losing a byte: by renaming, and between file systems by a copy that is complete and on disk
//! before a source is removed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, FileTimes, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown, lchown, symlink,
};
use std::path::{Path, PathBuf};

use nix::fcntl::AT_FDCWD;
use nix::libc::O_NOFOLLOW;
use nix::sys::stat::{Mode, SFlag, UtimensatFlags, mknod, utimensat};
use nix::sys::time::TimeSpec;

use super::below::Below;

impl Below {
    /// Moves `from` to the free path `to`, each below a directory, and creates the directories above it; symlinks are
    /// moved, not followed.
    ///
    /// A mount point stays, as an empty directory.
    pub fn move_to(&self, from: &Path, there: &Self, to: &Path) -> io::Result<()> {
        match self.rename(from, there, to) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::CrossesDevices | io::ErrorKind::ResourceBusy
                ) =>
            {
                // No symlink is above either path.
                copy_and_remove((self, &self.path(from)), (there, &there.path(to)))
            }
            renamed => renamed,
        }
    }
}

fn copy_and_remove((here, from): (&Below, &Path), (there, to): (&Below, &Path)) -> io::Result<()> {
    let mut name = OsString::from(".ralph-");
    name.push(to.file_name().unwrap_or_default());
    let half = to.with_file_name(name);
    // An earlier try may have left a partial copy; its source is still complete.
    there.remove(&half).map_err(|error| error.source)?;
    let mut copied = Copied::default();
    let tried = match copied.copy(from, &half) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && here.make_accessible(from) > 0 => {
            there.remove(&half).map_err(|error| error.source)?;
            copied = Copied::default();
            copied.copy(from, &half)
        }
        tried => tried,
    };
    if let Err(error) = tried {
        there.remove(&half).map_err(|error| error.source)?;
        return Err(error);
    }
    there.rename(&half, there, to)?;
    if let Some(dir) = to.parent() {
        sync(dir)?;
    }
    copied.remove()
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The copied paths, in order.
#[derive(Debug, Default)]
struct Copied {
    sources: Vec<(PathBuf, Metadata)>,
    /// Files with several hard links: the first copy, by device and inode.
    linked: HashMap<(u64, u64), PathBuf>,
}

impl Copied {
    /// Copies a file, or a directory with all its content.
    fn copy(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut dirs = Vec::new();
        let mut open = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = open.pop() {
            let is = from.symlink_metadata()?;
            if is.is_dir() {
                // Only the owner may access it until it has its own permissions.
                DirBuilder::new().mode(0o700).create(&to)?;
                for entry in fs::read_dir(&from)? {
                    let name = entry?.file_name();
                    open.push((from.join(&name), to.join(&name)));
                }
                dirs.push((to, is.clone()));
            } else {
                self.copy_one(&from, &to, &is)?;
            }
            self.sources.push((from, is));
        }
        // Creating a file in a directory changes the directory's time.
        for (dir, is) in dirs.into_iter().rev() {
            let copy = File::open(&dir)?;
            let _ = chown(&dir, Some(is.uid()), Some(is.gid()));
            copy.set_permissions(fs::Permissions::from_mode(is.mode() & 0o7777))?;
            copy.set_times(times(&is)?)?;
            copy.sync_all()?;
        }
        Ok(())
    }

    fn copy_one(&mut self, from: &Path, to: &Path, is: &Metadata) -> io::Result<()> {
        let identity = (is.dev(), is.ino());
        if let Some(first) = self.linked.get(&identity) {
            return fs::hard_link(first, to);
        }
        if is.is_file() {
            copy_file(from, to, is)?;
        } else {
            if is.is_symlink() {
                symlink(fs::read_link(from)?, to)?;
            } else {
                let kind = is.file_type();
                let kind = match () {
                    () if kind.is_fifo() => SFlag::S_IFIFO,
                    () if kind.is_socket() => SFlag::S_IFSOCK,
                    () if kind.is_block_device() => SFlag::S_IFBLK,
                    () => SFlag::S_IFCHR,
                };
                mknod(to, kind, Mode::S_IRUSR | Mode::S_IWUSR, as_here(is.rdev())?)?;
                fs::set_permissions(to, fs::Permissions::from_mode(is.mode() & 0o7777))?;
            }
            let _ = lchown(to, Some(is.uid()), Some(is.gid()));
            let read = TimeSpec::new(is.atime(), is.atime_nsec());
            let written = TimeSpec::new(is.mtime(), is.mtime_nsec());
            utimensat(AT_FDCWD, to, &read, &written, UtimensatFlags::NoFollowSymlink)?;
        }
        if is.nlink() > 1 {
            self.linked.insert(identity, to.to_owned());
        }
        Ok(())
    }

    /// Removes the sources of the copy, except for those that have changed since.
    fn remove(self) -> io::Result<()> {
        let mut changed = None;
        // The content of a directory was copied after the directory.
        for (path, was) in self.sources.into_iter().rev() {
            let removed = if was.is_dir() {
                match fs::remove_dir(&path) {
                    // A file system is mounted here, or further down.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::ResourceBusy | io::ErrorKind::DirectoryNotEmpty
                        ) =>
                    {
                        Ok(())
                    }
                    removed => removed,
                }
            } else {
                match path.symlink_metadata() {
                    Ok(is) if is_same(&is, &was) => fs::remove_file(&path),
                    Ok(_) => {
                        changed = Some(path);
                        continue;
                    }
                    Err(error) => Err(error),
                }
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match changed {
            Some(path) => Err(io::Error::other(format!(
                "{} changed while it was copied",
                path.display()
            ))),
            None => Ok(()),
        }
    }
}

/// Returns whether a file was not written to. The removal of a hard link changes the time of the inode, which is not
/// compared.
fn is_same(is: &Metadata, was: &Metadata) -> bool {
    let of = |found: &Metadata| {
        (
            found.ino(),
            found.size(),
            found.mode(),
            found.mtime(),
            found.mtime_nsec(),
        )
    };
    of(is) == of(was)
}

fn times(is: &Metadata) -> io::Result<FileTimes> {
    Ok(FileTimes::new()
        .set_accessed(is.accessed()?)
        .set_modified(is.modified()?))
}

/// Converts the number of a device to the type of this system.
fn as_here<T: TryFrom<u64>>(device: u64) -> io::Result<T> {
    T::try_from(device).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

fn copy_file(from: &Path, to: &Path, is: &Metadata) -> io::Result<()> {
    let mut source = OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW)
        .open(from)?;
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    io::copy(&mut source, &mut copy)?;
    // Only root may change the owner, which clears special permission bits.
    let _ = fchown(&copy, Some(is.uid()), Some(is.gid()));
    copy.set_permissions(fs::Permissions::from_mode(is.mode() & 0o7777))?;
    copy.set_times(times(is)?)?;
    copy.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::unistd::mkfifo;

    use super::*;

    fn moved(top: &Path, from: &Path, to: &Path) -> io::Result<()> {
        let below = Below::new(top);
        copy_and_remove((&below, from), (&below, to))
    }

    #[test]
    fn a_copy_is_the_same_and_nothing_of_the_source_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("closed/deep")).unwrap();
        fs::write(from.join("file"), "content").unwrap();
        fs::hard_link(from.join("file"), from.join("closed/same")).unwrap();
        fs::write(dir.path().join("outside"), "outside").unwrap();
        symlink(dir.path().join("outside"), from.join("link")).unwrap();
        symlink(dir.path(), from.join("closed/dir")).unwrap();
        mkfifo(&from.join("pipe"), Mode::from_bits_truncate(0o620)).unwrap();
        let _socket = UnixListener::bind(from.join("socket")).unwrap();
        fs::set_permissions(from.join("file"), fs::Permissions::from_mode(0o4640)).unwrap();
        fs::set_permissions(from.join("closed"), fs::Permissions::from_mode(0o750)).unwrap();
        let print = |top: &Path| {
            let mut found = Vec::new();
            let mut open = vec![top.to_owned()];
            while let Some(path) = open.pop() {
                let is = path.symlink_metadata().unwrap();
                let name = path.strip_prefix(top).unwrap().to_owned();
                let what = match () {
                    () if is.is_symlink() => format!("{:?}", fs::read_link(&path).unwrap()),
                    () if is.is_file() => fs::read_to_string(&path).unwrap(),
                    () => String::new(),
                };
                found.push((name, is.mode(), is.nlink(), is.mtime(), is.mtime_nsec(), what));
                if is.is_dir() {
                    open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                }
            }
            found.sort();
            found
        };
        let before = print(&from);
        assert_eq!(before.len(), 9);
        moved(dir.path(), &from, &to).unwrap();
        assert_eq!(print(&to), before);
        assert!(from.symlink_metadata().is_err());
        assert_eq!(fs::read_to_string(dir.path().join("outside")).unwrap(), "outside");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn removal_leaves_files_that_changed_after_the_copy() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        for name in ["changed", "same"] {
            fs::write(from.join(name), name).unwrap();
        }
        let mut copied = Copied::default();
        copied.copy(&from, &to).unwrap();
        fs::write(from.join("changed"), "more than before").unwrap();
        fs::write(from.join("new"), "new").unwrap();
        let error = copied.remove().unwrap_err();
        assert!(error.to_string().contains("changed while"), "{error}");
        assert!(!from.join("same").exists() && from.join("new").exists());
        assert_eq!(
            fs::read_to_string(from.join("changed")).unwrap(),
            "more than before"
        );
    }

    #[test]
    fn failed_copy_leaves_the_source() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("none/to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "content").unwrap();
        moved(dir.path(), &from, &to).unwrap_err();
        assert_eq!(fs::read_to_string(from.join("file")).unwrap(), "content");
    }
}
