//! Copies of the story list: one from before an attempt, for lists that git does not restore (ignored ones, and those
//! outside the repository), and one from when an attempt's result was declared, to undo the marks made since.

use std::io;
use std::path::{Path, PathBuf};

use super::half_written::is_name_of_half_written;
use super::savepoint::Savepoint;
use super::stat_changes::tracked_paths;
use crate::fs::{
    Below, FileError, Links, file_error, is_no_such_file, is_there, leads_to_file, may_exist, read,
    read_regular, seen, seen_in, seen_itself,
};
use crate::paths::is_of_work_tree;
use crate::protect::{ProtectError, Site, trash};
use crate::stories::Source;

/// Name of the copy from before an attempt, in the slot; it exists only during an attempt.
const BEFORE: &str = "stories.copy";

/// Name of the copy from when a result was declared; it exists only while the result is checked.
const JUDGED: &str = "stories.judged";

/// Copies the list before an attempt. The copy is complete or absent.
pub(in crate::protect) fn take(site: Site<'_>, source: &Source) -> Result<(), ProtectError> {
    if source.is_by_command() {
        return Ok(());
    }
    Ok(site
        .own_door()
        .copy(&site.repo.top.join(&source.path), &site.file(BEFORE))?)
}

impl Site<'_> {
    /// Reads the copy from before an attempt; returns `None` without one.
    pub fn list_before_attempt(self) -> Result<Option<Vec<u8>>, FileError> {
        let copy = self.file(BEFORE);
        match read_regular(&copy, Links::Refused, u64::MAX) {
            Err(error) if is_no_such_file(&error) => Ok(None),
            read => read.map(Some).map_err(|error| file_error("read", &copy, error)),
        }
    }

    /// Copies the list before a declared result of an attempt is checked. A missing list, or one that is no file, gets
    /// no copy.
    pub fn take_judged_list(self, source: &Source) -> Result<(), ProtectError> {
        self.own_door().remove_file(&self.file(JUDGED))?;
        let from = self.repo.top.join(&source.path);
        if !source.is_by_command() && leads_to_file(&from)? {
            self.own_door().copy(&from, &self.file(JUDGED))?;
        }
        Ok(())
    }
}

/// Forgets the copies, once the attempt's own list has become the checkpoint's.
pub(in crate::protect) fn forget(site: Site<'_>) -> Result<(), ProtectError> {
    site.own_door().remove_file(&site.file(JUDGED))?;
    Ok(site.own_door().remove_file(&site.file(BEFORE))?)
}

/// Restores the list from before an attempt, if the revert has not done so. Unless the source `is_known` since before
/// the attempt, the attempt could have written it, and nothing is written outside the work tree.
pub(in crate::protect) fn put_back(
    checkpoint: &Savepoint<'_>,
    (source, is_known): (&Source, bool),
) -> Result<(), ProtectError> {
    let site = checkpoint.site;
    if !is_known && !is_of_work_tree(source.path.as_bytes()) {
        return leave(site, source);
    }
    let list = source.path.as_bytes();
    let tracked = || tracked_paths(site.repo, &checkpoint.index());
    if !may_exist(&site.file(BEFORE)) && !tracked()?.contains(list) {
        site.put_judged_list_back(source)?;
    }
    put_back_copy(site, source, BEFORE)?;
    Ok(site.own_door().remove_file(&site.file(JUDGED))?)
}

/// Leaves the list unchanged, and moves the copies to the trash.
fn leave(site: Site<'_>, source: &Source) -> Result<(), ProtectError> {
    for name in [BEFORE, JUDGED] {
        let copy = site.file(name);
        if source.is_by_command() || !is_there(&copy)? {
            continue;
        }
        let place = trash::free_name(&site.trash().join(name))?;
        trash::move_away(site, &copy, &place)?;
        site.tell(format!(
            "{} is outside the work tree and stays as it is, because the attempt could have written what is known of it; \
             a copy from before is {}",
            source.path,
            place.display()
        ));
    }
    Ok(())
}

impl Site<'_> {
    /// Restores the list from when the result of an interrupted attempt was declared.
    pub fn put_cut_off_list_back(self, source: &Source) -> Result<(), ProtectError> {
        if !is_of_work_tree(source.path.as_bytes()) {
            return leave(self, source);
        }
        self.put_judged_list_back(source)
    }

    /// Restores the list from when a result was declared that this process has refused.
    pub fn put_judged_list_back(self, source: &Source) -> Result<(), ProtectError> {
        put_back_copy(self, source, JUDGED)
    }
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
    remove_half_written(site, source, &list)?;
    let is_in_place = leads_to_file(&list)? && source.target(top).is_ok();
    if !is_in_place || read(&list)? != was {
        if !is_in_place {
            clear_place_of(site, &list)?;
        }
        // A symlink of the user's stays one; else the list keeps its place, and its other hard links.
        let place = source.target(top).ok().or_else(|| without_links(&list));
        let place = place.unwrap_or(list);
        door_to(site, &place).copy(&copy, &place)?;
    }
    Ok(site.own_door().remove_file(&copy)?)
}

/// Moves files that an attempt put in place of the list, or of a directory above it, to the trash.
pub(super) fn clear_place_of(site: Site<'_>, list: &Path) -> Result<(), FileError> {
    let is_in_the_way = |path: &&Path| match seen_itself(path) {
        Some(_) if *path == list => true,
        Some(found) => !found.is_dir() && !leads_to_a_directory(path, &site.repo.top),
        None => false,
    };
    let above: Vec<&Path> = list
        .ancestors()
        .take_while(|path| **path != *site.repo.top)
        .collect();
    let found = above.into_iter().rev().find(is_in_the_way);
    let Some((path, name)) = found.and_then(|path| Some((path, path.file_name()?))) else {
        return Ok(());
    };
    let trash = trash::free_name(&site.trash().join("stories"))?;
    trash::move_away(site, path, &trash.join(name))
}

/// Returns whether a path is a directory; one in the work tree must stay inside it, unless it is the user's link.
fn leads_to_a_directory(path: &Path, top: &Path) -> bool {
    let is_inside = |found: PathBuf| top.canonicalize().is_ok_and(|top| found.starts_with(top));
    seen(path).is_some_and(|found| found.is_dir())
        && (!path.starts_with(top) || path.canonicalize().is_ok_and(is_inside))
}

/// Returns the path of a list without symlinks, once its place is free.
pub(super) fn without_links(list: &Path) -> Option<PathBuf> {
    Some(list.parent()?.canonicalize().ok()?.join(list.file_name()?))
}

/// Returns the handle for a list, from a path without symlinks: the work tree's, or the user's directory's.
pub(super) fn door_to(site: Site<'_>, place: &Path) -> Below {
    match site.repo.top.canonicalize() {
        Ok(top) if place.starts_with(&top) => Below::new(&top),
        _ => site.door(place),
    }
}

/// Removes git-ralph's temporary files beside the list that an interrupted mark left, but follows no symlink of an
/// attempt.
pub(super) fn remove_half_written(site: Site<'_>, source: &Source, list: &Path) -> Result<(), FileError> {
    let place = source.target(&site.repo.top).ok().or_else(|| without_links(list));
    let Some(list) = place else { return Ok(()) };
    let is_inside = || {
        let top = site.repo.top.canonicalize();
        top.is_ok_and(|top| list.starts_with(top))
    };
    if is_of_work_tree(source.path.as_bytes()) && !is_inside() {
        return Ok(());
    }
    for entry in list.parent().into_iter().flat_map(seen_in) {
        let is_ours = is_name_of_half_written(entry.file_name().as_encoded_bytes());
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            door_to(site, &list).remove_file(&entry.path())?;
        }
    }
    Ok(())
}
