//! New files that only gates made, and the files of git-ralph's own output: they stay in the work tree, but not in any
//! reading of it.

use std::path::Path;

use super::savepoint::Savepoint;
use crate::git::StagedEntry;
use crate::git::worktree::Reading;
use crate::protect::{ProtectError, trash};

/// Removes such files from a reading and from the index `work` that it was read into: files that the base lacks, that
/// the user has not added to the index, and, for gates, that still have the content of the gate.
pub(super) async fn leave_out(
    savepoint: &Savepoint<'_>,
    work: &Path,
    mut reading: Reading,
) -> Result<Reading, ProtectError> {
    let (made, aside) = (&savepoint.gate_files, &savepoint.nested);
    if made.is_empty() && aside.is_empty() || reading.tree == reading.base {
        return Ok(reading);
    }
    let repo = savepoint.site.repo;
    let changes = match reading.changes.take() {
        Some(changes) => changes,
        None => repo.git.diff_trees(&reading.base, &reading.tree).await?,
    };
    let is_added = |path: &Vec<u8>| {
        changes
            .iter()
            .any(|(status, added)| *status == b'A' && added == path)
    };
    let mut out = Vec::new();
    if made.keys().chain(aside).any(is_added) {
        let real = repo.read_index_or_none(&repo.index())?;
        let entries = repo.git.staged_between(&reading.base, &reading.tree).await?;
        let is_out = |entry: &StagedEntry| {
            // A former nested repository is now a submodule: `.gitmodules` without it would be half of the work.
            let is_submodule = entry.mode == "160000" && real.has(&entry.path);
            // An agent may commit git-ralph's own output, but no checkpoint has it.
            aside.contains(&entry.path) && !is_submodule
                || made.get(&entry.path) == Some(entry) && !real.has(&entry.path)
        };
        let as_made = entries
            .into_iter()
            .filter(|entry| is_added(&entry.path) && is_out(entry));
        out = as_made.map(|entry| entry.path).collect();
    }
    reading.changes = Some(changes);
    repo.leave_out(work, &mut reading, &out).await?;
    Ok(reading)
}

/// Restores the files that only gates made to their content before an attempt, if it changed or removed them. Their
/// replacements go to the directory `trash`.
pub(in crate::protect) async fn restore(savepoint: &Savepoint<'_>, trash: &Path) -> Result<(), ProtectError> {
    let repo = savepoint.site.repo;
    let real = repo.read_index_or_none(&repo.index())?;
    let files = savepoint.gate_files.values();
    let entries: Vec<StagedEntry> = files.filter(|file| !real.has(&file.path)).cloned().collect();
    if entries.is_empty() {
        return Ok(());
    }
    let scratch = savepoint.site.file("gate-files.index");
    let empty = repo.empty_tree().await?;
    let tree = repo.tree_with(&scratch, &empty, &entries, &[]).await?;
    let read = ["--reset", tree.as_str()];
    repo.git.cmd("read-tree", read).index(&scratch).done().await?;
    repo.refresh(&scratch).await?;
    let args = ["-z", "--name-only"];
    let changed = repo.git.cmd("diff-files", args).index(&scratch).fields().await?;
    repo.discard_index(&scratch)?;
    if changed.is_empty() {
        return Ok(());
    }
    let of_status = |status: u8| {
        changed
            .iter()
            .map(|path| (status, path.clone()))
            .collect::<Vec<_>>()
    };
    savepoint.clear_the_way(&of_status(b'D'), trash)?;
    Ok(repo.restore_files(&scratch, &tree, &of_status(b'M')).await?)
}

/// Moves the files that only gates made to a directory named after `trash`, before the work tree is removed; files in
/// its index are work.
pub(in crate::protect) fn put_away(savepoint: &Savepoint<'_>, trash: &Path) -> Result<(), ProtectError> {
    if savepoint.gate_files.is_empty() {
        return Ok(());
    }
    let index = savepoint
        .site
        .repo
        .read_index_or_none(&savepoint.site.repo.index())?;
    for path in savepoint.gate_files.keys() {
        let is_work = index.index().is_none_or(|index| index.find(path).is_some());
        if !is_work && savepoint.site.repo.exists(path)? {
            trash::put_away(savepoint.site, &[], path, trash)?;
            savepoint.site.repo.remove_file(path)?;
        }
    }
    Ok(())
}
