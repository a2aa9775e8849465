//! Whether another run holds a loop that was on a remote: a single step is refused then, as a run is.

use std::time::Duration;

use jiff::Timestamp;

use super::base::{Base, SeenHolder, last_remote};
use super::lease::{Holding, Watch};
use super::refusal::RemoteRefusal;
use super::server::{Server, There};
use crate::engine::Loop;
use crate::error::Error;
use crate::git::Repo;
use crate::names::Change;
use crate::settings::Settings;
use crate::state::Store;

/// Maximum time for which a step waits for the remote.
const BRIEFLY: Duration = Duration::from_secs(10);

/// Refuses a step of an active loop that another run holds on the remote where the loop was last. If the remote cannot
/// be read, says so.
///
/// # Errors
/// If another run holds it (exit 75).
pub async fn require_not_held(open: &Loop<'_>, settings: &Settings) -> Result<(), Error> {
    let (repo, change) = (open.repo(), open.change());
    let Some(remote) = last_remote(repo, change).filter(|_| open.state.is_live()) else {
        return Ok(());
    };
    let server = Server::new(repo, settings, Some(&remote))?.asking_briefly(BRIEFLY);
    let mut base = Base::new(repo, change, &remote);
    let found = match find(&server, &base, change).await {
        Ok(found) => found,
        Err(error) => {
            let why = error.to_string().replace('\n', " ");
            open.tell(format!("it is not known whether another run holds it: {why}"));
            return Ok(());
        }
    };
    let Some(found) = found else {
        return base.note_holder(None);
    };
    // This process has locked the local loop.
    let holding = server.holding(&found, &base, true, &mut Watch::default());
    if matches!(holding, Holding::Alive | Holding::Unknown) {
        base.note_holder(server.seen_holder(&found))?;
        return Err(server.held(&found).into());
    }
    base.note_holder(None)
}

/// Finds a loop on the remote, if it moved since this repository had its state.
async fn find(server: &Server, base: &Base, change: &Change) -> Result<Option<There>, Error> {
    match server.places(change).await? {
        (Some(oid), _) if !base.is_at(&oid) => Ok(server.find(change).await?.0),
        _ => Ok(None),
    }
}

/// The run that held a loop on a remote when this repository saw that last, while its lease lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldThere {
    /// A description of the run.
    pub holder: String,
    /// The remote.
    pub remote: String,
    /// The end of its lease.
    pub until: Timestamp,
}

/// Returns the run that holds the loop, as far as this repository knows. Does not ask the remote.
pub fn held_there(repo: &Repo, change: &Change) -> Option<HeldThere> {
    let remote = last_remote(repo, change)?;
    let seen = Base::new(repo, change, &remote).seen_holder()?.clone();
    let SeenHolder { holder, until } = seen;
    (until > Timestamp::now()).then_some(HeldThere {
        holder,
        remote,
        until,
    })
}

impl Server {
    /// Returns the error about a loop that another run holds.
    pub(super) fn held(&self, found: &There) -> RemoteRefusal {
        let seen = self.seen_holder(found);
        let until = seen.as_ref().map(|seen| seen.until.strftime("%F %T UTC"));
        RemoteRefusal::Held {
            change: found.record.change.to_string(),
            remote: self.name().to_owned(),
            until: until.map_or_else(|| "its lease ends".to_owned(), |until| until.to_string()),
            holder: seen.map_or_else(|| "another run".to_owned(), |seen| seen.holder),
            renewed: found.record.renewed.strftime("%F %T UTC").to_string(),
        }
    }

    /// Returns the holder of a loop, with the end of its lease by its own clock.
    fn seen_holder(&self, found: &There) -> Option<SeenHolder> {
        let holder = found.record.holder.as_ref()?.name.clone();
        let lease = found.record.lease.max(self.shown_lease());
        let until = found.record.renewed.checked_add(lease).ok()?;
        Some(SeenHolder { holder, until })
    }
}

/// Notes the holder that a run was refused for, so that `status` knows it.
pub(super) fn note_refused(server: &Server, found: &There) -> Result<RemoteRefusal, Error> {
    let (repo, change) = (&server.repo, &found.record.change);
    // A local run that holds the loop writes the same file.
    if !Base::new(repo, change, server.name()).is_new()
        && let Ok(_lock) = Store::new(&repo.common_dir, change).lock()
    {
        Base::new(repo, change, server.name()).note_holder(server.seen_holder(found))?;
    }
    Ok(server.held(found))
}
