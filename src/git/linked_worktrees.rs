//! Makes, finds and removes linked work trees (git-worktree(1)).

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::command::Git;
use super::discover::Repo;
use super::error::GitError;
use super::layout::{RepoLayout, is_same_dir};
use crate::held::Held;
use crate::names::Oid;
use crate::paths::path_of;

/// Maximum wait for another work tree to be made; after it, git runs in parallel, as any git does.
const MAKING: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// A work tree of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTreeInfo {
    /// Its top directory; for a bare repository, the repository's own directory.
    pub top: PathBuf,
    /// The commit that is checked out in it.
    pub head: Option<Oid>,
    /// The full name of the branch that is checked out in it; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The reason for which it is locked; `None` if it is not.
    pub locked: Option<String>,
    /// True if the repository has no work tree there: it is bare, or only the work tree itself knows its path.
    pub is_bare: bool,
}

/// The start of a new work tree.
#[derive(Clone, Copy, Debug)]
pub enum BeginsAt<'a> {
    /// This commit, with HEAD detached.
    Commit(&'a Oid),
    /// This branch, by its short name, even if a missing work tree had it checked out.
    Branch(&'a str),
}

impl Repo {
    /// Lists the work trees of the repository, the main one first. Git derives the path of the main work tree from the
    /// repository's directory; run in the main work tree, it reports the real path. From another one, git's own
    /// directory is no work tree.
    pub async fn work_trees(&self) -> Result<Vec<WorkTreeInfo>, GitError> {
        // The present work tree may be missing.
        let mut found = Git::at(&self.common_dir).work_trees().await?;
        if let Some(main) = found.first_mut() {
            if is_same_dir(&self.git_dir, &self.common_dir) {
                main.top.clone_from(&self.top);
            } else {
                main.is_bare |= is_same_dir(&main.top, &self.common_dir);
            }
        }
        Ok(found)
    }

    /// Finds the top directory of the main work tree; the repository's own directory if nothing else is known.
    pub async fn main_top(&self) -> Result<Option<PathBuf>, GitError> {
        let main = self.work_trees().await?.into_iter().next();
        Ok(main.map(|main| main.top))
    }
}

impl Git {
    async fn work_trees(&self) -> Result<Vec<WorkTreeInfo>, GitError> {
        let bytes = self
            .cmd("worktree", ["list", "--porcelain", "-z"])
            .bytes()
            .await?;
        Ok(listed(&bytes))
    }

    /// Makes a linked work tree that is locked for this reason from the start: git then neither prunes nor removes it.
    /// The directory must be absent or empty. A registered work tree that is missing is replaced, unless it is locked.
    pub async fn add_work_tree(
        &self,
        top: &Path,
        begins_at: BeginsAt<'_>,
        reason: &str,
    ) -> Result<(), GitError> {
        let mut args: Vec<OsString> = ["add", "-f", "--lock", "--reason", reason]
            .map(OsString::from)
            .into();
        let at = match begins_at {
            BeginsAt::Commit(oid) => {
                args.push("--detach".into());
                oid.as_str()
            }
            BeginsAt::Branch(name) => name,
        };
        args.extend([OsString::from("--"), top.into(), at.into()]);
        let _alone = self.hold_work_trees().await;
        self.cmd("worktree", args).done().await
    }

    /// Unlocks a work tree; has no effect on an unlocked one.
    pub async fn unlock_work_tree(&self, top: &Path) -> Result<(), GitError> {
        let args = [OsStr::new("unlock"), "--".as_ref(), top.as_os_str()];
        let _alone = self.hold_work_trees().await;
        self.cmd("worktree", args).any_exit().await?;
        Ok(())
    }

    /// Removes an unlocked work tree, with its ignored files; with `-f`, with all files; with `-f` twice, even a locked
    /// one.
    pub async fn remove_work_tree(&self, top: &Path, force: &[&str]) -> Result<(), GitError> {
        let options = ["remove"].iter().chain(force).chain(&["--"]);
        let args = options.map(OsStr::new).chain([top.as_os_str()]);
        let _alone = self.hold_work_trees().await;
        self.cmd("worktree", args).done().await
    }

    /// Waits until no other git-ralph makes or removes a work tree of this repository: git itself does not wait. A git
    /// that outlives this process keeps the lock. `None` if the file system locks no directories, or after a long wait.
    async fn hold_work_trees(&self) -> Option<Held> {
        let top = self.top();
        let layout = RepoLayout::of_work_tree(top);
        let common = layout.map_or_else(|| top.to_owned(), |layout| layout.common_dir);
        let dir = File::open(common).ok()?;
        let begun = Instant::now();
        loop {
            match dir.try_lock() {
                Ok(()) => return Some(Held::new(dir)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < MAKING => sleep(POLL).await,
                Err(_) => return None,
            }
        }
    }
}

fn listed(bytes: &[u8]) -> Vec<WorkTreeInfo> {
    let mut found: Vec<WorkTreeInfo> = Vec::new();
    for line in bytes.split(|byte| *byte == 0) {
        let (name, value) = match line.iter().position(|byte| *byte == b' ') {
            Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..)),
            None => (line, None),
        };
        let value = value.unwrap_or_default();
        let text = || String::from_utf8_lossy(value).into_owned();
        match (name, found.last_mut()) {
            (b"worktree", _) => found.push(WorkTreeInfo {
                top: path_of(value).to_owned(),
                ..WorkTreeInfo::default()
            }),
            (b"HEAD", Some(last)) => last.head = Oid::parse(&text()),
            (b"branch", Some(last)) => last.branch = Some(text()),
            (b"locked", Some(last)) => last.locked = Some(text()),
            (b"bare", Some(last)) => last.is_bare = true,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_listing_of_git_is_read() {
        let bytes = b"worktree /r\0HEAD 1\0branch refs/heads/main\0\0worktree /a b\nc\0HEAD 2\0detached\0\
            locked git ralph: x\0\0worktree /bare\0bare\0\0worktree /l\0HEAD 3\0detached\0locked\0\0";
        let found = listed(bytes);
        let tops: Vec<_> = found.iter().map(|found| found.top.to_str().unwrap()).collect();
        assert_eq!(tops, ["/r", "/a b\nc", "/bare", "/l"]);
        assert_eq!(found[0].branch.as_deref(), Some("refs/heads/main"));
        assert_eq!((found[0].locked.as_ref(), found[0].is_bare), (None, false));
        assert_eq!(found[1].branch, None);
        assert_eq!(found[1].locked.as_deref(), Some("git ralph: x"));
        assert!(found[2].is_bare);
        assert_eq!(found[3].locked.as_deref(), Some(""));
    }
    #[tokio::test]
    async fn one_process_at_a_time_changes_the_work_trees() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        let first = git.hold_work_trees().await.unwrap();
        let order = RefCell::new(Vec::new());
        let second = async {
            let held = git.hold_work_trees().await;
            order.borrow_mut().push("the second holds them");
            assert!(held.is_some());
        };
        let end_of_first = async {
            sleep(POLL).await;
            order.borrow_mut().push("the first lets go");
            drop(first);
        };
        tokio::join!(second, end_of_first);
        assert_eq!(*order.borrow(), ["the first lets go", "the second holds them"]);
    }
}
