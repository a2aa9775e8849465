//! `finish --cleanup` and `abort` of a loop with its own work tree: its work is brought into another work tree as
//! uncommitted changes, or only kept in a ref. Its own work tree is left with HEAD detached at the final state, and
//! removed.

use std::path::{Path, PathBuf};

use crate::engine::position::refuse_operation;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::transition::{
    FINAL, Known, final_state, merged, target_at, target_index, work_tree_at, work_tree_now,
};
use crate::engine::work_tree_removal::{
    Removal, TRASH, drop_empty_parent, emptied_into, is_kept, remove_final,
};
use crate::engine::{Loop, submodules};
use crate::error::{Error, refuse};
use crate::fs::{Durability, may_exist, target_of};
use crate::git::index::Entries;
use crate::git::{Git, Head, Repo, WorkTreeInfo, locks};
use crate::names::{Oid, short_branch, typed_path};
use crate::paths::{WorkTreePath, first_few, path_of};
use crate::state::{EndPlan, EndStep, IntoPlan, Lock, live_in};

/// Name of the directory in the trash for files that are removed with the loop's own work tree.
const REMOVED: &str = "removed";

/// Plans to bring the work into another work tree and close the loop; under the lock, no other loop begins there.
pub(super) async fn plan_to_bring(
    open: &Loop<'_>,
    into: Option<&Path>,
) -> Result<(EndPlan, Known, Lock), Error> {
    let target = target(open, into).await?;
    let lock = open.store.lock_work_tree(&target.git_dir)?;
    let plan = plan(open, Some(&target)).await?;
    let known = Known {
        target: Some(target),
        ..Known::fresh()
    };
    Ok((plan, known, lock))
}

/// Checks whether the work can be brought into its target; changes nothing.
pub(super) async fn can_bring(open: &Loop<'_>) -> Result<(), Error> {
    let target = target(open, None).await?;
    plan(open, Some(&target)).await?;
    Ok(())
}

/// Finds the work tree that gets the work: the named one, else the only one on the loop's original branch.
async fn target(open: &Loop<'_>, into: Option<&Path>) -> Result<Repo, Error> {
    if let Some(dir) = into {
        return target_at(open, dir).await;
    }
    let branch = open.state.begun_on().cloned();
    let name = branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let linked = open.state.here.linked.as_ref();
    let from = linked.map(|linked| linked.from.as_path());
    let trees = seen_from(open, from).await?;
    let is_there = |tree: &&WorkTreeInfo| !tree.is_bare && tree.branch == name && may_exist(&tree.top);
    let mut found = trees.iter().filter(is_there);
    match (name.is_some(), found.next(), found.next()) {
        (true, Some(only), None) => target_at(open, &only.top).await,
        _ => refuse(FinishRefusal::NoWorkTreeToGoTo {
            change: open.change().to_string(),
            branch,
        }),
    }
}

/// Makes the plan; every operation that can fail comes before it.
pub(super) async fn plan(open: &Loop<'_>, target: Option<&Repo>) -> Result<EndPlan, Error> {
    refuse_operation(open.repo()).await?;
    let position = open.position().await?;
    let tip = position.require_tip(&open.state)?;
    let ours = work_tree_now(open).await?;
    submodules::share(open, open.state.checkpoint_tree(), &ours).await?;
    let finished = final_state(open, &tip, &ours, FINAL).await?;
    let into = match target {
        Some(target) => Some(plan_into(open, target, &ours).await?),
        None => None,
    };
    Ok(EndPlan {
        tip: Some(tip),
        into,
        ..EndPlan::new(EndStep::Leave, finished)
    })
}

/// Merges the work of the loop with the HEAD of the target, in the object database.
async fn plan_into(open: &Loop<'_>, target: &Repo, ours: &Oid) -> Result<IntoPlan, Error> {
    refuse_operation(target).await?;
    if let Some(other) = live_in(&target.common_dir, &target.top)? {
        return refuse(FinishRefusal::LoopInTheWay {
            other: other.change.to_string(),
            path: target.top.clone(),
        });
    }
    locks::require_free(target).await?;
    let head = target.head().await?;
    let git = &target.git;
    let from = target.tree_at(head.oid.as_ref()).await?;
    let (changed, entries) = changed_files(target, &target_index(open), &from).await?;
    if !changed.is_empty() {
        return refuse(FinishRefusal::ChangesInTheWay {
            path: target.top.clone(),
            paths: first_few(&changed),
            show: [
                ("--no-skip-worktree", entries.skipped),
                ("--no-assume-unchanged", entries.assumed),
            ]
            .into_iter()
            .filter_map(|(flag, mut hidden)| {
                hidden.retain(|path| changed.contains(path));
                show_command(&target.top, flag, &hidden)
            })
            .collect(),
        });
    }
    let was = git.tree_of(open.state.initial()).await?;
    let branch = head.branch.as_deref().map(short_branch).map(str::to_owned);
    let top = target.top.display().to_string();
    let of = format!("the work of the loop in {top}");
    let trees = git.existing_trees([&was, &from, ours]).await?;
    let name = branch.clone().unwrap_or(top);
    let merged = merged(open, target, trees.each_ref(), &from, [name, of]).await?;
    Ok(IntoPlan {
        worktree: WorkTreePath::new(&target.top),
        branch,
        from,
        merged,
    })
}

/// Returns the command that makes git compare these files again, if there are any.
fn show_command(top: &Path, flag: &str, paths: &[Vec<u8>]) -> Option<String> {
    let names: Vec<String> = paths.iter().map(|path| typed_path(path_of(path))).collect();
    let top = typed_path(top);
    (!names.is_empty()).then(|| format!("git -C {top} update-index {flag} -- {}", names.join(" ")))
}

/// Lists the tracked files of a work tree that differ from the tree of its HEAD, staged or not, including files whose
/// index flags hide changes. Returns them with the unusual entries of its index. `index` is a private index.
pub(super) async fn changed_files(
    target: &Repo,
    index: &Path,
    from: &Oid,
) -> Result<(Vec<Vec<u8>>, Entries), Error> {
    let made = target.private_index(index, Some(from)).await?;
    target.show_paths(index, &made.entries.hidden()).await?;
    target.refresh(index).await?;
    let args = [
        "--name-only",
        "-z",
        "--no-renames",
        "--ignore-submodules=none",
        from.as_str(),
        "--",
    ];
    let changed = target.git.cmd("diff-index", args).index(index).fields().await?;
    target.discard_index(index)?;
    Ok((changed, made.entries))
}

/// Removes the work tree of a closed loop, if that is still to be done, and opens another one. Files that no commit
/// keeps (ignored files, the directories of nested repositories) go to the trash. A work tree that was changed since,
/// or cannot be removed, stays, and is reported. Returns whether the removal was still to be done.
pub(crate) async fn take_away(open: &mut Loop<'_>) -> Result<bool, Error> {
    let Some(linked) = open.state.here.linked.clone().filter(|linked| linked.leaving) else {
        return Ok(false);
    };
    let top = open.state.work_tree().to_owned();
    let back = other_work_tree(open, linked.from.as_path()).await;
    let outside = match &back {
        Some((repo, _)) => repo.git.clone(),
        None => Git::at(&open.repo().common_dir),
    };
    let trees = seen_from(open, Some(linked.from.as_path())).await?;
    let main = trees.into_iter().next().map(|main| main.top);
    let remove = async || {
        let site = open.site();
        let (bytes, trash) = (site.trash().join(REMOVED), site.trash().join(TRASH));
        if target_of(&top)?.is_some() {
            open.checkpoint().before_removal(&bytes, &trash).await?;
        }
        let are_shared = target_of(&top)?.is_none() || submodules::share_all(open).await?;
        let own = Git::at_top(&top).with_settings(open.git().settings());
        if target_of(&top)?.is_some() && !has_kept_commit(&own, &outside, open).await? {
            outside.unlock_work_tree(&top).await?;
            return Ok(Removal::Stays("no ref has the commit that is checked out in it"));
        }
        let is_side = open.state.here.is_side;
        remove_final(&outside, &own, (are_shared, is_side), (&site.own_door(), &trash)).await
    };
    let mut removed = remove().await;
    if removed.is_err() {
        // The git that removed it may have been killed.
        removed = remove().await;
    }
    if matches!(removed, Ok(Removal::Done(_))) {
        drop_empty_parent(main.as_deref(), &top, &open.context.configuration.settings);
    }
    if let Some(linked) = &mut open.state.here.linked {
        linked.leaving = false;
        linked.emptied_before = 0;
    }
    open.save_for(Durability::Whole)?;
    let stays = match removed {
        Ok(Removal::Done(moved)) => {
            // An interrupted removal has moved its part to a separate directory.
            let emptied: Vec<PathBuf> = match emptied_into(&open.site().trash().join(TRASH)) {
                Ok(found) => found.into_iter().skip(linked.emptied_before).collect(),
                Err(_) => moved.into_iter().collect(),
            };
            if !emptied.is_empty() {
                let places: Vec<_> = emptied.iter().map(|place| place.display().to_string()).collect();
                open.tell(format!(
                    "what no commit has of the loop's work tree is moved to {}",
                    places.join(" and ")
                ));
            }
            open.tell(format!("the loop's work tree is removed: {}", top.display()));
            None
        }
        Ok(Removal::Stays(why)) => Some(why.to_owned()),
        Err(error) => {
            // The loop is over: the user removes the work tree.
            let _ = outside.unlock_work_tree(&top).await;
            Some(format!("it could not be removed ({error})"))
        }
    };
    if let Some(why) = stays {
        let top = top.display();
        open.tell(format!("the loop's work tree stays, because {why}: {top}"));
    }
    if let Some((repo, head)) = back.filter(|_| !may_exist(&top)) {
        (open.context.repo, open.context.head) = (repo, head);
        open.context.below_top = PathBuf::new();
        open.view.drop_all();
        open.view.note_head(open.context.head.clone());
    }
    Ok(true)
}

/// Returns whether the work tree of a closed loop has the loop's last commit checked out, or one that a ref contains.
async fn has_kept_commit(own: &Git, outside: &Git, open: &Loop<'_>) -> Result<bool, Error> {
    let names = ["HEAD".to_owned(), open.change().ralph_ref("finished")];
    let both = own.cmd("rev-parse", names).any_exit().await?;
    let both = String::from_utf8_lossy(&both.stdout).into_owned();
    let mut both = both.lines().filter_map(Oid::parse);
    let (head, finished) = (both.next(), both.next());
    match head {
        Some(head) if finished.as_ref() != Some(&head) => Ok(is_kept(outside, &head).await?),
        _ => Ok(true),
    }
}

/// Lists the work trees, with git running in `from` if it exists.
async fn seen_from(open: &Loop<'_>, from: Option<&Path>) -> Result<Vec<WorkTreeInfo>, Error> {
    if let Some(from) = from
        && let Ok(repo) = work_tree_at(open, from).await
    {
        return Ok(repo.work_trees().await?);
    }
    Ok(open.repo().work_trees().await?)
}

/// Finds a work tree in which to continue: the one from which the loop began, else any other.
async fn other_work_tree(open: &Loop<'_>, from: &Path) -> Option<(Repo, Head)> {
    let own = open.state.work_tree();
    let trees = seen_from(open, Some(from)).await.ok()?;
    let others = trees
        .into_iter()
        .filter(|tree| !tree.is_bare)
        .map(|tree| tree.top);
    for top in [from.to_owned()]
        .into_iter()
        .chain(others)
        .filter(|top| top != own)
    {
        if let Ok(repo) = work_tree_at(open, &top).await
            && let Ok(head) = repo.head().await
        {
            return Some((repo, head));
        }
    }
    None
}
