//! The state commit that the loop here came from or went into: a file in the loop's directory.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::fs::{Durability, Links, read_regular_text};
use crate::git::Repo;
use crate::names::{Change, Oid};
use crate::state::Store;

/// The most that such a file can have, in bytes.
const MOST: u64 = 64 << 10;

/// The last common state of a loop here and on a remote.
#[derive(Debug)]
pub struct Base {
    store: Store,
    path: PathBuf,
    remote: String,
    noted: Option<Noted>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    remote: String,
    state: Option<Oid>,
    /// The token of the run that put it there.
    token: Option<String>,
}

impl Base {
    /// Reads it.
    pub fn new(repo: &Repo, change: &Change, remote: &str) -> Self {
        let store = Store::new(&repo.common_dir, change);
        let path = store.file("remote.toml");
        let text = read_regular_text(&path, Links::Refused, MOST);
        Self {
            noted: text.ok().and_then(|text| toml::from_str(&text).ok()),
            store,
            path,
            remote: remote.to_owned(),
        }
    }

    /// Returns the state commit, if the loop was ever on this remote.
    pub fn state(&self) -> Option<&Oid> {
        let noted = self.noted.as_ref();
        noted
            .filter(|noted| noted.remote == self.remote)
            .and_then(|noted| noted.state.as_ref())
    }

    /// Returns whether it is this state.
    pub fn is_at(&self, state: &Oid) -> bool {
        self.state() == Some(state)
    }

    /// Returns whether a run in this repository held the loop under this token.
    pub fn has_token(&self, token: &str) -> bool {
        let noted = self.noted.as_ref();
        noted.is_some_and(|noted| noted.token.as_deref() == Some(token))
    }

    /// Writes it, with the token of the run that holds the loop.
    pub fn note(&mut self, state: &Oid, token: Option<&str>) -> Result<(), Error> {
        self.write(Some(state.clone()), token)
    }

    /// Writes the token of the run that holds the loop; the last common state stays.
    pub fn note_token(&mut self, token: &str) -> Result<(), Error> {
        self.write(self.state().cloned(), Some(token))
    }

    /// Forgets that the loop was on the remote: the local state has diverged.
    pub fn forget(&mut self) -> Result<(), Error> {
        self.write(None, None)
    }

    fn write(&mut self, state: Option<Oid>, token: Option<&str>) -> Result<(), Error> {
        let noted = Noted {
            remote: self.remote.clone(),
            state,
            token: token.map(ToOwned::to_owned),
        };
        if self.noted.as_ref() == Some(&noted) {
            return Ok(());
        }
        let text = toml::to_string(&noted).unwrap_or_default();
        self.store.make_dirs()?;
        self.store
            .door()
            .write(&self.path, text.as_bytes(), 0o600, Durability::Atomic)?;
        self.noted = Some(noted);
        Ok(())
    }
}
