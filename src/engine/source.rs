//! The story list during an attempt: a copy of it as it was, for lists that git does not bring back
//! (ignored ones, and those outside the repository), and the mark of a complete story.

use std::fs;
use std::io;
use std::path::Path;

use super::Session;
use super::files::{copy_file, file_error};
use crate::adapters::file::TEMPORARY;
use crate::adapters::{Marked, Story};
use crate::error::Error;

/// The copy, in the loop's directory; it is there only while an attempt is.
const COPY: &str = "stories.copy";

impl Session<'_> {
    /// Copies the story list before an attempt. The copy is whole or not there.
    pub(super) fn copy_source(&self) -> Result<(), Error> {
        let from = self.engine.repo.top.join(&self.state.source.path);
        copy_file(&from, &self.file(COPY))
    }

    /// Forgets the copy, once the attempt's own list has become the checkpoint's.
    pub(super) fn forget_source_copy(&self) -> Result<(), Error> {
        let copy = self.file(COPY);
        match fs::remove_file(&copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("remove", &copy, error)),
            _ => Ok(()),
        }
    }

    /// Puts the story list back to the copy where the revert has not done so.
    pub(super) fn put_back_source(&self) -> Result<(), Error> {
        let copy = self.file(COPY);
        let was = match fs::read(&copy) {
            Ok(was) => was,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(file_error("read", &copy, error)),
        };
        let list = self.engine.repo.top.join(&self.state.source.path);
        remove_half_written(&list)?;
        let is_regular = list.metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_regular || fs::read(&list).ok().as_ref() != Some(&was) {
            if let Some(dir) = list.parent() {
                fs::create_dir_all(dir).map_err(|error| file_error("make", dir, error))?;
            }
            // A link that an attempt put there may lead anywhere: it goes, and nothing is written through it.
            if self.state.source.target(&self.engine.repo.top).is_err() {
                let _ = fs::remove_file(&list);
            }
            fs::write(&list, was).map_err(|error| file_error("write", &list, error))?;
        }
        self.forget_source_copy()
    }

    /// Marks the story as done in its list, which is read again for that; `open` are the ids that were
    /// open when the attempt began. Inside: why the list cannot be used, as a reason for the next
    /// prompt.
    pub(super) fn mark_done(&mut self, story: &Story, open: &[String]) -> Result<(), String> {
        let top = self.engine.repo.top.clone();
        let listing = self.state.source.list(&top).map_err(|error| error.to_string())?;
        let marked = self
            .state
            .source
            .mark_done(&top, story)
            .map_err(|error| error.to_string())?;
        if marked == Marked::Vanished {
            self.tell(format!(
                "the story {} is no longer in {}; it counts as done",
                story.id, self.state.source.path
            ));
        }
        let others: Vec<String> = listing
            .stories
            .into_iter()
            .filter(|other| other.done && other.id != story.id && open.contains(&other.id))
            .map(|other| other.id)
            .collect();
        if !others.is_empty() {
            self.tell(format!("the agent also ticked off: {}", others.join(", ")));
        }
        Ok(())
    }
}

/// Removes what a mark that was cut off left beside the list: temporary files of git-ralph's own.
fn remove_half_written(list: &Path) -> Result<(), Error> {
    let list = list.canonicalize().unwrap_or_else(|_| list.to_owned());
    let entries = list.parent().and_then(|dir| fs::read_dir(dir).ok());
    for entry in entries.into_iter().flatten().filter_map(Result::ok) {
        let is_ours = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(TEMPORARY.as_bytes());
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path()).map_err(|error| file_error("remove", &entry.path(), error))?;
        }
    }
    Ok(())
}
