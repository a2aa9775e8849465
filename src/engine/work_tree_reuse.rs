//! Reuses the work tree of a side whose story was accepted for its next story, without preparing it again.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use super::work_tree_contents::prepared_in;
use super::work_tree_lock::{is_locked, note_made, note_making, reason};
use super::work_tree_place::OwnTree;
use super::work_tree_removal::TRASH;
use crate::error::Error;
use crate::events::Notices;
use crate::fs::{Below, FileError, entries_of, may_exist, path_below, remove_named_dir};
use crate::git::worktree::{Count, Whose};
use crate::git::{Repo, RepoLayout, StagedEntry, discover, index, oid_of};
use crate::names::Oid;
use crate::paths::named_in;
use crate::protect::{KeptModes, put_unkept_away};
use crate::refs::Update;
use crate::state::{State, Store};

/// The names of files with rules that decide which other files git ignores, or sees as changed.
const RULES: [&[u8]; 2] = [b".gitignore", b".gitattributes"];

/// Names of the entries of a linked work tree's git directory without settings, operations and refs of its own.
const PLAIN: [&str; 9] = [
    "COMMIT_EDITMSG",
    "HEAD",
    "ORIG_HEAD",
    "commondir",
    "gitdir",
    "index",
    "locked",
    "logs",
    "ralph",
];

/// The changes from the present content of a work tree to its next content, and the files made by its preparation.
struct Way {
    made: Repo,
    from: Oid,
    to: Oid,
    changes: Vec<(u8, Vec<u8>)>,
    set_up: Vec<StagedEntry>,
    /// All that was untracked after the preparation, directories with a final slash.
    untracked: Vec<Vec<u8>>,
}

impl OwnTree<'_> {
    /// Returns the state of the side that was last closed in this place.
    pub(super) fn closed_side(self) -> Result<Option<State>, Error> {
        let state = Store::new(&self.context.repo.common_dir, self.change).load()?;
        Ok(state.filter(|state| state.here.is_side && !state.is_live()))
    }

    /// Checks a commit out in the work tree that a side has left, and moves files to the trash that neither a commit
    /// has nor its preparation made. Returns the new files of the preparation; `None` if a new work tree is needed:
    /// this one has changed, its preparation or the ignore rules differ for this commit, or an operation fails.
    pub(super) async fn take_over(self, left: &State, head: &Oid) -> Result<Option<Vec<StagedEntry>>, Error> {
        let taken = async {
            match self.way_to(left, head).await? {
                Some(way) => Box::pin(self.go(way, head)).await,
                None => Ok(None),
            }
        };
        Box::pin(taken).await.or_else(|error| {
            tracing::warn!("cannot use {} again: {error}", left.work_tree().display());
            Ok(None)
        })
    }

    /// Deletes the ref that kept the commit of a work tree that a side left. Other files that a user left there stay.
    pub(super) async fn forget_left(self, left: &State) -> Result<(), Error> {
        let git = &self.context.repo.git;
        let name = self.change.ralph_ref("finished");
        if let Some(finished) = oid_of(&git.refs(&[&name]).await?, &name)
            && git.tree_of(&finished).await? == *left.checkpoint_tree()
        {
            git.update_refs(&[Update::delete(name, finished)], "ralph: start")
                .await?;
        }
        Ok(())
    }

    /// Finds the changes to a commit; `None` if they would lose files, or give another result than a new work tree.
    async fn way_to(self, left: &State, head: &Oid) -> Result<Option<Way>, Error> {
        let (top, repo) = (left.work_tree(), &self.context.repo);
        let layout = RepoLayout::of_work_tree(top).filter(|layout| layout.shares(&repo.common_dir));
        let (Some(layout), Some(base)) = (layout, &left.common.original_head) else {
            return Ok(None);
        };
        // Checked before git runs there: a parallel attempt may have changed its settings.
        if !is_locked(top, &reason(self.change)) || !is_plain(&layout.git_dir)? {
            return Ok(None);
        }
        let (made, at) = discover(top).await?;
        let Some(untracked) = prepared_in(self, &made)? else {
            return Ok(None);
        };
        let name = self.change.ralph_ref("finished");
        let finished = oid_of(&repo.git.refs(&[&name]).await?, &name);
        let Some(at) = at
            .oid
            .filter(|oid| at.branch.is_none() && finished.as_ref() == Some(oid))
        else {
            return Ok(None);
        };
        let git = &made.git;
        let (from, to) = (git.tree_of(&at).await?, git.tree_of(head).await?);
        let changes = git.diff_trees(&from, &to).await?;
        let way = Way {
            set_up: left.here.gate_files.borrow().clone(),
            untracked,
            made,
            from,
            to,
            changes,
        };
        let is_usable =
            way.keeps_rules() && way.is_prepared(self, base).await? && way.is_as_left(&at).await?;
        Ok(is_usable.then_some(way))
    }

    /// Makes these changes. If this process dies, the work tree counts as half made.
    async fn go(self, way: Way, head: &Oid) -> Result<Option<Vec<StagedEntry>>, Error> {
        let (made, repo) = (&way.made, &self.context.repo);
        let mode = repo.sharing.file_mode();
        note_making(self.change, &made.top, mode)?;
        let known = made.read_index_if_there(&made.index())?;
        let files = known.entries().map(|entry| entry.path);
        let kept: Vec<Vec<u8>> = files.chain(way.of_preparation()).map(<[u8]>::to_vec).collect();
        let trash = Store::new(&repo.common_dir, self.change)
            .file("trash")
            .join(TRASH);
        if let Some(place) = put_unkept_away(&made.top, &kept, &[], (&repo.door(&trash), &trash))? {
            self.tell(format!(
                "what no commit has of the last attempt in {} is moved to {}",
                self.change,
                place.display()
            ));
        }
        way.remove_empty_dirs()?;
        if !made.in_the_way(&way.changes)?.is_empty() {
            return Ok(None);
        }
        made.switch_work_tree(&made.index(), &way.from, &way.to).await?;
        let args = ["--no-deref", "-m", "ralph: start", "HEAD", head.as_str()];
        made.git.cmd("update-ref", args).done().await?;
        let paths = way.changes.iter().map(|(_, path)| path.as_slice());
        KeptModes::read(repo, paths)?.give(made)?;
        // Rules that git reads from other files may have changed.
        if !way.has_nothing_but(&way.to, head).await? || !way.has_all() {
            return Ok(None);
        }
        note_made(self.change, &made.top, mode)?;
        Ok(Some(way.set_up))
    }
}

impl Way {
    /// Returns the paths that the preparation made, directories without a final slash.
    fn of_preparation(&self) -> impl Iterator<Item = &[u8]> {
        let untracked = self.untracked.iter();
        untracked.map(|path| path.strip_suffix(b"/").unwrap_or(path))
    }

    /// Removes empty directories, except those of the preparation.
    fn remove_empty_dirs(&self) -> Result<(), FileError> {
        let made: HashSet<&[u8]> = self.of_preparation().collect();
        let (mut found, mut next) = (Vec::new(), vec![Vec::new()]);
        while let Some(dir) = next.pop() {
            for entry in entries_of(&path_below(&self.made.top, &dir))? {
                let path = named_in(&dir, entry.file_name().as_encoded_bytes());
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_dir && entry.file_name() != ".git" && !made.contains(path.as_slice()) {
                    next.push(path.clone());
                    found.push(path);
                }
            }
        }
        for dir in found.iter().rev() {
            // A directory that is not empty stays.
            let _ = remove_named_dir(&path_below(&self.made.top, dir));
        }
        Ok(())
    }

    /// Returns whether both trees have the same rules for what is ignored, and for how it is read.
    fn keeps_rules(&self) -> bool {
        let paths = self.changes.iter().map(|(_, path)| path);
        let mut names = paths.filter_map(|path| path.rsplit(|byte| *byte == b'/').next());
        !names.any(|name| RULES.contains(&name))
    }

    /// Returns whether the preparation would have the same result for both trees as for `base`, and its files exist.
    async fn is_prepared(&self, own: OwnTree<'_>, base: &Oid) -> Result<bool, Error> {
        let (git, inputs) = (&self.made.git, own.settings.all_setup_inputs());
        let before = git.tree_of(base).await?;
        for tree in [&self.from, &self.to] {
            if !git.changes_among(&before, tree, &inputs).await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(self.has_all())
    }

    fn has_all(&self) -> bool {
        self.of_preparation()
            .all(|path| may_exist(&path_below(&self.made.top, path)))
    }

    /// Returns whether files and index match the commit `at`.
    async fn is_as_left(&self, at: &Oid) -> Result<bool, Error> {
        let staged = ["--cached", "--quiet", at.as_str(), "--"];
        let staged = self.made.git.cmd("diff-index", staged).any_exit().await?;
        Ok(staged.code == Some(0) && self.has_nothing_but(&self.from, at).await?)
    }

    /// Returns whether the files are those of a commit with this tree, and the new ones of the preparation, and no flag
    /// of the index hides or omits a file.
    async fn has_nothing_but(&self, tree: &Oid, commit: &Oid) -> Result<bool, Error> {
        let made = &self.made;
        let scratch = made.git_dir.join("set-up.index");
        let index = made.private_index(&scratch, Some(commit)).await?;
        let reading = made
            .read_work_tree(&scratch, tree, None, Whose::Users, Count::Nothing)
            .await?;
        index::discard(&Below::new(&made.git_dir), &scratch)?;
        let changes = made.git.changes_among(tree, &reading.tree, &[]).await?;
        let new: Option<Vec<StagedEntry>> = changes
            .into_iter()
            .map(|change| change.is.filter(|_| change.was.is_none()))
            .collect();
        let is_shown = index.entries.hidden().is_empty() && index.entries.sparse.is_empty();
        Ok(is_shown && reading.nested.is_empty() && new.is_some_and(|new| new == self.set_up))
    }
}

/// Removes the settings of a linked work tree before its removal: a parallel attempt may have set a filter for git.
pub(super) fn drop_settings(top: &Path) -> Result<(), FileError> {
    match RepoLayout::of_work_tree(top) {
        Some(layout) => Below::new(&layout.git_dir).remove_file(&layout.git_dir.join("config.worktree")),
        None => Ok(()),
    }
}

/// Returns whether a linked work tree has no settings, no operation in progress and no refs of its own.
fn is_plain(git_dir: &Path) -> Result<bool, Error> {
    let has_refs = !entries_of(&git_dir.join("refs"))?.is_empty();
    let names = entries_of(git_dir)?.into_iter().map(|entry| entry.file_name());
    let is_known = |name: &OsString| name == "refs" || PLAIN.iter().any(|plain| name == plain);
    Ok(!has_refs && names.collect::<Vec<_>>().iter().all(is_known))
}
