//! Copies of the story list: one from before an attempt, for lists that git does not restore (ignored ones, and those
//! outside the repository), and one from the time when an attempt's result was declared, to undo the marks made since.

use std::fs;
use std::io;
use std::path::Path;

use super::stat_changes::tracked_paths;
use super::{ProtectError, Savepoint, Site, trash};
use crate::fs::{FileError, Links, copy_file, file_error, read_regular, remove_file};
use crate::stories::Source;
use crate::stories::file::TEMPORARY;

/// Name of the copy from before an attempt, in the loop's directory; it exists only during an attempt.
const BEFORE: &str = "stories.copy";

/// Name of the copy from the time of a declared result; it exists only while that is checked.
const JUDGED: &str = "stories.judged";

/// Copies the list before an attempt. The copy is complete or absent.
pub(super) fn take(site: Site<'_>, source: &Source) -> Result<(), ProtectError> {
    if source.commands.is_some() {
        return Ok(());
    }
    Ok(copy_file(&site.repo.top.join(&source.path), &site.file(BEFORE))?)
}

/// Reads the copy from before an attempt; returns `None` if there is none.
pub(crate) fn before_attempt(site: Site<'_>) -> Option<Vec<u8>> {
    read_regular(&site.file(BEFORE), Links::Refused, u64::MAX).ok()
}

/// Copies the list before a declared result of an attempt is checked. A list that is missing, or is no file, has no
/// copy.
///
/// # Errors
/// If it cannot be copied.
pub(crate) fn take_judged(site: Site<'_>, source: &Source) -> Result<(), ProtectError> {
    remove_file(&site.file(JUDGED))?;
    let from = site.repo.top.join(&source.path);
    if source.commands.is_none() && from.is_file() {
        copy_file(&from, &site.file(JUDGED))?;
    }
    Ok(())
}

/// Forgets the copies, once the attempt's own list has become the checkpoint's.
///
/// # Errors
/// If a copy cannot be removed.
pub(crate) fn forget(site: Site<'_>) -> Result<(), ProtectError> {
    remove_file(&site.file(JUDGED))?;
    Ok(remove_file(&site.file(BEFORE))?)
}

/// Restores the list from before an attempt, if the revert has not done so.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn put_back(site: Site<'_>, checkpoint: &Savepoint, source: &Source) -> Result<(), ProtectError> {
    let list = source.path.as_bytes();
    let tracked = || tracked_paths(site.repo, &checkpoint.index(site));
    if !site.file(BEFORE).exists() && !tracked().contains(list) {
        put_back_judged(site, source)?;
    }
    put_back_copy(site, source, BEFORE)?;
    Ok(remove_file(&site.file(JUDGED))?)
}

/// Restores the list from the time when the attempt's result was declared.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn put_back_judged(site: Site<'_>, source: &Source) -> Result<(), ProtectError> {
    put_back_copy(site, source, JUDGED)
}

fn put_back_copy(site: Site<'_>, source: &Source, name: &str) -> Result<(), ProtectError> {
    let copy = site.file(name);
    let was = match read_regular(&copy, Links::Refused, u64::MAX) {
        Ok(was) => was,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(file_error("read", &copy, error).into()),
    };
    let top = &site.repo.top;
    let list = top.join(&source.path);
    remove_half_written(&list)?;
    let is_regular = list.metadata().is_ok_and(|metadata| metadata.is_file());
    if !is_regular || fs::read(&list).ok().as_ref() != Some(&was) {
        if !is_regular {
            clear_place_of(site, &list)?;
        }
        if let Some(dir) = list.parent() {
            fs::create_dir_all(dir).map_err(|error| file_error("make", dir, error))?;
        }
        // A symlink that an attempt put there may lead anywhere: it is removed, and nothing is written through it.
        if source.target(top).is_err() {
            let _ = fs::remove_file(&list);
        }
        fs::write(&list, was).map_err(|error| file_error("write", &list, error))?;
    }
    Ok(remove_file(&copy)?)
}

/// Moves whatever an attempt put in place of the list, or of a directory above it, to the trash.
fn clear_place_of(site: Site<'_>, list: &Path) -> Result<(), FileError> {
    let is_in_the_way = |path: &&Path| match path.symlink_metadata() {
        Ok(_) if *path == list => true,
        Ok(_) => !path.is_dir(),
        Err(_) => false,
    };
    let found = list.ancestors().find(is_in_the_way);
    let Some((path, name)) = found.and_then(|path| Some((path, path.file_name()?))) else {
        return Ok(());
    };
    let trash = trash::free_name(&site.trash().join("stories"));
    trash::move_away(path, &trash.join(name))
}

/// Removes git-ralph's own temporary files beside the list that an interrupted mark left.
fn remove_half_written(list: &Path) -> Result<(), FileError> {
    let list = list.canonicalize().unwrap_or_else(|_| list.to_owned());
    let entries = list.parent().and_then(|dir| fs::read_dir(dir).ok());
    for entry in entries.into_iter().flatten().filter_map(Result::ok) {
        let is_ours = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(TEMPORARY.as_bytes());
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}
