//! Records the user's actions that git's hooks report: commits on the loop's branch, and whether HEAD is on it. Nothing
//! waits for the loop's lock: a note that cannot be saved still becomes an event.

use crate::events::{Event, What};
use crate::fs::Durability;
use crate::git::{Git, LayoutHead, RepoLayout};
use crate::names::Oid;
use crate::state::noted::{shown, work_tree_of};
use crate::state::{Noted, State, Store};

/// Reads the position of HEAD and of the loop's branch, and records changes. During an attempt, or while an agent's
/// session has a story, every change is the agent's.
pub(super) async fn note(layout: &RepoLayout, state: &State) {
    if !state.is_at_rest() || state.session_at_work().is_some() {
        return;
    }
    let store = Store::new(&layout.common_dir, &state.change);
    let lock = store.lock();
    // A step may have saved another state meanwhile.
    let mut current = match &lock {
        Ok(_) => match store.load_live() {
            Ok(Some(current)) if current.is_at_rest() => current,
            _ => return,
        },
        Err(_) => state.clone(),
    };
    let before = current.here.noted.clone().unwrap_or_default();
    let after = seen(layout, &current, &before).await;
    if after == before {
        return;
    }
    let mut events = Vec::new();
    if let (Some(tip), true) = (&after.tip, after.commits > 0 && after.tip != before.tip) {
        events.push(What::Committed {
            oid: tip.clone(),
            commits: after.commits,
        });
    }
    match (&before.away, &after.away) {
        (was, Some(to)) if was.as_ref() != Some(to) => events.push(What::Left { to: to.clone() }),
        (Some(_), None) => events.push(What::Returned {
            branch: current.common.branch.clone(),
        }),
        _ => {}
    }
    for what in events {
        let line = Event::now(current.change.as_str(), what).line();
        let _ = store.door().append(&store.file("events.jsonl"), line.as_bytes());
    }
    if lock.is_ok() {
        let noted = (after != Noted::default()).then_some(after);
        current.here.noted = noted;
        // Git continues in any case; the next call finds an unsaved change again.
        let _ = store.save_for(&current, Durability::Atomic);
    }
}

/// Reads the present position.
async fn seen(layout: &RepoLayout, state: &State, before: &Noted) -> Noted {
    let its = work_tree_of(state);
    let branch = state.change.branch_ref();
    let is_its = its.as_ref().is_some_and(|its| {
        matches!((its.git_dir.canonicalize(), layout.git_dir.canonicalize()), (Ok(one), Ok(other)) if one == other)
    });
    let away = match is_its
        .then(|| layout.head())
        .as_ref()
        .and_then(LayoutHead::target)
    {
        Some(head) if head == branch => None,
        Some(head) => Some(shown(head)),
        None => before.away.clone(),
    };
    let tip = layout.current(&branch).await.and_then(|tip| Oid::parse(&tip));
    let commits = match &tip {
        None => 0,
        Some(tip) if *tip == state.common.checkpoint => 0,
        tip if *tip == before.tip => before.commits,
        Some(tip) => count(layout, state.checkpoint(), tip).await,
    };
    Noted {
        away,
        tip: tip.filter(|_| commits > 0),
        commits,
    }
}

/// Counts the commits above the checkpoint; returns 0 if git cannot tell.
async fn count(layout: &RepoLayout, checkpoint: &Oid, tip: &Oid) -> usize {
    let range = format!("{checkpoint}..{tip}");
    let output = Git::at(&layout.git_dir)
        .cmd("rev-list", ["--count", range.as_str(), "--"])
        .bytes();
    let text = output.await.unwrap_or_default();
    String::from_utf8_lossy(&text).trim().parse().unwrap_or(0)
}
