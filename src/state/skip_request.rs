//! Requests to skip a story while a process holds its loop (`git ralph skip`): one file for each request.

use super::Store;
use crate::fs::FileError;

/// Directory of the requests, below the loop's own.
const SKIPS: &str = "skips";

/// Maximum length of a request, in bytes.
const LONGEST: usize = 16 * 1024;

/// The first line of a request: to skip the story that the rest names, or to stop skipping it.
const WORDS: [&str; 2] = ["skip", "undo"];

/// A request that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipRequest {
    file: String,
    /// The id of the story.
    pub story: String,
    /// True if the story is no longer to be skipped.
    pub is_undone: bool,
}

impl Store {
    /// Asks the process that holds the loop to skip a story, or to stop skipping it. Takes no lock.
    pub fn ask_to_skip(&self, story: &str, is_undone: bool) -> Result<(), FileError> {
        let word = WORDS[usize::from(is_undone)];
        self.leave(SKIPS, &format!("{word}\n{story}\n"))
    }

    /// Reads the requests, oldest first.
    pub fn skip_requests(&self) -> Result<Vec<SkipRequest>, FileError> {
        let request = |(file, text): (String, String)| {
            let (word, story) = text.split_once('\n')?;
            WORDS.contains(&word).then(|| SkipRequest {
                file,
                story: story.to_owned(),
                is_undone: word == WORDS[1],
            })
        };
        Ok(self
            .left(SKIPS, LONGEST)?
            .into_iter()
            .filter_map(request)
            .collect())
    }

    /// Returns the ids of the stories to skip, without those that a later request revoked.
    pub fn asked_to_skip(&self) -> Result<Vec<String>, FileError> {
        let mut asked: Vec<String> = Vec::new();
        for SkipRequest { story, is_undone, .. } in self.skip_requests()? {
            asked.retain(|id| *id != story);
            if !is_undone {
                asked.push(story);
            }
        }
        Ok(asked)
    }

    /// Removes a request that was fulfilled.
    pub fn forget_skip(&self, request: &SkipRequest) -> Result<(), FileError> {
        self.forget_left(SKIPS, &request.file)
    }

    /// Removes all requests: the loop has ended.
    pub fn forget_skips(&self) -> Result<(), FileError> {
        self.door().remove(&self.file(SKIPS))
    }
}
