//! `prune`: removes attempts, replaced branches, snapshots, slots and trash of finished loops that are older than
//! `ralph.keepAttempts`. Reports removed items; a live loop loses nothing.

use std::fs::DirEntry;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::engine::Context;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::transition::ORIGINAL_INDEX;
use crate::error::Error;
use crate::fs::{Below, entries_of, seen_itself};
use crate::git::{Git, GitError, RefInfo};
use crate::names::Change;
use crate::refs::Update;
use crate::settings::to_std;
use crate::slot::SLOTS;
use crate::state::{MESSAGES, StateError, Store, changes};

/// Directories below a loop's own whose entries expire.
const AGING: [&str; 4] = ["attempts", "trash", SLOTS, MESSAGES];
/// The date of every anchor.
const ANCHORED: u64 = 0;

/// Prunes one finished loop, or all of them; returns the number of removed refs and files. With `dry_run`, counts and
/// names them without removing them.
pub async fn prune(context: &Context<'_>, change: Option<&Change>, dry_run: bool) -> Result<usize, Error> {
    let Some(age) = context.configuration.settings.keep_attempts.map(to_std) else {
        return Ok(0);
    };
    let all = match change {
        Some(change) => vec![change.clone()],
        None => changes(&context.repo.common_dir)?,
    };
    let mut removed = 0;
    for change_found in all {
        let store = Store::new(&context.repo.common_dir, &change_found);
        if change.is_none() {
            match store.load() {
                Ok(Some(state)) if !state.is_live() => {}
                // A command that is about to take a step of a live loop does not wait. Only a newer git-ralph can tell
                // whether its loop is over.
                Ok(_) | Err(StateError::Newer { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        let _lock = match store.lock() {
            Ok(lock) => lock,
            // A loop that another process holds is not finished.
            Err(StateError::Busy { .. } | StateError::Outlived { .. }) if change.is_none() => continue,
            Err(error) => return Err(error.into()),
        };
        let live = store.load()?.is_none_or(|state| state.is_live());
        if live && change.is_some() {
            return Err(StepRefusal::LoopLive(change_found.to_string()).into());
        }
        if !live {
            removed += prune_refs(context, &change_found, age, dry_run).await?;
            let mut files = vec![store.file(ORIGINAL_INDEX)];
            for dir in AGING {
                files.extend(entries_of(&store.file(dir))?.iter().map(DirEntry::path));
            }
            removed += prune_files(context, &change_found, files, age, dry_run)?;
        }
    }
    Ok(removed)
}

async fn prune_refs(
    context: &Context<'_>,
    change: &Change,
    age: Duration,
    dry_run: bool,
) -> Result<usize, Error> {
    let mut old = Vec::new();
    for found in outdated(&context.repo.git, change, age).await? {
        context.tell(change, format!("{} {} {}", verb(dry_run), found.name, found.oid));
        old.push(Update::delete(found.name, found.oid));
    }
    if !dry_run {
        let why = format!("ralph: prune {change}");
        context.repo.git.update_refs(&old, &why).await?;
    }
    Ok(old.len())
}

fn prune_files(
    context: &Context<'_>,
    change: &Change,
    files: Vec<PathBuf>,
    age: Duration,
    dry_run: bool,
) -> Result<usize, Error> {
    let (mut removed, door) = (0, Below::new(&context.repo.common_dir));
    for path in files {
        let modified = seen_itself(&path).and_then(|found| found.modified().ok());
        let is_old = modified.is_some_and(|modified| modified.elapsed().is_ok_and(|since| since > age));
        if !is_old {
            continue;
        }
        context.tell(change, format!("{} {}", verb(dry_run), path.display()));
        if !dry_run {
            door.remove(&path)?;
        }
        removed += 1;
    }
    Ok(removed)
}

/// Returns the verb for pruned items.
pub fn verb(dry_run: bool) -> &'static str {
    if dry_run { "would remove" } else { "removed" }
}

/// Lists the refs of a finished loop that are older than `age`.
pub(crate) async fn outdated(git: &Git, change: &Change, age: Duration) -> Result<Vec<RefInfo>, GitError> {
    let prefix = change.ralph_ref("");
    let refs = git.refs_with_dates(prefix.trim_end_matches('/')).await?;
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let is_old = |date: u64| now.saturating_sub(Duration::from_secs(date)) > age;
    // An anchor has no date of its own: it is pruned with the snapshots of its kind.
    let anchors = ["anchor", "stash"].map(|role| change.ralph_ref(role));
    let start = change.ralph_ref("start");
    let replaced = change.ralph_ref("replaced/");
    let is_replaced = |found: &RefInfo| found.name.starts_with(&replaced);
    let stays = |like: &dyn Fn(&RefInfo) -> bool| {
        refs.iter()
            .any(|(found, date)| like(found) && *date != ANCHORED && !is_old(*date))
    };
    let start_stays = stays(&|found| found.name == start);
    let replaced_stay = stays(&is_replaced);
    let is_outdated = |(found, date): &(RefInfo, u64)| match *date {
        ANCHORED if anchors.contains(&found.name) => !start_stays,
        ANCHORED if is_replaced(found) => !replaced_stay,
        date => is_old(date),
    };
    let old = refs.into_iter().filter(is_outdated);
    Ok(old.map(|(found, _)| found).collect())
}
