//! Restores files of the judged tree that gates, or a preparation, removed: files that are deleted, hidden, replaced,
//! or again as at the checkpoint. A gate that passes after that has judged other files than those of the work.

use std::collections::HashSet;

use super::{TRASH, is_same_place, keep_commit, leave_out_new, of_kind, savepoint, take_out_repositories};
use crate::engine::Loop;
use crate::error::Error;
use crate::fs::{is_file_or_link, path_below};
use crate::git::index_file::GITLINK;
use crate::git::worktree::Reading;
use crate::names::{Oid, typed};
use crate::paths::{first_few, shown};
use crate::state::JudgedTree;

/// Differences of two trees, with git's status letters.
type Changes = Vec<(u8, Vec<u8>)>;

/// The work tree after missing files were restored.
pub(in crate::engine) struct PutBack {
    /// The work tree.
    pub now: Reading,
    /// Its differences from the judged tree.
    pub changes: Changes,
    /// The restored paths that the work had changed, except the story list.
    pub of_work: Vec<Vec<u8>>,
}

/// Reads the work tree after gates ran on the judged tree, the last of which is `who`. Restores files of that tree that
/// are deleted, hidden or replaced, permissions and empty directories; new content of its files stays; new files stay
/// in the work tree, but not in the reading. Reports each. `have_passed` says whether the reading becomes the
/// checkpoint. Returns also the paths of the work that the last gate removed.
pub(in crate::engine) async fn settle(
    open: &Loop<'_>,
    record: &JudgedTree,
    who: &str,
    have_passed: bool,
) -> Result<(Reading, Vec<Vec<u8>>), Error> {
    let PutBack {
        now,
        changes,
        of_work,
    } = put_back_missing(open, record, who).await?;
    let mut written = of_kind(&changes, b"M");
    // The list is held; changes to it are reported separately.
    let list = open.state.source().path.as_bytes();
    written.retain(|(_, path)| path != list);
    if !written.is_empty() {
        let names = first_few(written.iter().map(|(_, path)| path)).join(", ");
        let kept = keep_commit(open, &record.commit).await?;
        let changed = "files changed while gates ran";
        open.tell(if have_passed {
            format!("{changed}, which goes into the checkpoint: {names}; the files before that: git diff HEAD {kept}")
        } else {
            let first = written.first().map(|(_, path)| typed(shown(path)));
            let back = format!("git restore --source {kept} {}", first.unwrap_or_default());
            format!("{changed}, which stays: {names}; to see it: git diff {kept}; to have a file as it was: {back}")
        });
    }
    let new: HashSet<Vec<u8>> = of_kind(&changes, b"A")
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    Ok((leave_out_new(open, now, &new).await?, of_work))
}

/// Restores the parts of the judged tree that `who` removed: files that are deleted, hidden, replaced, or again as at
/// the checkpoint, permissions and empty directories.
pub(in crate::engine) async fn put_back_missing(
    open: &Loop<'_>,
    record: &JudgedTree,
    who: &str,
) -> Result<PutBack, Error> {
    take_out_repositories(open, record)?;
    let judged = savepoint(open, record);
    judged.put_back_modes()?;
    judged.put_back_directories()?;
    let mut now = open.read_work_tree().await?;
    if judged.put_back_modes_of_rewritten()? {
        now = open.read_work_tree().await?;
    }
    let mut changes = open.git().diff_trees(&record.tree, &now.tree).await?;
    let missing = taken_away(open, &changes, &now).await?;
    let of_work = of_work(open, &record.tree, &missing).await?;
    if !missing.is_empty() {
        let site = open.site();
        let index = open.repo().read_index_or_none(&judged.index())?;
        let links = index.entries().filter(|entry| entry.mode == GITLINK);
        let links: HashSet<&[u8]> = links.map(|entry| entry.path).collect();
        let (emptied, files): (Vec<_>, Vec<_>) = missing
            .iter()
            .partition(|(_, path)| links.contains(path.as_slice()));
        tell(open, who, &files);
        let what = format!("{who} removed submodules, which stay empty until git submodule update --init");
        site.tell_few(&what, emptied.iter().map(|(_, path)| path));
        let trash = site.trash().join(TRASH);
        now.tree = judged.bring_back(&now.tree, &missing, &trash).await?;
        now.changes = None;
        changes = open.git().diff_trees(&record.tree, &now.tree).await?;
    }
    Ok(PutBack {
        now,
        changes,
        of_work,
    })
}

/// Does the same while other files replace the judged ones; the restored tests (`held`) stay. Returns the removed paths
/// of the work, or git's words about an obstacle. Without `who`, restores nothing.
pub(in crate::engine) async fn put_back_shown(
    open: &Loop<'_>,
    record: &JudgedTree,
    held: &[Vec<u8>],
    who: Option<&str>,
) -> Result<Result<Vec<Vec<u8>>, String>, Error> {
    take_out_repositories(open, record)?;
    let in_place = record.present();
    let now = open.read_work_tree().await?;
    let (repo, git) = (open.repo(), open.git());
    let changes = git.diff_trees(in_place, &now.tree).await?;
    let mut missing = taken_away(open, &changes, &now).await?;
    // Changes of gates to these files are found at the end.
    missing.retain(|(_, path)| !held.contains(path));
    let of_work = of_work(open, in_place, &missing).await?;
    let Some(who) = who else {
        return Ok(Ok(of_work));
    };
    let mut back = Vec::new();
    for (status, path) in &missing {
        // An ignore rule hides it.
        if *status != b'D' || !is_file_or_link(&path_below(&repo.top, path))? {
            back.push((*status, path.clone()));
        }
    }
    if back.is_empty() {
        return Ok(Ok(of_work));
    }
    tell(open, who, &back.iter().collect::<Vec<_>>());
    let paths = |wanted: bool| {
        let some = back.iter().filter(move |(status, _)| (*status == b'A') == wanted);
        some.map(|(_, path)| path.clone()).collect::<Vec<_>>()
    };
    let (gone, there) = (paths(true), paths(false));
    let mut entries = git.staged_between(&now.tree, in_place).await?;
    entries.retain(|entry| there.contains(&entry.path));
    let scratch = open.site().file("held.index");
    let wanted = repo.tree_with(&scratch, &now.tree, &entries, &gone).await?;
    let refused = savepoint(open, record).hold([&now.tree, &wanted], &there).await?;
    Ok(refused.map_or(Ok(of_work), Err))
}

/// Reports the changes of `who` to these files, and that they are undone.
fn tell(open: &Loop<'_>, who: &str, files: &[&(u8, Vec<u8>)]) {
    let of = |back: bool| {
        let some = files.iter().filter(move |(status, _)| (*status == b'A') == back);
        some.map(|(_, path)| path)
    };
    let what = format!("{who} removed, reverted, replaced or hid files, which are put back");
    open.site().tell_few(&what, of(false));
    let what = format!("{who} brought back files that the work had removed, which are removed again");
    open.site().tell_few(&what, of(true));
}

/// Selects the differences by which gates removed a part of the judged tree: a file is deleted, replaced, or again as
/// at the checkpoint.
async fn taken_away(open: &Loop<'_>, changes: &Changes, now: &Reading) -> Result<Changes, Error> {
    let mut missing = of_kind(changes, b"ADTM");
    if missing.iter().any(|(status, _)| is_kept(*status)) {
        let still = open
            .git()
            .diff_trees(open.state.checkpoint_tree(), &now.tree)
            .await?;
        let still: HashSet<Vec<u8>> = still.into_iter().map(|(_, path)| path).collect();
        missing.retain(|(status, path)| !is_kept(*status) || !still.contains(path));
    }
    // Restoring a missing file replaces the entry in its place.
    let gone: Vec<Vec<u8>> = of_kind(&missing, b"D")
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    missing.retain(|(status, path)| *status != b'A' || gone.iter().all(|gone| !is_same_place(gone, path)));
    Ok(missing)
}

/// Returns whether a difference of this kind removes nothing unless the file is as at the checkpoint.
fn is_kept(status: u8) -> bool {
    matches!(status, b'A' | b'M')
}

/// Selects the paths that the work had changed in this tree. The story list is handled separately.
async fn of_work(open: &Loop<'_>, tree: &Oid, missing: &Changes) -> Result<Vec<Vec<u8>>, Error> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let work = open.git().diff_trees(open.state.checkpoint_tree(), tree).await?;
    let work: HashSet<Vec<u8>> = work.into_iter().map(|(_, path)| path).collect();
    let list = open.state.source().path.as_bytes();
    let paths = missing.iter().map(|(_, path)| path);
    let some = paths.filter(|path| path.as_slice() != list && work.contains(*path));
    Ok(some.cloned().collect())
}
