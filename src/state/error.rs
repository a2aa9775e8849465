//! The errors of reading, saving and locking a state.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::unistd::{Uid, User, geteuid};

use super::{LONGEST_MESSAGE, VERSION};
use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::fs::{FileError, seen_itself};
use crate::names::{typed, typed_path};

refusals! {
/// The reason why a state could not be read, saved or locked.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another process holds the loop.
    #[error("'{change}' is running{}", holder.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
    Busy {
        change: String,
        /// The holder's description of itself.
        holder: Option<String>,
    }
        => Busy, "watch it: git ralph watch {change}; stop it: git ralph stop {change}", change;
    /// The process that held the loop was killed, and one of its children is still running.
    #[error("{holder} is gone, but a git process that it started for '{change}' is still running")]
    Outlived {
        change: String,
        /// The holder's description of itself.
        holder: String,
    }
        => Busy, "wait until it is done, then run the same command again";
    /// A newer program wrote the file.
    #[error("{} was written by a newer git-ralph (version {found}; this one reads version {VERSION})", path.display())]
    Newer { path: PathBuf, found: u32 }
        => "install a newer git-ralph";
    /// The file is not a valid state.
    #[error("{} is damaged: {why}", path.display())]
    Damaged { path: PathBuf, why: String }
        => |path| {
            let change = path.file_stem().unwrap_or_default().to_string_lossy();
            hint(format!(
                "move the file away, then run: git ralph start {change} --resume",
                change = typed(change)
            ))
        };
    /// A file is in the place of the loops' directory.
    #[error("{} has no loops: it is not a directory", .0.display())]
    NoDirectory(PathBuf)
        => "mv {path} {path}.damaged, then begin each loop again from its branch: git ralph start <change> --resume", (path);
    /// The files belong to another user.
    #[error("{} belongs to the user {owner}, and only {owner} may use it", path.display())]
    Foreign {
        /// The file or directory that cannot be used.
        path: PathBuf,
        /// The owner's name, or number.
        owner: String,
    }
        => |path, owner| {
            // A loop that another user once ran has more files of that user.
            let root = path.ancestors().find(|dir| dir.ends_with("ralph"));
            hint(format!(
                "sudo -u {owner} git ralph status, or, if it is yours: sudo chown -R \"$USER\" {}",
                typed_path(root.unwrap_or(path))
            ))
        };
    /// A message for the next prompt that is empty.
    #[error("the message is empty")]
    NoWords(String)
        => "git ralph tell {change} '<words>', or: git ralph tell {change} <file", (change);
    #[error("a message has at most {LONGEST_MESSAGE} bytes")]
    TooManyWords
        => "write it into a file, and tell the file's name";
    /// A file could not be read or written.
    File(FileError) = transparent;
}
}

impl From<FileError> for StateError {
    fn from(error: FileError) -> Self {
        let denied = error.source.kind() == io::ErrorKind::PermissionDenied;
        // In another user's directory, git-ralph cannot even check whether a file exists.
        let found = error
            .path
            .ancestors()
            .find_map(|path| Some((path, seen_itself(path)?)));
        let owner = found.map(|(path, found)| (path, Uid::from_raw(found.uid())));
        match owner.filter(|(_, owner)| denied && *owner != geteuid()) {
            Some((path, owner)) => Self::Foreign {
                path: path.to_owned(),
                owner: name_of(owner),
            },
            None => Self::File(error),
        }
    }
}

fn name_of(uid: Uid) -> String {
    let user = User::from_uid(uid).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}
