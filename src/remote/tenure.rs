//! The time in which this run holds a loop on a remote: the loop is taken, published after each step, renewed while an
//! agent works, and released. Every push moves the loop's one ref from this run's last object, so a run that lost its
//! loop cannot push any more (`docs/scale-out.md`).

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::base::Base;
use super::branch::BranchCopy;
use super::grown::{began_later, continues, has_list_grown};
use super::held_loop::{HeldLoop, run_name};
use super::lease::{Holding, Watch, patience, renewal};
use super::others::note_refused;
use super::patience::SHORT_PATIENCE;
use super::portable::require_same;
use super::received::is_before;
use super::record::{Holder, Record, random};
use super::refusal::RemoteRefusal;
use super::server::{Server, There};
use crate::engine::{Context, Loop, Portable, require_free_work_tree};
use crate::error::Error;
use crate::fs::is_there;
use crate::names::{Change, Oid};
use crate::signal::Stop;
use crate::state::{Phase, Store};

/// The result of taking a loop.
#[derive(Debug)]
pub struct Taken {
    /// The right to work on it.
    pub tenure: Tenure,
    /// The loop on the remote, if it has to be created in this repository first.
    pub portable: Option<Portable>,
    /// The former, dead holder of the loop.
    pub from: Option<String>,
    /// True if the local loop equals the remote one, in which no story was left.
    pub was_complete: bool,
}

/// The right to work on a loop, until another run takes it.
#[derive(Debug)]
pub struct Tenure {
    held: Arc<Mutex<HeldLoop>>,
    renewals: Option<JoinHandle<()>>,
}

impl Tenure {
    /// Takes a loop on a remote, or prepares to push it there. `watch` has the earlier observations of its holder. What
    /// prevents its creation in this work tree is refused first, unless it gets one of its own (`is_apart`).
    ///
    /// # Errors
    /// If another run holds it (exit 75), no story is left (exit 5), or the remote cannot be read.
    pub async fn take(
        context: &Context<'_>,
        server: Server,
        change: &Change,
        watch: &mut Watch,
        is_apart: bool,
    ) -> Result<Taken, Error> {
        // If another run has been faster since this listing, the push fails.
        let (there, branch) = server.find_among(watch.refs.take(), change).await?;
        let repo = context.repo.clone();
        let base = Base::new(&repo, change, server.name());
        let (mut from, mut is_on_top) = (None, false);
        if let Some(found) = &there {
            let here = Store::new(&repo.common_dir, change).load_live()?;
            // A local loop that began after that end saw it, or has a list that has grown since; a loop that began
            // beside it would repeat its work.
            is_on_top = match &here {
                Some(here) if base.is_at(&found.oid) || began_later(&server, here, found).await? => {
                    is_before(&server, found, here).await?
                }
                Some(here) if continues(&server, &base, here, found).await? => true,
                Some(_) => false,
                None => has_list_grown(context, &server, found).await?,
            };
            if !is_on_top && found.record.phase == Phase::Finished && found.record.blocked.is_none() {
                if here
                    .as_ref()
                    .is_some_and(|here| !here.progress().completed.is_empty())
                    && base.is_new()
                {
                    return Err(RemoteRefusal::Another(change.to_string()).into());
                }
                repair_branch(context, &server, found, branch).await?;
                return Err(server.over(found, here.is_some() && !base.is_new()).into());
            }
            match server.holding_now(found, watch) {
                Holding::Free => {}
                Holding::Dead => from = found.record.holder.as_ref().map(|holder| holder.name.clone()),
                Holding::Alive | Holding::Unknown => return Err(note_refused(&server, found)?.into()),
            }
        }
        if let (None, Some(at)) = (&there, &branch) {
            require_no_other_work(context, &server, change, at).await?;
        }
        let branch = BranchCopy::new(&server, branch, there.as_ref()).await;
        let is_here = match &there {
            Some(there) => !base.is_aborted()? && base.follows(&repo.git, &there.oid).await,
            None => false,
        };
        let has_nothing_left = there
            .as_ref()
            .is_some_and(|there| there.record.has_nothing_left() || !base.is_at(&there.oid));
        let mut held = HeldLoop {
            holder: Holder {
                name: run_name(),
                token: random(),
            },
            server,
            repo,
            change: change.clone(),
            last: None,
            unheard: Vec::new(),
            packed: None,
            base,
            branch,
            answered: Instant::now(),
            stop: context.stop.clone(),
            end: None,
        };
        let mut portable = None;
        if let Some(there) = there {
            if !is_here && !is_on_top {
                let found = held.server.next_portable(&there, &held.base).await?;
                require_same(context, &found)?;
                if !is_apart {
                    Box::pin(require_free_work_tree(context, change)).await?;
                }
                portable = Some(found);
            }
            held.take_over(&there).await?;
        }
        let tenure = Self {
            held: Arc::new(Mutex::new(held)),
            renewals: None,
        };
        Ok(Taken {
            tenure,
            portable,
            from,
            was_complete: is_here && has_nothing_left,
        })
    }

    /// Renews the lease in the background from now on; stops the attempt if the lease is lost.
    pub fn keep(&mut self, stop: &Stop) {
        self.renewals = Some(tokio::spawn(renew(Arc::clone(&self.held), stop.clone())));
    }

    /// Pushes the present loop, and the checkpoint to its branch on the remote.
    ///
    /// # Errors
    /// If this run no longer holds the loop (exit 75), or the host refuses the work (exit 7).
    pub async fn publish(&self, open: &Loop<'_>) -> Result<(), Error> {
        let mut held = self.held.lock().await;
        held.require()?;
        held.publish(open).await
    }

    /// Pushes the last state, and releases the loop. An end that was reported before is not reported again.
    pub async fn release(mut self, open: &Loop<'_>) -> Result<(), Error> {
        // A renewal in progress ends first: its state is the parent of this push.
        let mut held = self.held.lock().await;
        if let Some(renewals) = self.renewals.take() {
            renewals.abort();
        }
        if held.end.is_some() {
            return Ok(());
        }
        held.publish_end(open).await
    }

    /// Releases the loop as it was taken, if it was on the remote at all.
    pub async fn give_back(self) -> Result<(), Error> {
        let mut held = self.held.lock().await;
        if let (None, Some(last), Some(packed)) = (&held.end, held.last.clone(), held.packed.clone()) {
            let free = Record {
                holder: None,
                ..last.record
            };
            let patience = patience(held.server.lease).min(SHORT_PATIENCE);
            held.push(free, &packed, patience).await?;
        }
        Ok(())
    }

    /// Returns whether the remote ever had the loop from this run.
    pub async fn has_published(&self) -> bool {
        self.held.lock().await.last.is_some()
    }

    /// Returns the reason why this run no longer holds the loop.
    pub async fn require(&self) -> Result<(), Error> {
        self.held.lock().await.require()
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        if let Some(renewals) = &self.renewals {
            renewals.abort();
        }
    }
}

async fn renew(held: Arc<Mutex<HeldLoop>>, stop: Stop) {
    loop {
        let (pause, silent) = {
            let held = held.lock().await;
            (renewal(held.server.lease), held.answered.elapsed())
        };
        if silent < pause {
            sleep(pause.saturating_sub(silent)).await;
            continue;
        }
        let mut held = held.lock().await;
        let pushed = held.renew().await;
        if pushed.is_err() || held.end.is_some() {
            stop.lose_lease();
            return;
        }
        if held.answered.elapsed() >= pause {
            drop(held);
            sleep(pause / 10).await;
        }
    }
}

/// Returns why a run cannot begin a change without a loop: its branch on the remote, according to the last listing, has
/// the work of one.
pub(super) async fn other_work(
    context: &Context<'_>,
    server: &Server,
    change: &Change,
    watch: &Watch,
) -> Result<Option<RemoteRefusal>, Error> {
    let Some(refs) = &watch.refs else {
        return Ok(None);
    };
    let at = match server.places_among(change, refs) {
        Ok((None, Some(at))) => at,
        Ok(_) => return Ok(None),
        Err(refusal) => return Ok(Some(refusal)),
    };
    match require_no_other_work(context, server, change, &at).await {
        Ok(()) => Ok(None),
        Err(Error::Remote(refusal)) => Ok(Some(refusal)),
        Err(error) => Err(error),
    }
}

/// Refuses to begin a change without a state on the remote while its branch there has commits that are not local: the
/// remote had a loop before, whose work would be repeated. A shallow clone cannot tell.
async fn require_no_other_work(
    context: &Context<'_>,
    server: &Server,
    change: &Change,
    at: &Oid,
) -> Result<(), Error> {
    let repo = &context.repo;
    let is_begun = Store::new(&repo.common_dir, change).load_live()?.is_some();
    let is_shallow = is_there(&repo.common_dir.join("shallow"))?;
    let head = context.head.oid.as_ref();
    let Some(head) = head.filter(|_| !is_begun && !is_shallow) else {
        return Ok(());
    };
    server.fetch_branch(change, at).await?;
    if repo.git.is_ancestor(at, head).await.is_ok_and(|is| is) {
        return Ok(());
    }
    Err(RemoteRefusal::NoState {
        change: change.to_string(),
        branch: change.branch(),
        remote: server.name().to_owned(),
    }
    .into())
}

/// Moves the branch of a finished loop to its last checkpoint, if the run that finished it could not. A deleted branch
/// stays deleted if the work is already local.
async fn repair_branch(
    context: &Context<'_>,
    server: &Server,
    found: &There,
    branch: Option<Oid>,
) -> Result<(), Error> {
    let checkpoint = &found.record.checkpoint;
    let git = &context.repo.git;
    if branch.is_none()
        && let Some(head) = &context.head.oid
        && git.is_ancestor(checkpoint, head).await.is_ok_and(|is| is)
    {
        return Ok(());
    }
    server.portable(found).await?;
    let mut branch = BranchCopy::new(server, branch, Some(found)).await;
    branch.put(server, &found.record.change, checkpoint).await?.ok();
    Ok(())
}
