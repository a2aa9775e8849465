//! `push` and `pull`: a person carries a loop from one repository to another.

use jiff::{SignedDuration, Timestamp};

use super::base::Base;
use super::lease::{Holding, Watch};
use super::portable;
use super::received::receive;
use super::record::{Record, random};
use super::refusal::RemoteRefusal;
use super::server::{Answer, Server, There};
use super::{may_move, require_branch};
use crate::engine::{Context, Loop, Portable};
use crate::error::Error;
use crate::names::{Change, Oid};
use crate::state::Store;

/// The result of `push`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote had everything.
    Already,
    /// The remote has everything now; false if its branch could not be moved too.
    Done {
        /// True if its branch was moved too.
        branch: bool,
    },
}

/// Puts a loop on a remote as it is here. Nobody holds it there afterwards.
///
/// # Errors
/// If another run holds it (exit 75), or it has gone on elsewhere or the host refuses it (exit 7).
pub async fn push(open: &mut Loop<'_>, server: &Server) -> Result<Pushed, Error> {
    require_branch(open.change(), open.state.strategy)?;
    let change = open.change().clone();
    let repo = open.context.repo.clone();
    let mut base = Base::new(&repo, &change, server.name());
    let (there, branch) = server.find(&change).await?;
    if let Some(found) = &there {
        // The loop is locked here.
        let holding = server.holding(found, &base, true, &mut Watch::default());
        if matches!(holding, Holding::Alive | Holding::Unknown) {
            return Err(server.held(found).into());
        }
        if !base.is_at(&found.oid) {
            let change = change.to_string();
            return Err(RemoteRefusal::Behind { change }.into());
        }
    }
    let packed = portable::pack(open).await?;
    let is_same = match &there {
        Some(found) if found.record.holder.is_none() && found.record.blocked.is_none() => {
            repo.git.tree_of(&found.oid).await? == packed.tree
        }
        _ => false,
    };
    let checkpoint = open.state.checkpoint.clone();
    if is_same && branch.as_ref() == Some(&checkpoint) {
        return Ok(Pushed::Already);
    }
    if !is_same {
        let record = Record {
            generation: there.as_ref().map_or(0, |there| there.record.generation) + 1,
            lease: SignedDuration::try_from(server.lease).unwrap_or(SignedDuration::MAX),
            ..portable::record_of(open, None).await?
        };
        let oid = swap(open, server, there.as_ref(), &record, &packed).await?;
        base.note(&oid, None)?;
    }
    let moved = branch.as_ref() == Some(&checkpoint)
        || may_move(&repo, branch.as_ref(), there.as_ref(), Some(&checkpoint)).await
            && server
                .copy_branch(&change, branch.as_ref(), &checkpoint)
                .await
                .is_none();
    Ok(Pushed::Done { branch: moved })
}

async fn swap(
    open: &Loop<'_>,
    server: &Server,
    there: Option<&There>,
    record: &Record,
    packed: &portable::Packed,
) -> Result<Oid, Error> {
    let previous = there.map(|there| &there.oid);
    let message = record.message(previous, &random());
    let parents: Vec<&Oid> = previous.into_iter().chain(&packed.parents).collect();
    let repo = &open.context.repo;
    let oid = repo.own_commit(&packed.tree, &parents, &message).await?;
    let (change, remote) = (record.change.to_string(), server.name().to_owned());
    match server.swap(&record.change, previous, &oid).await {
        Answer::Ours => Ok(oid),
        Answer::Theirs(_) => Err(RemoteRefusal::Behind { change }.into()),
        Answer::Refused(words) => Err(RemoteRefusal::Refused {
            change,
            remote,
            words,
        }
        .into()),
        Answer::Unknown(words) => Err(RemoteRefusal::Unreadable { remote, words }.into()),
    }
}

/// A loop on a remote that can be made here.
#[derive(Debug)]
pub struct Found {
    /// Its place.
    pub there: There,
    /// Its content; `None` if it is here already.
    pub portable: Option<Portable>,
}

/// Fetches a loop from a remote. With `take`, its holder loses it.
///
/// # Errors
/// If the remote does not have it, or another run holds it (exit 75).
pub async fn fetch(
    context: &Context<'_>,
    server: &Server,
    change: &Change,
    take: bool,
) -> Result<Found, Error> {
    let repo = &context.repo;
    let (there, _) = server.find(change).await?;
    let (name, remote) = (change.to_string(), server.name().to_owned());
    let Some(mut there) = there else {
        return Err(RemoteRefusal::Unknown { change: name, remote }.into());
    };
    let base = Base::new(repo, change, server.name());
    let is_alone = !Store::new(&repo.common_dir, change).is_held();
    let holding = server.holding(&there, &base, is_alone, &mut Watch::default());
    if matches!(holding, Holding::Alive | Holding::Unknown) && !take {
        return Err(server.held(&there).into());
    }
    let portable = if base.is_at(&there.oid) {
        None
    } else {
        Some(receive(server, &there).await?)
    };
    if take && there.record.holder.is_some() {
        there = free(context, server, &there).await?;
    }
    Ok(Found { there, portable })
}

/// Moves the ref on, so that nothing of its holder can land any more.
async fn free(context: &Context<'_>, server: &Server, there: &There) -> Result<There, Error> {
    let repo = &context.repo;
    let record = Record {
        generation: there.record.generation + 1,
        holder: None,
        renewed: Timestamp::now(),
        ..there.record.clone()
    };
    let message = record.message(Some(&there.oid), &random());
    let packed = portable::packed_in(&repo.git, &there.oid).await?;
    let parents: Vec<&Oid> = std::iter::once(&there.oid).chain(&packed.parents).collect();
    let oid = repo.own_commit(&packed.tree, &parents, &message).await?;
    match server.swap(&record.change, Some(&there.oid), &oid).await {
        Answer::Ours => Ok(There { oid, record }),
        Answer::Theirs(_) => Err(server.held(there).into()),
        Answer::Refused(words) | Answer::Unknown(words) => Err(RemoteRefusal::Unreadable {
            remote: server.name().to_owned(),
            words,
        }
        .into()),
    }
}

/// Notes that the loop here is the one on the remote.
///
/// # Errors
/// If that cannot be written.
pub fn note(context: &Context<'_>, server: &Server, there: &There) -> Result<(), Error> {
    let mut base = Base::new(&context.repo, &there.record.change, server.name());
    base.note(&there.oid, None)
}
