//! After a crash: completes a step that had begun to change things, ends an attempt whose process
//! died, and says which (contract section 6, journal rules J4 to J6).

use std::fs;
use std::io;

use super::Session;
use super::guard_rail::AGENT;
use super::revert::Undoing;
use crate::agent::orphans::Orphaned;
use crate::error::Error;
use crate::events::{Attempt, What};
use crate::fs::FileError;
use crate::git::index;
use crate::state::{Intent, Phase, Verdict};

impl Session<'_> {
    pub(super) async fn recover(&mut self) -> Result<(), Error> {
        if let Some(intent) = self.state.intent.clone() {
            let step = intent.step();
            self.end_orphans().await?;
            self.remove_stale_locks().await?;
            match intent {
                Intent::Start { .. } => self.finish_start().await?,
                Intent::Checkpoint { .. } => self.finish_checkpoint().await?,
                Intent::Revert { .. } => self.finish_revert(None).await?,
                Intent::Cleanup { .. } => self.finish_cleanup(None).await?,
                Intent::Keep { .. } => self.finish_keep().await?,
                Intent::Abort { .. } => self.finish_abort(None).await?,
                Intent::Restore { .. } => self.finish_restore().await?,
            }
            self.tell(format!(
                "an earlier git-ralph was cut off; {step} is completed now"
            ));
        }
        if self.state.progress.phase == Phase::Running {
            self.end_interrupted_attempt().await?;
        } else if self.state.running.is_some() {
            // The gates that are run before any attempt, or a hook.
            self.end_orphans().await?;
            self.state.running = None;
            self.save()?;
        }
        // Hooks are told by the command that does the thing, or not at all.
        self.due.clear();
        Ok(())
    }

    /// The attempt's git-ralph died: nothing of it may go on, and what it left is kept and undone.
    async fn end_interrupted_attempt(&mut self) -> Result<(), Error> {
        self.end_orphans().await?;
        self.take_rights_back();
        self.put_back_own_files().await?;
        self.remove_stale_locks().await?;
        self.mend_index().await?;
        if self.state.running.as_ref().is_some_and(|running| running.by_hand) {
            return self.forget_what_was_said();
        }
        let Some(story) = self.state.progress.story.clone() else {
            return Ok(());
        };
        self.take_guard_away(Some((&story.id, story.attempt)), AGENT);
        let reason = "git-ralph was cut off during the attempt".to_owned();
        let since = self.state.running.as_ref().map(|running| running.since);
        let now = jiff::Timestamp::now();
        self.emit(What::AttemptEnded(Attempt {
            story: story.id.clone(),
            attempt: story.attempt,
            verdict: Verdict::Interrupted,
            reason: Some(reason.clone()),
            started: since.unwrap_or(now),
            duration: since.map_or(0.0, |since| now.duration_since(since).as_secs_f64()),
            exit_code: None,
            cost_usd: None,
            input_tokens: None,
            output_tokens: None,
        }));
        let standing = self.standing().await?;
        self.put_own_refs_back().await?;
        self.undo(
            Undoing {
                story: story.id.clone(),
                attempt: story.attempt,
                verdict: Some(Verdict::Interrupted),
                reason: Some(reason),
            },
            &standing,
        )
        .await?;
        self.tell(format!(
            "attempt {} at {} was cut off; it does not count, and what it left is kept: git ralph log",
            story.attempt, story.id
        ));
        Ok(())
    }

    /// `complete` or `fail` was cut off before it changed anything but the story list: the work tree is a
    /// person's, and stays.
    fn forget_what_was_said(&mut self) -> Result<(), Error> {
        self.put_back_judged_source()?;
        self.follow_cut_off_answer();
        self.advance(|progress| progress.end(Verdict::Interrupted, None))?;
        self.state.running = None;
        self.save()?;
        self.tell(
            "an earlier git-ralph was cut off before it did what was asked; the work tree is as it was",
        );
        Ok(())
    }

    async fn end_orphans(&mut self) -> Result<(), Error> {
        let Some(running) = self.state.running.clone() else {
            return Ok(());
        };
        let work_tree = self.engine.repo.top.clone();
        let attempt = Orphaned {
            run: running.run,
            pid: running.pid,
            started: running.started,
            since: running.since,
            work_tree: &work_tree,
        };
        let mut stop = self.engine.stop.clone();
        let told = attempt.end(async move {
            stop.asked(1).await;
        });
        for text in told.await? {
            self.tell(text);
        }
        Ok(())
    }

    /// Removes locks that a killed git left. Only called when nothing of the attempt or of the step that
    /// was cut off is alive; a git of the user's in another window gets a moment to finish. Says how
    /// many there were.
    pub(super) async fn remove_stale_locks(&self) -> Result<usize, Error> {
        let repo = &self.engine.repo;
        let branch = self.state.change.branch_ref();
        let mut locks = vec![
            index::lock_of(&repo.index()),
            index::lock_of(&self.file("work.index")),
            repo.git_dir.join("HEAD.lock"),
            repo.common_dir.join("packed-refs.lock"),
            repo.common_dir.join(format!("{branch}.lock")),
        ];
        collect_locks(&repo.common_dir.join(self.state.change.ralph_ref("")), &mut locks);
        locks.retain(|lock| lock.exists());
        index::wait_for_locks(&locks).await;
        let mut removed = 0;
        for lock in locks {
            match fs::remove_file(&lock) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::File(FileError {
                        what: "remove",
                        path: lock,
                        source,
                    }));
                }
            }
        }
        Ok(removed)
    }
}

fn collect_locks(dir: &std::path::Path, locks: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_locks(&path, locks);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            locks.push(path);
        }
    }
}
