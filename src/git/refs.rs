//! Refs: reading many at once, moving many in one transaction, and HEAD.

use super::command::{Git, GitError};
use super::discover::{Head, Repo};
use crate::names::{KeptRef, Oid};

/// One ref as `git for-each-ref` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefInfo {
    /// Full name.
    pub name: String,
    /// What it points to.
    pub oid: Oid,
    /// The commit when it points to one, directly or through a tag.
    pub commit: Option<Oid>,
    /// The path of the work tree that has it checked out.
    pub checked_out: Option<String>,
}

/// One line of a ref transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Moves a ref from `old` (`None`: it must not exist) to `new`.
    Move {
        /// Full name.
        name: String,
        /// New value.
        new: Oid,
        /// Expected old value.
        old: Option<Oid>,
    },
    /// Sets a ref whatever it was; for refs that only git-ralph writes.
    Set {
        /// Full name.
        name: String,
        /// New value.
        new: Oid,
    },
    /// Deletes a ref that is at `old`.
    Delete {
        /// Full name.
        name: String,
        /// Expected old value.
        old: Oid,
    },
}

impl Update {
    /// Keeps an object under a name of git-ralph's own.
    #[must_use]
    pub fn keep(kept: &KeptRef) -> Self {
        Self::Set {
            name: kept.name.clone(),
            new: kept.oid.clone(),
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Move { name, new, old } => {
                let old = old.as_ref().map_or_else(|| new.zero_like(), ToString::to_string);
                format!("update {name} {new} {old}\n")
            }
            Self::Set { name, new } => format!("update {name} {new}\n"),
            Self::Delete { name, old } => format!("delete {name} {old}\n"),
        }
    }
}

impl Git {
    /// Lists refs under the given patterns (full names or directories).
    ///
    /// # Errors
    /// When git cannot list them.
    pub async fn refs(&self, patterns: &[&str]) -> Result<Vec<RefInfo>, GitError> {
        let format = "--format=%(objectname)%00%(objecttype)%00%(*objectname)%00%(*objecttype)%00%(refname)%00%(worktreepath)%00";
        let mut args = vec![format];
        args.extend(patterns);
        let bytes = self.cmd("for-each-ref", args).bytes().await?;
        let text = String::from_utf8_lossy(&bytes);
        let fields: Vec<&str> = text.split('\0').collect();
        let mut refs = Vec::new();
        for entry in fields.chunks_exact(6) {
            let [oid, kind, peeled, peeled_kind, name, path] = entry else {
                continue;
            };
            let Some(oid) = Oid::parse(oid) else { continue };
            let commit = match (*kind, *peeled_kind) {
                ("commit", _) => Some(oid.clone()),
                (_, "commit") => Oid::parse(peeled),
                _ => None,
            };
            refs.push(RefInfo {
                name: (*name).to_owned(),
                oid,
                commit,
                checked_out: (!path.is_empty()).then(|| (*path).to_owned()),
            });
        }
        Ok(refs)
    }

    /// Moves refs, all or none; `why` goes into their reflogs.
    ///
    /// # Errors
    /// When an expected old value does not hold, or git cannot write.
    pub async fn update_refs(&self, updates: &[Update], why: &str) -> Result<(), GitError> {
        if updates.is_empty() {
            return Ok(());
        }
        let mut input = String::from("start\n");
        for update in updates {
            input.push_str(&update.line());
        }
        input.push_str("prepare\ncommit\n");
        self.cmd("update-ref", ["-m", why, "--create-reflog", "--stdin"])
            .stdin(input)
            .done()
            .await
    }

    /// Whether `ancestor` is reachable from `commit`.
    ///
    /// # Errors
    /// When git cannot tell (a missing object).
    pub async fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool, GitError> {
        if ancestor == commit {
            return Ok(true);
        }
        let args = ["--is-ancestor", ancestor.as_str(), commit.as_str()];
        let output = self.cmd("merge-base", args).any_exit().await?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(super::command::failure("merge-base", &output)),
        }
    }
}

impl Repo {
    /// Points HEAD at a branch, or detaches it at a commit, without touching index or files.
    ///
    /// # Errors
    /// When git cannot write, or when `head` is neither a branch nor a commit.
    pub async fn set_head(&self, head: &Head, why: &str) -> Result<(), GitError> {
        match (&head.branch, &head.oid) {
            (Some(branch), _) => {
                self.git
                    .cmd("symbolic-ref", ["-m", why, "HEAD", branch])
                    .done()
                    .await
            }
            (None, Some(oid)) => {
                let args = ["--no-deref", "-m", why, "HEAD", oid.as_str()];
                self.git.cmd("update-ref", args).done().await
            }
            (None, None) => Ok(()),
        }
    }
}
