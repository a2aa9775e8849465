//! The places where HEAD, index and files can end, one file for each. Everything here can be done twice.

mod adopted;
mod before_attempt;
mod beginning;
mod files;
mod original;
mod own_work_tree;
mod recorded;
mod same;
mod way;

use super::known::Known;
use crate::engine::Loop;
use crate::error::Error;
use crate::names::Oid;
use crate::state::IntoPlan;

pub(super) use way::{Left, Records, Way};

/// The place of HEAD, index and files.
#[derive(Clone, Debug)]
pub(super) enum Ground {
    /// Refs move, nothing else.
    Unmoved,
    /// The loop ends where it is.
    Same,
    /// HEAD is at the loop's own place with the working index; the files stay.
    Recorded(Records),
    /// All is as at the last checkpoint, before an attempt. What the attempt left goes into the directory `trash`, and
    /// is kept under `kept`.
    BeforeAttempt { trash: String, kept: String },
    /// All is as at the checkpoint of a loop that came from a remote.
    Adopted {
        trash: String,
        kept: String,
        records: Records,
    },
    /// The files are those of a tree, with what the directory `trash` has of them.
    Files { tree: Oid, trash: String },
    /// All is as an attempt left it, before gates ran with other tests.
    /// HEAD is at the original branch, or commit; the files stay, or are merged with what came there.
    Original {
        /// The present tip of the original branch; `None` if it has no commit.
        head: Option<Oid>,
        /// The tree that the files get, if the original branch has moved on.
        merged: Option<Oid>,
        /// The tree that the index gets, if what was staged before the loop is staged again.
        staged: Option<Oid>,
    },
    /// All is as before the loop.
    Beginning,
    /// The loop's own work tree is left with HEAD detached at the final state; another one gets the work, if any.
    OwnWorkTree { into: Option<IntoPlan>, finished: Oid },
}

impl Ground {
    /// Moves the refs, and goes there.
    pub async fn reach(self, open: &mut Loop<'_>, way: Way<'_>, known: Known) -> Result<Left, Error> {
        match self {
            Self::Unmoved => {
                open.view.drop_refs();
                let git = &open.context.repo.git;
                git.update_refs(&way.refs.updates, way.why).await?;
                Ok(Left::default())
            }
            Self::Same => same::stay(open, &way).await,
            Self::Recorded(records) => recorded::record(open, way, records).await,
            Self::BeforeAttempt { trash, kept } => {
                before_attempt::go_back(open, way, known, &trash, kept).await
            }
            Self::Adopted { trash, kept, records } => {
                adopted::go_to(open, way, known.reading, [&trash, &kept], records).await
            }
            Self::Files { tree, trash } => files::switch(open, &tree, &trash).await,
            Self::Original { head, merged, staged } => {
                original::go_to(open, &way, head, [merged, staged], known.tree).await
            }
            Self::Beginning => beginning::go_to(open, &way, known.reading).await,
            Self::OwnWorkTree { into, finished } => {
                own_work_tree::leave(open, &way, into, &finished, known.target).await
            }
        }
    }
}
