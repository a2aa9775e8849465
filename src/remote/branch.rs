//! The branch of a loop on a remote: a copy of its last checkpoint for users and pull requests. Ancestry decides
//! whether it may be moved, and whether it has the checkpoint.

use tokio::time::sleep;

use super::server::{FIRST_PAUSE, Server};
use super::{There, checkpoints_before};
use crate::error::Error;
use crate::git::Pushed;
use crate::git::remote::Together;
use crate::names::{Change, Oid};

/// The reason why a branch with commits of other people is not moved.
pub(super) const FOREIGN: &str = "it holds other commits";

/// Maximum number of tries to move it.
const TRIES: usize = 4;

/// The relation of the remote's branch to a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// It is at the checkpoint, or at a descendant.
    Has,
    /// It is missing, or at an ancestor of the checkpoint.
    Behind,
    /// It has other commits, or some that cannot be fetched.
    Foreign,
}

/// The copy of the branch on the remote.
#[derive(Clone, Debug)]
pub(super) struct BranchCopy {
    /// Its last known commit.
    at: Option<Oid>,
    /// True if this run pushed it, or it is known to be an earlier checkpoint.
    is_own: bool,
    /// The reported reason why it was not moved.
    pub kept: Option<String>,
    /// True if the remote refused to move it together with the state.
    is_alone: bool,
}

impl BranchCopy {
    /// Takes the listed branch; `there` is the loop's state on the remote.
    pub async fn new(server: &Server, at: Option<Oid>, there: Option<&There>) -> Self {
        let is_own = match (&at, there) {
            (None, _) => true,
            (Some(at), Some(there)) => {
                let earlier = checkpoints_before(&there.oid, &server.repo.git).await;
                earlier.is_ok_and(|earlier| earlier.contains(at))
            }
            (Some(_), None) => false,
        };
        Self {
            at,
            is_own,
            kept: None,
            is_alone: false,
        }
    }

    /// Pushes a state together with the branch at its checkpoint, atomically; returns whether the remote has both. Does
    /// nothing if the branch is already there, another process may have moved it, or the remote refused this before.
    pub async fn put_along(
        &mut self,
        server: &Server,
        change: &Change,
        state: (Option<&Oid>, &Oid),
        checkpoint: &Oid,
    ) -> bool {
        if !self.goes_along(checkpoint) {
            return false;
        }
        let branch = (self.at.as_ref(), checkpoint);
        let pushed = server.swap_both(change, state, branch).await;
        match pushed {
            Together::Done => (self.at, self.kept) = (Some(checkpoint.clone()), None),
            Together::Never => self.is_alone = true,
            Together::Unknown => {}
        }
        pushed == Together::Done
    }

    /// Returns whether it can be moved to this checkpoint together with the state.
    pub fn goes_along(&self, checkpoint: &Oid) -> bool {
        self.is_own && !self.is_alone && self.at.as_ref() != Some(checkpoint)
    }

    /// Compares it with a checkpoint.
    pub async fn stand(&self, server: &Server, change: &Change, checkpoint: &Oid) -> Result<Stand, Error> {
        let Some(at) = self.at.as_ref().filter(|at| *at != checkpoint) else {
            return Ok(if self.at.is_some() {
                Stand::Has
            } else {
                Stand::Behind
            });
        };
        if self.is_own {
            return Ok(Stand::Behind);
        }
        server.fetch_branch(change, at).await?;
        let git = &server.repo.git;
        if git.is_ancestor(checkpoint, at).await.is_ok_and(|is| is) {
            return Ok(Stand::Has);
        }
        let is_behind = git.is_ancestor(at, checkpoint).await.is_ok_and(|is| is);
        Ok(if is_behind { Stand::Behind } else { Stand::Foreign })
    }

    /// Moves it to a checkpoint that the state on the remote names. Returns whether it has the checkpoint, and a reason
    /// that was not reported before if it does not.
    pub async fn put(
        &mut self,
        server: &Server,
        change: &Change,
        checkpoint: &Oid,
    ) -> Result<Result<(), Option<String>>, Error> {
        // It may have moved since the listing.
        let (mut pause, mut last) = (FIRST_PAUSE, String::new());
        for _ in 0..TRIES {
            let why = match self.stand(server, change, checkpoint).await? {
                Stand::Has => {
                    self.kept = None;
                    return Ok(Ok(()));
                }
                Stand::Foreign => FOREIGN.to_owned(),
                Stand::Behind => match server.copy_branch(change, self.at.as_ref(), checkpoint).await {
                    Pushed::Done => {
                        (self.at, self.is_own) = (Some(checkpoint.clone()), true);
                        continue;
                    }
                    Pushed::Refused(words) => words,
                    Pushed::Elsewhere(words) | Pushed::Unknown(words) => {
                        last = words;
                        sleep(pause).await;
                        pause *= 2;
                        if let Ok((_, now)) = server.places(change).await
                            && now != self.at
                        {
                            self.is_own = now.is_none();
                            self.at = now;
                        }
                        continue;
                    }
                },
            };
            return Ok(Err(self.keep(why)));
        }
        Ok(Err(self.keep(last)))
    }

    /// Notes why it was not moved; returns the reason if it was not reported before.
    fn keep(&mut self, why: String) -> Option<String> {
        let is_new = self.kept.as_ref() != Some(&why);
        self.kept = Some(why.clone());
        is_new.then_some(why)
    }
}
