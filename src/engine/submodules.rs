//! Submodules: an attempt may commit in one, leave it dirty or delete it. A failed attempt's doing is kept in
//! the submodule's own refs and undone (hazard A14). Repositories without submodules pay nothing.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Session;
use super::unversioned::untracked_beside_ignored;
use crate::error::Error;
use crate::fs::file_error;
use crate::git::worktree::Whose;
use crate::git::{Head, Repo, clear_operations, discover};
use crate::names::{Oid, short_branch};
use crate::paths::{percent_decode, percent_encode};
use crate::refs::{KeptRef, Update};

/// The submodules as they were at the last checkpoint, and when the loop began; in the loop's directory.
const AT_CHECKPOINT: &str = "submodules.toml";
const AT_START: &str = "submodules.start.toml";

/// Submodules at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Submodules {
    #[serde(default)]
    submodule: Vec<Submodule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Submodule {
    /// Relative to the top, percent-encoded.
    path: String,
    /// The branch checked out in it, in full; `None`: detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The commit checked out in it.
    oid: Oid,
    /// What its `.git` says when that is a file: where its repository is.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_file: Option<String>,
}

impl Session<'_> {
    /// Records the submodules when the loop begins.
    pub(super) async fn record_submodules_of_start(&self) -> Result<(), Error> {
        let now = self.read_submodules().await?;
        self.save_submodules(AT_START, &now)?;
        self.save_submodules(AT_CHECKPOINT, &now)
    }

    /// Records the submodules at a checkpoint.
    pub(super) async fn record_submodules(&self) -> Result<(), Error> {
        let now = self.read_submodules().await?;
        self.save_submodules(AT_CHECKPOINT, &now)
    }

    /// Whether the last checkpoint has a submodule.
    pub(super) fn has_submodules(&self) -> bool {
        !self.load_submodules(AT_CHECKPOINT).submodule.is_empty()
    }

    /// A submodule with uncommitted changes, if there is one.
    pub(super) async fn dirty_submodule(&self) -> Result<Option<String>, Error> {
        if !self.has_submodules() {
            return Ok(None);
        }
        let dirty = self.engine.repo.dirty_submodule().await?;
        Ok(dirty.map(|path| String::from_utf8_lossy(&path).into_owned()))
    }

    /// Puts the submodules back to the last checkpoint; says whether any was different. What was in them is
    /// kept in their own repositories under the ref `kept`.
    pub(super) async fn put_back_submodules(&mut self, kept: &str, trash: &Path) -> Result<bool, Error> {
        self.put_back_to(AT_CHECKPOINT, kept, trash).await
    }

    /// Puts the submodules back to what they were when the loop began.
    pub(super) async fn put_back_submodules_of_start(
        &mut self,
        kept: &str,
        trash: &Path,
    ) -> Result<bool, Error> {
        self.put_back_to(AT_START, kept, trash).await
    }

    async fn put_back_to(&mut self, record: &str, kept: &str, trash: &Path) -> Result<bool, Error> {
        let mut changed = false;
        for was in self.load_submodules(record).submodule {
            if let Some(told) = self.put_back_submodule(&was, kept, trash).await? {
                self.tell(told);
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Gives what there is to tell when the submodule was not as it was.
    async fn put_back_submodule(
        &self,
        was: &Submodule,
        kept: &str,
        trash: &Path,
    ) -> Result<Option<String>, Error> {
        let path = percent_decode(&was.path);
        let shown = String::from_utf8_lossy(&path).into_owned();
        let Some((repo, head)) = self.open_submodule(was, &path, trash).await? else {
            return Ok(Some(format!(
                "the submodule {shown} is gone with its repository and cannot be put back"
            )));
        };
        let git = &repo.git;
        let work = self.file("submodule.index");
        let base = head.oid.clone().unwrap_or_else(|| was.oid.clone());
        let made = repo.private_index(&repo.index(), &work, Some(&base)).await?;
        repo.show_paths(&work, &made.entries.hidden()).await?;
        let target = git.tree_of(&was.oid).await?;
        let whose = Whose::Loops { nested: &[] };
        let now = repo.read_work_tree(&work, &target, None, whose).await?;
        let stands = Head {
            branch: was.branch.clone(),
            oid: Some(was.oid.clone()),
        };
        if head == stands && now.tree == target {
            return Ok(None);
        }
        let why = format!("ralph: {kept}");
        let commit = git.commit_tree(&now.tree, &[&base], &why).await?;
        let mut to_keep = vec![KeptRef {
            name: kept.to_owned(),
            oid: commit,
        }];
        let mut updates = Vec::new();
        if let Some(branch) = &was.branch {
            let found = git.refs(&[branch]).await?;
            let tip = found.into_iter().find(|found| found.name == *branch);
            let tip = tip.map(|found| found.oid).filter(|tip| *tip != was.oid);
            if let Some(tip) = tip {
                to_keep.push(KeptRef {
                    name: format!("{kept}-{}", tip.short()),
                    oid: tip.clone(),
                });
                updates.push(Update::Move {
                    name: branch.clone(),
                    new: was.oid.clone(),
                    old: Some(tip),
                });
            }
        }
        git.keep(&to_keep, &why).await?;
        git.update_refs(&updates, &why).await?;
        clear_operations(&repo)?;
        repo.switch_work_tree(&work, &now.tree, &target).await?;
        repo.install_index(&work).await?;
        repo.set_head(&stands, &why).await?;
        for left in untracked_beside_ignored(&repo, &work).await? {
            self.move_to_trash(&[&path[..], b"/", &left].concat(), trash)?;
        }
        crate::git::index::discard(&work)?;
        let at = was.branch.as_deref().map_or(was.oid.short(), short_branch);
        Ok(Some(format!(
            "the submodule {shown} was changed; it is back at {at}, and what was there is in its {kept}"
        )))
    }

    /// The repository of a submodule; its directory is made anew where only the repository is left. `None`
    /// when that is gone too.
    async fn open_submodule(
        &self,
        was: &Submodule,
        path: &[u8],
        trash: &Path,
    ) -> Result<Option<(Repo, Head)>, Error> {
        let dir = self.engine.repo.top.join(std::ffi::OsStr::from_bytes(path));
        if dir.join(".git").symlink_metadata().is_err() {
            let Some(text) = &was.git_file else {
                return Ok(None);
            };
            if dir.symlink_metadata().is_ok() {
                self.move_to_trash(path, trash)?;
            }
            fs::create_dir_all(&dir).map_err(|error| file_error("make", &dir, error))?;
            let file = dir.join(".git");
            fs::write(&file, text).map_err(|error| file_error("write", &file, error))?;
        }
        let Ok((mut repo, head)) = discover(&dir).await else {
            return Ok(None);
        };
        if repo.top.canonicalize().ok() != dir.canonicalize().ok() {
            return Ok(None);
        }
        repo.git = repo.git.with_own_identity(true);
        Ok(Some((repo, head)))
    }

    /// The submodules that are checked out now.
    async fn read_submodules(&self) -> Result<Submodules, Error> {
        let repo = &self.engine.repo;
        let mut found = Submodules::default();
        // Without this file nothing is registered, and no index has to be looked through.
        if repo.top.join(".gitmodules").symlink_metadata().is_err() {
            return Ok(found);
        }
        let entries = repo.index_entries(&repo.index(), self.oid_length()).await?;
        for path in entries.submodules {
            let dir = repo.top.join(std::ffi::OsStr::from_bytes(&path));
            if dir.join(".git").symlink_metadata().is_err() {
                continue;
            }
            let (_, head) = discover(&dir).await?;
            if let Some(oid) = head.oid {
                found.submodule.push(Submodule {
                    path: percent_encode(&path),
                    branch: head.branch,
                    oid,
                    git_file: fs::read_to_string(dir.join(".git")).ok(),
                });
            }
        }
        Ok(found)
    }

    fn save_submodules(&self, record: &str, submodules: &Submodules) -> Result<(), Error> {
        let path = self.file(record);
        if submodules.submodule.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(file_error("remove", &path, error).into())
                }
                _ => Ok(()),
            };
        }
        let text = toml::to_string(submodules).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text))
            .map_err(|error| file_error("write", &path, error).into())
    }

    fn load_submodules(&self, record: &str) -> Submodules {
        // A loop whose directory was deleted knows less, and says so elsewhere.
        let text = fs::read_to_string(self.file(record)).unwrap_or_default();
        toml::from_str(&text).unwrap_or_default()
    }
}
