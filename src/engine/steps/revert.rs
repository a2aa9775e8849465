//! Reverts an attempt: keeps its work, then restores branch, HEAD, index and files to the checkpoint.

use crate::engine::numbers::take_numbers;
use crate::engine::position::Position;
use crate::engine::progress::Outlook;
use crate::engine::travel::PublicText;
use crate::engine::{Loop, journal, shared_stash, stash, users_head};
use crate::error::Error;
use crate::events::What;
use crate::git::worktree::Reading;
use crate::git::{Head, clear_operations};
use crate::names::{Oid, ref_component};
use crate::paths::first_few;
use crate::protect::story_backup::Origin;
use crate::protect::{RefChange, Return, UserRefs, story_backup, user_refs, users_index};
use crate::refs::{KeptRef, Update, free_names};
use crate::state::{Intent, RevertPlan, Verdict};

/// The attempt that is being undone.
pub(crate) struct Undoing {
    /// The attempt's story.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The attempt's verdict; `None` if no attempt is judged (`git ralph revert`).
    pub verdict: Option<Verdict>,
    /// The reason of the verdict, for the next prompt.
    pub reason: Option<String>,
    /// The same for people, where the next prompt says less about it.
    pub shown: Option<String>,
}

/// Reads the work tree that is to be undone. Scans it once.
pub(crate) async fn read_what_is_left(open: &mut Loop<'_>) -> Result<Reading, Error> {
    // Files that the user's git ignores are no work of the attempt, wherever they were moved.
    let checkpoint = open.checkpoint();
    let (site, _, mut recorder) = open.parts();
    checkpoint.rename_back(site, &mut recorder)?;
    open.read_and_count().await
}

/// Keeps what an attempt left, as it was just read, and goes back to the checkpoint. Scans the work tree once.
pub(crate) async fn undo(
    open: &mut Loop<'_>,
    undoing: Undoing,
    position: &Position,
    now: Reading,
) -> Result<(), Error> {
    let mut kept = keep(open, &undoing, position, &now.tree).await?;
    let name = open.state.change.attempt_ref(&undoing.story, undoing.attempt);
    let changes = ref_changes(open).await?;
    let own = std::mem::take(&mut open.own_moves);
    let (of_head, commits) = users_head::put_back(open, position, &name).await?;
    kept.extend(commits);
    let (site, _, mut recorder) = open.parts();
    let mut put_back = user_refs::put_back(site, changes, &own, &name, &mut kept, &mut recorder).await?;
    put_back.extend(of_head);
    let plan = RevertPlan {
        trash: format!("{}.{}", ref_component(&undoing.story), undoing.attempt),
        story: undoing.story,
        attempt: undoing.attempt,
        verdict: undoing.verdict,
        reason: undoing.reason,
        shown: undoing.shown,
        kept,
        put_back,
    };
    journal::begin(open, Intent::Revert(plan.clone()))?;
    apply(open, plan, Some(now)).await
}

/// Returns the current attempt's changes to the user's refs, except for the refs that keep the attempt itself.
pub(crate) async fn ref_changes(open: &mut Loop<'_>) -> Result<Vec<RefChange>, Error> {
    let before = open.refs_before.clone().filter(|_| open.state.running.is_some());
    let before = before.or_else(|| UserRefs::recorded(open.site().dir));
    // A person's work is not compared with anything.
    let Some(before) = before else {
        return Ok(Vec::new());
    };
    let refs = open.user_refs().await?;
    let mut changes = refs.checked_changes(&open.context.repo, &before).await?;
    let kept = open.state.progress.story.as_ref();
    let kept = kept.map(|story| format!("{}-", open.state.change.attempt_ref(&story.id, story.attempt)));
    changes.retain(|change| !kept.as_ref().is_some_and(|kept| change.name().starts_with(kept)));
    users_head::leave_out(open, &mut changes).await?;
    Ok(changes)
}

/// Makes the commit that keeps the work tree, and names the refs that keep it and every commit that would otherwise be
/// lost.
async fn keep(
    open: &Loop<'_>,
    undoing: &Undoing,
    position: &Position,
    now: &Oid,
) -> Result<Vec<KeptRef>, Error> {
    let repo = &open.context.repo;
    let head = position
        .head
        .oid
        .as_ref()
        .filter(|_| open.state.strategy.is_branch());
    let below = head.unwrap_or(&open.state.checkpoint);
    let what = match undoing.verdict {
        Some(verdict) => verdict.words(),
        None => "reverted by hand",
    };
    let why = match undoing.shown.as_ref().or(undoing.reason.as_ref()) {
        // The commit may be published.
        Some(why) => {
            let events = std::fs::read(open.file("events.jsonl")).unwrap_or_default();
            PublicText::of_loop(&open.context, &open.state, &events).of(why)
        }
        None => String::new(),
    };
    let message = format!(
        "attempt {} at {}: {what}\n\n{why}\n",
        undoing.attempt, undoing.story
    );
    let commit = repo.commit_tree(now, &[below], message.trim_end()).await?;
    let name = open.state.change.attempt_ref(&undoing.story, undoing.attempt);
    let mut kept = vec![KeptRef {
        name: name.clone(),
        oid: commit.clone(),
    }];
    if let Some(tip) = &position.tip
        && tip != below
        && !repo.git.is_ancestor(tip, &commit).await?
    {
        kept.push(KeptRef {
            name: format!("{name}-{}", tip.short()),
            oid: tip.clone(),
        });
    }
    Ok(kept)
}

/// Applies the plan of a revert. `now` is the work tree if the working index was just read from it; `None` means that a
/// crash interrupted an earlier revert.
pub(crate) async fn apply(open: &mut Loop<'_>, plan: RevertPlan, now: Option<Reading>) -> Result<(), Error> {
    let position = open.position().await?;
    let checkpoint = open.checkpoint();
    let was_cut_off = now.is_none();
    let is_at_checkpoint = |oid: &Option<Oid>| oid.as_ref().is_some_and(|oid| *oid == checkpoint.commit);
    let moved = !is_at_checkpoint(&position.tip) || position.head.oid != open.state.loop_head().oid;
    let mut moves = Vec::new();
    if !is_at_checkpoint(&position.tip) {
        moves.push(Update::Move {
            name: open.state.tip_ref(),
            new: checkpoint.commit.clone(),
            old: position.tip,
        });
    }
    if !plan.put_back.is_empty() {
        moves.extend(open.read_user_refs().await?.still_possible(plan.put_back));
    }
    // If the refs are unknown, no existing name is expected.
    let known = open.view.refs.take();
    let known = known.or_else(|| (!was_cut_off).then(UserRefs::default));
    let why = format!("ralph: revert {}@{}", plan.story, plan.attempt);
    let kept = keep_and_move(open, &plan.kept, known, &moves, &position.head, &why).await?;
    clear_operations(&open.context.repo)?;
    let name = match kept.first() {
        Some(kept) => kept.name.clone(),
        None => open.state.change.attempt_ref(&plan.story, plan.attempt),
    };
    let origin = if open.is_recovering {
        Origin::Files
    } else {
        Origin::Known
    };
    let (site, state, mut recorder) = open.parts();
    let trash = site.trash().join(&plan.trash);
    let Return { touched, lost } = checkpoint.go_to(site, now, &trash, &name, &mut recorder).await?;
    story_backup::put_back(site, &checkpoint, &state.source, origin, &mut recorder)?;
    user_refs::forget(site.dir);
    users_index::put_back(site).await?;
    users_index::forget(site)?;
    let changed = was_cut_off || moved || !touched.is_empty() || kept.len() > 1 || trash.exists();
    shared_stash::put_back(open).await?;
    stash::keep_listed(open).await?;
    open.state.running = None;
    let outlook = match plan.verdict {
        Some(verdict) => {
            let reason = with_lost(plan.reason, &lost);
            open.advance(|progress| progress.end(verdict, reason, plan.shown))?
        }
        None => Outlook::Uncounted,
    };
    journal::end(open)?;
    open.view.at_checkpoint = true;
    open.emit(What::Reverted {
        story: Some(plan.story.clone()),
        attempt: Some(plan.attempt),
        oid: checkpoint.commit,
        kept: kept.first().map(|kept| kept.name.clone()),
        changed,
    });
    if outlook == Outlook::RetriesSpent {
        open.emit(What::MaxRetriesExceeded {
            story: plan.story,
            max_retries: open.state.progress.max_retries,
        });
    }
    Ok(())
}

/// Returns the reason for the next attempt, extended by the files that the last one removed and that could not be
/// restored.
fn with_lost(reason: Option<String>, lost: &[Vec<u8>]) -> Option<String> {
    if lost.is_empty() {
        return reason;
    }
    let told = format!(
        "During that attempt files that git does not track were deleted, and they could not be put back: {}",
        first_few(lost).join(", ")
    );
    Some(reason.map_or_else(|| told.clone(), |reason| format!("{reason}\n\n{told}")))
}

/// Keeps commits under free names, and moves the other refs and HEAD in the same transaction; returns those names.
/// `known` are the refs, if they are known.
pub(super) async fn keep_and_move(
    open: &mut Loop<'_>,
    wanted: &[KeptRef],
    known: Option<UserRefs>,
    moves: &[Update],
    from: &Head,
    why: &str,
) -> Result<Vec<KeptRef>, Error> {
    let own = open.state.loop_head();
    let mut refs = match known {
        Some(known) => known,
        None => open.read_user_refs().await?,
    };
    loop {
        let (mut updates, kept) = free_names(wanted, |name| refs.at(name));
        updates.extend_from_slice(moves);
        match open.move_refs(&updates, from, &own, why).await {
            Ok(()) => {
                tell_other_names(open, wanted, &kept);
                let names = kept.iter().map(|kept| kept.name.as_str());
                take_numbers(&open.store, &open.state.change, names)?;
                return Ok(kept);
            }
            Err(error) => {
                refs = open.read_user_refs().await?;
                // Another process may have created a ref of such a name.
                if free_names(wanted, |name| refs.at(name)).1 == kept {
                    return Err(error);
                }
            }
        }
    }
}

fn tell_other_names(open: &mut Loop<'_>, wanted: &[KeptRef], kept: &[KeptRef]) {
    for (wanted, kept) in wanted.iter().zip(kept) {
        if wanted.name != kept.name {
            open.tell(format!(
                "{} is another commit already, and stays; this one is kept as {}",
                wanted.name, kept.name
            ));
        }
    }
}
