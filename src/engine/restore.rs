//! `restore`: a kept attempt's work back in the work tree, for a person to go on with.

use super::Session;
use super::kept::kept_attempt;
use crate::error::Error;
use crate::git::index;
use crate::names::{Oid, ref_component};
use crate::state::Intent;

impl Session<'_> {
    /// Puts what an attempt left back into the work tree. Index and HEAD stay at the checkpoint.
    ///
    /// # Errors
    /// When there is no such attempt, the work tree is not at the checkpoint, or a file is in the way;
    /// nothing is changed then.
    pub async fn restore(&mut self, story: &str, attempt: Option<u32>) -> Result<u32, Error> {
        if !self.state.is_live() {
            return Err(Error::LoopFinished(self.change().to_string()));
        }
        self.require_on_branch().await?;
        let (attempt, kept) = self.kept_attempt(story, attempt).await?;
        if !self.is_at_checkpoint().await? {
            return Err(Error::NotAtCheckpoint(self.change().to_string()));
        }
        let repo = &self.engine.repo;
        let tree = repo.git.tree_of(&kept).await?;
        let changes = repo.git.diff_trees(&self.state.checkpoint_tree, &tree).await?;
        let in_the_way: Vec<String> = repo
            .in_the_way(&changes)
            .iter()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        if !in_the_way.is_empty() {
            return Err(Error::InTheWay {
                of: format!("what the attempt {story}@{attempt} left"),
                paths: in_the_way,
            });
        }
        let trash = format!("{}.{attempt}", ref_component(story));
        self.state.intent = Some(Intent::Restore { tree, trash });
        self.save()?;
        self.finish_restore().await?;
        Ok(attempt)
    }

    /// Applies the intent of `restore`; doing it again is harmless.
    pub(super) async fn finish_restore(&mut self) -> Result<(), Error> {
        let Some(Intent::Restore { tree, trash }) = self.state.intent.clone() else {
            return Ok(());
        };
        let now = self.read_work_tree().await?.tree;
        let work = self.file("work.index");
        // Git looks at every file before it writes the first: a refusal has changed nothing.
        let switched = self.engine.repo.switch_work_tree(&work, &now, &tree).await;
        index::discard(&work)?;
        if switched.is_ok() && !trash.is_empty() {
            self.restore_raw_bytes(&self.file("trash").join(trash))?;
        }
        self.state.intent = None;
        self.save()?;
        Ok(switched?)
    }

    /// The commit that keeps an attempt at a story: the latest, when no number is given.
    pub(super) async fn kept_attempt(&self, story: &str, attempt: Option<u32>) -> Result<(u32, Oid), Error> {
        let git = &self.engine.repo.git;
        let found = kept_attempt(git, &self.state.change, story, attempt).await?;
        found.ok_or_else(|| Error::UnknownAttempt {
            change: self.change().to_string(),
            attempt: match attempt {
                Some(number) => format!("{story}@{number}"),
                None => story.to_owned(),
            },
        })
    }
}
