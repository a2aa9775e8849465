//! Reads and moves the loops' refs on a remote. A ref only moves from the object that was expected there.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;

use super::base::Base;
use super::lease::{Holding, Refs, Watch};
use super::patience::{Patience, SHORT_PATIENCE};
use super::prefixes;
use super::reason::{reason, unanswered};
use super::record::Record;
use super::refusal::RemoteRefusal;
use crate::error::Error;
use crate::git::remote::{Move, Pushed, RemoteGit, Together, broke_off};
use crate::git::{GitError, Repo};
use crate::names::{Change, Oid};
use crate::settings::{Settings, to_std};

/// The pauses between two tries to push, or to check a push: each is twice as long as the one before.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Maximum number of loops in one fetch.
pub(super) const MOST_AT_ONCE: usize = 500;

/// Maximum number of refs that a remote may list.
const MOST_REFS: usize = 100_000;

/// The result of moving a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The ref has the new value.
    Ours,
    /// The ref has another value.
    Theirs(Option<Oid>),
    /// The host refuses, with this message; the ref did not move.
    Refused(String),
    /// The remote does not answer, for this reason; the ref may have moved.
    Unknown(String),
}

/// Returns the objects of a state ref and of a branch among these refs.
fn places(names: &[String; 2], refs: &[(String, Oid)]) -> (Option<Oid>, Option<Oid>) {
    (oid_at(refs, &names[0]), oid_at(refs, &names[1]))
}

fn oid_at(refs: &[(String, Oid)], wanted: &str) -> Option<Oid> {
    let found = refs.iter().find(|(name, _)| name == wanted);
    found.map(|(_, oid)| oid.clone())
}

/// The branches of loops, as a pattern of git-ls-remote(1).
const LOOP_BRANCHES: &str = "refs/heads/ralph/*";

/// A remote that keeps loops.
#[derive(Clone, Debug)]
pub struct Server {
    git: RemoteGit,
    /// The same remote, with the time limit of long fetches: nothing is held meanwhile.
    pub(super) fetching: RemoteGit,
    /// The time limit of long fetches.
    pub(super) fetch_limit: Duration,
    /// The local repository.
    pub(super) repo: Repo,
    /// The prefix of the refs, with a final slash.
    prefix: String,
    /// The length of a lease.
    pub lease: Duration,
}

/// A loop on the remote.
#[derive(Clone, Debug, PartialEq)]
pub struct There {
    /// Its state commit.
    pub oid: Oid,
    /// Its message.
    pub record: Record,
}

impl Server {
    /// Returns the remote that an option or a setting names.
    pub fn new(repo: &Repo, settings: &Settings, typed: Option<&str>) -> Result<Self, RemoteRefusal> {
        let name = typed.or(settings.remote.as_deref());
        let name = name.ok_or(RemoteRefusal::NoRemote(None))?;
        let lease = to_std(settings.lease);
        // A holder may have to retry a few times before its patience ends.
        let limit = (lease / 6).max(Duration::from_secs(5));
        let fetch_limit = to_std(settings.command_timeout);
        Ok(Self {
            git: repo.git.remote(name, limit.min(fetch_limit)),
            fetching: repo.git.remote(name, fetch_limit),
            fetch_limit,
            repo: repo.clone(),
            prefix: settings.remote_refs.clone(),
            lease,
        })
    }

    /// Returns the remote's name.
    pub fn name(&self) -> &str {
        self.git.name()
    }

    /// Limits the time for which each request to list refs may take.
    pub(super) fn asking_briefly(mut self, limit: Duration) -> Self {
        self.git = self.repo.git.remote(self.name(), limit);
        self
    }

    /// Returns the lease as a record has it.
    pub(super) fn shown_lease(&self) -> SignedDuration {
        SignedDuration::try_from(self.lease).unwrap_or(SignedDuration::MAX)
    }

    /// Returns the prefix of the refs of loops on the remote.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Moves any ref on the remote from `old` to `new`.
    pub(super) async fn push(
        &self,
        name: &str,
        old: Option<&Oid>,
        new: Option<&Oid>,
    ) -> Result<Pushed, GitError> {
        self.git.push(name, old, new).await
    }

    /// Returns the object of any ref on the remote.
    pub(super) async fn at(&self, name: &str) -> Result<Option<Oid>, RemoteRefusal> {
        Ok(oid_at(&self.refs(&[name.to_owned()]).await?, name))
    }

    /// Returns the name of a loop's ref on the remote.
    pub fn state_ref(&self, change: &Change) -> String {
        format!("{}{change}/state", self.prefix)
    }

    /// Runs a read-only request, and repeats it after a broken connection, with growing pauses.
    async fn ask<T>(ask: impl AsyncFn() -> Result<T, GitError>) -> Result<T, GitError> {
        let (begun, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            match ask().await {
                Err(GitError::Failed { words, .. })
                    if broke_off(&words) && begun.elapsed() + pause < SHORT_PATIENCE => {}
                answer => return answer,
            }
            sleep(pause).await;
            pause *= 2;
        }
    }

    /// Lists refs on the remote, by patterns of git-ls-remote(1).
    async fn refs(&self, patterns: &[String]) -> Result<Vec<(String, Oid)>, RemoteRefusal> {
        self.listed(Self::ask(|| self.git.refs(patterns)).await)
    }

    /// Returns the refs that were listed.
    fn listed(
        &self,
        refs: Result<Vec<(String, Oid)>, GitError>,
    ) -> Result<Vec<(String, Oid)>, RemoteRefusal> {
        let refs = refs.map_err(|error| self.unreadable(&error))?;
        if refs.len() > MOST_REFS {
            return Err(self.unreadable_for(format!("it lists more than {MOST_REFS} refs")));
        }
        Ok(refs)
    }

    fn unreadable(&self, error: &GitError) -> RemoteRefusal {
        self.unreadable_for(reason(error))
    }

    /// Returns the error about an unreadable remote, with this reason.
    pub(super) fn unreadable_for(&self, words: String) -> RemoteRefusal {
        let remote = self.name().to_owned();
        RemoteRefusal::Unreadable { remote, words }
    }

    /// Returns the error about a loop that could not be pushed, with this reason.
    pub(super) fn not_pushed(&self, change: &Change, words: String) -> RemoteRefusal {
        let (change, remote) = (change.to_string(), self.name().to_owned());
        RemoteRefusal::NotPushed {
            change,
            remote,
            words,
        }
    }

    /// Returns the error about work that the host refuses, with the host's message.
    pub(super) fn refused(&self, change: &Change, words: String) -> RemoteRefusal {
        let (change, remote) = (change.to_string(), self.name().to_owned());
        RemoteRefusal::Refused {
            change,
            remote,
            words,
        }
    }

    /// Returns the error about the first state of a loop that the host refuses, with the host's message.
    pub(super) fn refused_refs(&self, change: &Change, words: String) -> RemoteRefusal {
        if self.prefix == prefixes::BRANCHES {
            return self.refused(change, words);
        }
        let (change, remote) = (change.to_string(), self.name().to_owned());
        RemoteRefusal::RefusedRefs {
            change,
            remote,
            words,
        }
    }

    /// Returns the error about a loop with newer work on the remote.
    pub(super) fn behind(&self, change: &Change) -> RemoteRefusal {
        let (change, remote) = (change.to_string(), self.name().to_owned());
        RemoteRefusal::Behind { change, remote }
    }

    /// Returns the error about a loop whose branch on the remote lacks its end, with this reason.
    pub(super) fn no_branch(&self, change: &Change, why: String) -> RemoteRefusal {
        RemoteRefusal::NoBranch {
            change: change.to_string(),
            branch: change.branch(),
            remote: self.name().to_owned(),
            why,
        }
    }

    /// Returns the error about an invalid state on the remote.
    pub(super) fn unintelligible(&self, change: &Change, why: impl Into<String>) -> RemoteRefusal {
        RemoteRefusal::Unintelligible {
            change: change.to_string(),
            remote: self.name().to_owned(),
            name: self.state_ref(change),
            why: why.into(),
        }
    }

    /// Lists the loops on the remote. One round trip.
    pub async fn all(&self) -> Result<BTreeMap<Change, Oid>, RemoteRefusal> {
        Ok(self.loops(&self.refs_of_all().await?))
    }

    /// Lists the refs of all loops on the remote. One round trip.
    pub(super) async fn refs_of_all(&self) -> Result<Refs, RemoteRefusal> {
        let mut patterns = prefixes::patterns_of_states(&self.prefix);
        patterns.push(LOOP_BRANCHES.to_owned());
        let refs = self.refs(&patterns).await?;
        prefixes::require_only(self.name(), &self.prefix, &refs)?;
        Ok(refs)
    }

    /// Returns the states among the refs of all loops.
    pub(super) fn loops(&self, refs: &Refs) -> BTreeMap<Change, Oid> {
        let loops = refs.iter().filter_map(|(name, oid)| {
            let change = name.strip_prefix(&self.prefix)?.strip_suffix("/state")?;
            Some((Change::new(change).ok()?, oid.clone()))
        });
        loops.collect()
    }

    /// Lists the commits of the remote's branches, except those that keep loops, and fetches missing ones.
    pub(super) async fn heads(&self) -> Result<Vec<Oid>, Error> {
        let mut refs = self.refs(&["refs/heads/*".to_owned()]).await?;
        refs.retain(|(name, _)| !name.starts_with(&self.prefix));
        let (names, oids): (Vec<String>, Vec<Oid>) = refs.into_iter().unzip();
        let here = self.repo.git.kinds_of(&oids).await?;
        let missing = names.into_iter().zip(here).filter(|(_, kind)| kind.is_none());
        let missing: Vec<String> = missing.map(|(name, _)| name).collect();
        for part in missing.chunks(MOST_AT_ONCE) {
            // A commit that cannot be fetched is unknown.
            let _ = self.fetching.fetch(part).await;
        }
        Ok(oids)
    }

    /// Returns the objects of a loop's state and of its branch on the remote; retries after a broken connection.
    pub(super) async fn places_patiently(
        &self,
        change: &Change,
    ) -> Result<(Option<Oid>, Option<Oid>), RemoteRefusal> {
        let mut patterns = self.names(change).to_vec();
        patterns.extend(prefixes::patterns_of_states(&self.prefix));
        self.places_among(change, &self.refs(&patterns).await?)
    }

    /// Returns the objects of a loop's state and of its branch among the refs of a remote.
    pub(super) fn places_among(
        &self,
        change: &Change,
        refs: &Refs,
    ) -> Result<(Option<Oid>, Option<Oid>), RemoteRefusal> {
        let names = self.names(change);
        let has = |wanted: &str| refs.iter().any(|(name, _)| name == wanted);
        for name in names.iter().filter(|name| !has(name)) {
            // Patterns match the end of a name, also in git push.
            let ends = |found: &&(String, Oid)| found.0.ends_with(&format!("/{name}"));
            if let Some((found, _)) = refs.iter().find(ends) {
                return Err(RemoteRefusal::Mistaken {
                    remote: self.name().to_owned(),
                    name: found.clone(),
                    meant: name.clone(),
                });
            }
        }
        prefixes::require_only(self.name(), &self.prefix, refs)?;
        prefixes::require_alone(self.name(), &self.prefix, change, refs)?;
        Ok(places(&names, refs))
    }

    /// Returns the present objects of a loop's state and of its branch on the remote. One round trip: a run that holds
    /// a loop retries by itself.
    pub async fn places(&self, change: &Change) -> Result<(Option<Oid>, Option<Oid>), RemoteRefusal> {
        let names = self.names(change);
        Ok(places(&names, &self.listed(self.git.refs(&names).await)?))
    }

    /// Returns the names of a loop's state and of its branch on the remote.
    fn names(&self, change: &Change) -> [String; 2] {
        [self.state_ref(change), change.branch_ref()]
    }

    /// Fetches the missing states of these loops. Returns git's messages about those that cannot be fetched: one
    /// damaged loop does not block the others.
    pub async fn fetch(
        &self,
        loops: &BTreeMap<Change, Oid>,
    ) -> Result<BTreeMap<Change, RemoteRefusal>, Error> {
        let oids: Vec<Oid> = loops.values().cloned().collect();
        let here = self.repo.git.kinds_of(&oids).await?;
        let missing = loops.keys().zip(here).filter(|(_, kind)| kind.is_none());
        let wanted: Vec<&Change> = missing.map(|(change, _)| change).collect();
        let mut parts: Vec<&[&Change]> = wanted.chunks(MOST_AT_ONCE).collect();
        let mut failed = BTreeMap::new();
        let mut is_there = false;
        let begun = Instant::now();
        while let Some(part) = parts.pop() {
            if begun.elapsed() >= self.fetch_limit {
                let late = || self.unreadable_for(unanswered(self.fetch_limit));
                failed.extend(part.iter().map(|change| ((*change).clone(), late())));
                continue;
            }
            let names: Vec<String> = part.iter().map(|change| self.state_ref(change)).collect();
            let Err(error) = Self::ask(|| self.fetching.fetch(&names)).await else {
                continue;
            };
            if let [change] = part {
                failed.insert((*change).clone(), self.unreadable(&error));
                continue;
            }
            if !is_there {
                self.all().await?;
                is_there = true;
            }
            let (one, other) = part.split_at(part.len() / 2);
            parts.extend([one, other]);
        }
        Ok(failed)
    }

    /// Returns the state of a loop's holder, considering the processes that work on it in this repository now.
    pub(super) fn holding_now(&self, found: &There, watch: &mut Watch) -> Holding {
        let base = Base::new(&self.repo, &found.record.change, self.name());
        self.holding(found, &base, base.is_alone(), watch)
    }

    /// Returns the state of a loop's holder. `is_alone` is true if no other process works on the loop in this
    /// repository: a local run that held it is dead then.
    pub(super) fn holding(&self, found: &There, base: &Base, is_alone: bool, watch: &mut Watch) -> Holding {
        let (now, clock) = (Instant::now(), Timestamp::now());
        let holding = watch.look(&found.record, &found.oid, self.lease, now, clock);
        let holder = found.record.holder.as_ref();
        let is_own = holder.is_some_and(|holder| base.has_token(&holder.token));
        match holding {
            Holding::Alive | Holding::Unknown if is_own && is_alone => Holding::Free,
            other => other,
        }
    }

    /// Returns the error about a loop without remaining work; it may still be active locally.
    pub(super) fn over(&self, found: &There, is_active_here: bool) -> RemoteRefusal {
        RemoteRefusal::Over {
            change: found.record.change.to_string(),
            remote: self.name().to_owned(),
            phase: found.record.shown_phase().into(),
            is_active_here,
        }
    }

    /// Moves a loop's ref from `old` to `new`. Retries transient errors, with growing pauses, for as long as
    /// `patience`.
    pub(super) async fn swap(
        &self,
        change: &Change,
        old: Option<&Oid>,
        new: &Oid,
        mut patience: Patience,
    ) -> Answer {
        let name = self.state_ref(change);
        let mut pause = FIRST_PAUSE;
        let mut is_pushed = false;
        let mut why = String::new();
        let mut refused = None;
        loop {
            if !is_pushed {
                refused = None;
                match self.git.push(&name, old, Some(new)).await {
                    Ok(Pushed::Done) => return Answer::Ours,
                    Ok(Pushed::Refused(words)) => refused = Some(words),
                    Ok(Pushed::Elsewhere(words) | Pushed::Unknown(words)) => why = words,
                    Err(error) => why = reason(&error),
                }
            }
            // Git's messages differ between hosts, and an answer can be lost: read the ref back.
            is_pushed = true;
            match self.places(change).await {
                Ok((now, _)) if now.as_ref() == Some(new) => return Answer::Ours,
                Ok((now, _)) if now.as_ref() == old => match refused {
                    Some(words) => return Answer::Refused(words),
                    None => is_pushed = false,
                },
                Ok((now, _)) => return Answer::Theirs(now),
                Err(RemoteRefusal::Unreadable { words, .. }) => why = words,
                Err(_) => {}
            }
            if patience.left().is_zero() {
                return Answer::Unknown(why);
            }
            patience.pause(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Moves a loop's ref and its branch, atomically in one push. Reads them back after a lost answer.
    pub(super) async fn swap_both(
        &self,
        change: &Change,
        state: (Option<&Oid>, &Oid),
        branch: (Option<&Oid>, &Oid),
    ) -> Together {
        let (state_ref, branch_ref) = (self.state_ref(change), change.branch_ref());
        let to = |name, (old, new)| Move {
            name,
            old,
            new: Some(new),
        };
        let moves = [to(&state_ref, state), to(&branch_ref, branch)];
        let pushed = self.git.push_together(&moves).await.unwrap_or(Together::Unknown);
        match pushed {
            Together::Unknown => match self.places(change).await {
                Ok((now, _)) if now.as_ref() == Some(state.1) => Together::Done,
                _ => Together::Unknown,
            },
            pushed => pushed,
        }
    }

    /// Moves the branch of a loop on the remote, for users and pull requests.
    pub(super) async fn copy_branch(&self, change: &Change, old: Option<&Oid>, new: &Oid) -> Pushed {
        let pushed = self.git.push(&change.branch_ref(), old, Some(new)).await;
        pushed.unwrap_or_else(|error| Pushed::Unknown(reason(&error)))
    }

    /// Fetches the branch of a loop, if its commit is missing.
    pub(super) async fn fetch_branch(&self, change: &Change, at: &Oid) -> Result<(), Error> {
        if self.repo.git.kinds_of(std::slice::from_ref(at)).await? == [None] {
            // A commit that cannot be fetched is unknown.
            let _ = self.fetching.fetch(&[change.branch_ref()]).await;
        }
        Ok(())
    }
}
