//! `push` and `pull`: the user transfers a loop from one repository to another.

use super::base::Base;
use super::branch::{BranchCopy, Stand};
use super::grown::{began_later, continues};
use super::held_loop::{lacks_end, run_name};
use super::lease::{Holding, Watch};
use super::patience::{Patience, SHORT_PATIENCE};
use super::portable::{self, Tells};
use super::received::is_before;
use super::record::{Holder, Record, random};
use super::refusal::RemoteRefusal;
use super::require_branch;
use super::server::{Answer, Server, There};
use crate::engine::{Context, Loop, Portable};
use crate::error::Error;
use crate::git::Repo;
use crate::names::{Change, Oid};
use crate::settings::Settings;
use crate::state::{Phase, State, Store};

/// The result of `push`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote had everything.
    Already,
    /// The remote has everything now; `branch` is false if its branch could not be moved.
    Done {
        /// True if the branch on the remote was moved too.
        branch: bool,
    },
}

/// Pushes the local loop to a remote, and releases its lease.
///
/// # Errors
/// If another run holds it (exit 75), the remote has newer work, or the host refuses the push (exit 7).
pub async fn push(open: &Loop<'_>, server: &Server) -> Result<Pushed, Error> {
    require_branch(open.change(), open.state.common.strategy)?;
    let change = open.change().clone();
    let repo = open.repo().clone();
    let mut base = Base::new(&repo, &change, server.name());
    let (there, branch) = server.find(&change).await?;
    if let Some(found) = &there {
        // This process has locked the local loop.
        let holding = server.holding(found, &base, true, &mut Watch::default());
        if matches!(holding, Holding::Alive | Holding::Unknown) {
            return Err(server.held(found).into());
        }
        if !base.follows(&repo.git, &found.oid).await {
            let is_before = is_before(server, found, &open.state).await?;
            let is_rebuilt = continues(server, &base, &open.state, found).await?;
            if !is_before && !is_rebuilt {
                let portable = server.next_portable(found, &base).await?;
                if !portable.state.is_same_loop(&open.state) {
                    return Err(different(server, &change, &portable.state, &open.state).into());
                }
                return Err(server.behind(&change).into());
            }
            if is_before && !began_later(server, &open.state, found).await? {
                return Err(server.over(found, false).into());
            }
        }
    }
    let mut branch = BranchCopy::new(server, branch, there.as_ref()).await;
    let checkpoint = open.state.checkpoint().clone();
    let is_there = branch.stand(server, &change, &checkpoint).await? == Stand::Has;
    let at = there.as_ref().map(|there| &there.oid);
    let top = base.top(&repo.git, &change, at).await;
    let mut swaps = Swaps {
        server,
        base: &mut base,
        top: top.map(|(oid, record)| There { oid, record }),
        there,
        named: None,
    };
    let is_done = matches!(open.state.phase(), Phase::Finished | Phase::Complete);
    let mut is_new = true;
    if branch.goes_along(&checkpoint) && swaps.put_along(open, &mut branch).await? {
        return Ok(Pushed::Done { branch: true });
    }
    if is_done && !is_there {
        // The state does not say that all is done before the branch has it.
        let holder = Holder {
            name: run_name(),
            token: random(),
        };
        swaps.put(open, Some(holder), Tells::NoEnd, None).await?;
    } else {
        is_new = swaps.put(open, None, Tells::All, None).await?;
    }
    let put = branch.put(server, &change, &checkpoint).await?;
    if put.is_err() && is_done {
        let why = branch.kept.unwrap_or_default();
        let blocked = lacks_end(&change, &why);
        swaps.put(open, None, Tells::NoEnd, Some(blocked)).await?;
        return Err(server.no_branch(&change, why).into());
    }
    if is_done && !is_there {
        swaps.put(open, None, Tells::All, None).await?;
    }
    Ok(match (is_new, is_there) {
        (false, true) => Pushed::Already,
        _ => Pushed::Done { branch: put.is_ok() },
    })
}

/// Returns the error about another loop of this name on the remote.
fn different(server: &Server, change: &Change, there: &State, here: &State) -> RemoteRefusal {
    let complete = |state: &State| state.progress().completed.len();
    RemoteRefusal::Different {
        change: change.to_string(),
        remote: server.name().to_owned(),
        there: complete(there),
        here: complete(here),
    }
}

/// Returns the remote that an option or a setting names; an error names the only remote that there is.
///
/// # Errors
/// If none is named.
pub async fn named(repo: &Repo, settings: &Settings, typed: Option<&str>) -> Result<Server, RemoteRefusal> {
    match Server::new(repo, settings, typed) {
        Err(RemoteRefusal::NoRemote(_)) => {
            let names = repo.git.cmd("remote", [""; 0]).text().await.unwrap_or_default();
            let mut names = names.lines();
            let only = names.next().filter(|_| names.next().is_none());
            Err(RemoteRefusal::NoRemote(only.map(ToOwned::to_owned)))
        }
        named => named,
    }
}

/// The states that a push puts on the remote, one on top of the other.
struct Swaps<'s> {
    server: &'s Server,
    base: &'s mut Base,
    /// The parent of the next state, if that is not the one on the remote.
    top: Option<There>,
    there: Option<There>,
    /// The objects whose failed attempts that stay here were named.
    named: Option<portable::Packed>,
}

impl Swaps<'_> {
    /// Pushes a state; returns false if the remote has it already.
    async fn put(
        &mut self,
        open: &Loop<'_>,
        holder: Option<Holder>,
        tells: Tells,
        blocked: Option<String>,
    ) -> Result<bool, Error> {
        let packed = portable::pack(open, tells).await?;
        self.tell_withheld(open, &packed);
        if let Some(found) = &self.there
            && found.record.holder == holder
            && found.record.blocked == blocked
            && open.git().tree_of(&found.oid).await? == packed.tree
        {
            return Ok(false);
        }
        let token = holder.as_ref().map(|holder| holder.token.clone());
        let next = self.next(open, holder, blocked, &packed, tells).await?;
        let previous = self.there.as_ref().map(|there| &there.oid);
        swap(self.server, previous, &next).await?;
        self.base
            .note(&next.oid, next.record.generation, token.as_deref())?;
        (self.there, self.top) = (Some(next), None);
        Ok(true)
    }

    /// Pushes a state without a lease together with the branch, atomically; returns whether the remote has both.
    async fn put_along(&mut self, open: &Loop<'_>, branch: &mut BranchCopy) -> Result<bool, Error> {
        // A host that hides the ref of the state may take the branch alone, and with it the user's files.
        if self.there.is_none() {
            return Ok(false);
        }
        let packed = portable::pack(open, Tells::All).await?;
        self.tell_withheld(open, &packed);
        let next = self.next(open, None, None, &packed, Tells::All).await?;
        let previous = self.there.as_ref().map(|there| &there.oid);
        let (change, checkpoint) = (open.change(), open.state.checkpoint());
        let is_there = branch
            .put_along(self.server, change, (previous, &next.oid), checkpoint)
            .await;
        if is_there {
            self.base.note(&next.oid, next.record.generation, None)?;
            (self.there, self.top) = (Some(next), None);
        }
        Ok(is_there)
    }

    fn tell_withheld(&mut self, open: &Loop<'_>, packed: &portable::Packed) {
        portable::tell_withheld(open, packed, self.named.as_ref());
        self.named = Some(packed.clone());
    }

    /// Makes a state commit on top of the one on the remote.
    async fn next(
        &self,
        open: &Loop<'_>,
        holder: Option<Holder>,
        blocked: Option<String>,
        packed: &portable::Packed,
        tells: Tells,
    ) -> Result<There, Error> {
        let record = Record {
            lease: self.server.shown_lease(),
            blocked,
            ..portable::record_of(open, holder, tells).await?
        };
        Ok(portable::on_top(
            open.repo(),
            self.top.as_ref().or(self.there.as_ref()),
            record,
            packed,
        )
        .await?)
    }
}

async fn swap(server: &Server, previous: Option<&Oid>, next: &There) -> Result<(), Error> {
    let change = &next.record.change;
    match server
        .swap(change, previous, &next.oid, Patience::of(SHORT_PATIENCE))
        .await
    {
        Answer::Ours => Ok(()),
        Answer::Theirs(_) => Err(server.behind(change).into()),
        Answer::Refused(words) if previous.is_none() => Err(server.refused_refs(change, words).into()),
        Answer::Refused(words) => Err(server.refused(change, words).into()),
        Answer::Unknown(words) => Err(server.not_pushed(change, words).into()),
    }
}

/// A loop on a remote that can be created in this repository.
#[derive(Debug)]
pub struct Found {
    /// Its place.
    pub there: There,
    /// Its content; `None` if the repository already has it.
    pub portable: Option<Portable>,
}

/// Maximum number of tries to take a loop from a holder that renews its lease at the same moment.
const TURNS: usize = 20;

/// Fetches a loop from a remote. With `take`, its holder loses it, unless the holder is a local process.
///
/// # Errors
/// If the remote does not have the loop, or another run holds it (exit 75).
pub async fn fetch(
    context: &Context<'_>,
    server: &Server,
    change: &Change,
    take: bool,
) -> Result<Found, Error> {
    for _ in 1..TURNS {
        match fetch_once(context, server, change, take).await {
            Err(Error::Remote(RemoteRefusal::Held { .. })) if take => {}
            fetched => return fetched,
        }
    }
    fetch_once(context, server, change, take).await
}

async fn fetch_once(
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
    // The run that would lose the loop is a local one: its work could not be replaced, and would be repeated.
    let is_alone = base.is_alone();
    if take && !is_alone {
        drop(Store::new(&repo.common_dir, change).lock()?);
    }
    let holding = server.holding(&there, &base, is_alone, &mut Watch::default());
    if matches!(holding, Holding::Alive | Holding::Unknown) && !take {
        return Err(server.held(&there).into());
    }
    let portable = if !base.is_aborted()? && base.follows(&repo.git, &there.oid).await {
        None
    } else if take {
        Some(server.portable(&there).await?)
    } else {
        Some(server.next_portable(&there, &base).await?)
    };
    if take && there.record.holder.is_some() {
        there = free(context, server, &there).await?;
    }
    Ok(Found { there, portable })
}

/// Moves the ref, so that its holder cannot push any more.
async fn free(context: &Context<'_>, server: &Server, there: &There) -> Result<There, Error> {
    let repo = &context.repo;
    let record = Record {
        holder: None,
        ..there.record.clone()
    };
    let packed = portable::packed_in(&repo.git, &there.oid).await?;
    let next = portable::on_top(repo, Some(there), record, &packed).await?;
    let (change, previous) = (&next.record.change, Some(&there.oid));
    match server
        .swap(change, previous, &next.oid, Patience::of(SHORT_PATIENCE))
        .await
    {
        Answer::Ours => Ok(next),
        Answer::Theirs(_) => Err(server.held(there).into()),
        Answer::Refused(words) | Answer::Unknown(words) => Err(server.not_pushed(change, words).into()),
    }
}

/// Returns the base of a local loop if the remote has the same state of it, without a lease: any machine can continue
/// it, and another loop can begin in this work tree once this one is closed, and its base forgotten.
pub async fn base_of_same(open: &Loop<'_>, server: &Server) -> Result<Option<Base>, Error> {
    let change = open.change();
    let base = Base::new(open.repo(), change, server.name());
    let (there, _) = server.find(change).await?;
    let Some(there) = there.filter(|there| base.is_at(&there.oid) && there.record.holder.is_none()) else {
        return Ok(None);
    };
    let packed = portable::pack(open, Tells::All).await?;
    let is_same = open.git().tree_of(&there.oid).await? == packed.tree;
    Ok(is_same.then_some(base))
}

/// Returns whether the last common state of the local loop and the remote has its checkpoint.
pub async fn is_shared(open: &Loop<'_>, server: &Server) -> bool {
    let base = Base::new(open.repo(), open.change(), server.name());
    let shared = base.checkpoint(open.git(), open.change()).await;
    shared.is_some_and(|shared| shared == *open.state.checkpoint())
}

/// Returns whether the remote has a loop of this name, while the local one was never there.
pub async fn has_another(context: &Context<'_>, change: &Change, server: &Server) -> Result<bool, Error> {
    let base = Base::new(&context.repo, change, server.name());
    Ok(base.state().is_none() && server.find(change).await?.0.is_some())
}

/// Notes that the local loop equals the one on the remote.
pub fn note(context: &Context<'_>, server: &Server, there: &There) -> Result<(), Error> {
    let mut base = Base::new(&context.repo, &there.record.change, server.name());
    base.note(&there.oid, there.record.generation, None)
}
