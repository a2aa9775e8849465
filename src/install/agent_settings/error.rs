//! The error about settings of an agent that could not be changed.

use std::io;
use std::path::{Path, PathBuf};

use crate::async_cmd::quoted;
use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::fs::{FileError, file_error};

refusals! {
/// The reason why settings could not be changed; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFileError {
    /// The home directory is unknown.
    #[error("cannot find the settings of the agent: HOME is not set")]
    NoHome;
    /// The text is no valid settings file.
    #[error("cannot change {}: {why}", path.display())]
    Text { path: PathBuf, why: String }
        => |path| hint(format!("fix {}, then run the same command again", quoted(&path.to_string_lossy())));
    /// An error of the system, without a hint.
    #[error(transparent)]
    File(#[from] FileError);
}
}

pub(super) fn wrong(path: &Path, why: String) -> SettingsFileError {
    SettingsFileError::Text {
        path: path.to_owned(),
        why,
    }
}

pub(super) fn failed(what: &'static str, path: &Path, source: io::Error) -> SettingsFileError {
    file_error(what, path, source).into()
}
