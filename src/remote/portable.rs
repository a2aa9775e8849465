//! The part of a loop that travels: its state without the parts of one machine, its events, its learnings, and the
//! commits that it needs. The snapshot and the anchor of `start` stay: they keep the user's content beside the loop.

use jiff::{SignedDuration, Timestamp};

use super::record::{Holder, Record, list, random};
use super::refusal::RemoteRefusal;
use super::server::There;
use crate::engine::stories::{listing_of, progress_of};
use crate::engine::travel::{self, PublicText};
use crate::engine::{Context, Loop, Portable};
use crate::error::Error;
use crate::fs::read_if_there;
use crate::git::{Git, GitError, Repo};
use crate::names::{Oid, typed};
use crate::refs::KeptRef;
use crate::state::{Phase, Store};

const STATE: &str = "state.toml";
const EVENTS: &str = "events.jsonl";
const LEARNINGS: &str = "learnings.md";
const REFS: &str = "refs";

/// The objects of a loop as they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// The tree of the state commit.
    pub tree: Oid,
    /// Its parents besides the previous state commit: all required objects.
    pub parents: Vec<Oid>,
    /// The names of the failed attempts that stay here.
    pub withheld: Vec<String>,
}

/// Returns the objects of a loop from its state commit.
pub(super) async fn packed_in(git: &Git, state: &Oid) -> Result<Packed, GitError> {
    let previous = super::previous(state, git).await?;
    let mut parents = git.parents_of(state).await?;
    parents.retain(|parent| Some(parent) != previous.as_ref());
    let tree = git.tree_of(state).await?;
    Ok(Packed {
        tree,
        parents,
        withheld: Vec::new(),
    })
}

/// Makes the state commit with this content and record on top of another one.
pub(super) async fn on_top(
    repo: &Repo,
    previous: Option<&There>,
    record: Record,
    packed: &Packed,
) -> Result<There, GitError> {
    let record = Record {
        generation: previous.map_or(0, |there| there.record.generation) + 1,
        renewed: Timestamp::now(),
        ..record
    };
    let previous = previous.map(|there| &there.oid);
    let message = record.message(previous, &random());
    let parents: Vec<&Oid> = previous.into_iter().chain(&packed.parents).collect();
    let oid = repo.own_commit(&packed.tree, &parents, &message).await?;
    Ok(There { oid, record })
}

/// The part of a loop's end that a state reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// The phase of the loop.
    All,
    /// That no story is left, but not that the loop is finished: the branch on the remote is not complete yet.
    NoEnd,
}

impl Tells {
    fn phase(self, phase: Phase) -> Phase {
        match (self, phase) {
            (Self::NoEnd, Phase::Finished) => Phase::Complete,
            (_, phase) => phase,
        }
    }
}

/// Makes the objects of a loop in its present state.
pub(super) async fn pack(open: &Loop<'_>, tells: Tells) -> Result<Packed, Error> {
    let (state, repo) = (&open.state, open.repo());
    let change = &state.change;
    let attempts = repo.git.refs(&[&change.ralph_ref("attempts")]).await?;
    let kept: Vec<KeptRef> = attempts
        .into_iter()
        .map(|found| KeptRef::new(found.name, found.oid))
        .collect();
    let (kept, withheld) = travel::without_ignored(open, kept).await?;
    let events = read(open, EVENTS)?;
    let public = PublicText::of_loop(&open.context, state, travel::gates_in(&events));
    let mut common = travel::common(state, &public);
    common.progress.phase = tells.phase(common.progress.phase);
    let text = common.text(change).map_err(|error| Error::System {
        what: "write the state",
        source: std::io::Error::other(error),
    })?;
    let refs = list(change, &kept);
    let events = travel::events(&events, &public);
    let learnings = travel::learnings(&read(open, LEARNINGS)?, &public);
    // In tree order.
    let files: [(&str, &[u8]); 4] = [
        (EVENTS, &events),
        (LEARNINGS, &learnings),
        (REFS, refs.as_bytes()),
        (STATE, text.as_bytes()),
    ];
    let tree = repo.store_files(&files).await?;
    let mut parents = vec![state.checkpoint().clone(), state.initial().clone()];
    parents.extend(state.common.original_head.clone());
    parents.extend(kept.into_iter().map(|kept| kept.oid));
    let mut known = std::collections::BTreeSet::new();
    parents.retain(|parent| known.insert(parent.clone()));
    let withheld = withheld.into_iter().map(|kept| kept.name).collect();
    Ok(Packed {
        tree,
        parents,
        withheld,
    })
}

/// Reports the failed attempts that stay here, except those that were `named` before.
pub(super) fn tell_withheld(open: &Loop<'_>, packed: &Packed, named: Option<&Packed>) {
    let is_new = |name: &&String| named.is_none_or(|named| !named.withheld.contains(name));
    let new: Vec<String> = packed.withheld.iter().filter(is_new).map(typed).collect();
    if !new.is_empty() {
        open.tell(format!(
            "not pushed, because the agent committed what git ignored when the loop began: git log {}",
            new.join(" ")
        ));
    }
}

/// Returns the record of a state commit; the other arguments come from the machine that pushes it.
pub(super) async fn record_of(
    open: &Loop<'_>,
    holder: Option<Holder>,
    tells: Tells,
) -> Result<Record, Error> {
    let state = &open.state;
    let (done, total) = progress(open).await?;
    Ok(Record {
        change: state.change.clone(),
        generation: 0,
        holder,
        lease: SignedDuration::ZERO,
        renewed: Timestamp::now(),
        phase: state.progress().shown(tells.phase(state.phase())),
        done,
        skipped: state.skipped_of(done, total),
        total,
        checkpoint: state.checkpoint().clone(),
        blocked: None,
    })
}

/// Returns the numbers of complete and of all stories, according to the local loop.
pub async fn progress(open: &Loop<'_>) -> Result<(usize, usize), Error> {
    match open.state.listed() {
        Some(listed) => Ok((listed.done, listed.total)),
        None => Ok(progress_of(&listing_of(&open.state, &open.repo().top).await?)),
    }
}

fn read(open: &Loop<'_>, name: &str) -> Result<Vec<u8>, Error> {
    Ok(read_if_there(&open.file(name))?.unwrap_or_default())
}

/// Refuses to replace an active local loop of this name that began in this repository: it is another loop.
///
/// # Errors
/// If there is one (exit 7).
pub fn require_same(context: &Context<'_>, portable: &Portable) -> Result<(), Error> {
    let change = &portable.state.change;
    let here = Store::new(&context.repo.common_dir, change).load_live()?;
    match here {
        Some(here) if !here.is_same_loop(&portable.state) => {
            Err(RemoteRefusal::Another(change.to_string()).into())
        }
        _ => Ok(()),
    }
}

/// Returns the user's uncommitted paths when the loop began: its first checkpoint contains them.
pub async fn taken_along(open: &Loop<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let Some(head) = &open.state.common.original_head else {
        return Ok(Vec::new());
    };
    let git = open.git();
    let (from, to) = (git.tree_of(head).await?, git.tree_of(open.state.initial()).await?);
    let changes = git.diff_trees(&from, &to).await?;
    Ok(changes.into_iter().map(|(_, path)| path).collect())
}
