//! Finds a loop on a remote, and lists all loops by their state commits alone, whose messages name the holder and the
//! progress. Fetches neither the files nor the history of other loops, and changes nothing in the user's repository.
//! Caches the commits in a file, verified by their ids, so that a second listing fetches only new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::base::Base;
use super::lease::Refs;
use super::record::Record;
use super::refusal::RemoteRefusal;
use super::server::{MOST_AT_ONCE, Server, There};
use crate::error::{Error, refuse};
use crate::fs::{Below, Durability, Links, read_regular};
use crate::git::{Git, GitError, Kind, Repo, batch, is_commit};
use crate::names::{Change, Oid};
use crate::state::make_root;

/// Maximum size of a state commit in bytes: it has a line for each attempt.
const MOST_MESSAGE: u64 = 4 << 20;

/// Maximum size of all state commits that are read at once, in bytes.
const MOST_MESSAGES: u64 = 64 << 20;

/// Maximum size of a cached commit, and of the cache, in bytes.
const MOST_KEPT: usize = 64 << 10;
const MOST_OF_ALL: u64 = 16 << 20;

/// Number of listings after which a ref that moves between listing and fetch is fetched with its history.
const LOOKS: usize = 3;

/// The reasons why an object is no state.
const NO_COMMIT: &str = "it is no commit";
const TOO_LARGE: &str = "it is too large";
const NO_STATE: &str = "its message is not that of a state";
const MISSING: &str = "it is missing";

/// The loops on a remote, each with its state or with the reason why it has no readable one.
pub type Listing = BTreeMap<Change, Result<There, RemoteRefusal>>;

/// Raw state commits; the error says why an object is none.
type Commits = BTreeMap<Oid, Result<Vec<u8>, &'static str>>;

impl Server {
    /// Lists the loops on the remote. One round trip, and one fetch of commits if there are new ones. From a remote
    /// that cannot send single commits, fetches whole loops.
    pub async fn list(&self) -> Result<Listing, Error> {
        self.list_among(&self.refs_of_all().await?).await
    }

    /// Lists the loops on the remote, whose refs were just listed.
    pub(super) async fn list_among(&self, refs: &Refs) -> Result<Listing, Error> {
        let kept = Kept::new(&self.repo);
        let mut known = kept.read();
        let number = known.len();
        let mut loops = self.loops(refs);
        // This repository's own states are local.
        let own = |(change, oid): &(&Change, &Oid)| {
            !known.contains_key(oid) && Base::new(&self.repo, change, self.name()).is_at(oid)
        };
        let own = loops.iter().filter(own);
        let own: BTreeMap<Change, Oid> = own.map(|(change, oid)| (change.clone(), oid.clone())).collect();
        if !own.is_empty() {
            add(&mut known, &self.repo.git, &own).await?;
        }
        for _ in 0..LOOKS {
            let wanted = missing(&loops, &known);
            if wanted.is_empty() || self.fetch_apart(&wanted, &mut known).await.is_err() {
                break;
            }
            if !missing(&loops, &known).is_empty() {
                loops = self.all().await?;
            }
        }
        let wanted = missing(&loops, &known);
        let mut failed = self.fetch(&wanted).await?;
        if !failed.is_empty() {
            // A damaged loop fails a second time, too.
            let again = wanted.clone().into_iter();
            failed = self
                .fetch(&again.filter(|(change, _)| failed.contains_key(change)).collect())
                .await?;
            if !failed.is_empty() {
                // A remote that does not answer says nothing about damage.
                self.all().await?;
            }
        }
        add(&mut known, &self.repo.git, &wanted).await?;
        kept.write(&loops, &known, number);
        let listed = loops.into_iter().map(|(change, oid)| {
            let there = match failed.remove(&change) {
                Some(failed) if !known.contains_key(&oid) => Err(failed),
                _ => self.there(&change, oid, &known),
            };
            (change, there)
        });
        Ok(listed.collect())
    }

    /// Finds a loop on the remote and fetches it; returns it with the object of its branch there. If two fetches fail
    /// although the remote lists the same object, the connection is not the cause: the loop is damaged, or the host
    /// does not send it.
    pub async fn find(&self, change: &Change) -> Result<(Option<There>, Option<Oid>), Error> {
        self.find_among(None, change).await
    }

    /// Finds a loop on the remote as [`Self::find`] does; `refs` may be a recent listing.
    pub(super) async fn find_among(
        &self,
        mut refs: Option<Refs>,
        change: &Change,
    ) -> Result<(Option<There>, Option<Oid>), Error> {
        let (mut failed_at, mut looks) = (None, 0);
        loop {
            looks += 1;
            let (state, branch) = match refs.take() {
                Some(refs) => self.places_among(change, &refs)?,
                None => self.places_patiently(change).await?,
            };
            let Some(oid) = state else {
                return Ok((None, branch));
            };
            let wanted = BTreeMap::from([(change.clone(), oid.clone())]);
            let Some(error) = self.fetch(&wanted).await?.into_values().next() else {
                let mut known = Commits::new();
                add(&mut known, &self.repo.git, &wanted).await?;
                return Ok((Some(self.there(change, oid, &known)?), branch));
            };
            let (remote, words) = match error {
                RemoteRefusal::Unreadable { remote, words } if looks <= LOOKS => (remote, words),
                error => return Err(error.into()),
            };
            if failed_at.is_some_and(|failed_at| failed_at == oid) {
                let change = change.to_string();
                return refuse(RemoteRefusal::NotFetched {
                    change,
                    remote,
                    words,
                });
            }
            failed_at = Some(oid);
        }
    }

    /// Reads the state commit of a loop from the `known` ones.
    fn there(&self, change: &Change, oid: Oid, known: &Commits) -> Result<There, RemoteRefusal> {
        let record = match known.get(&oid) {
            Some(Ok(commit)) => Record::parse(change, &message_of(commit)).ok_or(NO_STATE),
            Some(Err(why)) => Err(*why),
            None => Err(MISSING),
        };
        let record = record.map_err(|why| self.unintelligible(change, why))?;
        Ok(There { oid, record })
    }

    /// Fetches only the state commits of these loops, into a temporary repository.
    async fn fetch_apart(&self, loops: &BTreeMap<Change, Oid>, known: &mut Commits) -> Result<(), GitError> {
        let apart = self.repo.apart().await?;
        let remote = apart.git.remote(self.name(), self.fetch_limit);
        let names: Vec<String> = loops.keys().map(|change| self.state_ref(change)).collect();
        for part in names.chunks(MOST_AT_ONCE) {
            remote.fetch_commits(part).await?;
        }
        add(known, &apart.git, loops).await
    }
}

/// Returns the loops whose state commits are unknown.
fn missing(loops: &BTreeMap<Change, Oid>, known: &Commits) -> BTreeMap<Change, Oid> {
    let missing = loops.iter().filter(|(_, oid)| !known.contains_key(oid));
    missing
        .map(|(change, oid)| (change.clone(), oid.clone()))
        .collect()
}

/// Reads the ones of these commits that a repository has. Several refs can name one commit.
async fn add(known: &mut Commits, git: &Git, loops: &BTreeMap<Change, Oid>) -> Result<(), GitError> {
    let oids: BTreeSet<&Oid> = loops.values().collect();
    let oids: Vec<Oid> = oids.into_iter().cloned().collect();
    let kinds = git.kinds_of(&oids).await?;
    let mut readable: Vec<(Oid, u64)> = Vec::new();
    for (oid, kind) in oids.into_iter().zip(kinds) {
        match kind {
            Some(Kind { is_commit: false, .. }) => {
                known.insert(oid, Err(NO_COMMIT));
            }
            Some(Kind { size, .. }) if size > MOST_MESSAGE => {
                known.insert(oid, Err(TOO_LARGE));
            }
            Some(Kind { size, .. }) => readable.push((oid, size)),
            None => {}
        }
    }
    while !readable.is_empty() {
        let mut sum = 0;
        let fits = readable.iter().take_while(|(_, size)| {
            sum += size;
            sum <= MOST_MESSAGES
        });
        let number = fits.count().max(1);
        let part: Vec<Oid> = readable.drain(..number).map(|(oid, _)| oid).collect();
        let read = git.commits(&part).await?;
        known.extend(read.into_iter().map(|(oid, commit)| (oid, Ok(commit))));
    }
    Ok(())
}

/// Returns the message of a raw commit.
fn message_of(commit: &[u8]) -> String {
    let head = memchr::memmem::find(commit, b"\n\n").map_or(commit.len(), |end| end + 2);
    String::from_utf8_lossy(commit.get(head..).unwrap_or_default()).into_owned()
}

/// The cache file with the state commits of the last listing.
struct Kept {
    /// The git directory.
    dir: PathBuf,
    door: Below,
    path: PathBuf,
}

impl Kept {
    fn new(repo: &Repo) -> Self {
        // No change has a name that begins with a dot.
        let path = Path::new("ralph").join(".listed");
        Self {
            dir: repo.common_dir.clone(),
            door: Below::new(&repo.common_dir),
            path,
        }
    }

    /// Reads the cache. Omits entries that do not match their ids: no writer of the file can forge a commit.
    fn read(&self) -> Commits {
        let bytes = read_regular(&self.door.path(&self.path), Links::Refused, MOST_OF_ALL);
        let bytes = bytes.unwrap_or_default();
        let commits = batch(&bytes).filter(|(oid, _, content)| is_commit(oid, content));
        commits
            .map(|(oid, _, content)| (oid, Ok(content.to_vec())))
            .collect()
    }

    /// Writes the cache of `number` commits, if there are new ones. It is optional, so errors are ignored.
    fn write(&self, loops: &BTreeMap<Change, Oid>, known: &Commits, number: usize) {
        let kept = loops.values().collect::<BTreeSet<_>>().into_iter();
        let kept = kept.filter_map(|oid| Some((oid, known.get(oid)?.as_ref().ok()?)));
        let kept: Vec<_> = kept.filter(|(_, commit)| commit.len() <= MOST_KEPT).collect();
        if kept.len() == number && known.len() == number {
            return;
        }
        let mut text = Vec::new();
        for (oid, commit) in kept {
            text.extend(format!("{oid} commit {}\n", commit.len()).into_bytes());
            text.extend(commit);
            text.push(b'\n');
            if text.len() as u64 > MOST_OF_ALL {
                return;
            }
        }
        let dir = make_root(&self.dir);
        let _ = dir.and_then(|()| self.door.write(&self.path, &text, 0o600, Durability::Atomic));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_begins_after_the_first_empty_line() {
        let commit = b"tree 1\ngpgsig x\n \n y\nauthor a\n\nsubject\n\nRalph-Change: c\n";
        assert_eq!(message_of(commit), "subject\n\nRalph-Change: c\n");
        assert_eq!(message_of(b"tree 1\nauthor a"), "");
    }
}
