//! Reads a loop from a remote. All of it is limited, and checked before any of it is used or saved: an invalid state is
//! refused, and changes nothing in this repository.

use std::collections::{BTreeMap, BTreeSet};

use super::base::Base;
use super::record::{Record, parse_list};
use super::refusal::RemoteRefusal;
use super::server::{Server, There};
use super::validation::{check_state, is_event};
use crate::engine::Portable;
use crate::engine::travel::{self, PublicText};
use crate::error::Error;
use crate::events::Event;
use crate::names::Oid;
use crate::state::{Listed, Phase, State, Store};

/// The files of a state, with their maximum sizes in bytes.
const FILES: [(&str, u64); 4] = [
    ("state.toml", 16 << 20),
    ("refs", 4 << 20),
    ("events.jsonl", 64 << 20),
    ("learnings.md", 16 << 20),
];

/// Maximum number of attempts that travel.
const MOST_ATTEMPTS: usize = 20_000;

impl Server {
    /// Reads a loop on the remote. Its objects must be local.
    pub async fn portable(&self, there: &There) -> Result<Portable, Error> {
        let portable = read(self, there).await?;
        check_objects(self, there, &portable).await?;
        Ok(portable)
    }

    /// Reads a loop on the remote that is a successor of the last state of it that was seen here.
    ///
    /// # Errors
    /// If it is none (exit 7), or cannot be read.
    pub(super) async fn next_portable(&self, there: &There, base: &Base) -> Result<Portable, Error> {
        let portable = self.portable(there).await?;
        let (git, change) = (&self.repo.git, &there.record.change);
        let here = Store::new(&self.repo.common_dir, change).load().ok().flatten();
        let is_same = here.is_some_and(|here| portable.state.is_same_loop(&here));
        let Some(seen) = base.state().filter(|_| is_same) else {
            return Ok(portable);
        };
        // No ref keeps a state that was seen.
        let is_gone = !self.repo.missing(&[seen]).await?.is_empty();
        if is_gone || git.is_ancestor(seen, &there.oid).await? {
            return Ok(portable);
        }
        let seen = Record::parse(change, &git.message(seen).await?);
        Err(RemoteRefusal::WentBack {
            change: change.to_string(),
            remote: self.name().to_owned(),
            there: there.record.generation,
            here: seen.map_or(0, |seen| seen.generation),
            name: self.state_ref(change),
        }
        .into())
    }

    /// Returns the error about a loop of which a later state was seen here, according to the numbers of the states;
    /// fetches it then.
    pub(super) async fn went_back(&self, there: &There) -> Result<Option<RemoteRefusal>, Error> {
        let change = &there.record.change;
        let base = Base::new(&self.repo, change, self.name());
        if !base.saw_later(&there.oid, there.record.generation) {
            return Ok(None);
        }
        self.fetch(&BTreeMap::from([(change.clone(), there.oid.clone())]))
            .await?;
        match self.next_portable(there, &base).await {
            Err(Error::Remote(refusal @ RemoteRefusal::WentBack { .. })) => Ok(Some(refusal)),
            _ => Ok(None),
        }
    }

    /// Returns whether the local loop is in exactly this state.
    pub fn is_here(&self, there: &There) -> bool {
        Base::new(&self.repo, &there.record.change, self.name()).is_at(&there.oid)
    }
}

/// Returns whether the loop on the remote is finished, and differs from this one, which can be put on top of it.
pub(super) async fn is_before(server: &Server, there: &There, here: &State) -> Result<bool, Error> {
    let record = &there.record;
    if record.phase != Phase::Finished || record.blocked.is_some() {
        return Ok(false);
    }
    Ok(!server.portable(there).await?.state.is_same_loop(here))
}

fn wrong(server: &Server, there: &There, why: impl Into<String>) -> RemoteRefusal {
    server.unintelligible(&there.record.change, why)
}

/// Reads the files of a state, and checks their content.
async fn read(server: &Server, there: &There) -> Result<Portable, Error> {
    let git = &server.repo.git;
    let wrong = |why: &str| Error::from(wrong(server, there, why));
    let names = FILES.map(|(name, _)| name);
    let found = git.top_files(&there.oid, &names).await?;
    let mut contents = Vec::new();
    for (name, most) in FILES {
        let file = found.iter().find(|file| file.name == name);
        let file = file.ok_or_else(|| wrong(&format!("it has no {name}")))?;
        if file.size > most {
            return Err(wrong(&format!("its {name} is too large")));
        }
        contents.push(git.blob(&file.oid).await?);
    }
    let [state, refs, events, learnings] = contents.try_into().unwrap_or_default();
    let record = &there.record;
    let change = &record.change;
    let text = String::from_utf8(state).map_err(|_| wrong("its state.toml is no text"))?;
    let mut state = State::from_elsewhere(&text).map_err(|why| wrong(&why))?;
    check_state(change, &state).map_err(wrong)?;
    // Earlier versions ignored skipped stories in the phase.
    let phases = [state.shown_phase(), state.phase()];
    let counts = |listed: &Listed| (listed.done, listed.total) == (record.done, record.total);
    let is_same = phases.contains(&record.phase) && state.listed().is_none_or(counts);
    if state.common.checkpoint != record.checkpoint || !is_same {
        return Err(wrong("its message and its state.toml say different things"));
    }
    let text = String::from_utf8(refs).map_err(|_| wrong("its refs are no text"))?;
    let attempts =
        parse_list(change, &text).ok_or_else(|| wrong("its refs name something else than attempts"))?;
    // Its writer may have another version, or other intentions.
    let events = travel::events(&events, &PublicText::default());
    let lines = events
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let is_sane = |line| serde_json::from_slice(line).is_ok_and(|event: Event| is_event(change, &event));
    if !lines.clone().all(is_sane) {
        return Err(wrong(
            "its events.jsonl has an event that cannot be one of this loop",
        ));
    }
    if attempts.len() > MOST_ATTEMPTS || lines.count() > MOST_ATTEMPTS * 10 {
        return Err(wrong("it has too many attempts"));
    }
    state.common = travel::common(&state, &PublicText::default());
    Ok(Portable {
        state,
        attempts,
        events,
        learnings,
    })
}

/// Checks that the objects named by a state exist locally, have the right types, and came with it: a state from another
/// repository must not name an object that only this one has.
async fn check_objects(server: &Server, there: &There, portable: &Portable) -> Result<(), Error> {
    let (repo, state) = (&server.repo, &portable.state);
    let wrong = |why: &str| Error::from(wrong(server, there, why));
    let git = &repo.git;
    let mut named: BTreeSet<&Oid> = BTreeSet::from([state.checkpoint(), state.initial()]);
    named.extend(&state.common.original_head);
    named.extend(portable.attempts.iter().map(|kept| &kept.oid));
    let parents = git.parents_of(&there.oid).await?;
    if !named.iter().all(|oid| parents.contains(oid)) {
        return Err(wrong("it names an object that did not come with it"));
    }
    let previous = super::previous(&there.oid, git).await?;
    let is_named = |parent: &&Oid| named.contains(parent) || previous.as_ref() == Some(*parent);
    if !parents.iter().all(|parent| is_named(&parent)) {
        return Err(wrong("its refs do not name every commit that came with it"));
    }
    let named: Vec<Oid> = named.into_iter().cloned().collect();
    let kinds = git.kinds_of(&named).await?;
    let are_commits = kinds.len() == named.len()
        && kinds.iter().flatten().filter(|kind| kind.is_commit).count() == named.len();
    if !are_commits {
        return Err(wrong("it names an object that is no commit, or is not here"));
    }
    let trees = [state.checkpoint(), state.initial()].map(ToString::to_string);
    let trees = git.trees_of(&trees).await?;
    let [Some(tree), Some(initial)] = trees.as_slice() else {
        return Err(wrong("its checkpoint has no files"));
    };
    if *tree != state.common.checkpoint_tree {
        return Err(wrong("its checkpoint has other files than it says"));
    }
    let begun = state.initial();
    let is_line = git.is_ancestor(begun, state.checkpoint()).await?
        && match &state.common.original_head {
            Some(head) => git.is_ancestor(head, begun).await?,
            None => true,
        };
    if !is_line {
        return Err(wrong("its checkpoint does not descend from its beginning"));
    }
    let is_writable =
        repo.can_be_checked_out(tree).await? && (tree == initial || repo.can_be_checked_out(initial).await?);
    if !is_writable {
        return Err(wrong("its checkpoint has files that cannot be checked out"));
    }
    Ok(())
}
