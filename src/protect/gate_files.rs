//! New files that only gates made, and those that git-ralph's own output goes to: they stay in the work tree, and no
//! reading of it contains them.

use std::path::Path;

use super::{ProtectError, Savepoint, Site, trash};
use crate::git::worktree::Reading;

/// Removes such files from a reading and from the index `work` that it was read into: those that the base lacks, that the
/// user has not added to the index, and, of gates, that still have the content that the gate gave them.
///
/// # Errors
/// If git cannot compare the trees or write the index.
pub(super) async fn leave_out(
    site: Site<'_>,
    savepoint: &Savepoint,
    work: &Path,
    mut reading: Reading,
) -> Result<Reading, ProtectError> {
    let (made, aside) = (&savepoint.gate_files, &savepoint.nested);
    if made.is_empty() && aside.is_empty() || reading.tree == reading.base {
        return Ok(reading);
    }
    let repo = site.repo;
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
        let is_staged = |path: &[u8]| real.index().is_some_and(|index| index.find(path).is_some());
        let entries = repo.git.staged_between(&reading.base, &reading.tree).await?;
        let as_made = entries.into_iter().filter(|entry| {
            (made.get(&entry.path) == Some(&entry.oid) || aside.contains(&entry.path))
                && is_added(&entry.path)
                && !is_staged(&entry.path)
        });
        out = as_made.map(|entry| entry.path).collect();
    }
    if !out.is_empty() {
        repo.update_index(work, &["--force-remove"], &out).await?;
        reading.tree = repo.git.write_tree(work).await?;
    }
    let rest = changes.into_iter().filter(|(_, path)| !out.contains(path));
    reading.changes = Some(rest.collect());
    Ok(reading)
}

/// Moves the files that only gates made to a directory named after `trash`, before the work tree is removed; those that its
/// index has are work.
///
/// # Errors
/// If a file cannot be moved.
pub(crate) fn put_away(site: Site<'_>, savepoint: &Savepoint, trash: &Path) -> Result<(), ProtectError> {
    if savepoint.gate_files.is_empty() {
        return Ok(());
    }
    let index = site.repo.read_index_or_none(&site.repo.index())?;
    for path in savepoint.gate_files.keys() {
        let is_work = index.index().is_none_or(|index| index.find(path).is_some());
        if !is_work && site.repo.exists(path)? {
            trash::put_away(site, &[], path, trash)?;
            site.repo.remove_file(path)?;
        }
    }
    Ok(())
}
