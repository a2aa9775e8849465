//! The file of the story list before an attempt, in memory.

use std::path::PathBuf;

use super::file_modes::mode_of;
use super::story_backup::{clear_place_of, door_to, remove_half_written, without_links};
use crate::fs::{Below, Durability, FileError, kind_of, lacks, leads_to_file, link_of, seen};
use crate::protect::{ProtectError, Site, trash};
use crate::stories::Source;

/// The mode of a list that was not read before.
const MODE: u32 = 0o644;

/// A list and its file.
#[derive(Clone, Debug)]
pub(crate) struct StoryList {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Its path, as in the source.
    path: String,
    /// The target, if it is a symlink.
    link: Option<PathBuf>,
    /// Its path without symlinks.
    place: Option<PathBuf>,
    mode: u32,
}

impl Site<'_> {
    /// Reads the present list; `None` if there is none that can be marked.
    pub fn read_story_list(self, source: &Source) -> Result<Option<StoryList>, FileError> {
        let top = &self.repo.top;
        let Ok(bytes) = source.bytes(top) else {
            return Ok(None);
        };
        let place = source.target(top).ok();
        let found = place.as_deref().and_then(seen);
        Ok(Some(StoryList {
            mode: found.as_ref().map_or(MODE, mode_of),
            link: link_at(self, source)?,
            place,
            ..StoryList::with(bytes, source)
        }))
    }
}

impl StoryList {
    /// Returns a list with known content, but unknown file.
    pub fn with(bytes: Vec<u8>, source: &Source) -> Self {
        Self {
            bytes,
            path: source.path.clone(),
            link: None,
            place: None,
            mode: MODE,
        }
    }

    /// Reads the list after an attempt, or returns why it is not the original file.
    pub fn bytes_after(&self, site: Site<'_>, source: &Source) -> Result<Result<Vec<u8>, String>, FileError> {
        let (top, list) = (&site.repo.top, site.repo.top.join(&source.path));
        // An attempt can remove permissions from the list, or from a directory above it.
        if list.starts_with(top) && (kind_of(&list).is_err() || lacks(&list, 0o400)) {
            Below::new(top).make_accessible(top);
        }
        if self.is_at(source) && link_at(site, source)? != self.link {
            return Ok(Err("it was another file".to_owned()));
        }
        Ok(source.bytes(&site.repo.top).map_err(|error| error.to_string()))
    }

    /// Writes the list; if the file was replaced, with its original type and mode.
    pub fn write(&self, site: Site<'_>, source: &Source, bytes: &[u8]) -> Result<(), ProtectError> {
        let top = &site.repo.top;
        let list = top.join(&source.path);
        remove_half_written(site, source, &list)?;
        let has_type = !self.is_at(source) || link_at(site, source)? == self.link;
        if !(has_type && leads_to_file(&list)? && source.target(top).is_ok()) {
            clear_place_of(site, &list)?;
            if let Some(link) = self.link.as_ref().filter(|_| self.is_at(source)) {
                door_to(site, &list).link(link, &list)?;
            }
        }
        let known = self.place.clone().filter(|_| self.is_at(source));
        let place = known.or_else(|| source.target(top).ok());
        let place = place.or_else(|| without_links(&list)).unwrap_or(list);
        let door = door_to(site, &place);
        if let Some(above) = place.parent() {
            door.make_dir(above, 0o777)?;
        }
        Ok(door.write(&place, bytes, self.mode, Durability::Whole)?)
    }

    /// Keeps a version of an untracked list in the trash; returns its path.
    pub fn put_in_trash(site: Site<'_>, name: &str, bytes: &[u8]) -> Result<PathBuf, ProtectError> {
        let dir = site.trash().join(name);
        let (place, door) = (trash::free_name(&dir.join("stories"))?, site.own_door());
        door.make_dir(&dir, 0o700)?;
        door.write(&place, bytes, 0o600, Durability::Whole)?;
        Ok(place)
    }

    fn is_at(&self, source: &Source) -> bool {
        self.path == source.path && self.place.is_some()
    }
}

/// Returns the target of the list, if it is a symlink.
fn link_at(site: Site<'_>, source: &Source) -> Result<Option<PathBuf>, FileError> {
    let list = site.repo.top.join(&source.path);
    match kind_of(&list)? {
        Some(found) if found.is_symlink() => link_of(&list).map(Some),
        _ => Ok(None),
    }
}
