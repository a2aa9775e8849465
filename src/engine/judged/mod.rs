//! Keeps the tree that gates and reviewers judge: from the start of the first one until the attempt ends, a ref and the
//! state name it. Their changes to files, index or objects change neither the commit nor the kept tree.

mod put_back;
mod taken;

use std::collections::HashSet;

use jiff::Timestamp;

use super::Loop;
use crate::error::Error;
use crate::events::Notices;
use crate::fs::those_where;
use crate::git::worktree::Reading;
use crate::git::{StagedEntry, added_in};
use crate::names::{Oid, typed};
use crate::paths::{first_few, ignoring};
use crate::protect::Savepoint;
use crate::refs::{KeptRef, Update};
use crate::state::JudgedTree;

pub(super) use put_back::{put_back, put_position_back};
pub(super) use taken::{put_back_missing, put_back_shown, settle};

/// The last part of the ref that keeps the tree.
const REF: &str = "judged";
/// Name of the directory in the trash for entries that replaced a judged file.
const TRASH: &str = "judged";

/// Returns the ref that keeps the judged tree of a loop.
pub(super) fn ref_name(open: &Loop<'_>) -> String {
    open.change().ralph_ref(REF)
}

/// Returns the record of the judged tree, if gates or reviewers have begun.
pub(super) fn record(open: &Loop<'_>) -> Option<JudgedTree> {
    open.state.held()
}

/// Returns the savepoint of the judged tree.
pub(super) fn savepoint<'a>(open: &'a Loop<'_>, record: &JudgedTree) -> Savepoint<'a> {
    let (tree, commit) = (record.tree.clone(), record.commit.clone());
    open.checkpoint().of_judged(tree, commit, record.since)
}

/// Keeps the tree that the working index was just read into, before gates or a reviewer start. `in_place` is the tree
/// that the work tree gets meanwhile. One `lstat` for each file, unless this tree is already kept.
pub(super) async fn keep(open: &Loop<'_>, tree: &Oid, in_place: Option<&Oid>) -> Result<JudgedTree, Error> {
    let known = record(open).filter(|known| known.tree == *tree);
    if let Some(known) = known.filter(|known| known.in_place.as_ref() == in_place) {
        return Ok(known);
    }
    let since = Timestamp::now();
    Savepoint::keep_judged(open.site()).await?;
    let position = open.position().await?;
    let mut below = open.state.checkpoint().clone();
    let repo = open.repo();
    if let Some(in_place) = in_place {
        // Both trees are kept: a gate can prune objects.
        below = repo
            .commit_tree(in_place, &[&below], "tests as they were")
            .await?;
    }
    let commit = repo.commit_tree(tree, &[&below], "the judged tree").await?;
    let keep = [Update::set(ref_name(open), commit.clone())];
    open.update_refs(&keep, "ralph: the tree that is judged").await?;
    let record = JudgedTree {
        tree: tree.clone(),
        commit,
        since,
        branch: position.head.branch,
        head: position.head.oid,
        tip: position.tip,
        in_place: in_place.cloned(),
        goes_back: false,
    };
    open.state
        .note_running(|running| running.held = Some(record.clone()));
    open.save()?;
    Ok(record)
}

/// Removes repositories that gates or a reviewer made among the judged files, and reports them.
fn take_out_repositories(open: &Loop<'_>, record: &JudgedTree) -> Result<(), Error> {
    let (site, judged) = (open.site(), savepoint(open, record));
    let trash = site.trash().join(TRASH);
    let found = judged.take_out_repositories(&trash)?;
    let what = "repositories were made among the files while gates or a reviewer ran; they are moved to";
    open.tell_few(&format!("{what} {}", trash.display()), &found);
    Ok(())
}

fn of_kind(changes: &[(u8, Vec<u8>)], wanted: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let some = changes.iter().filter(|(status, _)| wanted.contains(status));
    some.cloned().collect()
}

/// Removes new files from a reading, and remembers them.
async fn leave_out_new(open: &Loop<'_>, mut now: Reading, new: &HashSet<Vec<u8>>) -> Result<Reading, Error> {
    if new.is_empty() {
        return Ok(now);
    }
    let (repo, work) = (open.repo(), open.site().work_index());
    let mut made = repo
        .git
        .staged_between(open.state.checkpoint_tree(), &now.tree)
        .await?;
    made.retain(|entry| new.contains(&entry.path));
    let paths: Vec<Vec<u8>> = new.iter().cloned().collect();
    repo.leave_out(&work, &mut now, &paths).await?;
    remember(open, &made).await?;
    Ok(now)
}

/// Remembers new files that gates made, and reports the files not known yet.
async fn remember(open: &Loop<'_>, made: &[StagedEntry]) -> Result<(), Error> {
    let known = open.checkpoint().gate_files;
    let unknown: Vec<&Vec<u8>> = made
        .iter()
        .map(|entry| &entry.path)
        .filter(|path| !known.contains_key(*path))
        .collect();
    let rules = ignoring(unknown.iter().copied());
    open.tell_between(
        "the gates made new files, which stay out of the checkpoint",
        &first_few(unknown),
        &format!("; to ignore them, add to .gitignore: {rules}"),
    );
    leave_out_of_work(open, made).await
}

/// Notes new files that gates or the preparation of the work tree made: checkpoints omit them until an attempt or the
/// user changes or adds them.
pub(super) async fn leave_out_of_work(open: &Loop<'_>, made: &[StagedEntry]) -> Result<(), Error> {
    if made.is_empty() {
        return Ok(());
    }
    open.state.here.gate_files.borrow_mut().retain(|file| {
        let mut made = made.iter();
        made.all(|entry| !is_same_place(&file.path, &entry.path))
    });
    open.state.here.gate_files.borrow_mut().extend_from_slice(made);
    keep_gate_files(open).await?;
    open.save()
}

/// Returns whether two paths cannot be files at the same time.
fn is_same_place(one: &[u8], other: &[u8]) -> bool {
    let is_below = |path: &[u8], above: &[u8]| {
        path.strip_prefix(above)
            .is_some_and(|rest| rest.first() == Some(&b'/'))
    };
    one == other || is_below(one, other) || is_below(other, one)
}

/// Keeps the files that gates or a preparation made by a ref, on top of the earlier ones.
pub(super) async fn keep_gate_files(open: &Loop<'_>) -> Result<(), Error> {
    let entries = open.state.here.gate_files.borrow().clone();
    if entries.is_empty() {
        return Ok(());
    }
    let name = open.change().ralph_ref("gate-files");
    let (repo, scratch) = (open.repo(), open.site().file("gate-files.index"));
    let empty = repo.empty_tree().await?;
    let tree = repo.tree_with(&scratch, &empty, &entries, &[]).await?;
    let before = repo.git.refs(&[&name]).await?;
    let parents: Vec<&Oid> = before.iter().map(|found| &found.oid).collect();
    for parent in &parents {
        if repo.git.tree_of(parent).await? == tree {
            return Ok(());
        }
    }
    let new = repo
        .commit_tree(&tree, &parents, "files that only gates made")
        .await?;
    let keep = [Update::Set { name, new }];
    open.update_refs(&keep, "ralph: files that only gates made").await
}

/// Forgets the files made by gates that were deleted, or are in the checkpoint.
pub(super) fn settle_gate_files(open: &Loop<'_>) -> Result<(), Error> {
    let files = open.state.here.gate_files.borrow().clone();
    if files.is_empty() {
        return Ok(());
    }
    let index = open.repo().read_index_or_none(&open.repo().index())?;
    let files = files.into_iter().filter(|file| !index.has(&file.path));
    let left = those_where(files, |file| open.repo().exists(&file.path))?;
    open.state.here.gate_files.replace(left);
    Ok(())
}

/// Returns the entries of the judged tree that a reading lacks, except the story list: a process changed them after the
/// gates and reviewers ended.
pub(super) async fn late(open: &Loop<'_>, now: &Reading, tree: &Oid) -> Result<Vec<StagedEntry>, Error> {
    if now.tree == *tree {
        return Ok(Vec::new());
    }
    let mut entries = open.git().staged_between(&now.tree, tree).await?;
    entries.retain(|entry| entry.path != open.state.source().path.as_bytes());
    Ok(entries)
}

/// Puts these entries of the judged tree into a reading, and into the index that was just read: a later change stays in
/// the work tree, uncommitted, and is reported.
pub(super) async fn limit(
    open: &Loop<'_>,
    mut now: Reading,
    entries: &[StagedEntry],
) -> Result<Reading, Error> {
    if entries.is_empty() {
        return Ok(now);
    }
    let (repo, work) = (open.repo(), open.site().work_index());
    repo.set_entries(&work, entries).await?;
    now.tree = repo.git.write_tree(&work).await?;
    now.changes = None;
    // A new ignore rule hides unchanged judged files from the reading.
    repo.refresh(&work).await?;
    let args = ["--name-only", "-z", "--ignore-submodules=dirty"];
    let differ = repo.git.cmd("diff-files", args).index(&work).fields().await?;
    let paths = entries
        .iter()
        .filter(|entry| entry.mode == "000000" || differ.contains(&entry.path));
    let what = "files changed after they were judged; the changes stay in the work tree, uncommitted";
    open.tell_few(what, paths.map(|entry| &entry.path));
    Ok(now)
}

/// Keeps the content that replaced the judged tree in the work tree, before the tree is restored: an edit of the
/// user's, or a reviewer's files. New files that were made beside gates stay.
pub(super) async fn keep_present(open: &Loop<'_>, record: &JudgedTree) -> Result<(), Error> {
    let now = open.read_work_tree().await?;
    let git = open.git();
    let changes = git.diff_trees(record.present(), &now.tree).await?;
    if changes.is_empty() || now.tree == record.tree {
        return Ok(());
    }
    let mut others: Vec<Vec<u8>> = changes.iter().map(|(_, path)| path.clone()).collect();
    if record.in_place.is_some() {
        let mut made = git.staged_between(&record.tree, &now.tree).await?;
        let gone: HashSet<Vec<u8>> = git
            .staged_between(&now.tree, &record.tree)
            .await?
            .into_iter()
            .filter(|entry| entry.mode != "000000")
            .map(|entry| entry.path)
            .collect();
        let new: HashSet<&Vec<u8>> = added_in(&changes).collect();
        made.retain(|entry| new.contains(&entry.path) && !gone.contains(&entry.path));
        others.retain(|path| made.iter().all(|entry| entry.path != *path));
        remember(open, &made).await?;
    }
    if others.is_empty() {
        return Ok(());
    }
    let message = "what was in the place of the judged tree";
    let commit = open.commit_on_checkpoint(&now.tree, message).await?;
    let kept = keep_commit(open, &commit).await?;
    let names = first_few(&others).join(", ");
    open.tell(format!(
        "files changed while gates or a reviewer ran; they are put back: {names}; to see the changes: git diff {} {kept}",
        record.present()
    ));
    Ok(())
}

/// Restores the files of the judged tree that were replaced, unless the replacements have changed since: the user may
/// have edited them.
pub(super) async fn put_files_back(open: &Loop<'_>, record: &JudgedTree) -> Result<(), Error> {
    let Some(shown) = &record.in_place else {
        return Ok(());
    };
    let now = open.read_work_tree().await?.tree;
    let repo = open.repo();
    let since = repo.git.diff_trees(shown, &now).await?;
    let mut entries = repo.git.staged_between(shown, &record.tree).await?;
    entries.retain(|entry| since.iter().all(|(_, path)| *path != entry.path));
    let (gone, there): (Vec<StagedEntry>, Vec<StagedEntry>) =
        entries.into_iter().partition(|entry| entry.mode == "000000");
    let paths = |entries: &[StagedEntry]| entries.iter().map(|entry| entry.path.clone()).collect::<Vec<_>>();
    let scratch = open.site().file("held.index");
    let wanted = repo.tree_with(&scratch, &now, &there, &paths(&gone)).await?;
    let judged = savepoint(open, record);
    let back = judged.hold([&now, &wanted], &paths(&there)).await?;
    open.view.drop_all();
    if let Some(words) = back {
        open.tell(format!(
            "files that instruct agents cannot be put back as they were before the review: {words}"
        ));
    }
    Ok(())
}

/// Keeps a commit under a ref named after the current attempt; returns the name, quoted for a shell.
pub(super) async fn keep_commit(open: &Loop<'_>, commit: &Oid) -> Result<String, Error> {
    let kept = keep_commits(open, std::slice::from_ref(commit)).await?;
    Ok(typed(kept.first().map_or("", |kept| kept.name.as_str())))
}

/// Keeps commits under refs named after the current attempt; returns the names.
pub(super) async fn keep_commits(open: &Loop<'_>, commits: &[Oid]) -> Result<Vec<KeptRef>, Error> {
    let (state, change) = (&open.state, open.change());
    let is_start = state.gate_before_work().is_some();
    let name = match state.attempted() {
        Some(story) => change.attempt_ref(&story.id, story.attempt),
        // Gates of `land` run in a side, whose refs are removed with it.
        None if is_start => change.worked_on().ralph_ref("start-gates"),
        None => change.ralph_ref("reviewed"),
    };
    let wanted: Vec<KeptRef> = commits.iter().map(|oid| KeptRef::beside(&name, oid)).collect();
    open.keep_refs(&wanted, "ralph: kept beside the judged tree")
        .await
}

/// Stops keeping a judged tree: removes its ref and its records. The caller saves the state.
pub(super) async fn forget(open: &Loop<'_>) -> Result<(), Error> {
    if record(open).is_none() {
        return Ok(());
    }
    open.state.note_running(|running| running.held = None);
    release(open).await
}

/// Removes the ref and the file of a judged tree: a killed git-ralph may have left one without a record.
pub(super) async fn release(open: &Loop<'_>) -> Result<(), Error> {
    let name = ref_name(open);
    let found = open.git().refs(&[&name]).await?.into_iter();
    let gone: Vec<Update> = found.map(|found| Update::delete(found.name, found.oid)).collect();
    if !gone.is_empty() {
        open.update_refs(&gone, "ralph: nothing is judged").await?;
    }
    Ok(Savepoint::forget_judged(open.site())?)
}
