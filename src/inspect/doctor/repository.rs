//! The repository around the current directory: its loops, their remains, and the story lists of its changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::notes::Notes;
use crate::engine::attempt::unpromised::require_judge;
use crate::engine::stories::progress_of;
use crate::engine::story_source::wanted;
use crate::engine::{
    half_made, outdated, refuse_operation, refuse_tree_apart, refuse_unmerged, repository_without_tree,
};
use crate::error::Error;
use crate::fs::target_of;
use crate::git::index::lock_of;
use crate::git::{GitError, Head, RefInfo, Repo, discover, locks};
use crate::inspect::wrong_values::wrong_values;
use crate::install::repository_hooks;
use crate::names::{Change, typed, typed_path};
use crate::settings::{Settings, to_std};
use crate::state::{self, Phase, State, Store};
use crate::stories::{self, Adapter, SourceError};

/// A repository, with git-ralph's data in it.
#[derive(Clone, Debug, Serialize)]
pub struct Repository {
    /// The top directory of the work tree.
    pub top: PathBuf,
    /// The loops.
    pub loops: Vec<FoundLoop>,
    /// The changes that have a story list.
    pub changes: Vec<FoundChange>,
}

/// A loop.
#[derive(Clone, Debug, Serialize)]
pub struct FoundLoop {
    /// Its change.
    pub change: Change,
    /// Its phase; absent if its state cannot be read.
    pub phase: Option<Phase>,
    /// True if a process works on it; absent if unknown.
    pub busy: bool,
}

/// A change, with the story list that a new loop would use.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FoundChange {
    /// Its name.
    pub change: String,
    /// The adapter that would list its stories.
    pub adapter: Option<&'static str>,
    /// The list, or the command that prints it.
    pub source: Option<String>,
    /// Number of its stories; absent if it cannot be read, or if a command lists them.
    pub stories: Option<usize>,
    /// Number of complete stories.
    pub done: Option<usize>,
    /// Number of warnings about it, as git ralph stories prints them.
    pub warnings: Option<usize>,
    /// The reason why the list cannot be read.
    pub error: Option<String>,
}

/// Examines the repository around `dir`; returns `None` outside a work tree.
pub(super) async fn examine(dir: &Path, settings: &Settings, notes: &mut Notes) -> Option<Repository> {
    let (repo, head) = match discover(dir).await {
        Ok(found) => found,
        Err(error) => {
            note_unreadable(&error, notes);
            if let Some(refusal) = repository_without_tree(dir).await {
                note(&refusal.into(), notes);
            }
            return None;
        }
    };
    if let Err(refusal) = refuse_tree_apart(&repo) {
        note(&refusal, notes);
        return None;
    }
    stale_locks(&repo, notes).await;
    half_made_work_trees(&repo, notes);
    let known = match state::changes(&repo.common_dir) {
        Ok(known) => known,
        Err(error) => {
            note(&error.into(), notes);
            Vec::new()
        }
    };
    let mut loops = Vec::new();
    for change in &state::loops_among(&repo.common_dir, &known) {
        loops.push(examine_loop(&repo, change, settings, notes).await);
    }
    if let Err(refusal) = refuse_unfinished(&repo, &loops).await {
        note(&refusal, notes);
    }
    match repo.git.refs(&["refs/heads/ralph", "refs/ralph"]).await {
        Ok(refs) => leftovers(&refs, &known, &head, notes),
        Err(error) => note(&error.into(), notes),
    }
    match repository_hooks::report(&repo).await {
        Ok(report) => {
            for wrong in report.wrong {
                notes.problem(wrong, "git ralph hooks install");
            }
        }
        Err(error) => note(&error, notes),
    }
    if let Err(refusal) = require_judge(settings) {
        note(&refusal, notes);
    }
    for wrong in wrong_values(settings, &repo).await {
        if wrong.is_harmless {
            notes.advice(wrong.message, wrong.hint);
        } else {
            notes.problem(wrong.message, wrong.hint);
        }
    }
    let mut changes = Vec::new();
    for change in stories::changes(&repo.top) {
        changes.push(examine_change(&repo.top, change, settings, notes).await);
    }
    for why in stories::passed_over(&repo.top) {
        notes.advice(
            why,
            "to see what is in a list: git ralph stories <change> --stories <path>",
        );
    }
    Some(Repository {
        top: repo.top,
        loops,
        changes,
    })
}

/// Refuses an operation of git that is not finished, and conflicts where no loop is live. Those of an attempt are its own.
async fn refuse_unfinished(repo: &Repo, loops: &[FoundLoop]) -> Result<(), Error> {
    if loops.iter().any(|found| found.busy) {
        return Ok(());
    }
    refuse_operation(repo).await?;
    if loops.iter().any(|found| found.phase != Some(Phase::Finished)) {
        return Ok(());
    }
    refuse_unmerged(&repo.index_entries(&repo.users_index()).await?)
}

/// Notes work trees in which no loop has begun: the git-ralph that made them was killed.
fn half_made_work_trees(repo: &Repo, notes: &mut Notes) {
    for (change, top) in half_made(repo).unwrap_or_default() {
        notes.problem(
            format!(
                "a git-ralph that made the work tree {} for {change} was cut off",
                top.display()
            ),
            format!("git worktree remove --force --force {}", typed_path(&top)),
        );
    }
}

/// Notes a repository that git refuses to read because another user owns it, with the command that git names.
fn note_unreadable(error: &GitError, notes: &mut Notes) {
    let GitError::Failed { words, .. } = error else {
        return;
    };
    let mut lines = words.lines().map(str::trim);
    let why = lines.next().unwrap_or_default();
    if let Some(command) = lines.find(|line| line.contains("safe.directory")) {
        notes.problem(why.trim_start_matches("fatal: "), command);
    }
}

/// Adds an error with its repair to the notes.
fn note(error: &Error, notes: &mut Notes) {
    let hint = error.hint();
    notes.problem(
        error.to_string(),
        hint.unwrap_or_else(|| "fix it, then run: git ralph doctor".to_owned()),
    );
}

async fn stale_locks(repo: &Repo, notes: &mut Notes) {
    let mut locks = locks::of_git(repo);
    // It blocks only a fetch.
    locks.push(lock_of(&repo.shallow_file()));
    locks.extend(locks::of_stash(repo));
    let locks = locks::stuck(repo, &locks).await;
    if locks.is_empty() {
        return;
    }
    let seen = match locks::may_be_held(repo, &locks) {
        Some(true) => return,
        Some(false) => "no git process seems to be running here",
        None => "another git process is running here, or one crashed",
    };
    for lock in locks {
        let path = typed_path(&lock);
        notes.problem(
            format!("{} exists: {seen}", lock.display()),
            format!("if no git process is running: rm {path}"),
        );
    }
}

async fn examine_loop(repo: &Repo, change: &Change, settings: &Settings, notes: &mut Notes) -> FoundLoop {
    let store = Store::new(&repo.common_dir, change);
    let busy = store.is_still_held();
    let mut found = FoundLoop {
        change: change.clone(),
        phase: None,
        busy,
    };
    let state = match store.load() {
        Ok(Some(state)) => state,
        Ok(None) => return found,
        Err(error) => {
            note(&error.into(), notes);
            return found;
        }
    };
    found.phase = Some(state.shown_phase());
    if !busy {
        cut_off(repo, &state, notes);
    }
    let place = state.work_tree();
    let again = if state.has_own_work_tree() {
        format!("git ralph start {} --worktree", typed(change))
    } else {
        // The work tree may be locked.
        let branch = typed(&state.common.branch);
        format!("git worktree add -f -f {} {branch}", typed_path(place))
    };
    match target_of(place) {
        _ if !state.is_live() => {}
        Ok(Some(found)) if found.is_dir() => {}
        Ok(_) => notes.problem(
            format!(
                "the work tree of loop {change}, {}, does not exist",
                place.display()
            ),
            format!("move it back there, or: {again}"),
        ),
        Err(error) => note(&error.into(), notes),
    }
    if !state.is_live()
        && let Some(age) = settings.keep_attempts.map(to_std)
        && let Ok(old) = outdated(&repo.git, change, age).await
        && !old.is_empty()
    {
        notes.advice(
            format!(
                "the finished loop {change} has {} refs older than ralph.keepAttempts",
                old.len()
            ),
            format!("git ralph prune {change}", change = typed(change)),
        );
    }
    found
}

/// Notes an interrupted step that no process works on.
fn cut_off(repo: &Repo, state: &State, notes: &mut Notes) {
    let change = &state.change;
    let what = match (&state.intent, state.phase(), state.current()) {
        (Some(intent), ..) => format!("{} was cut off", intent.step()),
        (None, Phase::Running, Some(story)) => {
            format!("attempt {} of story {} was interrupted", story.attempt, story.id)
        }
        (None, Phase::Running, None) => "an attempt was interrupted".to_owned(),
        _ => return,
    };
    let place = if state.work_tree() == repo.top {
        String::new()
    } else {
        format!("-C {} ", typed_path(state.work_tree()))
    };
    notes.problem(
        format!("loop {change}: {what}"),
        format!("git {place}ralph status {change}"),
    );
}

/// Notes refs and branches of changes without a known state.
fn leftovers(refs: &[RefInfo], known: &[Change], head: &Head, notes: &mut Notes) {
    let of = |prefix: &str| -> BTreeSet<Change> {
        refs.iter()
            .filter_map(|found| found.name.strip_prefix(prefix))
            .filter_map(|rest| Change::new(rest.split('/').next().unwrap_or(rest)).ok())
            .filter(|change| !known.contains(change))
            .collect()
    };
    let (branches, kept) = (of("refs/heads/ralph/"), of("refs/ralph/"));
    let exists = |name: &str| refs.iter().any(|found| found.name == name);
    for change in branches.union(&kept) {
        let branch = change.branch();
        let has_branch = exists(&change.branch_ref());
        let has_tip = exists(&change.ralph_ref("tip"));
        if (has_tip || has_branch) && exists(&change.ralph_ref("start")) {
            let what = if has_tip { "refs" } else { "branch and refs" };
            let switch = if has_tip || head.branch == Some(change.branch_ref()) {
                String::new()
            } else {
                format!("git checkout {}, then: ", typed(&branch))
            };
            notes.problem(
                format!("the state of loop {change} is lost, but its {what} exist"),
                format!("{switch}git ralph start {} --resume", typed(change)),
            );
        } else if kept.contains(change) {
            notes.advice(
                format!("refs/ralph/{change} keeps the work of a loop whose state is gone"),
                format!(
                    "git for-each-ref refs/ralph/{change} lists them; git log <ref> shows one",
                    change = typed(change)
                ),
            );
        } else if has_branch {
            notes.advice(
                format!("the branch {branch} belongs to no loop"),
                format!(
                    "git log {branch}; if you do not need it: git branch -D {branch}",
                    branch = typed(branch)
                ),
            );
        }
    }
}

async fn examine_change(top: &Path, change: String, settings: &Settings, notes: &mut Notes) -> FoundChange {
    let mut found = FoundChange {
        change,
        ..FoundChange::default()
    };
    let listed = async {
        let change = Change::new(&found.change)?;
        let source = stories::resolve(top, change.as_str(), &wanted(settings, &change, Path::new("")))?;
        found.adapter = Some(source.adapter.name());
        found.source = Some(source.path.clone());
        // The user's command must not run here.
        if source.adapter == Adapter::Command {
            return Ok(None);
        }
        Ok::<_, Error>(Some(source.list(top).await?))
    };
    match listed.await {
        Ok(None) => {}
        Ok(Some(listing)) => {
            let (done, total) = progress_of(&listing);
            found.stories = Some(total);
            found.done = Some(done);
            found.warnings = Some(listing.warnings.len());
        }
        Err(error) => {
            // The hint for a malformed source is the command that reads it again.
            let is_content = matches!(&error, Error::Source(SourceError::Malformed { .. }));
            let hint = error.hint().filter(|_| !is_content);
            let again = format!("fix it, then run: git ralph stories {}", typed(&found.change));
            found.error = Some(error.to_string());
            notes.problem(format!("change {}: {error}", found.change), hint.unwrap_or(again));
        }
    }
    found
}
