//! `abort`: back to exactly what was before `start`; what the loop made stays in a ref.

use std::fs::{self, File};
use std::io;
use std::time::{Duration, SystemTime};

use super::revert::Destination;
use super::{Engine, Session};
use crate::error::Error;
use crate::events::What;
use crate::fs::FileError;
use crate::fs::file_error;
use crate::git::worktree::Reading;
use crate::git::{Git, operations_in_progress};
use crate::names::Oid;
use crate::refs::Update;
use crate::state::{Intent, Progress, Store};

/// The user's index file as it was before the loop, in the loop's directory.
pub(super) const ORIGINAL_INDEX: &str = "original.index";
/// The index of the commit "initial state".
pub(super) const START_INDEX: &str = "start.index";

impl<'o> Session<'o> {
    /// Aborts a live loop so that it can begin anew, and gives the repository back as it is then.
    pub(super) async fn abort_for_restart(mut self) -> Result<Engine<'o>, Error> {
        if self.state.is_live() {
            self.abort().await?;
        }
        let Self { mut engine, .. } = self;
        engine.head = engine.repo.head().await?;
        Ok(engine)
    }

    /// Brings HEAD, index and work tree back to what they were before the loop, and closes it. What is
    /// there now is kept as `refs/ralph/<change>/finished`. Two scans of the work tree.
    ///
    /// # Errors
    /// When a person is needed (exit 7): HEAD is elsewhere, or the original branch has moved, is gone or
    /// is checked out elsewhere. Nothing is changed then.
    pub async fn abort(&mut self) -> Result<(), Error> {
        if !self.state.is_live() {
            return Err(Error::LoopFinished(self.change().to_string()));
        }
        let standing = self.standing().await?;
        let on = standing.head.branch.as_deref();
        let Some(tip) = standing
            .tip
            .clone()
            .filter(|_| on == Some(&self.state.change.branch_ref()))
        else {
            return Err(self.head_elsewhere(&standing.head));
        };
        if let Some(operation) = operations_in_progress(&self.engine.repo).first() {
            return Err(Error::OperationInProgress((*operation).to_owned()));
        }
        if self.original_now().await? != self.state.original_head {
            return Err(Error::OriginalMoved {
                change: self.change().to_string(),
                branch: self.state.original_name(),
            });
        }
        let now = self.read_work_tree().await?;
        let git = &self.engine.repo.git;
        let finished = if now.tree == git.tree_of(&tip).await? {
            tip.clone()
        } else {
            git.commit_tree(&now.tree, &[&tip], "what was there when the loop was aborted")
                .await?
        };
        self.state.intent = Some(Intent::Abort { finished, tip });
        self.save()?;
        self.finish_abort(Some(now)).await?;
        self.tell_hooks(None).await?;
        Ok(())
    }

    /// Applies the intent of `abort`; doing it again is harmless.
    pub(super) async fn finish_abort(&mut self, now: Option<Reading>) -> Result<(), Error> {
        let Some(Intent::Abort { finished, tip }) = self.state.intent.clone() else {
            return Ok(());
        };
        let why = format!("ralph: abort {}", self.state.change);
        let kept = self.state.change.ralph_ref("finished");
        let keep = Update::Set {
            name: kept.clone(),
            new: finished,
        };
        self.engine.repo.git.update_refs(&[keep], &why).await?;
        let initial = self.state.before.initial.clone();
        let destination = Destination {
            tree: self.engine.repo.git.tree_of(&initial).await?,
            commit: initial,
            index: self.file(START_INDEX),
        };
        let place = self.file("trash").join("abort");
        let now = if self.put_back_submodules_of_start(&kept, &place).await? {
            None
        } else {
            now
        };
        let touched = self.converge(now, "abort", &destination).await?;
        self.install_working_index().await?;
        self.restore_unversioned_of_start(&touched).await?;
        for path in self.unversioned().sparse_at_start()? {
            // It is as the first checkpoint has it, so nothing is lost.
            if self.engine.repo.exists(&path) {
                self.engine.repo.remove_file(&path)?;
            }
        }
        self.head_is_known = false;
        let original = self.original_head();
        if self.engine.repo.head().await? != original {
            self.engine.repo.set_head(&original, &why).await?;
        }
        self.install_original_index().await?;
        let head = self.engine.repo.head().await?;
        if self.branch_tip(&head).await?.as_ref() == Some(&tip) {
            let delete = Update::Delete {
                name: self.state.change.branch_ref(),
                old: tip,
            };
            self.engine.repo.git.update_refs(&[delete], &why).await?;
        }
        self.state.intent = None;
        self.advance(Progress::close)?;
        self.save()?;
        self.emit(What::Finished {
            how: "abort".to_owned(),
            branch: self.state.original_branch.clone(),
            kept,
        });
        Ok(())
    }

    /// The user's index, byte for byte.
    async fn install_original_index(&mut self) -> Result<(), Error> {
        let copy = self.file(ORIGINAL_INDEX);
        let real = self.engine.repo.index();
        if !copy.exists() && self.state.before.index {
            let git = &self.engine.repo.git;
            restore_original_index(git, self.state.before.anchor.as_ref(), &self.store).await?;
        }
        if copy.exists() {
            return Ok(self.engine.repo.install_index(&copy).await?);
        }
        if self.state.before.index {
            // The loop's directory was lost: what was staged is in the snapshot all the same.
            let staged = format!("{}^2", self.state.before.snapshot);
            let work = self.file("work.index");
            crate::git::index::discard(&work)?;
            self.engine
                .repo
                .git
                .cmd("read-tree", [staged])
                .index(&work)
                .done()
                .await?;
            return self.install_working_index().await;
        }
        match fs::remove_file(&real) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::File(FileError {
                what: "remove",
                path: real,
                source,
            })),
            _ => Ok(()),
        }
    }
}

/// The user's index byte for byte, from the commit that keeps it.
pub(super) async fn restore_original_index(
    git: &Git,
    anchor: Option<&Oid>,
    store: &Store,
) -> Result<(), Error> {
    let Some(anchor) = anchor else { return Ok(()) };
    // There was none if the repository had none.
    if let Some(bytes) = git.file_of(anchor, "index").await? {
        let path = store.file(ORIGINAL_INDEX);
        // As old as can be: git then looks at the content of every file that it names.
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        fs::write(&path, bytes)
            .and_then(|()| File::options().write(true).open(&path)?.set_modified(old))
            .map_err(|error| file_error("write", &path, error))?;
    }
    Ok(())
}
