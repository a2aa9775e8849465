//! `prune --remote`: removes the states of finished loops from a remote. Keeps states that a run holds or waits for,
//! and those of work that no branch has.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::refusal::RemoteRefusal;
use super::server::{Server, There};
use crate::engine::Context;
use crate::error::Error;
use crate::git::Pushed;
use crate::names::{Change, Oid};
use crate::state::Phase;

/// The refs that were removed from a remote, and the loops that stay.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pruned {
    /// The number of refs that were removed.
    pub removed: usize,
    /// The removed refs, or those that would be removed.
    pub refs: Vec<Gone>,
    /// Finished loops that stay although they are old enough, with the reasons.
    pub kept: Vec<Kept>,
}

/// A ref that is removed.
#[derive(Clone, Debug, Serialize)]
pub struct Gone {
    /// Its name.
    #[serde(rename = "ref")]
    pub name: String,
    /// Its listed object.
    pub oid: Oid,
}

/// A loop that stays.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// Its change.
    pub change: Change,
    /// The reason.
    pub why: String,
}

/// Removes the states of one finished loop, or of all, from the remote if they are older than `age`. Removes each only
/// if its ref has not moved since the listing. With `dry_run`, removes nothing.
pub async fn prune(
    context: &Context<'_>,
    server: &Server,
    change: Option<&Change>,
    age: Duration,
    dry_run: bool,
) -> Result<Pruned, Error> {
    let mut pruned = Pruned::default();
    let mut heads = None;
    let mut old = finished(server, change, &mut pruned).await?;
    old.retain(|(_, there)| {
        let since = Timestamp::now().duration_since(there.record.renewed);
        Duration::try_from(since).is_ok_and(|since| since >= age)
    });
    let wanted = old
        .iter()
        .map(|(change, there)| (change.clone(), there.oid.clone()));
    let mut failed: BTreeMap<Change, RemoteRefusal> = server.fetch(&wanted.collect()).await?;
    for (change, there) in old {
        if let Some(error) = failed.remove(&change) {
            let why = error.to_string();
            pruned.kept.push(Kept { change, why });
        } else {
            let is_somewhere = is_on_a_branch(context, server, &there, &mut heads).await?;
            let gone = Gone {
                name: server.state_ref(&change),
                oid: there.oid,
            };
            let remote = server.name();
            let why = if !is_somewhere {
                format!("its last checkpoint is on no branch, here or on {remote}")
            } else if dry_run {
                pruned.refs.push(gone);
                continue;
            } else {
                match server.push(&gone.name, Some(&gone.oid), None).await? {
                    Pushed::Done => {
                        pruned.removed += 1;
                        pruned.refs.push(gone);
                        continue;
                    }
                    Pushed::Elsewhere(_) => "it has moved meanwhile".to_owned(),
                    Pushed::Refused(words) | Pushed::Unknown(words) => format!("{remote} says: {words}"),
                }
            };
            pruned.kept.push(Kept { change, why });
        }
    }
    Ok(pruned)
}

/// Finds the finished loops without a lease.
async fn finished(
    server: &Server,
    change: Option<&Change>,
    pruned: &mut Pruned,
) -> Result<Vec<(Change, There)>, Error> {
    if let Some(change) = change {
        let (there, _) = server.find(change).await?;
        let remote = server.name().to_owned();
        let there = there.ok_or_else(|| RemoteRefusal::Unknown {
            change: change.to_string(),
            remote: remote.clone(),
        })?;
        if !is_finished(&there) {
            let change = change.to_string();
            return Err(RemoteRefusal::NotFinished { change, remote }.into());
        }
        return Ok(vec![(change.clone(), there)]);
    }
    let mut found = Vec::new();
    for (change, there) in server.list().await? {
        match there {
            Ok(there) if is_finished(&there) => found.push((change, there)),
            Ok(_) => {}
            Err(error) => {
                let why = error.to_string();
                pruned.kept.push(Kept { change, why });
            }
        }
    }
    Ok(found)
}

fn is_finished(there: &There) -> bool {
    let record = &there.record;
    record.phase == Phase::Finished && record.holder.is_none() && record.blocked.is_none()
}

/// Returns whether a local branch or one on the remote has the last checkpoint of a loop. `heads` caches the remote's
/// branches once they were listed; missing ones are fetched.
async fn is_on_a_branch(
    context: &Context<'_>,
    server: &Server,
    there: &There,
    heads: &mut Option<Vec<Oid>>,
) -> Result<bool, Error> {
    let git = &context.repo.git;
    let checkpoint = &there.record.checkpoint;
    let kinds = git.kinds_of(std::slice::from_ref(checkpoint)).await?;
    if !kinds.iter().flatten().any(|kind| kind.is_commit) {
        return Ok(false);
    }
    // A host that allows only branches keeps the states themselves in branches.
    let states = server.prefix();
    let except = states.strip_prefix("refs/heads/").unwrap_or(states);
    if git.is_on_branch(checkpoint, &[], except).await? {
        return Ok(true);
    }
    let heads = match heads {
        Some(heads) => heads,
        None => heads.insert(server.heads().await?),
    };
    Ok(heads.contains(checkpoint) || git.is_on_branch(checkpoint, heads, except).await?)
}
