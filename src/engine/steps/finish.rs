//! `finish`: brings the work back to the original branch as uncommitted changes, or leaves it on the loop's branch.

use std::path::Path;

use super::close::close;
use super::final_state::{final_state, work_tree_now};
use super::leave;
use super::original::{ORIGINAL_INDEX, original_now};
use super::prune::prune;
use crate::async_cmd::quoted;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{Loop, journal, lifecycle_hooks};
use crate::error::Error;
use crate::events::What;
use crate::git::{Git, GitError, Repo, StagedEntry, index, operations_in_progress};
use crate::names::{Oid, short_branch};
use crate::protect::{Site, hide_again, keep_before_switch};
use crate::refs::Update;
use crate::state::{CleanupPlan, Intent, KeepPlan, Progress, State};

/// The most files that a command in a message names.
const MOST_NAMED: usize = 5;
/// Name of the directory in the trash for bytes that the merge with the original branch replaces.
const TRASH: &str = "finish";

/// The destination of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Back to the original branch, uncommitted; the loop's branch is deleted.
    Cleanup {
        /// True if the content staged before the loop is staged again, except for files that the loop changed.
        index: bool,
    },
    /// Stay on the loop's branch.
    Keep,
}

/// Closes the loop.
///
/// # Errors
/// If a person is needed (exit 7): HEAD is elsewhere, or the original branch is gone, checked out elsewhere, or has
/// moved on and conflicts. Nothing is changed then.
pub async fn finish(open: &mut Loop<'_>, how: Finish) -> Result<(), Error> {
    finish_into(open, how, None).await
}

/// Does the same; the work of a loop with a work tree of its own goes `into` this one, else into the one that has the
/// branch checked out on which the loop began.
///
/// # Errors
/// As [`finish`]; also if the loop has no work tree of its own.
pub async fn finish_into(open: &mut Loop<'_>, how: Finish, into: Option<&Path>) -> Result<(), Error> {
    open.require_live()?;
    let has_own = open.state.linked.is_some();
    if into.is_some() && !has_own {
        return Err(FinishRefusal::NoWorkTreeOfItsOwn(open.change().to_string()).into());
    }
    let (name, branch) = match how {
        Finish::Cleanup { .. } => ("cleanup", open.state.begun_on().cloned()),
        Finish::Keep => ("keep", Some(open.state.branch.clone())),
    };
    let in_place = !open.state.strategy.is_branch();
    lifecycle_hooks::before_finish(open, name, branch).await?;
    match how {
        _ if in_place => close(open, how == Finish::Keep).await?,
        Finish::Cleanup { .. } if has_own => Box::pin(leave::bring(open, into)).await?,
        Finish::Cleanup { index } => cleanup(open, index).await?,
        Finish::Keep => keep(open).await?,
    }
    lifecycle_hooks::tell_hooks(open, None).await?;
    // The loop is closed; anything that could not be pruned now is pruned with a later loop.
    if let Err(error) = prune(&mut open.context, None).await {
        open.tell(format!("what older loops left could not be removed: {error}"));
    }
    Box::pin(leave::take_away(open)).await
}

async fn keep(open: &mut Loop<'_>) -> Result<(), Error> {
    let position = open.position().await?;
    if position.tip.is_none() {
        open.tell(format!(
            "branch {} no longer exists; to bring it back: git branch {} {}",
            open.state.branch,
            open.state.branch,
            open.state.checkpoint.short()
        ));
    }
    let plan = KeepPlan {
        finished: position.tip.unwrap_or_else(|| open.state.checkpoint.clone()),
        head: position.head.branch,
    };
    journal::begin(open, Intent::Keep(plan.clone()))?;
    apply_keep(open, plan).await
}

/// Applies the plan of `finish --keep`.
pub(crate) async fn apply_keep(open: &mut Loop<'_>, plan: KeepPlan) -> Result<(), Error> {
    let name = open.state.change.ralph_ref("finished");
    let update = Update::Set {
        name: name.clone(),
        new: plan.finished,
    };
    let why = format!("ralph: finish --keep {}", open.state.change);
    open.context.repo.git.update_refs(&[update], &why).await?;
    if open.state.linked.is_some() {
        let git = &open.context.repo.git;
        git.unlock_work_tree(open.state.worktree.as_path()).await?;
    }
    open.advance(Progress::close)?;
    journal::end(open)?;
    let on = plan.head.map(|branch| short_branch(&branch).to_owned());
    open.emit(What::Finished {
        how: "keep".to_owned(),
        branch: on.clone(),
        kept: name,
        worktree: open
            .state
            .linked
            .as_ref()
            .map(|_| open.state.worktree.to_string()),
    });
    tell_uncommitted_before(open, on.as_deref()).await
}

/// Reports the files that were not committed before the loop: `start` has committed them on the loop's branch, and a
/// checkout of the original branch takes them away.
async fn tell_uncommitted_before(open: &mut Loop<'_>, on: Option<&str>) -> Result<(), Error> {
    let (git, state) = (&open.context.repo.git, &open.state);
    let Some(was) = &state.original_head else {
        return Ok(());
    };
    let (was, initial) = (git.tree_of(was).await?, git.tree_of(&state.before.initial).await?);
    let changed = git.diff_trees(&was, &initial).await?;
    if changed.is_empty() {
        return Ok(());
    }
    let original = state.original_name();
    let checkout = match on {
        Some(on) if on == original => String::new(),
        _ => format!("git checkout {} && ", quoted(&original)),
    };
    let paths = match changed.len() {
        ..=MOST_NAMED => changed
            .iter()
            .map(|(_, path)| quoted(&format!(":/{}", String::from_utf8_lossy(path))))
            .collect(),
        _ => vec![":/".to_owned()],
    };
    open.tell(format!(
        "files that were not committed before the loop are now committed on {}; to have them on {original} as they \
         were: {checkout}git restore --source={} {}",
        state.branch,
        state.change.ralph_ref("start"),
        paths.join(" ")
    ));
    Ok(())
}

async fn cleanup(open: &mut Loop<'_>, index: bool) -> Result<(), Error> {
    let (plan, read) = plan_cleanup(open, index).await?;
    journal::begin(open, Intent::Cleanup(plan.clone()))?;
    apply_cleanup(open, &plan, read).await
}

/// Checks whether `finish --cleanup` is possible now; changes nothing.
///
/// # Errors
/// The error with which it would fail.
pub async fn can_clean_up(open: &mut Loop<'_>) -> Result<(), Error> {
    open.require_live()?;
    if open.state.linked.is_some() {
        Box::pin(leave::can_bring(open)).await?;
    } else if open.state.strategy.is_branch() {
        plan_cleanup(open, false).await?;
    }
    Ok(())
}

/// Makes the plan of `finish --cleanup`, and returns the tree that the working index was read from, if it was.
async fn plan_cleanup(open: &mut Loop<'_>, index: bool) -> Result<(CleanupPlan, Option<Oid>), Error> {
    let position = open.position().await?;
    let tip = position.require_tip(&open.state)?;
    if let Some(operation) = operations_in_progress(&open.context.repo).first() {
        return Err(RepositoryRefusal::OperationInProgress((*operation).to_owned()).into());
    }
    let original = original_now(&open.context.repo, &open.state).await?;
    let mut read = None;
    let (finished, merged) = match (open.state.original_head.clone(), original.clone()) {
        (Some(was), Some(now)) if was != now => {
            let git = open.context.repo.git.clone();
            let (ours, theirs) = tokio::join!(work_tree_now(open), git.existing_trees([&was, &now]));
            let (ours, [was, now]) = (ours?, theirs?);
            let repo = &open.context.repo;
            let merged = merge_with_original(repo, &open.state, &was, &now, &ours).await?;
            read = Some(ours.clone());
            (final_state(repo, &open.state, &tip, &ours).await?, Some(merged))
        }
        _ => (tip.clone(), None),
    };
    let staged = match &original {
        Some(original) if index => Some(staged_again(open.site(), &open.state, original, &finished).await?),
        _ => None,
    };
    let plan = CleanupPlan {
        finished,
        tip: Some(tip),
        original,
        merged,
        staged,
    };
    Ok((plan, read))
}

/// Makes the tree of an index with the content staged before the loop on top of `original`, except for files that the
/// loop changed.
async fn staged_again(site: Site<'_>, state: &State, original: &Oid, finished: &Oid) -> Result<Oid, Error> {
    let git = &site.repo.git;
    let snapshot = &state.before.snapshot;
    let was_staged = git.tree_of_name(&format!("{snapshot}^2")).await?;
    let was = match &state.original_head {
        Some(head) => git.tree_of(head).await?,
        None => site.repo.empty_tree().await?,
    };
    let before = git.tree_of(snapshot).await?;
    let after = git.tree_of(finished).await?;
    let changed = git.diff_trees(&before, &after).await?;
    let mut staged = git.staged_between(&was, &was_staged).await?;
    staged.retain(|entry| !changed.iter().any(|(_, path)| *path == entry.path));
    let scratch = site.file("staged.index");
    index::discard(&scratch)?;
    git.cmd("read-tree", [original.as_str()])
        .index(&scratch)
        .done()
        .await?;
    site.repo.set_entries(&scratch, &staged).await?;
    let tree = git.write_tree(&scratch).await?;
    index::discard(&scratch)?;
    Ok(tree)
}

/// Lists the paths that were staged only as an intent to add before the loop.
fn intended_at_start(open: &Loop<'_>) -> Vec<Vec<u8>> {
    let index = open.context.repo.read_index(&open.file(ORIGINAL_INDEX));
    let index = index.unwrap_or_default();
    let intended = index.entries().filter(|entry| entry.intended);
    intended.map(|entry| entry.path.to_vec()).collect()
}

/// Merges the loop's work into the original branch, whose tree has changed from `was` to `now`, in the object database.
async fn merge_with_original(
    repo: &Repo,
    state: &State,
    was: &Oid,
    now: &Oid,
    ours: &Oid,
) -> Result<Oid, Error> {
    let git = &repo.git;
    let branch = state.original_branch.clone().unwrap_or_default();
    let text = |paths: Vec<Vec<u8>>| {
        let paths = paths.iter();
        paths
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect()
    };
    let merged = match repo.merge_trees([was, now, ours]).await? {
        Ok(merged) => merged,
        Err(paths) => {
            return Err(FinishRefusal::Conflict {
                change: state.change.to_string(),
                branch,
                paths: text(paths),
            }
            .into());
        }
    };
    let in_the_way = repo.in_the_way(&git.diff_trees(ours, &merged).await?);
    if !in_the_way.is_empty() {
        return Err(RepositoryRefusal::InTheWay {
            of: format!("the new commits of {branch}"),
            paths: text(in_the_way),
        }
        .into());
    }
    Ok(merged)
}

/// Returns the entries of an index with `content` that differ from the tree `held`: a tree of many files takes a long
/// time to read.
async fn entries_of(
    git: &Git,
    held: &Oid,
    content: Option<&Oid>,
) -> Result<Option<Vec<StagedEntry>>, GitError> {
    Ok(match content {
        Some(content) => Some(git.staged_between(held, content).await?),
        None => None,
    })
}

/// Makes an index hold `content`; `entries` are the differences, if they are known.
async fn fill(
    repo: &Repo,
    index: &Path,
    entries: Option<Vec<StagedEntry>>,
    content: Option<&Oid>,
) -> Result<(), GitError> {
    let content = match (entries, content) {
        (Some(entries), _) => return repo.set_entries(index, &entries).await,
        (None, Some(content)) => content.as_str(),
        (None, None) => return repo.git.cmd("read-tree", ["--empty"]).index(index).done().await,
    };
    let args = ["--no-sparse-checkout", "--reset", content];
    repo.git.cmd("read-tree", args).index(index).done().await
}

/// Applies the plan of `finish --cleanup`. Touches no file if the original branch has not moved. `read` is the tree
/// that the working index was just read from.
pub(crate) async fn apply_cleanup(
    open: &mut Loop<'_>,
    plan: &CleanupPlan,
    read: Option<Oid>,
) -> Result<(), Error> {
    let why = format!("ralph: finish {}", open.state.change);
    let kept = open.state.change.ralph_ref("finished");
    let keep = Update::Set {
        name: kept.clone(),
        new: plan.finished.clone(),
    };
    let position = open.position().await?;
    let mut head = open.state.original_place();
    head.oid.clone_from(&plan.original);
    let is_there = head.branch.is_some() && position.head.branch == head.branch;
    let work = open.site().work_index();
    let content = plan.staged.as_ref().or(plan.original.as_ref());
    match &plan.merged {
        Some(merged) => {
            let git = &open.context.repo.git;
            let update = [keep];
            let (kept, entries) =
                tokio::join!(git.update_refs(&update, &why), entries_of(git, merged, content));
            kept?;
            let entries = entries?;
            let now = match read {
                Some(read) => read,
                None => work_tree_now(open).await?,
            };
            let (site, _, mut recorder) = open.parts();
            let trash = site.trash().join(TRASH);
            keep_before_switch(site, &work, [&now, merged], &trash, &mut recorder).await?;
            let repo = &open.context.repo;
            repo.switch_work_tree(&work, &now, merged).await?;
            let to_original = async {
                if is_there {
                    Ok(())
                } else {
                    repo.set_head(&head, &why).await
                }
            };
            let (moved, filled) = tokio::join!(to_original, fill(repo, &work, entries, content));
            moved?;
            filled?;
        }
        None => {
            if is_there {
                open.context.repo.git.update_refs(&[keep], &why).await?;
            } else {
                open.move_refs(&[keep], &position.head, &head, &why).await?;
            }
            let repo = &open.context.repo;
            repo.private_index(&repo.index(), &work, plan.original.as_ref())
                .await?;
            let entries = match repo.held_tree(&work) {
                Some(held) => entries_of(&repo.git, &held, content).await?,
                None => None,
            };
            fill(repo, &work, entries, content).await?;
        }
    }
    open.view.drop_all();
    let repo = &open.context.repo;
    if plan.staged.is_some() {
        repo.intend_to_add(&work, &intended_at_start(open)).await?;
    }
    hide_again(open.site(), &work).await?;
    repo.install_index(&work).await?;
    index::discard(&work)?;
    if let Some(old) = plan.tip.clone().filter(|tip| position.tip.as_ref() == Some(tip)) {
        let delete = Update::Delete {
            name: open.state.tip_ref(),
            old,
        };
        repo.git.update_refs(&[delete], &why).await?;
    }
    open.advance(Progress::close)?;
    journal::end(open)?;
    open.emit(What::Finished {
        how: "cleanup".to_owned(),
        branch: open.state.original_branch.clone(),
        kept,
        worktree: None,
    });
    Ok(())
}
