//! The phases of a transition, in the order in which they are made.

use super::files::{self, Files, Left};
use super::index::{self, Index};
use super::known::Known;
use super::other_work_tree;
use super::refs::Refs;
use crate::engine::Loop;
use crate::engine::position::Position;
use crate::error::Error;
use crate::git::Head;
use crate::state::IntoPlan;

/// The targets of a step, which can be reached from wherever an earlier try was cut off. A phase that is absent costs no
/// process.
#[derive(Default)]
pub(super) struct Transition {
    /// The words for the reflog.
    pub why: String,
    /// The other work tree that gets the work.
    pub into: Option<IntoPlan>,
    /// The refs that move, with HEAD, and the commits that are kept.
    pub refs: Refs,
    /// The files of the work tree.
    pub files: Option<Files>,
    /// The place of HEAD, if it moves after the files.
    pub head: Option<Head>,
    /// The index, and the records of the work tree.
    pub index: Option<Index>,
}

impl Transition {
    /// Makes the phases. `at` is where HEAD and the tip are.
    pub async fn reach(self, open: &mut Loop<'_>, at: &Position, known: Known) -> Result<Left, Error> {
        let mut at = at.clone();
        if let Some(into) = &self.into {
            other_work_tree::bring(open, into, known.target.as_ref()).await?;
            // HEAD may have moved meanwhile.
            at = open.position().await?;
        }
        let mut left = Left {
            kept: self.refs.make(open, &at.head, &self.why).await?,
            ..Left::default()
        };
        if let Some(files) = self.files {
            files::reach(open, files, &at, known, &mut left).await?;
        }
        let to_head = async {
            match &self.head {
                Some(head) if !at.head.is_at(head) => open.context.repo.set_head(head, &self.why).await,
                _ => Ok(()),
            }
        };
        let (moved, installed) = tokio::join!(to_head, index::reach(open, self.index));
        moved?;
        installed?;
        Ok(left)
    }
}
