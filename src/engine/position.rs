//! The position of HEAD and the loop's branch, and other facts about the repository that are cached until another
//! process may have changed it.

use std::cell::{Cell, RefCell};

use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::work_tree_lock::owner;
use crate::error::{Error, refuse};
use crate::git::{Git, Head, Repo, oid_of, operations_in_progress};
use crate::names::{Oid, short_branch};
use crate::protect::{Site, UserRefs};
use crate::state::State;

/// The position of HEAD and the loop's tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// HEAD.
    pub head: Head,
    /// The parent of the next checkpoint; `None` if its ref is gone.
    pub tip: Option<Oid>,
    /// True if the branch on which HEAD must be exists.
    pub has_place: bool,
}

/// Cached facts about the repository; dropped after any process that is not git-ralph's own.
#[derive(Debug, Default)]
pub(crate) struct View {
    head: RefCell<Option<Head>>,
    refs: RefCell<Option<UserRefs>>,
    is_at_checkpoint: Cell<bool>,
}

impl View {
    /// Returns the cache for a repository whose HEAD was just read.
    pub fn of_head(head: Head) -> Self {
        Self {
            head: RefCell::new(Some(head)),
            ..Self::default()
        }
    }

    /// Returns HEAD, if it is known.
    pub fn head(&self) -> Option<Head> {
        self.head.borrow().clone()
    }

    /// Returns the user's refs, if they are known.
    pub fn refs(&self) -> Option<UserRefs> {
        self.refs.borrow().clone()
    }

    /// Returns whether the work tree is known to be at the checkpoint.
    pub fn is_at_checkpoint(&self) -> bool {
        self.is_at_checkpoint.get()
    }

    /// Notes HEAD, which was just read.
    pub fn note_head(&self, head: Head) {
        self.head.replace(Some(head));
    }

    /// Notes the user's refs, which were just read.
    pub fn note_refs(&self, refs: UserRefs) {
        self.refs.replace(Some(refs));
    }

    /// Notes whether the work tree is known to be at the checkpoint.
    pub fn note_at_checkpoint(&self, is_there: bool) {
        self.is_at_checkpoint.set(is_there);
    }

    /// Drops all facts, after another process had access to the repository.
    pub fn drop_all(&self) {
        self.drop_refs();
        self.note_at_checkpoint(false);
    }

    /// Drops the facts about HEAD and the refs, which git-ralph itself has moved.
    pub fn drop_refs(&self) {
        self.head.replace(None);
        self.refs.replace(None);
    }

    /// Drops the user's refs, some of which git-ralph itself has moved, but keeps HEAD.
    pub fn drop_users_refs(&self) {
        self.refs.replace(None);
    }
}

/// Reads the position of the loop; `head` is HEAD.
pub(crate) async fn position_at(git: &Git, state: &State, head: Head) -> Result<Position, Error> {
    let tip = state.tip_ref();
    if head.branch.as_deref() == Some(&tip) {
        return Ok(Position {
            tip: head.oid.clone(),
            has_place: true,
            head,
        });
    }
    let place = state.loop_head().branch;
    let names: Vec<&str> = [Some(&*tip), place.as_deref()].into_iter().flatten().collect();
    let refs = git.refs(&names).await?;
    Ok(Position::new(head, state, |name| oid_of(&refs, name)))
}

/// Returns the error for a loop whose branch is missing, or the branch on which HEAD must be.
pub(crate) fn branch_gone(state: &State) -> Error {
    let branch = state.common.branch.clone();
    match state.loop_head().oid {
        Some(oid) if !state.has_branch() => RepositoryRefusal::PlaceGone {
            branch,
            oid: oid.short().to_owned(),
        },
        _ => RepositoryRefusal::BranchGone {
            own: state.own_work_tree(),
            branch,
            checkpoint: state.checkpoint().short().to_owned(),
        },
    }
    .into()
}

/// Returns the error for a loop whose branch no longer contains its checkpoint.
pub(crate) fn checkpoint_gone(state: &State) -> Error {
    RepositoryRefusal::CheckpointGone {
        own: state.own_work_tree(),
        branch: state.common.branch.clone(),
        checkpoint: state.checkpoint().short().to_owned(),
    }
    .into()
}

/// Refuses a step while a git operation is in progress.
pub(crate) async fn refuse_operation(repo: &Repo) -> Result<(), Error> {
    match operations_in_progress(repo).await?.first() {
        Some(operation) => Err(RepositoryRefusal::OperationInProgress {
            operation: (*operation).to_owned(),
            own: owner(&repo.top).map(|_| repo.top.clone()),
        }
        .into()),
        None => Ok(()),
    }
}

/// Refuses to continue if the loop's branch is gone and another branch now conflicts with its name.
pub(crate) fn refuse_branch_in_the_way(repo: &Repo, state: &State) -> Result<(), Error> {
    let layout = repo.layout();
    let wanted = state.tip_ref();
    let Some((above, _)) = wanted.rsplit_once('/') else {
        return Ok(());
    };
    if layout.loose(&wanted).is_some() || layout.loose(above).is_none() {
        return Ok(());
    }
    refuse(StartRefusal::BranchInTheWay {
        branch: short_branch(above).to_owned(),
        wanted: state.change.branch(),
    })
}

/// Refuses a command while HEAD is not on the branch that the loop needs.
pub async fn require_place(git: &Git, state: &State, head: &Head) -> Result<(), Error> {
    let position = position_at(git, state, head.clone()).await?;
    position.require_on_branch(state)
}

impl Position {
    /// Returns the position of the loop in a repository with these refs.
    pub fn new(head: Head, state: &State, oid_of: impl Fn(&str) -> Option<Oid>) -> Self {
        let place = state.loop_head().branch;
        Self {
            tip: oid_of(&state.tip_ref()),
            has_place: place.is_none_or(|place| oid_of(&place).is_some()),
            head,
        }
    }

    /// Returns whether HEAD is on the branch that the loop needs.
    pub fn is_on_branch(&self, state: &State) -> bool {
        state.is_place(&self.head)
    }

    /// Refuses a step that needs HEAD on the loop's branch: the user may have switched away on purpose; only an agent's
    /// move of HEAD is undone without asking.
    pub fn require_on_branch(&self, state: &State) -> Result<(), Error> {
        if self.is_on_branch(state) {
            Ok(())
        } else {
            Err(self.refuse_moved_head(state))
        }
    }

    fn refuse_moved_head(&self, state: &State) -> Error {
        if self.tip.is_none() || !self.has_place {
            return branch_gone(state);
        }
        let on = self.head.branch.as_deref();
        RepositoryRefusal::HeadElsewhere {
            own: state.own_work_tree(),
            head: on.map_or("a detached commit", short_branch).to_owned(),
            branch: state.loop_place(),
        }
        .into()
    }

    /// Returns the tip of the loop's branch, which HEAD must be on.
    pub fn require_tip(&self, state: &State) -> Result<Oid, Error> {
        let tip = self.tip.clone().filter(|_| self.is_on_branch(state));
        tip.ok_or_else(|| self.refuse_moved_head(state))
    }

    /// Finds the parent commit for a checkpoint. A HEAD on another branch on top of the checkpoint is reported, and
    /// moved back later; if HEAD no longer contains the checkpoint, the work tree lacks completed stories. The inner
    /// error is the reason for the next prompt.
    pub async fn parent_for_checkpoint(
        &self,
        site: Site<'_>,
        state: &State,
    ) -> Result<Result<Parent, String>, Error> {
        if let Some(operation) = operations_in_progress(site.repo).await?.first() {
            let branch = &state.common.branch;
            let way = match *operation {
                "rebase" => format!("abort it; {branch} must keep its checkpoint, so merge into it"),
                _ => "finish it, or abort it".to_owned(),
            };
            return Ok(Err(format!("a git {operation} is in progress; {way}")));
        }
        let (branch, checkpoint, git) = (&state.common.branch, state.checkpoint(), &site.repo.git);
        let on_top = |oid, notice| Ok(Ok(Parent { oid, notice }));
        let Some(tip) = self.tip.clone() else {
            return Ok(Err(format!("the branch {branch} was deleted; leave it as it is")));
        };
        if !git.is_ancestor(checkpoint, &tip).await? {
            return Ok(Err(format!(
                "the last checkpoint was rewritten or dropped from {branch}; commit on top of it or not at all"
            )));
        }
        let own = state.loop_head().oid.unwrap_or_else(|| checkpoint.clone());
        if self.is_on_branch(state) && (state.has_branch() || self.head.oid.as_ref() == Some(&own)) {
            return on_top(tip, None);
        }
        let on = self.head.branch.as_deref().map(short_branch);
        let Some(head) = self.head.oid.clone() else {
            return Ok(Err(format!(
                "HEAD was moved to a branch without commits; stay on {branch}"
            )));
        };
        if !git.is_ancestor(&own, &head).await? {
            if !state.has_branch() && self.head.branch == state.loop_head().branch {
                return Ok(Err(format!(
                    "commits that were on {branch} before the attempt were rewritten or dropped; leave them as they are"
                )));
            }
            let on = on.unwrap_or("a detached HEAD");
            return Ok(Err(format!(
                "HEAD was moved to {on}, which does not contain the last checkpoint; stay on {branch}"
            )));
        }
        if !state.has_branch() {
            let notice = (!self.is_on_branch(state)).then(|| {
                let on = on.unwrap_or("a detached commit");
                format!("HEAD was on {on} and is put back to {branch}; commits on {on} are kept")
            });
            return on_top(tip, notice);
        }
        match on {
            // Only HEAD names these commits: they become ancestors of the checkpoint.
            Some(name) => {
                let notice = format!(
                    "HEAD was on {name} and is put back to {branch}; the commits on {name} stay there"
                );
                on_top(tip, Some(notice))
            }
            None if git.is_ancestor(&tip, &head).await? => on_top(
                head,
                Some(format!("HEAD was detached and is put back to {branch}")),
            ),
            None => Ok(Err(format!(
                "HEAD was detached from {branch}, and both got commits; stay on {branch}"
            ))),
        }
    }
}

/// The parent commit of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    /// The commit.
    pub oid: Oid,
    /// A message for the user about this parent.
    pub notice: Option<String>,
}
