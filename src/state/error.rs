//! Says why a state could not be read, saved or locked.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::unistd::{Uid, User, geteuid};

use super::VERSION;
use crate::error::advice::{Advice, Advise, hint};
use crate::exit::Exit;
use crate::fs::{FileError, seen_itself};
use crate::names::{typed, typed_path};

/// The reason why a state could not be read, saved or locked.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another process holds the loop.
    #[error("another git-ralph is working on '{change}'{}", holder.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
    Busy {
        /// The change.
        change: String,
        /// The holder's description of itself.
        holder: Option<String>,
    },
    /// The process that held the loop was killed, and one of its children is still running.
    #[error("{holder} is gone, but a git process that it started for '{change}' is still running")]
    Outlived {
        /// The change.
        change: String,
        /// The holder's description of itself.
        holder: String,
    },
    /// A newer program wrote the file.
    #[error("{} was written by a newer git-ralph (version {found}; this one reads version {VERSION})", path.display())]
    Newer {
        /// The state file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file is not a valid state.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// The defect.
        why: String,
    },
    /// The files belong to another user.
    #[error("{} belongs to the user {owner}, and is for them alone", path.display())]
    Foreign {
        /// The file or directory that cannot be used.
        path: PathBuf,
        /// The owner's name, or number.
        owner: String,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(FileError),
}

impl From<FileError> for StateError {
    fn from(error: FileError) -> Self {
        let denied = error.source.kind() == io::ErrorKind::PermissionDenied;
        // In another user's directory even a missing file cannot be looked for.
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

impl Advise for StateError {
    fn advice(&self) -> Advice {
        match self {
            Self::Busy { .. } | Self::Outlived { .. } => {
                hint("wait until it is done, then run the same command again").exit(Exit::Busy)
            }
            Self::Newer { .. } => hint("install a newer git-ralph"),
            Self::Damaged { path, .. } => {
                let change = path.file_stem().unwrap_or_default().to_string_lossy();
                hint(format!(
                    "move the file away, then run: git ralph start {change} --resume",
                    change = typed(change)
                ))
            }
            Self::Foreign { path, owner } => {
                // A loop that another user ran once has more files of theirs.
                let root = path.ancestors().find(|dir| dir.ends_with("ralph"));
                hint(format!(
                    "sudo -u {owner} git ralph status, or, if it is yours: sudo chown -R \"$USER\" {}",
                    typed_path(root.unwrap_or(path))
                ))
            }
            Self::File(error) => error.advice(),
        }
    }
}
