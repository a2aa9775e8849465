//! `finish`: the work comes back to the original branch as uncommitted changes, or stays on the loop's
//! branch (contract section 4, hazards 2.6).

use super::Session;
use crate::error::Error;
use crate::events::What;
use crate::git::index;
use crate::names::{Oid, short_branch};
use crate::refs::Update;
use crate::state::{Intent, Progress};

/// What becomes of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Back to the original branch, uncommitted; the loop's branch is deleted.
    Cleanup {
        /// Whether what was staged before the loop is staged again, where the loop has not changed it.
        index: bool,
    },
    /// Stay on the loop's branch.
    Keep,
}

impl Session<'_> {
    /// Closes the loop.
    ///
    /// # Errors
    /// When a person is needed (exit 7): HEAD is elsewhere, the original branch is gone, checked out
    /// elsewhere, or has moved on and conflicts. Nothing is changed then.
    pub async fn finish(&mut self, how: Finish) -> Result<(), Error> {
        if !self.state.is_live() {
            return Err(Error::LoopFinished(self.change().to_string()));
        }
        self.before_finish(how).await?;
        match how {
            Finish::Cleanup { index } => self.cleanup(index).await?,
            Finish::Keep => self.keep_branch().await?,
        }
        self.tell_hooks(None).await?;
        // The loop is closed; what could not be cleared away now goes with a later one.
        if let Err(error) = self.engine.prune(None).await {
            self.tell(format!("what older loops left could not be removed: {error}"));
        }
        Ok(())
    }

    async fn keep_branch(&mut self) -> Result<(), Error> {
        let standing = self.standing().await?;
        let tip = standing.tip.unwrap_or_else(|| self.state.checkpoint.clone());
        self.state.intent = Some(Intent::Keep {
            finished: tip,
            head: standing.head.branch,
        });
        self.save()?;
        self.finish_keep().await
    }

    /// Applies the intent of `finish --keep`; doing it again is harmless.
    pub(super) async fn finish_keep(&mut self) -> Result<(), Error> {
        let Some(Intent::Keep { finished, head }) = self.state.intent.clone() else {
            return Ok(());
        };
        let name = self.state.change.ralph_ref("finished");
        let update = Update::Set {
            name: name.clone(),
            new: finished,
        };
        let why = format!("ralph: finish --keep {}", self.state.change);
        self.engine.repo.git.update_refs(&[update], &why).await?;
        self.state.intent = None;
        self.advance(Progress::close)?;
        self.save()?;
        self.emit(What::Finished {
            how: "keep".to_owned(),
            branch: head.as_deref().map(|branch| short_branch(branch).to_owned()),
            kept: name,
        });
        Ok(())
    }

    async fn cleanup(&mut self, index: bool) -> Result<(), Error> {
        let standing = self.standing().await?;
        let on = standing.head.branch.as_deref();
        let branch = self.state.change.branch_ref();
        let Some(tip) = standing.tip.clone().filter(|_| on == Some(&branch)) else {
            return Err(self.head_elsewhere(&standing.head));
        };
        if let Some(operation) = crate::git::operations_in_progress(&self.engine.repo).first() {
            return Err(Error::OperationInProgress((*operation).to_owned()));
        }
        let original = self.original_now().await?;
        let mut read = None;
        let (finished, merged) = match (&self.state.original_head, &original) {
            (Some(was), Some(now)) if was != now => {
                let (was, now) = (was.clone(), now.clone());
                let ours = self.work_tree_now().await?;
                let merged = self.merge_with_original(&was, &now, &ours).await?;
                read = Some(ours.clone());
                (self.final_state(&tip, &ours).await?, Some(merged))
            }
            _ => (tip.clone(), None),
        };
        let staged = match &original {
            Some(original) if index => Some(self.staged_again(original, &finished).await?),
            _ => None,
        };
        self.state.intent = Some(Intent::Cleanup {
            finished,
            tip: Some(tip),
            original,
            merged,
            staged,
        });
        self.save()?;
        self.finish_cleanup(read).await
    }

    /// The tree of an index in which what was staged before the loop is staged upon `original`, except
    /// for files that the loop changed.
    async fn staged_again(&self, original: &Oid, finished: &Oid) -> Result<Oid, Error> {
        let git = &self.engine.repo.git;
        let snapshot = &self.state.before.snapshot;
        let was_staged = git.tree_of_name(&format!("{snapshot}^2")).await?;
        let was = match &self.state.original_head {
            Some(head) => git.tree_of(head).await?,
            None => git.empty_tree().await?,
        };
        let before = git.tree_of(snapshot).await?;
        let after = git.tree_of(finished).await?;
        let changed = git.diff_trees(&before, &after).await?;
        let mut staged = git.staged_between(&was, &was_staged).await?;
        staged.retain(|entry| !changed.iter().any(|(_, path)| *path == entry.path));
        let scratch = self.file("staged.index");
        index::discard(&scratch)?;
        git.cmd("read-tree", [original.as_str()])
            .index(&scratch)
            .done()
            .await?;
        self.engine.repo.set_entries(&scratch, &staged).await?;
        let tree = git.write_tree(&scratch).await?;
        index::discard(&scratch)?;
        Ok(tree)
    }

    /// Where the original branch is now; `None` when it has no commit yet.
    pub(super) async fn original_now(&self) -> Result<Option<Oid>, Error> {
        let Some(branch) = &self.state.original_branch else {
            return Ok(self.state.original_head.clone());
        };
        let name = format!("refs/heads/{branch}");
        let refs = self.engine.repo.git.refs(&[&name]).await?;
        let found = refs.into_iter().find(|found| found.name == name);
        match (found, &self.state.original_head) {
            (Some(found), _) if found.checked_out.is_some() => Err(Error::OriginalElsewhere {
                branch: branch.clone(),
                path: found.checked_out.unwrap_or_default(),
            }),
            (Some(_), None) => Err(Error::OriginalBorn {
                change: self.change().to_string(),
                branch: branch.clone(),
            }),
            (Some(found), Some(_)) => Ok(Some(found.oid)),
            (None, None) => Ok(None),
            (None, Some(was)) => Err(Error::OriginalGone {
                change: self.change().to_string(),
                branch: branch.clone(),
                oid: was.to_string(),
            }),
        }
    }

    /// The tree of the work tree as it is now, which the working index then describes. One scan.
    async fn work_tree_now(&mut self) -> Result<Oid, Error> {
        if self.is_as_left().await? {
            self.working_index().await?;
            return Ok(self.state.checkpoint_tree.clone());
        }
        Ok(self.read_work_tree().await?.tree)
    }

    /// The commit that keeps what the loop came to: its tip, or one above it with what came after.
    async fn final_state(&self, tip: &Oid, tree: &Oid) -> Result<Oid, Error> {
        let git = &self.engine.repo.git;
        let of_tip = if *tip == self.state.checkpoint {
            self.state.checkpoint_tree.clone()
        } else {
            git.tree_of(tip).await?
        };
        if of_tip == *tree {
            return Ok(tip.clone());
        }
        Ok(git.commit_tree(tree, &[tip], "final state").await?)
    }

    /// The original branch has moved on from `was` to `now`: merges what the loop did into it, in the object
    /// database.
    async fn merge_with_original(&self, was: &Oid, now: &Oid, ours: &Oid) -> Result<Oid, Error> {
        let repo = &self.engine.repo;
        let git = &repo.git;
        let branch = self.state.original_branch.clone().unwrap_or_default();
        let text = |paths: Vec<Vec<u8>>| {
            paths
                .iter()
                .map(|p| String::from_utf8_lossy(p).into_owned())
                .collect()
        };
        let merged = match git.merge_trees(was, now, ours).await? {
            Ok(merged) => merged,
            Err(paths) => {
                return Err(Error::Conflict {
                    change: self.change().to_string(),
                    branch,
                    paths: text(paths),
                });
            }
        };
        let in_the_way = repo.in_the_way(&git.diff_trees(ours, &merged).await?);
        if !in_the_way.is_empty() {
            return Err(Error::InTheWay {
                of: format!("what {branch} got meanwhile"),
                paths: text(in_the_way),
            });
        }
        Ok(merged)
    }

    /// Applies the intent of `finish --cleanup`; doing it again is harmless. No file is touched when
    /// the original branch has not moved. `read` is the tree that the working index was just read from.
    pub(super) async fn finish_cleanup(&mut self, read: Option<Oid>) -> Result<(), Error> {
        let Some(Intent::Cleanup {
            finished,
            tip,
            original,
            merged,
            staged,
        }) = self.state.intent.clone()
        else {
            return Ok(());
        };
        let why = format!("ralph: finish {}", self.state.change);
        let kept = self.state.change.ralph_ref("finished");
        let keep = Update::Set {
            name: kept.clone(),
            new: finished,
        };
        let standing = self.standing().await?;
        self.head_is_known = false;
        let mut head = self.original_head();
        head.oid.clone_from(&original);
        let stays = merged.is_some() || (head.branch.is_some() && standing.head.branch == head.branch);
        let git = &self.engine.repo.git;
        if stays {
            git.update_refs(&[keep], &why).await?;
        } else {
            let repo = &self.engine.repo;
            repo.update_refs_and_head(&[keep], &standing.head, &head, &why)
                .await?;
        }
        let moves = merged.is_some() && (standing.head.branch != head.branch || head.branch.is_none());
        let work = self.file("work.index");
        // The tree that the working index holds, where that is certain.
        let held = match merged {
            Some(merged) => {
                let now = match read {
                    Some(read) => read,
                    None => self.work_tree_now().await?,
                };
                self.engine.repo.switch_work_tree(&work, &now, &merged).await?;
                Some(merged)
            }
            None => {
                let repo = &self.engine.repo;
                repo.private_index(&repo.index(), &work, original.as_ref())
                    .await?;
                index::held_tree(&work, self.oid_length())
            }
        };
        if moves {
            self.engine.repo.set_head(&head, &why).await?;
        }
        let repo = &self.engine.repo;
        match (staged.as_ref().or(original.as_ref()), held) {
            // Only what differs: a tree of many files takes long to read.
            (Some(content), Some(held)) => {
                let entries = repo.git.staged_between(&held, content).await?;
                repo.set_entries(&work, &entries).await?;
            }
            (Some(content), None) => {
                let args = ["--no-sparse-checkout", "--reset", content.as_str()];
                repo.git.cmd("read-tree", args).index(&work).done().await?;
            }
            (None, _) => repo.git.cmd("read-tree", ["--empty"]).index(&work).done().await?,
        }
        self.hide_again(&work).await?;
        let repo = &self.engine.repo;
        repo.install_index(&work).await?;
        index::discard(&work)?;
        let branch = self.state.change.branch_ref();
        if let Some(old) = tip.filter(|tip| standing.tip.as_ref() == Some(tip)) {
            let delete = Update::Delete { name: branch, old };
            self.engine.repo.git.update_refs(&[delete], &why).await?;
        }
        self.state.intent = None;
        self.advance(Progress::close)?;
        self.save()?;
        self.emit(What::Finished {
            how: "cleanup".to_owned(),
            branch: self.state.original_branch.clone(),
            kept,
        });
        Ok(())
    }
}
