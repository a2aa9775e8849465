//! Files that a command leaves for the process that holds a loop, one for each message. No lock guards them.

use std::io::{self, Read};
use std::path::PathBuf;

use jiff::Timestamp;

use super::Store;
use crate::fs::{
    Durability, FileError, Links, entries_of, file_error, is_directory, open_regular, seen_itself,
};

impl Store {
    /// Writes a text to a new file in a directory of the loop. The names of such files are in order of time.
    pub(super) fn leave(&self, dir: &str, text: &str) -> Result<(), FileError> {
        let (dir, door) = (self.file(dir), self.door());
        if !is_directory(&dir)? {
            door.remove_file(&dir)?;
            door.make_dir(&dir, 0o700)?;
        }
        let begun = Timestamp::now().as_nanosecond();
        for count in 0_u32.. {
            let name = format!("{begun:020}.{count:03}");
            let (half, whole) = (dir.join(format!(".{name}")), dir.join(name));
            // Only the creator of this file may rename it.
            match door.make_file(&half, 0o600) {
                Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => continue,
                made => drop(made.map_err(|source| file_error("make", &half, source))?),
            }
            if door.exists(&whole)? {
                door.remove_file(&half)?;
                continue;
            }
            door.write(&half, text.as_bytes(), 0o600, Durability::Whole)?;
            let moved = door.rename(&half, &door, &whole);
            moved.map_err(|source| file_error("move", &half, source))?;
            break;
        }
        Ok(())
    }

    /// Reads the texts in such a directory, oldest first, with their file names; at most `longest` bytes of each.
    pub(super) fn left(&self, dir: &str, longest: usize) -> Result<Vec<(String, String)>, FileError> {
        // An attempt can write here: other files are ignored.
        self.door().give(&self.file(dir), 0o700);
        let mut files = self.left_files(dir)?;
        files.sort();
        let read = |file: PathBuf| {
            let name = file.file_name()?.to_str()?.to_owned();
            self.door().give(&file, 0o600);
            let mut bytes = Vec::new();
            let opened = open_regular(&file, Links::Refused).ok()?;
            opened.take(longest as u64).read_to_end(&mut bytes).ok()?;
            Some((name, String::from_utf8_lossy(&bytes).trim().to_owned()))
        };
        Ok(files.into_iter().filter_map(read).collect())
    }

    /// Removes such a file.
    pub(super) fn forget_left(&self, dir: &str, name: &str) -> Result<(), FileError> {
        self.door().remove_file(&self.file(dir).join(name))
    }

    /// Returns the paths of such files.
    pub(super) fn left_files(&self, dir: &str) -> Result<Vec<PathBuf>, FileError> {
        let dir = self.file(dir);
        if !is_directory(&dir)? {
            return Ok(Vec::new());
        }
        let files = entries_of(&dir)?.into_iter().map(|entry| entry.path());
        let is_hidden = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        };
        let is_whole =
            |path: &PathBuf| !is_hidden(path) && seen_itself(path).is_some_and(|found| found.is_file());
        Ok(files.filter(is_whole).collect())
    }
}
