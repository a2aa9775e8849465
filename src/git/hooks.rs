//! Where git looks for hooks: the hooks directory and, since git 2.54, its configuration.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use super::discover::Repo;
use crate::fs::{Links, read_regular_text};

/// Where git-ralph's own hooks directory is, below the common git directory; for repositories with
/// `core.hooksPath`.
pub const OWN_DIRECTORY: &str = "ralph/.hooks";
/// A file in it: the value that `core.hooksPath` had in the repository's configuration.
pub const FORMER: &str = "former";

/// Returns whether `core.hooksPath` names git-ralph's own hooks directory.
#[must_use]
pub fn is_ours(path: &str) -> bool {
    Path::new(path).ends_with(OWN_DIRECTORY)
}

/// Returns the value that was set before this one of ours.
#[must_use]
pub fn former(path: &str) -> Option<String> {
    let text = read_regular_text(&Path::new(path).join(FORMER), Links::Followed, 1 << 16).ok()?;
    Some(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// What the configuration says about hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// `core.hooksPath`, as it was written.
    pub path: Option<String>,
    /// The events of all configured hooks (`hook.<name>.event`).
    pub events: BTreeSet<String>,
}

impl Hooks {
    /// Returns whether a configured hook names this event.
    #[must_use]
    pub fn is_configured(&self, name: &str) -> bool {
        self.events.contains(name)
    }

    /// Returns the file of a hook in the hooks directory, if that directory can be known: a path in somebody
    /// else's home is left to git.
    #[must_use]
    pub fn file(&self, repo: &Repo, name: &str) -> Option<PathBuf> {
        let Some(path) = &self.path else {
            return Some(repo.common_dir.join("hooks").join(name));
        };
        let dir = match (path.strip_prefix("~/"), env::var_os("HOME")) {
            (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
            _ if path.starts_with(['~', '%', ':']) => return None,
            // Git runs hooks from the top directory.
            _ => repo.top.join(path),
        };
        Some(dir.join(name))
    }

    /// Returns whether git may find a hook of this name; `false` is certain.
    #[must_use]
    pub fn may_be(&self, repo: &Repo, name: &str) -> bool {
        self.is_configured(name)
            || self
                .file(repo, name)
                .is_none_or(|file| file.symlink_metadata().is_ok())
    }
}
