//! Checkpoints: what the agent left of HEAD and the branch, and the commit of a complete story.

use super::Session;
use super::other_refs::OtherRefs;
use super::others::Others;
use crate::error::Error;
use crate::events::What;
use crate::git::worktree::Reading;
use crate::git::{Head, operations_in_progress};
use crate::names::{Oid, short_branch};
use crate::refs::Update;
use crate::state::{Intent, Verdict};

/// Where HEAD and the loop's branch stand.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// HEAD.
    pub head: Head,
    /// The tip of the loop's branch; `None` when the branch is gone.
    pub tip: Option<Oid>,
}

/// What to make a checkpoint of.
pub(super) struct Saving {
    /// The story that it completes; `None` for edits made by a person.
    pub story: Option<String>,
    /// The attempt that made it.
    pub attempt: Option<u32>,
    /// The commit below it.
    pub parent: Oid,
    /// Its subject.
    pub subject: String,
    /// The names of the tools that the agent was not allowed to use.
    pub denied: String,
}

impl Session<'_> {
    /// Where HEAD and the branch stand; git is asked only when something may have moved them since it
    /// was last asked.
    pub(super) async fn standing(&mut self) -> Result<Standing, Error> {
        if self.head_is_known {
            let head = self.engine.head.clone();
            let tip = self.branch_tip(&head).await?;
            return Ok(Standing { head, tip });
        }
        let own = self.state.change.branch_ref();
        let (refs, head) = self.engine.repo.refs_and_head(&OtherRefs::PATTERNS).await?;
        let tip = refs.iter().find(|found| found.name == own);
        let tip = tip.map(|found| found.oid.clone());
        self.refs = Some(OtherRefs::of(&refs, &self.state.change));
        self.engine.head = head.clone();
        self.head_is_known = true;
        Ok(Standing { head, tip })
    }

    /// The error of a step that needs HEAD on the loop's branch.
    pub(super) fn head_elsewhere(&self, head: &Head) -> Error {
        let on = head.branch.as_deref();
        Error::HeadElsewhere {
            head: on.map_or("a detached commit", short_branch).to_owned(),
            branch: self.state.branch.clone(),
        }
    }

    /// The commit that a checkpoint can be made upon; inside: why there is none, as a reason for the
    /// next prompt. HEAD elsewhere on top of the checkpoint is mended later and told; a checkpoint that
    /// is not below HEAD any more means that finished stories are missing from the work tree.
    pub(super) async fn parent_for_checkpoint(
        &mut self,
        standing: &Standing,
    ) -> Result<Result<Oid, String>, Error> {
        if let Some(operation) = operations_in_progress(&self.engine.repo).first() {
            return Ok(Err(format!(
                "a git {operation} was left unfinished; finish or abort it before you end"
            )));
        }
        let branch = self.state.branch.clone();
        let checkpoint = self.state.checkpoint.clone();
        let git = &self.engine.repo.git;
        let Some(tip) = standing.tip.clone() else {
            return Ok(Err(format!("the branch {branch} was deleted; leave it as it is")));
        };
        if !git.is_ancestor(&checkpoint, &tip).await? {
            return Ok(Err(format!(
                "the last checkpoint was rewritten or dropped from {branch}; commit on top of it or not at all"
            )));
        }
        if standing.head.branch.as_deref() == Some(&self.state.change.branch_ref()) {
            return Ok(Ok(tip));
        }
        let on = standing.head.branch.as_deref().map(short_branch);
        let Some(head) = standing.head.oid.clone() else {
            return Ok(Err(format!(
                "HEAD was moved to a branch without commits; stay on {branch}"
            )));
        };
        if !git.is_ancestor(&checkpoint, &head).await? {
            let on = on.unwrap_or("a detached HEAD");
            return Ok(Err(format!(
                "HEAD was moved to {on}, which does not contain the last checkpoint; stay on {branch}"
            )));
        }
        match on {
            Some(name) => {
                let told = format!(
                    "HEAD was on {name} and is put back to {branch}; the commits on {name} stay there"
                );
                self.tell(told);
                Ok(Ok(tip))
            }
            // Nothing but HEAD names those commits: they go below the checkpoint.
            None if git.is_ancestor(&tip, &head).await? => {
                self.tell(format!("HEAD was detached and is put back to {branch}"));
                Ok(Ok(head))
            }
            None => Ok(Err(format!(
                "HEAD was detached from {branch}, and both got commits; stay on {branch}"
            ))),
        }
    }

    /// Makes a checkpoint of the work tree as it is. One scan of the work tree.
    pub(super) async fn save_checkpoint(&mut self, saving: Saving, standing: &Standing) -> Result<(), Error> {
        let reading = self.read_work_tree().await?;
        self.count_unchanged(&saving, &reading);
        if !reading.unstorable.is_empty() {
            let names: Vec<_> = reading
                .unstorable
                .iter()
                .take(5)
                .map(|path| String::from_utf8_lossy(path))
                .collect();
            let told = format!("not committed, because git cannot store it: {}", names.join(", "));
            self.tell(told);
        }
        self.commit_checkpoint(saving, standing, reading.tree).await
    }

    /// Counts complete stories of agents that changed nothing but the story list.
    fn count_unchanged(&mut self, saving: &Saving, reading: &Reading) {
        let list = self.state.source.path.as_bytes();
        let only_list = match &reading.changes {
            Some(changes) => changes.iter().all(|(_, path)| path == list),
            None => reading.tree == self.state.checkpoint_tree,
        };
        let by_agent = self
            .state
            .running
            .as_ref()
            .is_some_and(|running| !running.by_hand || self.is_given_to_session());
        if by_agent && only_list {
            self.state.unchanged += 1;
            let story = saving.story.as_deref().unwrap_or_default();
            let why = match saving.denied.as_str() {
                "" => String::new(),
                tools => format!("; the agent was not allowed to use {tools}"),
            };
            self.tell(format!(
                "warning: {story} is said to be complete, but nothing was changed for it{why}"
            ));
        } else {
            self.state.unchanged = 0;
        }
    }

    /// Makes a checkpoint of a tree that the working index was just read into.
    pub(super) async fn commit_checkpoint(
        &mut self,
        saving: Saving,
        standing: &Standing,
        tree: Oid,
    ) -> Result<(), Error> {
        let git = &self.engine.repo.git;
        let commit = git.commit_tree(&tree, &[&saving.parent], &saving.subject).await?;
        self.state.intent = Some(Intent::Checkpoint {
            commit,
            tree,
            tip: standing.tip.clone(),
            story: saving.story,
            attempt: saving.attempt,
        });
        self.save()?;
        self.finish_checkpoint().await
    }

    /// Applies the intent of a checkpoint; doing it again is harmless.
    pub(super) async fn finish_checkpoint(&mut self) -> Result<(), Error> {
        let Some(Intent::Checkpoint {
            commit,
            tree,
            tip,
            story,
            attempt,
        }) = self.state.intent.clone()
        else {
            return Ok(());
        };
        let branch = self.state.change.branch_ref();
        let standing = self.standing().await?;
        self.head_is_known = false;
        let why = match &story {
            Some(story) => format!("ralph: checkpoint: {story}"),
            None => "ralph: checkpoint: edits".to_owned(),
        };
        let update = (standing.tip.as_ref() != Some(&commit)).then(|| Update::Move {
            name: branch,
            new: commit.clone(),
            old: tip,
        });
        let own = self.own_head();
        self.engine
            .repo
            .update_refs_and_head(update.as_slice(), &standing.head, &own, &why)
            .await?;
        self.install_working_index().await?;
        self.record_touched().await?;
        self.record_submodules().await?;
        self.state.checkpoint = commit.clone();
        self.state.checkpoint_tree = tree;
        self.state.noted = None;
        self.state.intent = None;
        if let (Some(id), Some(number)) = (&story, attempt)
            && self.state.source.commands.is_some()
        {
            let title = self.state.progress.story.as_ref();
            let title = title.map_or_else(String::new, |story| story.title.clone());
            let watched = self.watch(Others::Tracker).await?;
            self.tell_closed(id, &title, number).await;
            self.end_watch(watched).await?;
        }
        if story.is_some() {
            // Left behind it would be put back over the list of this checkpoint.
            self.forget_source_copies()?;
            self.state.running = None;
            self.advance(|progress| progress.end(Verdict::Complete, None))?;
            // A command is believed only when the list says the same.
            if self.state.source.commands.is_some() {
                let done = self.state.progress.completed.last().cloned();
                self.state.unmarked.extend(done);
            }
        }
        self.save()?;
        self.settled = true;
        self.emit(What::Checkpoint {
            story,
            attempt,
            oid: commit,
        });
        Ok(())
    }

    /// Before an attempt: the loop's branch is checked out at the checkpoint, and the work tree is the
    /// checkpoint's. Edits and commits that a person made since become a checkpoint of their own, so
    /// that a failed attempt cannot take them along. One scan of the work tree, none when this process has
    /// just made the checkpoint or gone back to it.
    pub(crate) async fn settle(&mut self, story: &str) -> Result<(), Error> {
        if self.settled {
            return Ok(());
        }
        let mut standing = self.standing().await?;
        let branch = self.state.change.branch_ref();
        if standing.head.branch.as_deref() != Some(&branch) {
            let at_checkpoint = standing.head.oid.as_ref() == Some(&self.state.checkpoint);
            let detached = standing.head.branch.is_none();
            if !(detached && at_checkpoint && standing.tip.as_ref() == Some(&self.state.checkpoint)) {
                return Err(self.head_elsewhere(&standing.head));
            }
            let own = self.own_head();
            self.engine
                .repo
                .set_head(&own, "ralph: back on the branch")
                .await?;
            self.head_is_known = false;
            self.tell(format!(
                "HEAD was detached and is put back to {}",
                self.state.branch
            ));
            standing.head = own;
        }
        if let Some(operation) = operations_in_progress(&self.engine.repo).first() {
            return Err(Error::OperationInProgress((*operation).to_owned()));
        }
        if let Some(dirty) = self.dirty_submodule().await? {
            return Err(Error::DirtySubmodule(dirty));
        }
        let checkpoint = self.state.checkpoint.clone();
        let tip = match &standing.tip {
            Some(tip) if self.engine.repo.git.is_ancestor(&checkpoint, tip).await? => tip.clone(),
            _ => {
                return Err(Error::CheckpointGone {
                    branch: self.state.branch.clone(),
                    checkpoint: checkpoint.short().to_owned(),
                });
            }
        };
        // What an attempt does to the user's refs is measured from here; git can be asked for both at once.
        let (is_as_left, refs) = tokio::join!(self.is_as_left(), self.other_refs_now());
        self.refs = Some(refs?);
        if tip == checkpoint && is_as_left? {
            return Ok(());
        }
        let reading = self.read_work_tree().await?;
        if tip == checkpoint && reading.tree == self.state.checkpoint_tree {
            // Permissions that a person changed are no edit for git, but not the attempt's to take along.
            let work = self.file("work.index");
            let known = self.file("checkpoint.index");
            let mut touched = self.touched_between(&known, &work);
            touched.extend(self.touched_at_once(&known, self.state.started));
            self.record_raw_bytes(&work, &touched).await?;
            return self.unversioned().record_modes(&touched);
        }
        let given = self
            .state
            .session
            .as_ref()
            .and_then(|session| session.given.as_ref());
        let whose = match given.filter(|given| self.still_stands(given)) {
            Some(given) => format!(" (an agent's session was given story {})", given.story),
            None => String::new(),
        };
        self.tell(format!(
            "edits made since the last checkpoint{whose} are kept as a checkpoint before {story}"
        ));
        let saving = Saving {
            story: None,
            attempt: None,
            parent: tip,
            subject: format!("checkpoint: edits before {story}"),
            denied: String::new(),
        };
        self.commit_checkpoint(saving, &standing, reading.tree).await
    }
}

impl Session<'_> {
    /// Whether index and work tree are certainly as the last step left them. `false` says nothing.
    pub(super) async fn is_as_left(&self) -> Result<bool, Error> {
        if !self.index_is_as_left() {
            return Ok(false);
        }
        let nested = self.users_nested();
        Ok(self.engine.repo.is_as_indexed(&nested).await?)
    }
}
