//! The stash during an attempt: a ref keeps its entries before the attempt, and they are compared with the list after
//! every verdict.
//!
//! Other work trees, other loops and users share the list. A new entry is the attempt's only if the guard saw it, or if
//! it was made from this work tree. A missing entry is stored again if no other process can have dropped it; else
//! git-ralph prints the command that restores it.

use super::Loop;
use super::attempt::facts::Facts;
use crate::error::Error;
use crate::fs::FileError;
use crate::git::StashEntry;
use crate::names::{Change, Oid, short_branch, typed};
use crate::protect::{StashList, UserRefs};
use crate::refs::{KeptRef, Update};

/// A part of the message of each entry that a loop made for itself.
const OF_LOOP: &str = ": ralph:";

/// Records the entries before an attempt, and keeps unkept ones by a ref; returns them.
pub(crate) async fn record(open: &Loop<'_>) -> Result<StashList, Error> {
    let refs = open.user_refs().await?;
    let list = refs.stash_list(open.repo()).await?;
    if list.has_entries() {
        keep(
            open,
            refs.at(&keeper_of(open.change())),
            list.oids().cloned().collect(),
        )
        .await?;
    }
    list.record(open.site().slot)?;
    Ok(list)
}

/// Returns the name of the ref that keeps the entries of the stash during the attempts of a loop.
pub(crate) fn keeper_of(change: &Change) -> String {
    change.ralph_ref("stash")
}

/// Has the loop keep the entries that a side has kept with this commit.
pub(crate) async fn take_over(open: &Loop<'_>, keeper: &Oid) -> Result<(), Error> {
    let entries = open.git().parents_of(keeper).await?;
    let own = open.git().oid_at(&keeper_of(open.change())).await?;
    keep(open, own, entries).await
}

/// Has the ref of the loop, which is at `keeper` now, keep these entries, too.
async fn keep(open: &Loop<'_>, keeper: Option<Oid>, mut entries: Vec<Oid>) -> Result<(), Error> {
    let repo = open.repo();
    let known = match keeper {
        Some(keeper) => repo.git.parents_of(&keeper).await?,
        None => Vec::new(),
    };
    if entries.iter().all(|oid| known.contains(oid)) {
        return Ok(());
    }
    let others: Vec<Oid> = known.into_iter().filter(|oid| !entries.contains(oid)).collect();
    entries.extend(others);
    let new = repo.anchor(&repo.empty_tree().await?, &entries).await?;
    let name = keeper_of(open.change());
    open.update_refs(&[Update::Set { name, new }], "ralph: the stash before an attempt")
        .await
}

/// Returns the reason why an attempt that promised COMPLETE did not complete its story: it put work into the stash.
pub(crate) async fn hidden_work(open: &Loop<'_>, facts: &Facts) -> Result<Option<String>, Error> {
    let Some(new) = new_entries(open, facts).await? else {
        return Ok(None);
    };
    for entry in new {
        if is_of_attempt(open, facts, &entry).await? {
            return Ok(Some(format!(
                "work was put into the stash, where it does not count; 'git stash apply {}' brings it back",
                entry.oid.short()
            )));
        }
    }
    Ok(None)
}

/// Returns the entries made since the attempt began; `None` if no attempt is being judged.
pub(crate) async fn new_entries(open: &Loop<'_>, facts: &Facts) -> Result<Option<Vec<StashEntry>>, Error> {
    let in_memory = facts.refs.is_some() && open.state.is_running();
    if !in_memory && UserRefs::recorded(open.site().slot)?.is_none() {
        // The user's work is not compared with anything.
        return Ok(None);
    }
    let now = StashList::read(open.repo()).await?;
    Ok(Some(now.not_in(&before(open, facts.stash.clone())?)))
}

fn before(open: &Loop<'_>, known: Option<StashList>) -> Result<StashList, FileError> {
    match known {
        Some(known) => Ok(known),
        None => StashList::recorded(open.site().slot),
    }
}

/// Returns whether an attempt made a new entry: the guard saw it, or it was made at a commit where HEAD of this work
/// tree, and of no other work tree, was.
async fn is_of_attempt(open: &Loop<'_>, facts: &Facts, entry: &StashEntry) -> Result<bool, Error> {
    let repo = open.repo();
    let was_seen = |(name, oid): &(String, _)| name == "refs/stash" && *oid == entry.oid;
    if facts.made.iter().any(was_seen) || repo.layout().is_only_work_tree() {
        return Ok(true);
    }
    let parents = repo.git.parents_of(&entry.oid).await?;
    let Some(made_at) = parents.first() else {
        return Ok(false);
    };
    if !repo.git.head_history().await?.contains(made_at) {
        return Ok(false);
    }
    let trees = repo.work_trees().await?;
    let mut others = trees.iter().filter(|tree| tree.top != repo.top);
    // The work tree that it was made from may have moved on; git names the branch of then.
    let subject = repo
        .layout()
        .subject(entry.oid.as_str())
        .await
        .unwrap_or_default();
    let branch = ["WIP on ", "On "]
        .iter()
        .find_map(|word| subject.strip_prefix(word));
    let branch = branch
        .and_then(|rest| rest.split_once(": "))
        .map(|(name, _)| name);
    Ok(others.all(|tree| {
        let name = tree.branch.as_deref().map(short_branch);
        tree.head.as_ref() != Some(made_at) && (name.is_none() || name != branch)
    }))
}

/// Stores entries again that were dropped since the attempt began, or prints the command for it; forgets the record.
/// `known` has the entries from before the attempt, if this process has them in memory.
pub(crate) async fn put_back(open: &Loop<'_>, known: Option<StashList>) -> Result<(), Error> {
    let before = before(open, known)?;
    if before.has_entries() {
        let now = StashList::read(open.repo()).await?;
        let mut gone = before.not_in(&now);
        // Loops drop the entries that they have made for themselves.
        gone.retain(|entry| !entry.message.contains(OF_LOOP));
        // Git does not list an entry whose commit the ref already has, as after an expired reflog.
        let is_unlisted =
            !gone.is_empty() && !now.has_entries() && !open.git().refs(&["refs/stash"]).await?.is_empty();
        if open.repo().layout().is_only_work_tree() {
            if is_unlisted {
                open.git().forget_stash().await?;
            }
            store_again(open, gone).await?;
        } else if !gone.is_empty() {
            let first = is_unlisted.then(|| "git update-ref -d refs/stash".to_owned());
            let commands = first.into_iter().chain(gone.iter().rev().map(command));
            let commands: Vec<String> = commands.collect();
            open.tell(format!(
                "stash entries are gone since the attempt began; to have them back: {}",
                commands.join(" && ")
            ));
        }
    }
    Ok(StashList::default().record(open.site().slot)?)
}

/// Keeps the entries that the guard refused: a rebase with autostash ends without its own, kept nowhere else.
pub(crate) async fn keep_refused(
    open: &Loop<'_>,
    refused: Vec<Oid>,
    story: &str,
    attempt: u32,
) -> Result<(), Error> {
    let name = format!("{}-stash", open.change().attempt_ref(story, attempt));
    let mut wanted = Vec::new();
    for oid in refused {
        // An attempt can write anything into the guard's log.
        if open.git().parents_of(&oid).await.is_ok() {
            wanted.push(KeptRef::new(name.clone(), oid));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let kept = open.keep_refs(&wanted, "ralph: refused stash entries").await?;
    let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
    open.tell(format!(
        "the stash is shared with other work trees: what the attempt wanted to put there is kept as {}",
        names.join(", ")
    ));
    Ok(())
}

async fn store_again(open: &Loop<'_>, gone: Vec<StashEntry>) -> Result<(), Error> {
    // The newest is stored last, on top of the others.
    for entry in gone.into_iter().rev() {
        open.view.drop_refs();
        open.git().stash_store(&entry).await?;
        open.tell(format!(
            "the stash entry '{}' was dropped during the attempt; it is stored again",
            entry.message
        ));
    }
    Ok(())
}

/// Returns the command that stores an entry again.
fn command(entry: &StashEntry) -> String {
    format!("git stash store -m {} {}", typed(&entry.message), entry.oid)
}
