//! Reverts an attempt: keeps its work, then restores branch, HEAD, index and files to the checkpoint.

use jiff::Timestamp;

use super::attempt::list;
use super::put_away::PutAway;
use crate::engine::attempt::facts::{ATTEMPT, Facts};
use crate::engine::position::Position;
use crate::engine::transition::{self, Known};
use crate::engine::travel::PublicText;
use crate::engine::{Loop, ended_loops, judged, staged_content, users_head};
use crate::error::Error;
use crate::events::Notices;
use crate::git::autostashes;
use crate::git::worktree::Reading;
use crate::names::{Oid, ref_component, typed};
use crate::protect::{RefChanges, UserRefs};
use crate::refs::KeptRef;
use crate::state::{Intent, RevertPlan, Verdict};
use crate::stories::Story;

/// The attempt that is being undone.
#[derive(Default)]
pub(crate) struct Undoing {
    /// The attempt's story.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The attempt's verdict; `None` if no attempt is judged (`git ralph revert`).
    pub verdict: Option<Verdict>,
    /// The reason of the verdict, for the next prompt.
    pub reason: Option<String>,
    /// The longer reason for the user, if the next prompt has less.
    pub shown: Option<String>,
    /// The facts about the attempt that this process holds in memory.
    pub facts: Facts,
    /// The commit that keeps its work, if the work is not in the work tree, and the checkpoint at which it began.
    pub kept: Option<(Oid, Oid)>,
}

/// Reads the work tree that is to be undone. Scans it once.
pub(crate) async fn read_what_is_left(open: &Loop<'_>) -> Result<Reading, Error> {
    // Files that the user's git ignores are no work of the attempt, wherever they were moved.
    open.checkpoint().rename_back()?;
    open.read_and_count().await
}

/// Keeps the work of an attempt, as just read, and goes back to the checkpoint. Scans the work tree once.
pub(crate) async fn undo(
    open: &mut Loop<'_>,
    mut undoing: Undoing,
    position: &Position,
    now: Reading,
) -> Result<(), Error> {
    let judged = judged::record(open).map(|record| record.tree);
    let judged = judged.filter(|judged| *judged != now.tree);
    let left = judged.as_ref().unwrap_or(&now.tree).clone();
    let (left, of_list) = list::with_left_list(open, &mut undoing.facts, &left).await?;
    let mut kept = keep(open, &undoing, position, &left).await?;
    if let Some(judged) = judged {
        kept.push(keep_beside(open, &undoing, &judged, &now.tree).await?);
    }
    let name = open.state.change.attempt_ref(&undoing.story, undoing.attempt);
    let put_aside = autostashes(open.repo()).await?;
    kept.extend(put_aside.iter().map(|oid| KeptRef::beside(&name, oid)));
    let changes = ref_changes(open, &undoing.facts).await?;
    let own = undoing.facts.made;
    let (of_head, commits) = users_head::put_back(open, position, &name).await?;
    kept.extend(commits);
    let put_back = changes.undo_users(open.site(), &own, &name, ATTEMPT, &mut kept);
    let mut put_back = put_back.await?;
    put_back.extend(of_head);
    put_back.extend(of_list);
    let is_of_work = match &undoing.kept {
        Some((kept, base)) => open.git().tree_of(kept).await? != open.git().tree_of(base).await?,
        None => false,
    };
    let plan = RevertPlan {
        trash: format!("{}.{}", ref_component(&undoing.story), undoing.attempt),
        story: undoing.story,
        attempt: undoing.attempt,
        beside: is_of_work,
        verdict: undoing.verdict,
        reason: undoing.reason,
        shown: undoing.shown,
        from: Some(now.tree.clone()),
        since: Some(Timestamp::now()),
        kept,
        put_back,
    };
    let edited = match plan.verdict {
        Some(_) => list_was_edited(open, &now).await?,
        None => false,
    };
    let shown = format!("{}@{}", plan.story, plan.attempt);
    let known = Known {
        reading: Some(now),
        stash: undoing.facts.stash,
        ..Known::fresh()
    };
    // An agent may have built ignored files; only files of the user's are named, also after a kill.
    let is_persons = plan.verdict.is_none() || open.state.is_by_hand() || open.is_recovering;
    let put_away = PutAway::before(open, &plan.trash)?;
    if open.is_recovering {
        let was = open.checkpoint().index();
        Box::pin(staged_content::keep_before_reset(open, open.repo(), &was)).await?;
    }
    transition::take(open, Intent::Revert(plan), known).await?;
    if is_persons {
        put_away.tell(open, &left).await?;
    }
    for oid in put_aside {
        open.tell(format!(
            "changes that git had put aside for an unfinished operation are kept: git stash apply {}",
            oid.short()
        ));
    }
    if edited {
        let change = typed(open.change());
        open.tell(format!(
            "{} was edited during the attempt, and is back as it was; the edit is kept: git ralph diff {change} {}",
            open.state.source().path,
            typed(&shown)
        ));
    }
    Ok(())
}

/// Returns whether the list of stories has changes other than marks: the user may have edited it meanwhile, and undoing
/// the attempt restores it. Two git processes if the list has changed.
async fn list_was_edited(open: &Loop<'_>, now: &Reading) -> Result<bool, Error> {
    let source = open.state.source();
    let has_changed = now.changes.iter().flatten();
    let has_changed = has_changed
        .map(|(_, path)| path)
        .any(|path| path == source.path.as_bytes());
    if !has_changed || source.is_by_command() {
        return Ok(false);
    }
    let listed = |bytes: Option<Vec<u8>>| {
        let listing = source.list_in(&bytes?).ok()?;
        let texts = |story: Story| {
            let tasks = story.tasks.into_iter().map(|task| task.text).collect::<Vec<_>>();
            (story.title, tasks)
        };
        Some(listing.stories.into_iter().map(texts).collect::<Vec<_>>())
    };
    let was = listed(open.git().file_of(open.state.checkpoint(), &source.path).await?);
    let is = listed(open.git().file_of(&now.tree, &source.path).await?);
    // The attempt made a list unreadable that was read at its beginning.
    Ok(is.is_some() && was != is)
}

/// Returns the current attempt's changes to the user's refs, except for the refs that keep the attempt itself.
pub(crate) async fn ref_changes(open: &Loop<'_>, facts: &Facts) -> Result<RefChanges, Error> {
    let before = facts.refs.clone().filter(|_| open.state.is_running());
    let before = match before {
        Some(before) => Some(before),
        None => UserRefs::recorded(open.site().slot)?,
    };
    // The user's work is not compared with a record.
    let Some(before) = before else {
        return Ok(RefChanges::default());
    };
    let refs = open.user_refs().await?;
    let mut changes = refs.checked_changes(open.repo(), &before).await?;
    let kept = open.state.attempt_ref().map(|name| format!("{name}-"));
    changes.leave_refs_out(|name| kept.as_ref().is_some_and(|kept| name.starts_with(kept)));
    let judged = judged::ref_name(open);
    let gate_files = open.change().ralph_ref("gate-files");
    changes.leave_refs_out(|name| name == judged || name == gate_files);
    // Changes by earlier subagents stay.
    let subagents = open.state.current().map(|story| {
        let of_it = open.change().subagents_ref(&story.id, story.attempt);
        format!("{of_it}/")
    });
    changes.leave_refs_out(|name| subagents.as_ref().is_some_and(|of_it| name.starts_with(of_it)));
    users_head::leave_out(open, facts, &mut changes).await?;
    ended_loops::leave_branches_out(open, &mut changes, &refs);
    Ok(changes)
}

/// Makes the commit that keeps the changes of gates or a reviewer to the judged tree, and reports removed files.
async fn keep_beside(open: &Loop<'_>, undoing: &Undoing, judged: &Oid, now: &Oid) -> Result<KeptRef, Error> {
    let changes = open.repo().git.diff_trees(judged, now).await?;
    let message = format!(
        "attempt {} at {}: after its gates",
        undoing.attempt, undoing.story
    );
    let oid = open.commit_on_checkpoint(now, &message).await?;
    let missing = changes.iter().filter(|(status, _)| matches!(status, b'D' | b'T'));
    let what = "the gates removed, replaced or hid files; the attempt is kept with them";
    open.tell_few(what, missing.map(|(_, path)| path));
    let name = open.state.change.attempt_ref(&undoing.story, undoing.attempt);
    Ok(KeptRef::beside(&name, &oid))
}

/// Makes the commit that keeps the work tree, and names the refs for it and for every commit that would otherwise be
/// lost.
async fn keep(
    open: &Loop<'_>,
    undoing: &Undoing,
    position: &Position,
    now: &Oid,
) -> Result<Vec<KeptRef>, Error> {
    let name = open.state.change.attempt_ref(&undoing.story, undoing.attempt);
    if let Some((kept, _)) = &undoing.kept {
        return Ok(vec![KeptRef::new(name, kept.clone())]);
    }
    let head = position.head.oid.as_ref().filter(|_| open.state.has_branch());
    let below = head.unwrap_or(open.state.checkpoint());
    let what = match undoing.verdict {
        Some(verdict) => verdict.words(),
        None => "reverted by hand",
    };
    let why = match undoing.shown.as_ref().or(undoing.reason.as_ref()) {
        // The commit may be published.
        Some(why) => {
            let gates = open.latest_history()?.gates.clone();
            PublicText::of_loop(&open.context, &open.state, gates).of(why)
        }
        None => String::new(),
    };
    let message = format!(
        "attempt {} at {}: {what}\n\n{why}\n",
        undoing.attempt, undoing.story
    );
    let commit = open.repo().commit_tree(now, &[below], message.trim_end()).await?;
    let mut kept = vec![KeptRef::new(name.clone(), commit.clone())];
    if let Some(tip) = &position.tip
        && tip != below
        && !open.repo().git.is_ancestor(tip, &commit).await?
    {
        kept.push(KeptRef::beside(&name, tip));
    }
    Ok(kept)
}
