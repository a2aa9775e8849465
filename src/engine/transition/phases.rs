//! The phases of a transition, in the order of their execution.

use std::mem::take;

use super::files::{self, Files, Left};
use super::index::{self, Index};
use super::known::Known;
use super::other_work_tree;
use crate::engine::Loop;
use crate::engine::lost_commits::split_lost;
use crate::engine::numbers::take_numbers;
use crate::engine::position::Position;
use crate::error::Error;
use crate::git::Head;
use crate::protect::UserRefs;
use crate::refs::{KeptRef, Update, free_names};
use crate::state::IntoPlan;

/// The targets of a step, which can be reached from any point at which an earlier try was interrupted. An absent phase
/// starts no process.
#[derive(Default)]
pub(super) struct Transition {
    /// The reflog message.
    pub why: String,
    /// The other work tree that gets the work.
    pub into: Option<IntoPlan>,
    /// Commits that are kept, each under its name or a free one that follows it.
    pub kept: Vec<KeptRef>,
    /// The refs that move.
    pub updates: Vec<Update>,
    /// The user's refs that are restored, unless they have moved again.
    pub put_back: Vec<Update>,
    /// The refs whose names a kept commit could conflict with, if they are known.
    pub known: Option<UserRefs>,
    /// The place of HEAD, if it moves with them.
    pub head: Option<Head>,
    /// The files of the work tree.
    pub files: Option<Files>,
    /// The place of HEAD, if it moves after the files.
    pub head_last: Option<Head>,
    /// The index, and the records of the work tree.
    pub index: Option<Index>,
}

impl Transition {
    /// Executes the phases. `at` is the position of HEAD and the tip.
    pub async fn reach(mut self, open: &Loop<'_>, at: &Position, known: Known) -> Result<Left, Error> {
        let mut at = at.clone();
        if let Some(into) = &self.into {
            other_work_tree::bring(open, into, known.target.as_ref()).await?;
            // HEAD may have moved meanwhile.
            at = open.position().await?;
        }
        let mut left = Left {
            kept: self.move_all(open, &at.head).await?,
            ..Left::default()
        };
        if let Some(files) = self.files {
            files::reach(open, files, &at, known, &mut left).await?;
        }
        let to_head = async {
            match &self.head_last {
                Some(head) if !at.head.is_at(head) => open.repo().set_head(head, &self.why).await,
                _ => Ok(()),
            }
        };
        let (moved, installed) = tokio::join!(to_head, index::reach(open, self.index));
        moved?;
        installed?;
        Ok(left)
    }

    /// Moves refs, and HEAD with them, in one transaction; returns the names under which commits are kept.
    async fn move_all(&mut self, open: &Loop<'_>, from: &Head) -> Result<Vec<KeptRef>, Error> {
        let (mut moves, put_back, why) = (take(&mut self.updates), take(&mut self.put_back), &self.why);
        if !put_back.is_empty() {
            moves.extend(open.read_user_refs().await?.still_possible(put_back));
        }
        let to = self.head.as_ref().unwrap_or(from);
        if self.kept.is_empty() {
            if !moves.is_empty() || to != from {
                open.move_refs(&moves, from, to, why).await?;
            }
            return Ok(Vec::new());
        }
        let mut refs = match self.known.take() {
            Some(known) => known,
            None => open.read_user_refs().await?,
        };
        let mut has_read_again = false;
        loop {
            let (mut updates, kept) = free_names(&self.kept, |name| refs.at(name));
            updates.extend_from_slice(&moves);
            match open.move_refs(&updates, from, to, why).await {
                Ok(()) => {
                    tell_other_names(open, &self.kept, &kept);
                    let names = kept.iter().map(|kept| kept.name.as_str());
                    take_numbers(&open.store, &open.state.change, names)?;
                    if kept != self.kept {
                        open.numbers.take();
                    }
                    return Ok(kept);
                }
                Err(error) => {
                    if !has_read_again && let Some(kept) = read_lost_again(open, &self.kept).await? {
                        (self.kept, has_read_again) = (kept, true);
                        continue;
                    }
                    refs = open.read_user_refs().await?;
                    // Another process may have created a ref with such a name.
                    if free_names(&self.kept, |name| refs.at(name)).1 == kept {
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// Reads the work tree, which no phase has changed yet, to replace missing commits. Returns the commits to keep; `None`
/// if none is missing. One scan, if one is.
async fn read_lost_again(open: &Loop<'_>, kept: &[KeptRef]) -> Result<Option<Vec<KeptRef>>, Error> {
    let (there, lost) = split_lost(open.repo(), open, kept).await?;
    let Some(first) = lost.into_iter().next() else {
        return Ok(None);
    };
    let tree = open.read_work_tree().await?.tree;
    let message = "ralph: read again, as its commit was gone";
    let oid = open.commit_on_checkpoint(&tree, message).await?;
    open.tell(format!("the work tree as it is now is kept as {}", first.name));
    let again = KeptRef::new(first.name, oid);
    Ok(Some([vec![again], there].concat()))
}

fn tell_other_names(open: &Loop<'_>, wanted: &[KeptRef], kept: &[KeptRef]) {
    for (wanted, kept) in wanted.iter().zip(kept) {
        if wanted.name != kept.name {
            open.tell(format!(
                "{} is another commit already, and stays; this one is kept as {}",
                wanted.name, kept.name
            ));
        }
    }
}
