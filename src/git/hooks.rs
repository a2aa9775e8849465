//! Finds hooks in git's places: in the hooks directory and, since git 2.54, in the configuration.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use super::discover::Repo;
use crate::fs::{Links, may_be_there, read_regular_text};

/// Path of git-ralph's own hooks directory below the common git directory; for repositories with `core.hooksPath`.
pub const OWN_DIRECTORY: &str = "ralph/.hooks";
/// A file in that directory: the former value of `core.hooksPath` in the repository's configuration.
pub const FORMER: &str = "former";

/// Returns whether `core.hooksPath` names git-ralph's own hooks directory.
pub fn is_ours(path: &str) -> bool {
    Path::new(path).ends_with(OWN_DIRECTORY)
}

/// Returns the value of `core.hooksPath` before it named this directory of git-ralph.
pub fn former(path: &str) -> Option<String> {
    let text = read_regular_text(&Path::new(path).join(FORMER), Links::Followed, 1 << 16).ok()?;
    Some(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// The hook settings of git's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// The value of `core.hooksPath`, as written.
    pub path: Option<String>,
    /// The events of all configured hooks (`hook.<name>.event`).
    pub events: BTreeSet<String>,
}

impl Hooks {
    /// Returns the hooks directory; `None` if only git can find it, such as one below another user's home.
    pub fn dir(&self, repo: &Repo) -> Option<PathBuf> {
        let Some(path) = &self.path else {
            return Some(repo.common_dir.join("hooks"));
        };
        match (path.strip_prefix("~/"), env::var_os("HOME")) {
            (Some(rest), Some(home)) => Some(PathBuf::from(home).join(rest)),
            _ if path.starts_with(['~', '%', ':']) => None,
            // Git runs hooks from the top directory.
            _ => Some(repo.top.join(path)),
        }
    }

    /// Returns the path of a hook in the hooks directory, if `dir` knows the directory.
    pub fn file(&self, repo: &Repo, name: &str) -> Option<PathBuf> {
        Some(self.dir(repo)?.join(name))
    }

    /// Returns whether git may find a hook of this name; `false` means that there certainly is none.
    pub fn may_be(&self, repo: &Repo, name: &str) -> bool {
        self.events.contains(name) || self.file(repo, name).is_none_or(|file| may_be_there(&file))
    }
}
