//! Where HEAD and the loop's branch are, and what else is known of the repository as long as nobody else was at it.

use crate::engine::repository_refusal::RepositoryRefusal;
use crate::error::Error;
use crate::git::{Git, Head, operations_in_progress};
use crate::names::{Oid, short_branch};
use crate::protect::{Site, UserRefs};
use crate::state::State;

/// Where HEAD and the loop's branch are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// HEAD.
    pub head: Head,
    /// The tip of the loop's branch; `None` when the branch is gone.
    pub tip: Option<Oid>,
}

/// What is known of the repository; any process that is not git-ralph's own drops it.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// HEAD.
    pub head: Option<Head>,
    /// The user's refs.
    pub refs: Option<UserRefs>,
    /// Whether the work tree certainly is at the checkpoint.
    pub at_checkpoint: bool,
}

impl View {
    /// Returns what is known of a repository whose HEAD was just read.
    pub fn of_head(head: &Head) -> Self {
        Self {
            head: Some(head.clone()),
            ..Self::default()
        }
    }

    /// Drops everything: somebody else was at the repository.
    pub fn drop_all(&mut self) {
        *self = Self::default();
    }

    /// Drops what is known of HEAD and the refs, which git-ralph itself has moved.
    pub fn drop_refs(&mut self) {
        (self.head, self.refs) = (None, None);
    }
}

/// Returns HEAD as the loop wants it.
pub(crate) fn own_head(state: &State) -> Head {
    Head {
        branch: Some(state.change.branch_ref()),
        oid: Some(state.checkpoint.clone()),
    }
}

/// Returns HEAD as it was before the loop.
pub(crate) fn original_head(state: &State) -> Head {
    let branch = state.original_branch.as_ref();
    Head {
        branch: branch.map(|branch| format!("refs/heads/{branch}")),
        oid: state.original_head.clone(),
    }
}

/// Reads the tip of the loop's branch, if it is there; `head` is HEAD.
pub(crate) async fn branch_tip(git: &Git, state: &State, head: &Head) -> Result<Option<Oid>, Error> {
    let branch = state.change.branch_ref();
    if head.branch.as_deref() == Some(&branch) {
        return Ok(head.oid.clone());
    }
    let refs = git.refs(&[&branch]).await?;
    let found = refs.into_iter().find(|found| found.name == branch);
    Ok(found.map(|found| found.oid))
}

impl Position {
    /// Returns whether HEAD is on the loop's branch.
    pub fn is_on_branch(&self, state: &State) -> bool {
        self.head.branch.as_deref() == Some(&state.change.branch_ref())
    }

    /// Refuses a step that needs HEAD on the loop's branch: a person may have gone elsewhere on purpose; only an
    /// agent's HEAD is put back without asking.
    pub fn require_on_branch(&self, state: &State) -> Result<(), Error> {
        if self.is_on_branch(state) {
            Ok(())
        } else {
            Err(self.elsewhere(state))
        }
    }

    fn elsewhere(&self, state: &State) -> Error {
        let on = self.head.branch.as_deref();
        RepositoryRefusal::HeadElsewhere {
            head: on.map_or("a detached commit", short_branch).to_owned(),
            branch: state.branch.clone(),
        }
        .into()
    }

    /// Returns the tip of the loop's branch, which HEAD has to be on.
    pub fn require_tip(&self, state: &State) -> Result<Oid, Error> {
        let tip = self.tip.clone().filter(|_| self.is_on_branch(state));
        tip.ok_or_else(|| self.elsewhere(state))
    }

    /// Finds the commit that a checkpoint can be made upon. A HEAD elsewhere on top of the checkpoint is put back later
    /// and reported; a checkpoint that is no longer below HEAD means that finished stories are missing from the work
    /// tree. The inner error says why there is none, as a reason for the next prompt.
    pub async fn parent_for_checkpoint(
        &self,
        site: Site<'_>,
        state: &State,
    ) -> Result<Result<Parent, String>, Error> {
        if let Some(operation) = operations_in_progress(site.repo).first() {
            return Ok(Err(format!(
                "a git {operation} was left unfinished; finish or abort it before you end"
            )));
        }
        let (branch, checkpoint, git) = (&state.branch, &state.checkpoint, &site.repo.git);
        let Some(tip) = self.tip.clone() else {
            return Ok(Err(format!("the branch {branch} was deleted; leave it as it is")));
        };
        if !git.is_ancestor(checkpoint, &tip).await? {
            return Ok(Err(format!(
                "the last checkpoint was rewritten or dropped from {branch}; commit on top of it or not at all"
            )));
        }
        if self.is_on_branch(state) {
            return Ok(Ok(Parent { oid: tip, told: None }));
        }
        let on = self.head.branch.as_deref().map(short_branch);
        let Some(head) = self.head.oid.clone() else {
            return Ok(Err(format!(
                "HEAD was moved to a branch without commits; stay on {branch}"
            )));
        };
        if !git.is_ancestor(checkpoint, &head).await? {
            let on = on.unwrap_or("a detached HEAD");
            return Ok(Err(format!(
                "HEAD was moved to {on}, which does not contain the last checkpoint; stay on {branch}"
            )));
        }
        match on {
            Some(name) => Ok(Ok(Parent {
                oid: tip,
                told: Some(format!(
                    "HEAD was on {name} and is put back to {branch}; the commits on {name} stay there"
                )),
            })),
            // Nothing but HEAD names those commits: they go below the checkpoint.
            None if git.is_ancestor(&tip, &head).await? => Ok(Ok(Parent {
                oid: head,
                told: Some(format!("HEAD was detached and is put back to {branch}")),
            })),
            None => Ok(Err(format!(
                "HEAD was detached from {branch}, and both got commits; stay on {branch}"
            ))),
        }
    }
}

/// The commit that a checkpoint is made upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    /// The commit.
    pub oid: Oid,
    /// What a person should know about it.
    pub told: Option<String>,
}
