//! The user's messages for the next prompt (`git ralph tell`): one file for each message, guarded by no lock, until a
//! process that holds the loop moves them into its state.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{State, StateError, Store};
use crate::fs::{FileError, file_error};

/// Directory of the messages, below the loop's own.
pub const MESSAGES: &str = "messages";

/// Maximum length of a message, in bytes.
pub const LONGEST: usize = 16 * 1024;

/// Maximum number of messages that are read of those that came during an attempt, which may have written them.
const MOST: usize = 100;

/// A message that has been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The name of its file; names are in order of time.
    pub file: String,
    /// The text.
    pub text: String,
    /// The attempt that was running when it was written, as story@number.
    pub during: Option<String>,
    /// The story whose attempts are shown it first; absent until an attempt is.
    pub story: Option<String>,
    /// The other stories whose prompts had it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

impl Message {
    /// Returns whether a prompt of this story had the message.
    fn was_shown(&self, story: &str) -> bool {
        self.story.as_deref() == Some(story) || self.others.iter().any(|other| other == story)
    }

    /// Notes that a prompt of this story has the message.
    fn show(&mut self, story: &str) {
        if self.was_shown(story) {
            return;
        }
        match &self.story {
            Some(_) => self.others.push(story.to_owned()),
            None => self.story = Some(story.to_owned()),
        }
    }
}

impl Store {
    /// Leaves a message for the next prompt. Takes no lock, which a run holds for hours.
    ///
    /// # Errors
    /// If the message is empty or too long, or the file cannot be written.
    pub fn tell(&self, words: &str) -> Result<(), StateError> {
        let (text, change) = (words.trim(), self.change.to_string());
        if text.is_empty() {
            return Err(StateError::NoWords(change));
        }
        if text.len() > LONGEST {
            return Err(StateError::TooManyWords);
        }
        Ok(self.leave(MESSAGES, text)?)
    }

    /// Removes the files of messages.
    pub fn forget_messages<'n>(&self, mut names: impl Iterator<Item = &'n String>) -> Result<(), FileError> {
        names.try_for_each(|name| self.forget_left(MESSAGES, name))
    }

    /// Moves the files of messages to the trash; returns the directory.
    pub fn put_messages_away(&self, names: &[&String]) -> Result<PathBuf, FileError> {
        let (door, place) = (self.door(), self.file("trash").join(MESSAGES));
        door.make_dir(&place, 0o700)?;
        for name in names {
            let (from, to) = (self.file(MESSAGES).join(name), place.join(name));
            let moved = door.rename(&from, &door, &to);
            moved.map_err(|source| file_error("move", &from, source))?;
        }
        Ok(place)
    }

    /// Returns the number of messages that no process has read yet.
    pub fn untaken(&self) -> usize {
        self.left_files(MESSAGES).map_or(0, |files| files.len())
    }

    /// Reads the messages, oldest first, with the names of their files.
    pub fn messages(&self) -> Result<Vec<(String, String)>, FileError> {
        self.left(MESSAGES, LONGEST)
    }
}

impl State {
    /// Adds messages that the state lacks; returns them. `during` is the attempt that ran when they were written.
    pub fn take_messages(&mut self, messages: Vec<(String, String)>, during: Option<&str>) -> &[Message] {
        let known = self.here.messages.len();
        for (file, text) in messages {
            let is_known = self.here.messages.iter().any(|message| message.file == file);
            let of_attempts = self
                .here
                .messages
                .iter()
                .filter(|message| message.during.is_some());
            if !is_known && (during.is_none() || of_attempts.count() < MOST) {
                self.here.messages.push(Message {
                    file,
                    text,
                    during: during.map(str::to_owned),
                    story: None,
                    others: Vec::new(),
                });
            }
        }
        self.here.messages.get(known..).unwrap_or_default()
    }

    /// Notes that an attempt at a story is shown all messages.
    pub fn show_messages(&mut self, story: &str) {
        for message in &mut self.here.messages {
            message.show(story);
        }
    }

    /// Notes that an attempt at a story, which was made beside others, was shown the messages in these files.
    pub fn show_messages_of(&mut self, story: &str, files: &[String]) {
        let shown = |message: &&mut Message| files.contains(&message.file);
        for message in self.here.messages.iter_mut().filter(shown) {
            message.show(story);
        }
    }

    /// Removes the messages shown to a completed story. Messages for a story that was put off stay for it.
    pub fn settle_messages(&mut self, story: &str) {
        let put_off = &self.common.progress.put_off;
        let waits = |of: &String| {
            of != story
                && put_off
                    .iter()
                    .any(|other| other.story.id == *of && !other.is_over)
        };
        self.here
            .messages
            .retain(|message| !message.was_shown(story) || message.story.as_ref().is_some_and(waits));
    }

    /// Returns the number of messages in the state that no attempt has been shown.
    pub fn unshown(&self) -> usize {
        self.here
            .messages
            .iter()
            .filter(|message| message.story.is_none())
            .count()
    }
}
