//! Reverts: everything an attempt left is kept, then branch, HEAD, index and files are the
//! checkpoint's again (contract section 4, hazards 2.4).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Session;
use super::checkpoint::Standing;
use super::kept::take_numbers;
use super::other_refs::OtherRefs;
use super::progress::Outlook;
use super::trash::move_away;
use crate::error::Error;
use crate::events::What;
use crate::fs::FileError;
use crate::fs::make_accessible;
use crate::git::Head;
use crate::git::clear_operations;
use crate::git::index;
use crate::git::index_file::Index;
use crate::git::worktree::Reading;
use crate::names::{Oid, ref_component};
use crate::refs::{KeptRef, Update, free_names};
use crate::state::{Intent, Verdict};

/// Paths that differ, with git's letter for how.
type Changes = Vec<(u8, Vec<u8>)>;

/// How often the work tree may turn out to have changed while it is put back.
const TURNS: usize = 4;

/// A state that the work tree goes back to.
pub(super) struct Destination {
    /// Its tree.
    pub tree: Oid,
    /// The commit of that tree.
    pub commit: Oid,
    /// The index that described it, where it is still there.
    pub index: PathBuf,
}

/// What is being undone.
pub(super) struct Undoing {
    /// The story whose attempt it was.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// What the attempt came to; `None` when no attempt is judged (`git ralph revert`).
    pub verdict: Option<Verdict>,
    /// Why.
    pub reason: Option<String>,
}

impl Session<'_> {
    /// Keeps what an attempt left and goes back to the checkpoint. Two scans of the work tree.
    pub(super) async fn undo(&mut self, undoing: Undoing, standing: &Standing) -> Result<(), Error> {
        let now = self.read_work_tree().await?;
        let mut kept = self.keep(&undoing, standing, &now.tree).await?;
        let name = self.state.change.attempt_ref(&undoing.story, undoing.attempt);
        let put_back = self.put_refs_back(&name, &mut kept).await?;
        self.state.intent = Some(Intent::Revert {
            trash: format!("{}.{}", ref_component(&undoing.story), undoing.attempt),
            story: undoing.story,
            attempt: undoing.attempt,
            verdict: undoing.verdict,
            reason: undoing.reason,
            kept,
            put_back,
        });
        self.save()?;
        self.finish_revert(Some(now)).await
    }

    /// Makes the commit that keeps the work tree, and names the refs that keep it and every commit
    /// that would else be lost.
    async fn keep(&self, undoing: &Undoing, standing: &Standing, now: &Oid) -> Result<Vec<KeptRef>, Error> {
        let git = &self.engine.repo.git;
        let checkpoint = &self.state.checkpoint;
        let below = standing.head.oid.as_ref().unwrap_or(checkpoint);
        let what = match undoing.verdict {
            Some(verdict) => verdict.words(),
            None => "reverted by hand",
        };
        let message = format!(
            "attempt {} at {}: {what}\n\n{}\n",
            undoing.attempt,
            undoing.story,
            undoing.reason.as_deref().unwrap_or_default()
        );
        let commit = git.commit_tree(now, &[below], message.trim_end()).await?;
        let name = self.state.change.attempt_ref(&undoing.story, undoing.attempt);
        let mut kept = vec![KeptRef {
            name: name.clone(),
            oid: commit.clone(),
        }];
        if let Some(tip) = &standing.tip
            && tip != below
            && !git.is_ancestor(tip, &commit).await?
        {
            kept.push(KeptRef {
                name: format!("{name}-{}", tip.short()),
                oid: tip.clone(),
            });
        }
        Ok(kept)
    }

    /// Applies the intent of a revert; doing it again is harmless. `now` is the work tree
    /// when the working index was just read from it.
    pub(super) async fn finish_revert(&mut self, now: Option<Reading>) -> Result<(), Error> {
        let Some(Intent::Revert {
            trash,
            story,
            attempt,
            verdict,
            reason,
            kept,
            put_back,
        }) = self.state.intent.clone()
        else {
            return Ok(());
        };
        let standing = self.standing().await?;
        self.head_is_known = false;
        let checkpoint = self.state.checkpoint.clone();
        // A revert that was cut off may have done it all.
        let begun_before = now.is_none();
        let moved =
            standing.tip.as_ref() != Some(&checkpoint) || standing.head.oid.as_ref() != Some(&checkpoint);
        let branch = self.state.change.branch_ref();
        let why = format!("ralph: revert {story}@{attempt}");
        let mut updates = Vec::new();
        if standing.tip.as_ref() != Some(&checkpoint) {
            updates.push(Update::Move {
                name: branch,
                new: checkpoint.clone(),
                old: standing.tip,
            });
        }
        updates.extend(self.still_to_do(put_back).await?);
        // Where they are not known, none of such a name is expected.
        let known = self
            .refs
            .take()
            .or_else(|| (!begun_before).then(OtherRefs::default));
        let kept = self
            .keep_and_move(&kept, known, &updates, &standing.head, &why)
            .await?;
        clear_operations(&self.engine.repo)?;
        let destination = Destination {
            tree: self.state.checkpoint_tree.clone(),
            commit: checkpoint.clone(),
            index: self.file("checkpoint.index"),
        };
        let name = match kept.first() {
            Some(kept) => kept.name.clone(),
            None => self.state.change.attempt_ref(&story, attempt),
        };
        let place = self.file("trash").join(&trash);
        let now = if self.put_back_submodules(&name, &place).await? {
            None
        } else {
            now
        };
        let touched = self.converge(now, &trash, &destination).await?;
        let changed = begun_before || moved || !touched.is_empty() || kept.len() > 1 || place.exists();
        self.install_working_index().await?;
        self.restore_unversioned(&touched).await?;
        self.put_back_source()?;
        self.forget_refs();
        self.state.intent = None;
        self.state.running = None;
        let outlook = match verdict {
            Some(verdict) => self.advance(|progress| progress.end(verdict, reason))?,
            None => Outlook::Uncounted,
        };
        self.save()?;
        self.settled = true;
        self.emit(What::Reverted {
            story: Some(story.clone()),
            attempt: Some(attempt),
            oid: checkpoint,
            kept: kept.first().map(|kept| kept.name.clone()),
            changed,
        });
        if outlook == Outlook::RetriesSpent {
            self.emit(What::MaxRetriesExceeded {
                story,
                max_retries: self.state.progress.max_retries,
            });
        }
        Ok(())
    }

    /// Keeps what is to be kept under names that are free, and moves the other refs and HEAD, at once; gives
    /// those names. `known` are the refs, where they are known.
    pub(super) async fn keep_and_move(
        &mut self,
        wanted: &[KeptRef],
        known: Option<OtherRefs>,
        moves: &[Update],
        from: &Head,
        why: &str,
    ) -> Result<Vec<KeptRef>, Error> {
        let own = self.own_head();
        let mut refs = match known {
            Some(known) => known,
            None => self.read_other_refs().await?,
        };
        let mut is_new = false;
        loop {
            let (mut updates, kept) = free_names(wanted, |name| refs.at(name));
            updates.extend_from_slice(moves);
            let repo = &self.engine.repo;
            match repo.update_refs_and_head(&updates, from, &own, why).await {
                Ok(()) => {
                    self.tell_other_names(wanted, &kept);
                    let names = kept.iter().map(|kept| kept.name.as_str());
                    take_numbers(&self.store, &self.state.change, names)?;
                    return Ok(kept);
                }
                Err(error) if is_new => return Err(error.into()),
                // A ref of such a name may have come in between.
                Err(_) => (refs, is_new) = (self.read_other_refs().await?, true),
            }
        }
    }

    fn tell_other_names(&mut self, wanted: &[KeptRef], kept: &[KeptRef]) {
        for (wanted, kept) in wanted.iter().zip(kept) {
            if wanted.name != kept.name {
                self.tell(format!(
                    "{} is another commit already, and stays; this one is kept as {}",
                    wanted.name, kept.name
                ));
            }
        }
    }

    /// Brings the work tree to a state it had before, touching only what differs. What git does not keep
    /// goes to the trash, by renaming. Gives the paths that were touched since that state, or now.
    pub(super) async fn converge(
        &mut self,
        mut now: Option<Reading>,
        trash: &str,
        destination: &Destination,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let target = destination.tree.clone();
        let trash = self.file("trash").join(trash);
        let work = self.file("work.index");
        let mut touched = Vec::new();
        let mut changed = Vec::new();
        let mut added = Vec::new();
        for turn in 0..TURNS {
            let mut now = match now.take() {
                Some(now) => now,
                None => self.read_work_tree().await?,
            };
            touched.extend(self.touched_between(&destination.index, &work));
            let running = self.state.running.as_ref();
            let since = running.map_or(self.state.started, |running| running.since);
            touched.extend(self.touched_at_once(&destination.index, since));
            if turn == 0 {
                self.keep_raw_bytes(&work, &touched, &trash).await?;
            }
            let changes = match now.changes.take() {
                // They were compared with the checkpoint.
                Some(changes) if now.nested.is_empty() && target == self.state.checkpoint_tree => changes,
                _ => self.engine.repo.git.diff_trees(&target, &now.tree).await?,
            };
            let came = changes.iter().filter(|(status, _)| *status == b'A');
            added.extend(came.map(|(_, path)| path.clone()));
            let rules_were = self.restore_rules(&work, &changes, destination).await?;
            // A file that changed meanwhile keeps all from being changed; the next turn sees it.
            let done = match rules_were {
                Some(tree) => {
                    let changes = self.engine.repo.git.diff_trees(&target, &tree).await?;
                    self.clear_the_way(&changes, &trash)?;
                    let repo = &self.engine.repo;
                    repo.switch_work_tree(&work, &tree, &target).await.is_ok()
                }
                None => {
                    let (tree, changes) = self.leave_ignored(&work, now, changes).await?;
                    self.clear_the_way(&changes, &trash)?;
                    let repo = &self.engine.repo;
                    let (known, oid) = (&destination.index, self.oid_length());
                    if turn == 0 && index::held_tree(known, oid).as_ref() == Some(&target) {
                        matches!(repo.restore_changes(&work, known, oid, &changes).await, Ok(true))
                    } else {
                        repo.switch_work_tree(&work, &tree, &target).await.is_ok()
                    }
                }
            };
            if done {
                for path in self.made_unseen(&work)? {
                    self.move_to_trash(&path, &trash)?;
                }
                let left = self.engine.repo.differences(&work).await?;
                self.clear_leftovers(&left.untracked, &work, &added, &trash)
                    .await?;
                changed = left.changed;
                if changed.is_empty() {
                    self.narrow_sparse(&work).await?;
                    return Ok(touched);
                }
            } else {
                self.open_directories();
                make_accessible(&self.engine.repo.top);
            }
        }
        Err(Error::Restless(
            changed
                .iter()
                .take(5)
                .map(|path| String::from_utf8_lossy(path).into_owned())
                .collect(),
        ))
    }

    /// When the attempt changed ignore or attribute rules, those of the checkpoint come back first: they
    /// decide what is whose and what a file's content is. The working index is then the checkpoint's,
    /// and what it does not know is left for the trash. Gives the tree of the tracked files.
    async fn restore_rules(
        &mut self,
        work: &Path,
        changes: &Changes,
        destination: &Destination,
    ) -> Result<Option<Oid>, Error> {
        let repo = &self.engine.repo;
        let target = &destination.tree;
        let mut rules = changes.clone();
        rules.retain(|(_, path)| is_rules(path));
        if rules.is_empty() {
            return Ok(None);
        }
        repo.restore_files(&self.file("rules.index"), target, &rules)
            .await?;
        repo.private_index(&destination.index, work, Some(&destination.commit))
            .await?;
        Ok(Some(repo.read_tracked(work).await?))
    }

    /// Takes out of the working index what the checkpoint's ignore rules cover, or was there untracked, and the
    /// checkpoint does not hold: an agent may have force-added files that are the user's.
    async fn leave_ignored(
        &self,
        work: &Path,
        now: Reading,
        mut changes: Changes,
    ) -> Result<(Oid, Changes), Error> {
        let repo = &self.engine.repo;
        let added: Vec<Vec<u8>> = changes
            .iter()
            .filter(|(status, _)| *status == b'A')
            .map(|(_, path)| path.clone())
            .collect();
        let known = self.known_before()?;
        // The attempt has taken away the rule that hid it.
        let (was_there, mut added): (Vec<_>, Vec<_>) =
            added.into_iter().partition(|path| known.holds_back(path));
        if now.nested.is_empty() && !added.is_empty() {
            // What was not in the attempt's own index was added by us, and that leaves ignored files out.
            let bytes = fs::read(repo.index()).unwrap_or_default();
            if let Some(its) = Index::parse(&bytes, now.tree.as_str().len() / 2) {
                let has = |path: &Vec<u8>| its.entries.binary_search_by(|entry| (*entry.path).cmp(path));
                added.retain(|path| has(path).is_ok());
            }
        }
        let mut ignored = repo.ignored_among(work, &added).await?;
        ignored.extend(was_there);
        if ignored.is_empty() {
            return Ok((now.tree, changes));
        }
        repo.update_index(work, &["--force-remove"], &ignored).await?;
        let ignored: HashSet<Vec<u8>> = ignored.into_iter().collect();
        changes.retain(|(_, path)| !ignored.contains(path));
        Ok((repo.git.write_tree(work).await?, changes))
    }

    /// Moves to the trash what stands where the checkpoint has something and what git does not know of
    /// (ignored files, what is under a rule that the attempt added): git would not write over it.
    /// `changes` says how the work tree differs from the checkpoint.
    fn clear_the_way(&mut self, changes: &Changes, trash: &Path) -> Result<(), Error> {
        let goes = |path: &[u8]| {
            changes
                .iter()
                .any(|(status, gone)| *status == b'A' && gone == path)
        };
        for (_, path) in changes.iter().filter(|(status, _)| *status == b'D') {
            if let Some(in_the_way) = self.engine.repo.first_in_the_way(path)
                && !goes(&in_the_way)
            {
                self.clear_out_of_the_way(&in_the_way, trash)?;
            }
        }
        Ok(())
    }

    /// Moves a path of the work tree to the trash.
    pub(super) fn move_to_trash(&self, path: &[u8], trash: &Path) -> Result<(), Error> {
        let name = OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path));
        let below = [name.as_bytes(), b"/"].concat();
        let is_users = |nested: &Vec<u8>| *nested == name.as_bytes() || nested.starts_with(&below);
        if self.users_nested().iter().any(is_users) {
            return Ok(());
        }
        let from = self.engine.repo.top.join(name);
        let mut to = trash.join(name);
        let mut copy = 1;
        while to.symlink_metadata().is_ok() {
            copy += 1;
            to = trash.join(format!("{copy}")).join(name);
        }
        let error = |source: io::Error| {
            Error::File(FileError {
                what: "move to the trash",
                path: from.clone(),
                source,
            })
        };
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(error)?;
        }
        match self.with_rights(&from, || move_away(&from, &to)) {
            Ok(()) => Ok(()),
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(error(source)),
        }
    }
}

fn is_rules(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name == b".gitignore" || name == b".gitattributes"
}
