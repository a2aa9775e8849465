//! Removes a side whose work was taken in.

use std::path::{Path, PathBuf};

use super::super::abort::close;
use super::super::leave;
use super::keep::keep;
use super::{Made, made_by, open_side, was_taken_in};
use crate::engine::own_work_tree::clear_half_made_sides;
use crate::engine::work_tree_place::{configured, is_free};
use crate::engine::{Loop, numbers, shared_stash};
use crate::error::Error;
use crate::events::{Attempt, Silent};
use crate::fs::{Below, entries_of, file_error, is_there, may_exist, remove_named_dir};
use crate::git::{RefInfo, oid_of};
use crate::names::{Change, Oid, typed, typed_path};
use crate::protect::free_name;
use crate::refs::{KeptRef, Update};
use crate::state::{Ending, Phase, Store, Verdict, is_side, sides};

/// The refs of a side without work of its attempt.
const OF_START: [&str; 4] = ["start", "anchor", "judged", "gate-files"];

/// Returns the first places of a change that the user does not use: no loop, branch or directory has their name.
/// Removes work trees that a killed run had begun to make first.
///
/// # Errors
/// If the names of its sides are too long.
pub async fn free_places(open: &Loop<'_>, most: u16) -> Result<Vec<u16>, Error> {
    clear_half_made_sides(&open.context, open.change()).await?;
    let common_dir = &open.repo().common_dir;
    let refs = open.git().refs(&["refs/heads/ralph"]).await?;
    let main = open.repo().main_top().await?;
    let dir = configured(main.as_deref().unwrap_or(&open.repo().top), &open.settings());
    let mut free = Vec::new();
    for place in 1..=u16::MAX {
        if free.len() == usize::from(most) {
            break;
        }
        let side = open.change().side(place)?;
        let is_known = match Store::new(common_dir, &side).load() {
            Ok(state) => state.is_some(),
            Err(error) => {
                // Its work stays where it is, and the other places are as good as before.
                open.tell(format!("{side} is not used: {error}"));
                true
            }
        };
        let has_branch = refs.iter().any(|found| found.name == side.branch_ref());
        let is_free = || is_free(&dir.join(side.as_str()));
        if is_side(common_dir, &side) || !is_known && !has_branch && is_free()? {
            free.push(place);
        }
    }
    Ok(free)
}

/// Removes the records of a side whose work tree is gone, so that it cannot be opened. Keeps the commits of its branch
/// as an attempt.
pub async fn remove_lost(open: &Loop<'_>, name: &Change) -> Result<(), Error> {
    let store = Store::new(&open.repo().common_dir, name);
    let _lock = store.lock()?;
    let Some(mut state) = store.load()? else {
        return Ok(());
    };
    let story = state.current().map(|story| story.id.clone());
    let story = story.or_else(|| state.progress().completed.last().map(|done| done.id.clone()));
    let story = story.unwrap_or_else(|| "work".to_owned());
    let prefix = name.ralph_ref("");
    let all = [prefix.trim_end_matches('/'), &name.branch_ref()].map(str::to_owned);
    let refs = open.git().refs(&all.each_ref().map(String::as_str)).await?;
    let of_start = OF_START.map(|role| name.ralph_ref(role));
    let stash = shared_stash::keeper_of(name);
    if let Some(keeper) = oid_of(&refs, &stash) {
        shared_stash::take_over(open, &keeper).await?;
    }
    let is_work = |found: &&RefInfo| {
        let is_unmoved = found.name == name.branch_ref() && found.oid == *state.initial();
        !is_unmoved && !of_start.contains(&found.name) && found.name != stash
    };
    let kept_as = open
        .change()
        .attempt_ref(&story, numbers::next_number(open, &story)?);
    let wanted: Vec<KeptRef> = refs
        .iter()
        .filter(is_work)
        .map(|found| KeptRef::beside(&kept_as, &found.oid))
        .collect();
    let kept = open
        .keep_refs(&wanted, "ralph: a side whose work tree is gone")
        .await?;
    let names: Vec<String> = kept.iter().map(|kept| typed(&kept.name)).collect();
    let what = match move_aside(state.work_tree())? {
        Some(place) => format!(
            "the work tree of {name} no longer belongs to this repository; its files are in {}",
            place.display()
        ),
        None => format!("the work tree of {name} is gone, and with it what was in no commit"),
    };
    open.tell(format!(
        "{what}; kept of story {story}: {}",
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    ));
    let gone: Vec<Update> = refs
        .into_iter()
        .map(|found| Update::delete(found.name, found.oid))
        .collect();
    open.update_refs(&gone, &format!("ralph: {name} is gone")).await?;
    // Git still knows the work tree if its directory was deleted without git.
    let forget = open.git().remove_work_tree(state.work_tree(), &["-f", "-f"]);
    let _ = forget.await;
    if entries_of(&store.file("trash"))?.is_empty() {
        return Ok(store.remove_files()?);
    }
    // The side is over: no step of it can be resumed.
    state.end_running();
    state.intent = None;
    state.common.progress.phase = Phase::Finished;
    state.here.closed = Some(Ending::Abort);
    Ok(store.save(&state)?)
}

/// Moves an entry in the place of a side's work tree to a free name beside it, and returns the name, if there is one.
fn move_aside(top: &Path) -> Result<Option<PathBuf>, Error> {
    if !is_there(top)? {
        return Ok(None);
    }
    let mut aside = top.as_os_str().to_owned();
    aside.push(".old");
    let aside = free_name(Path::new(&aside))?;
    let door = Below::new(top.parent().unwrap_or(top));
    door.rename(top, &door, &aside)
        .map_err(|source| file_error("move", top, source))?;
    Ok(Some(aside))
}

/// Returns whether the loop accepted the last attempt of a side: its installed and built files then fit the next story.
pub fn is_accepted(open: &Loop<'_>, made: &[Made]) -> Result<bool, Error> {
    let Some(last) = made
        .last()
        .filter(|last| last.attempt.verdict == Verdict::Complete)
    else {
        return Ok(false);
    };
    let history = open.history()?;
    let is_it = |attempt: &Attempt| {
        attempt.verdict == Verdict::Complete
            && (&attempt.story, attempt.started) == (&last.attempt.story, last.attempt.started)
    };
    let accepted = history.history.ended().any(|entry| is_it(&entry.attempt));
    Ok(accepted)
}

/// Closes a side as `abort` does, and deletes the records that the loop has too: `known` are the attempts that the loop
/// has taken in. Keeps the work of other attempts in the loop. Files of a user in its work tree, work of a subagent and
/// ignored files stay, and with them the files of the side. Its work tree stays only if it is to be `used_again`, and
/// has no other files. Returns whether the side can begin another story.
pub async fn remove_side(
    open: &Loop<'_>,
    mut side: Loop<'_>,
    known: &[Made],
    used_again: bool,
) -> Result<bool, Error> {
    let tree = side.state.checkpoint_tree().clone();
    if side.state.is_live() {
        close(&mut side).await?;
    }
    let change = side.change().clone();
    let (attempts, finished) = (change.ralph_ref("attempts/"), change.ralph_ref("finished"));
    let plain = OF_START.map(|role| change.ralph_ref(role));
    let mut known_oids: Vec<&Oid> = Vec::new();
    for made in known {
        known_oids.extend(&made.commit);
        if was_taken_in(open, made)? {
            known_oids.extend(made.beside.iter().map(|kept| &kept.oid));
            known_oids.extend(made.notices.iter().filter_map(|(_, list)| list.as_ref()));
        }
    }
    let refs = side
        .git()
        .refs(&[change.ralph_ref("").trim_end_matches('/')])
        .await?;
    let (mut gone, mut kept, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for found in &refs {
        let attempt = found.name.strip_prefix(&attempts);
        if let Some(attempt) = attempt.filter(|_| !known_oids.contains(&&found.oid)) {
            let name = open.change().ralph_ref(&format!("attempts/{attempt}"));
            kept.push(KeptRef::beside(&name, &found.oid));
        }
        let is_stash = found.name == shared_stash::keeper_of(&change);
        if is_stash {
            shared_stash::take_over(open, &found.oid).await?;
        }
        let is_known = is_stash
            || plain.contains(&found.name)
            || attempt.is_some()
            || found.name == finished && side.git().tree_of(&found.oid).await? == tree;
        if is_known {
            gone.push(Update::delete(found.name.clone(), found.oid.clone()));
        } else {
            others.push(typed(&found.name));
        }
    }
    if !others.is_empty() {
        let others = others.join(" ");
        open.tell(format!(
            "what {change} had beside its attempt is kept: git log {others}"
        ));
    }
    open.keep_refs(&kept, "ralph: attempts beside others").await?;
    let is_left = used_again && others.is_empty() && side.state.is_leaving();
    if !is_left {
        leave::take_away(&mut side).await?;
    }
    if may_exist(side.state.work_tree()) {
        // Until the side has another commit, no other ref keeps this one.
        gone.retain(|update| !matches!(update, Update::Delete { name, .. } if *name == finished));
    }
    side.update_refs(&gone, &format!("ralph: {change} is taken in"))
        .await?;
    if is_left {
        return Ok(true);
    }
    if others.is_empty() && entries_of(&side.site().trash())?.is_empty() {
        side.store.remove_files()?;
    }
    let top = side.state.work_tree();
    // A git that outlived its parent may have recreated the directory.
    let _ = remove_named_dir(top);
    let stays = may_exist(top);
    if stays {
        open.tell(format!(
            "the work tree of {change} stays: it has what is nowhere else, or cannot be removed; if you need nothing of it: \
             git worktree remove -f -f {}",
            typed_path(top)
        ));
    }
    Ok(!stays)
}

/// Removes the work trees that sides have left for other stories, and their records. Reports which stay.
pub async fn remove_left(open: &Loop<'_>) -> Result<(), Error> {
    let common_dir = &open.repo().common_dir;
    for name in sides(common_dir, open.change())? {
        let state = Store::new(common_dir, &name).load()?;
        if state.is_some_and(|state| !state.is_live() && state.is_leaving())
            && let Err(error) = Box::pin(remove_one_left(open, &name)).await
        {
            open.tell(format!("{name} stays: {error}"));
        }
    }
    Ok(())
}

async fn remove_one_left(open: &Loop<'_>, name: &Change) -> Result<(), Error> {
    // Opening it removes the work tree.
    if let Some(side) = open_side(open, name, &Silent).await? {
        Box::pin(remove_side(open, side, &[], false)).await?;
    }
    Ok(())
}

/// Removes the sides of a loop that ends. Attempts that were not taken in are kept.
///
/// # Errors
/// The first error of a side, after all the others are removed.
pub(in crate::engine) async fn remove_all(open: &Loop<'_>) -> Result<(), Error> {
    clear_half_made_sides(&open.context, open.change()).await?;
    let mut removed = Ok(());
    for name in sides(&open.repo().common_dir, open.change())? {
        removed = removed.and(Box::pin(remove_at_end(open, &name)).await);
    }
    removed
}

async fn remove_at_end(open: &Loop<'_>, name: &Change) -> Result<(), Error> {
    let side = match open_side(open, name, &Silent).await {
        Err(Error::Open(refusal)) if refusal.is_of_lost_work_tree() => {
            return remove_lost(open, name).await;
        }
        side => side?,
    };
    let Some(side) = side else { return Ok(()) };
    let made = made_by(&side).await?;
    for made in &made {
        if !was_taken_in(open, made)? {
            keep(open, made, "the loop ends").await?;
        }
    }
    Box::pin(remove_side(open, side, &made, false)).await.map(drop)
}
