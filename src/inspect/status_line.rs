//! The status of a loop on one line, from files alone: for shell prompts and status bars, which run it very often.
//! Starts no process if the repository is the user's own, changes nothing.

use std::path::Path;

use jiff::Timestamp;

use super::beside::ParallelAttempt;
use crate::engine::stories::short_names;
use crate::git::RepoLayout;
use crate::git::layout::is_same_dir;
use crate::names::{Change, counted};
use crate::state::noted::{away, commits, work_tree_of};
use crate::state::{self, Listed, Phase, State, Store};

/// Returns the line of the named loop, else of a loop of the repository around `dir`: the branch's loop, else the work
/// tree's, else the only one. Returns `None` if no loop is live.
pub async fn line(dir: &Path, change: Option<&str>) -> Option<String> {
    let layout = RepoLayout::around(dir).await?;
    let of = |state: &State| of(&layout.common_dir, state);
    let load = |change: &Change| Store::new(&layout.common_dir, change).load_live();
    if let Some(name) = change {
        let change = Change::new(name).ok()?;
        return match load(&change) {
            Ok(state) => Some(of(&state?)),
            Err(_) => Some(format!("ralph: {change} cannot be read")),
        };
    }
    let head = layout.head();
    let branch = head
        .target()
        .and_then(|head| head.strip_prefix("refs/heads/ralph/"));
    if let Some(change) = branch.and_then(|name| Change::new(name).ok())
        && let Ok(Some(state)) = load(&change)
    {
        return Some(of(&state));
    }
    let mut live = Vec::new();
    for change in state::loops(&layout.common_dir).ok()? {
        match load(&change) {
            Ok(state) => live.extend(state.map(Ok)),
            Err(_) => live.push(Err(change)),
        }
    }
    let is_here =
        |state: &&State| work_tree_of(state).is_some_and(|its| is_same_dir(&its.git_dir, &layout.git_dir));
    if let Some(state) = live.iter().filter_map(|state| state.as_ref().ok()).find(is_here) {
        return Some(of(state));
    }
    match live.as_slice() {
        [] => None,
        [Ok(state)] => Some(of(state)),
        [Err(change)] => Some(format!("ralph: {change} cannot be read")),
        several => Some(format!("ralph: {} loops", several.len())),
    }
}

/// Returns the line of a loop with this state.
pub fn of(common_dir: &Path, state: &State) -> String {
    let progress = state.progress();
    let mut words = format!("ralph: {}", state.change);
    if let Some(listed) = state.listed() {
        words.push_str(&format!(" {}/{}", listed.done, listed.total));
        let (skipped, put_off) = progress.left_out();
        for (ids, left_out) in [(skipped, "skipped"), (put_off, "put off")] {
            if !ids.is_empty() {
                words.push_str(&format!(" ({} {left_out})", ids.len()));
            }
        }
    }
    let beside = ParallelAttempt::all_of(common_dir, state);
    let beside = beside.iter().filter(|one| one.is_running()).count();
    let next = state.listed().and_then(|listed| listed.next.as_deref());
    let current = progress.current();
    let nothing_left = progress.phase == Phase::Ready && next.is_none() && current.is_none();
    // Skipped stories are not complete, but need no work either.
    let through = |listed: &Listed| listed.done + progress.skipped.len() >= listed.total;
    if beside > 0 {
        let own = usize::from(progress.phase == Phase::Running);
        words.push_str(&format!(" {} running", beside + own));
    } else if progress.phase == Phase::Complete || nothing_left && state.listed().is_some_and(through) {
        words.push_str(if progress.skipped.is_empty() {
            " complete"
        } else {
            " no other story left"
        });
    } else {
        if let Some(id) = current.map(|story| story.id.as_str()).or(next) {
            words.push_str(&format!(" story {}", short_name(state, id)));
        }
        let running = progress.phase == Phase::Running;
        // A running attempt is itself the retry.
        let retries = current.map_or(0, |story| if running { story.failures } else { story.retries });
        if retries > 0 {
            words.push_str(&format!(" retry {retries}"));
        }
        let waits = |until| until > Timestamp::now();
        words.push_str(match progress.phase {
            Phase::Running if state.is_by_process() && holder_is_gone(state) => " interrupted",
            Phase::Running => " running",
            _ if state.gate_before_work().is_some() && !holder_is_gone(state) => " gate running",
            _ if state.here.waits_until.get().is_some_and(waits) && !holder_is_gone(state) => " waiting",
            Phase::Failed => " failed",
            Phase::Exhausted => " failed, no retries left",
            _ => "",
        });
    }
    if state.asked().is_some() {
        words.push_str(", asks what to do");
    }
    words.push_str(&by_hand(state));
    words
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Returns the shortest name of a story. The list is read only if the id can have been made from a title.
fn short_name(state: &State, id: &str) -> String {
    if id.starts_with(|c: char| c.is_ascii_digit()) {
        return id.to_owned();
    }
    short_names(state).of(id).to_owned()
}

/// Returns whether the process that took the last step is certainly gone.
fn holder_is_gone(state: &State) -> bool {
    let Some(layout) = work_tree_of(state) else {
        return false;
    };
    Store::new(&layout.common_dir, &state.change).holder_is_gone()
}

/// Describes the user's actions since then: commits on the loop's branch recorded by git's hooks, and a HEAD on another
/// branch.
fn by_hand(state: &State) -> String {
    let mut words = String::new();
    match commits(state) {
        0 => {}
        some => words.push_str(&format!(", {} by hand", counted(some, "commit", "commits"))),
    }
    if let Some(away) = away(state) {
        words.push_str(&format!(", away on {away}"));
    }
    words
}
