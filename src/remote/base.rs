//! The last state commit from which or as which the local loop was transferred: a file in the loop's directory.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::error::Error;
use crate::fs::{Durability, Links, read_regular_text};
use crate::git::{Git, Repo};
use crate::names::{Change, Oid};
use crate::state::{Ending, Phase, Store};

/// Maximum size of this file, in bytes.
const MOST: u64 = 64 << 10;

/// The last common state of a local loop and a remote.
#[derive(Debug)]
pub struct Base {
    store: Store,
    path: PathBuf,
    remote: String,
    noted: Noted,
}

#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Noted {
    remote: String,
    state: Option<Oid>,
    /// Its number; 0 if an earlier version wrote the file.
    #[serde(default)]
    generation: u64,
    /// The token of the run that pushed it.
    token: Option<String>,
    /// The token of a run that is about to take the loop: a push may arrive that a killed run did not note.
    #[serde(default)]
    next_token: Option<String>,
    /// The other run that held the loop when the remote was read last.
    #[serde(default)]
    holder: Option<SeenHolder>,
}

/// Another run that held the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenHolder {
    /// A description of the run.
    pub holder: String,
    /// The end of its lease.
    pub until: Timestamp,
}

/// Returns the name of the remote on which the local loop was last.
pub fn last_remote(repo: &Repo, change: &Change) -> Option<String> {
    let noted = Base::new(repo, change, "").noted;
    noted.state.map(|_| noted.remote)
}

impl Base {
    /// Reads the file.
    pub fn new(repo: &Repo, change: &Change, remote: &str) -> Self {
        let store = Store::new(&repo.common_dir, change);
        let path = store.file("remote.toml");
        let text = read_regular_text(&path, Links::Refused, MOST);
        Self {
            noted: text
                .ok()
                .and_then(|text| toml::from_str(&text).ok())
                .unwrap_or_default(),
            store,
            path,
            remote: remote.to_owned(),
        }
    }

    /// Returns whether no other process works on the loop in this repository.
    pub fn is_alone(&self) -> bool {
        !self.store.is_held_by_living()
    }

    /// Returns whether the local loop was aborted: then it has nothing of what the remote has.
    pub fn is_aborted(&self) -> Result<bool, Error> {
        let state = self.store.load()?;
        Ok(state.is_some_and(|state| !state.is_live() && state.here.closed == Some(Ending::Abort)))
    }

    /// Returns the state commit, if the loop was ever on this remote.
    pub fn state(&self) -> Option<&Oid> {
        let state = self.noted.state.as_ref();
        state.filter(|_| self.noted.remote == self.remote)
    }

    /// Returns the checkpoint of that state.
    pub async fn checkpoint(&self, git: &Git, change: &Change) -> Option<Oid> {
        let message = git.message(self.state()?).await.ok()?;
        Some(Record::parse(change, &message)?.checkpoint)
    }

    /// Returns whether this is the last common state, under any name of the remote.
    pub fn is_at(&self, state: &Oid) -> bool {
        self.noted.state.as_ref() == Some(state)
    }

    /// Returns whether the local loop has everything of this state on the remote: it is the last common one, or, for
    /// another remote, an ancestor of it. On the same remote, an ancestor means that the remote was reset.
    pub async fn follows(&self, git: &Git, state: &Oid) -> bool {
        match self.on_other_remote() {
            Some(seen) if seen != state => git.is_ancestor(state, seen).await.is_ok_and(|is| is),
            _ => self.is_at(state),
        }
    }

    /// Returns the parent of the next state on this remote, with its record: the last one on another remote, if that
    /// contains the state `there` on this one. `None` if this remote has other work.
    pub async fn top(&self, git: &Git, change: &Change, there: Option<&Oid>) -> Option<(Oid, Record)> {
        let seen = self.on_other_remote()?;
        let record = Record::parse(change, &git.message(seen).await.ok()?)?;
        if let Some(there) = there
            && !git.is_ancestor(there, seen).await.ok()?
        {
            return None;
        }
        (record.phase != Phase::Finished).then(|| (seen.clone(), record))
    }

    /// Returns whether the local loop was never on a remote.
    pub fn is_new(&self) -> bool {
        self.noted.state.is_none()
    }

    /// Returns the last common state with another remote, if none with this one is later.
    fn on_other_remote(&self) -> Option<&Oid> {
        let state = self.noted.state.as_ref();
        state.filter(|_| self.noted.remote != self.remote)
    }

    /// Returns whether a later state than this one was seen on the remote, according to their numbers.
    pub fn saw_later(&self, state: &Oid, generation: u64) -> bool {
        self.noted.generation >= generation && self.state().is_some_and(|seen| seen != state)
    }

    /// Returns whether a run in this repository held the loop under this token, or was about to.
    pub fn has_token(&self, token: &str) -> bool {
        let known = [&self.noted.token, &self.noted.next_token];
        known.into_iter().flatten().any(|known| known == token)
    }

    /// Writes the token of the run that is about to take the loop; what was noted of earlier runs stays.
    pub fn note_next_token(&mut self, token: &str) -> Result<(), Error> {
        self.save(Noted {
            next_token: Some(token.to_owned()),
            ..self.noted.clone()
        })
    }

    /// Writes a state and its number, with the token of the run that holds the loop.
    pub fn note(&mut self, state: &Oid, generation: u64, token: Option<&str>) -> Result<(), Error> {
        self.write(Some(state.clone()), generation, token)
    }

    /// Writes the token of the run that holds the loop; the last common state stays.
    pub fn note_token(&mut self, token: &str) -> Result<(), Error> {
        self.write(self.state().cloned(), self.noted.generation, Some(token))
    }

    /// Returns the other run that held the loop when the remote was read last.
    pub(super) fn seen_holder(&self) -> Option<&SeenHolder> {
        self.noted.holder.as_ref()
    }

    /// Writes the other run that holds the loop; the last common state stays.
    pub(super) fn note_holder(&mut self, holder: Option<SeenHolder>) -> Result<(), Error> {
        self.save(Noted {
            holder,
            ..self.noted.clone()
        })
    }

    /// Forgets that the loop was on the remote: the local state has diverged.
    pub fn forget(&mut self) -> Result<(), Error> {
        self.write(None, 0, None)
    }

    fn write(&mut self, state: Option<Oid>, generation: u64, token: Option<&str>) -> Result<(), Error> {
        self.save(Noted {
            remote: self.remote.clone(),
            state,
            generation,
            token: token.map(ToOwned::to_owned),
            next_token: None,
            holder: None,
        })
    }

    fn save(&mut self, noted: Noted) -> Result<(), Error> {
        if self.noted == noted {
            return Ok(());
        }
        let text = toml::to_string(&noted).unwrap_or_default();
        self.store.make_dirs()?;
        self.store
            .door()
            .write(&self.path, text.as_bytes(), 0o600, Durability::Atomic)?;
        self.noted = noted;
        Ok(())
    }
}
