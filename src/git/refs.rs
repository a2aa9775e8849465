//! Refs: reads many at once, moves many in one transaction, and sets HEAD.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::command::{Git, GitCommand};
use super::discover::{Head, Repo};
use super::error::GitError;
use crate::fs::{is_seen_as_file, may_be_there, seen, seen_bytes};
use crate::names::Oid;
use crate::refs::{KeptRef, Update, free_names};

/// One ref as `git for-each-ref` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefInfo {
    /// Full name.
    pub name: String,
    /// The object that it points to.
    pub oid: Oid,
    /// The commit, if it points to one, directly or through a tag.
    pub commit: Option<Oid>,
    /// The path of the work tree in which it is checked out.
    pub checked_out: Option<String>,
}

/// Returns the object of the ref of this name, if it is in the list.
pub fn oid_of(refs: &[RefInfo], name: &str) -> Option<Oid> {
    let found = refs.iter().find(|found| found.name == name);
    found.map(|found| found.oid.clone())
}

/// Returns whether this is a repository without its own work tree: git reports it as the place where the branch of its
/// HEAD is checked out.
fn is_bare(path: &Path) -> bool {
    let is_dir = |dir: &Path| seen(dir).is_some_and(|found| found.is_dir());
    let is_repository = |dir: &Path| is_seen_as_file(&dir.join("HEAD")) && is_dir(&dir.join("objects"));
    let link = path.join(".git");
    if !may_be_there(&link) {
        return is_repository(path);
    }
    let config = seen_bytes(&link.join("config")).unwrap_or_default();
    let mut lines = config.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    is_repository(&link) && lines.any(|line| matches!(line, b"bare = true" | b"bare=true" | b"bare"))
}

/// The type of the ref's object, and the object of a tag, with its type.
const TYPES: &str = "%(objecttype)%00%(*objectname)%00%(*objecttype)";
const ALL: [&str; 1] = ["refs"];
/// The size of the packed refs, in bytes, from which they count as many.
const MANY: u64 = 256 * 1024;

impl Repo {
    /// Returns whether there are too many refs to read the object of each.
    pub fn has_many_refs(&self) -> bool {
        seen(&self.common_dir.join("packed-refs")).is_some_and(|packed| packed.len() >= MANY)
    }
}

impl Git {
    /// Lists refs under the given patterns (full names or directories).
    pub async fn refs(&self, patterns: &[&str]) -> Result<Vec<RefInfo>, GitError> {
        match self.listed(TYPES, patterns).await {
            Err(refused) => Err(self.of_nothing(patterns).await?.unwrap_or(refused)),
            listed => listed,
        }
    }

    /// Returns the object of the ref with this name.
    pub async fn oid_at(&self, name: &str) -> Result<Option<Oid>, GitError> {
        Ok(oid_of(&self.refs(&[name]).await?, name))
    }

    /// Returns the error about refs whose objects, or whose tags' objects, are missing, if there are any.
    async fn of_nothing(&self, patterns: &[&str]) -> Result<Option<GitError>, GitError> {
        let refs = self.listed("%00%00", patterns).await?;
        let peeled = refs.iter().map(|found| format!("{}^{{}}", found.oid));
        let answer = self.ask_about(peeled, "--batch-check").text().await?;
        let names = refs.into_iter().zip(answer.lines());
        let names = names.filter(|(_, line)| line.ends_with(" missing"));
        let names: Vec<Vec<u8>> = names.map(|(found, _)| found.name.into_bytes()).collect();
        Ok((!names.is_empty()).then_some(GitError::OfNothing(names)))
    }

    /// Lists all refs. If there are `many`, git reads each object once, and not once for each of its refs.
    pub async fn all_refs(&self, many: bool) -> Result<Vec<RefInfo>, GitError> {
        if !many {
            return self.refs(&ALL).await;
        }
        let mut refs = self.listed("%00%00", &ALL).await?;
        let named: BTreeSet<&Oid> = refs.iter().map(|found| &found.oid).collect();
        let types = self
            .ask_about(&named, "--batch-check=%(objecttype)")
            .text()
            .await?;
        let typed = || named.iter().copied().zip(types.lines());
        if typed().any(|(_, kind)| kind.ends_with(" missing")) {
            // This call names the missing object.
            return self.refs(&ALL).await;
        }
        let of_type = |wanted| {
            typed()
                .filter(move |(_, kind)| *kind == wanted)
                .map(|(oid, _)| oid)
        };
        let mut commits: HashMap<Oid, Oid> =
            of_type("commit").map(|oid| (oid.clone(), oid.clone())).collect();
        let tags: Vec<&Oid> = of_type("tag").collect();
        if !tags.is_empty() {
            let asked = tags.iter().map(|tag| format!("{tag}^{{commit}}"));
            let peeled = self
                .ask_about(asked, "--batch-check=%(objectname)")
                .text()
                .await?;
            let peeled = tags.iter().zip(peeled.lines());
            commits.extend(peeled.filter_map(|(tag, line)| Some(((*tag).clone(), Oid::parse(line)?))));
        }
        for found in &mut refs {
            found.commit = commits.get(&found.oid).cloned();
        }
        Ok(refs)
    }

    /// Lists refs, with these fields between the object and the name of each.
    async fn listed(&self, fields: &str, patterns: &[&str]) -> Result<Vec<RefInfo>, GitError> {
        let format = format!("--format=%(objectname)%00{fields}%00%(refname)%00%(worktreepath)%00");
        let mut args = vec![format.as_str()];
        args.extend(patterns);
        let text = self.cmd("for-each-ref", args).text().await?;
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
                checked_out: (!path.is_empty() && !is_bare(Path::new(path))).then(|| (*path).to_owned()),
            });
        }
        Ok(refs)
    }

    /// Lists refs with the dates of their commits, in seconds since 1970.
    pub async fn refs_with_dates(&self, pattern: &str) -> Result<Vec<(RefInfo, u64)>, GitError> {
        let format = "--format=%(refname) %(committerdate:unix)";
        let text = self.cmd("for-each-ref", [format, pattern]).text().await?;
        let date_of = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|date| date.parse().ok())
        };
        let refs = self.refs(&[pattern]).await?;
        Ok(refs
            .into_iter()
            .filter_map(|found| Some((date_of(&found.name)?, found)))
            .map(|(date, found)| (found, date))
            .collect())
    }

    /// Moves refs, all or none, and then creates symbolic ones; `why` goes into their reflogs.
    pub async fn update_refs(&self, updates: &[Update], why: &str) -> Result<(), GitError> {
        if updates.is_empty() {
            return Ok(());
        }
        self.transaction(updates, "", why).done().await?;
        self.follow(updates, why).await
    }

    /// Executes all updates in one transaction, with a line for HEAD if there is one.
    fn transaction(&self, updates: &[Update], head: &str, why: &str) -> GitCommand {
        let updates: String = updates.iter().map(Update::line).collect();
        // A ref made symbolic by an attempt must not move another one, and the branch of HEAD must not become symbolic.
        let args = ["-m", why, "--create-reflog", "--no-deref", "--stdin"];
        let input = format!("start\n{updates}{head}prepare\ncommit\n");
        self.cmd("update-ref", args).stdin(input)
    }

    /// Makes the symbolic refs among these updates.
    async fn follow(&self, updates: &[Update], why: &str) -> Result<(), GitError> {
        for update in updates {
            if let Update::Follow { name, to, .. } = update {
                let args = ["-m", why, name, to];
                self.cmd("symbolic-ref", args).done().await?;
            }
        }
        Ok(())
    }

    /// Keeps objects under these ref names, or under the next free ones; returns the names.
    pub async fn keep(&self, wanted: &[KeptRef], why: &str) -> Result<Vec<KeptRef>, GitError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let dir = |kept: &KeptRef| kept.name.rsplit_once('/').map(|(dir, _)| dir.to_owned());
        let dirs: Vec<String> = wanted.iter().filter_map(dir).collect();
        let dirs: Vec<&str> = dirs.iter().map(String::as_str).collect();
        let refs = self.refs(&dirs).await?;
        let (updates, kept) = free_names(wanted, |name| oid_of(&refs, name));
        self.update_refs(&updates, why).await?;
        Ok(kept)
    }

    /// Returns all commits in the HEAD reflog of this work tree.
    pub async fn head_history(&self) -> Result<Vec<Oid>, GitError> {
        let args = ["show", "--format=%H", "-n", "1000", "HEAD", "--"];
        let output = self.cmd("reflog", args).any_exit().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(Oid::parse).collect())
    }

    /// Returns the branches that are checked out in a work tree other than the one at `top`.
    pub async fn checked_out_refs(&self, top: &Path) -> Result<Vec<String>, GitError> {
        let refs = self.refs(&["refs/heads"]).await?;
        Ok(refs
            .into_iter()
            .filter(|found| {
                found
                    .checked_out
                    .as_ref()
                    .is_some_and(|path| Path::new(path) != top)
            })
            .map(|found| found.name)
            .collect())
    }

    /// Returns whether `ancestor` is reachable from `commit`.
    pub async fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool, GitError> {
        if ancestor == commit {
            return Ok(true);
        }
        let args = ["--is-ancestor", ancestor.as_str(), commit.as_str()];
        Ok(self.cmd("merge-base", args).answer().await?.is_some())
    }

    /// Returns whether a commit is reachable from a local branch, or from one of the commits `also`. Branches below
    /// `except` do not count, nor do missing commits.
    pub async fn is_on_branch(&self, commit: &Oid, also: &[Oid], except: &str) -> Result<bool, GitError> {
        let except = format!("--exclude={except}*");
        let args = [
            "--ignore-missing",
            "--max-count=1",
            "--stdin",
            commit.as_str(),
            "--not",
            &except,
            "--branches",
        ];
        let also: String = also.iter().map(|oid| format!("^{oid}\n")).collect();
        let rest = self.cmd("rev-list", args).stdin(also).bytes().await?;
        Ok(rest.is_empty())
    }

    /// Finds the best common ancestor of two commits, if they have one.
    pub async fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, GitError> {
        let args = [one.as_str(), other.as_str()];
        let base = self.cmd("merge-base", args).answer().await?;
        Ok(base.and_then(|base| Oid::parse(&String::from_utf8_lossy(&base))))
    }
}

impl Repo {
    /// Moves refs and then HEAD, in one transaction if git can (2.46 and later), else in this order. Can be repeated.
    pub async fn update_refs_and_head(
        &self,
        updates: &[Update],
        from: &Head,
        to: &Head,
        why: &str,
    ) -> Result<(), GitError> {
        if from == to || from.branch == to.branch && to.branch.is_some() {
            return self.git.update_refs(updates, why).await;
        }
        if let (Some(was), Some(new)) = (&from.branch, &to.branch) {
            let head = format!("symref-update HEAD {new} ref {was}\n");
            let moved = self.git.transaction(updates, &head, why).any_exit().await?;
            if moved.code == Some(0) {
                return self.git.follow(updates, why).await;
            }
        }
        // An older git does not know the command and has moved nothing; any other error occurs again here.
        self.git.update_refs(updates, why).await?;
        self.set_head(to, why).await
    }

    /// Points HEAD at a branch, or detaches it at a commit, without touching index or files.
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
