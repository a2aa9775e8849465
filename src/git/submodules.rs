//! Submodules of linked work trees. Each work tree of a loop gets its own clone of a submodule, made from the clone in
//! another work tree: without network, with its own branches. Commits made in such a clone are copied to a permanent
//! repository, as packs: a fetch would run commands of the clone's configuration.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::command::{Git, GitCommand, failure};
use super::discover::Repo;
use super::error::GitError;
use super::layout::RepoLayout;
use crate::fs::{FileError, entries_of, may_exist, path_below, seen_itself};
use crate::names::Oid;

/// The mode of a submodule in a listing, with the following space.
const GITLINK: &[u8] = b"160000 ";

/// Settings for making a clone: git clones submodules from a directory only if that is allowed.
const CLONES: [&str; 2] = ["protocol.file.allow=always", "clone.defaultRemoteName=origin"];

/// The reason why a submodule is not checked out.
#[derive(Debug)]
pub enum Uncloned {
    /// It has no name that git accepts on a command line.
    Unnamed(String),
    /// Git could not make its clone, or the clone lacks the commit.
    Failed(GitError),
}

/// A submodule with content that its commit lacks.
#[derive(Debug)]
pub struct UncleanSubmodule {
    /// The path of the submodule, which may be nested.
    pub path: Vec<u8>,
    /// Git's words, if git cannot read it; `None` if it has uncommitted changes.
    pub unreadable: Option<String>,
    /// The paths with these changes, in the submodule.
    pub changed: Vec<Vec<u8>>,
}

impl Repo {
    /// Finds a submodule with uncommitted changes, or one that git cannot read, if there is one.
    pub async fn unclean_submodule(&self) -> Result<Option<UncleanSubmodule>, GitError> {
        // Queried for all of them at once, git fails because of one.
        for path in self.index_entries(&self.index()).await?.submodules {
            let unclean = self.look_at_submodule(path).await?;
            if unclean.is_some() {
                return Ok(unclean);
            }
        }
        Ok(None)
    }

    /// Returns the submodule at this path, or a nested one, if it is checked out and not clean.
    pub async fn look_at_submodule(&self, path: Vec<u8>) -> Result<Option<UncleanSubmodule>, GitError> {
        look_at(&self.git, &self.top, path).await
    }
}

/// Returns the submodule at this path below `top`, or a nested one, if it is checked out and not clean. `around` has
/// the settings.
async fn look_at(around: &Git, top: &Path, path: Vec<u8>) -> Result<Option<UncleanSubmodule>, GitError> {
    let dir = path_below(top, &path);
    if RepoLayout::of_work_tree(&dir).is_none() {
        let lost = || "its .git leads to no repository".to_owned();
        let unreadable = may_exist(&dir.join(".git")).then(lost);
        return Ok(unreadable.map(|words| UncleanSubmodule {
            path,
            unreadable: Some(words),
            changed: Vec::new(),
        }));
    }
    let git = Git::at_top(&dir).with_settings(around.settings()).offline();
    let args = ["--porcelain=v2", "-z", "-unormal", "--ignore-submodules=none"];
    let found = git.cmd("status", args).any_exit().await?;
    let unreadable = match found.code {
        Some(0) if found.stdout.is_empty() => return Ok(None),
        Some(0) => None,
        Some(128) => Some(String::from_utf8_lossy(&found.stderr).trim().to_owned()),
        _ => return Err(failure("status", &found)),
    };
    // A nested submodule is named, if it is the cause: git at this level neither shows nor stashes its changes.
    for inner in git.submodules(None).await.unwrap_or_default() {
        // A symlink can lead anywhere, even back here.
        let is_dir = seen_itself(&path_below(&dir, &inner)).is_some_and(|found| found.is_dir());
        if is_dir && let Ok(Some(inner)) = Box::pin(look_at(&git, &dir, inner)).await {
            let path = [&path[..], b"/", &inner.path].concat();
            return Ok(Some(UncleanSubmodule { path, ..inner }));
        }
    }
    Ok(Some(UncleanSubmodule {
        path,
        unreadable,
        changed: changed_paths(&found.stdout),
    }))
}

/// Returns the paths in the output of git-status(1), "Porcelain Format Version 2".
fn changed_paths(status: &[u8]) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    let mut entries = status.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        // The fields before the path.
        let fields = match entry.first() {
            Some(b'?') => 1,
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            _ => continue,
        };
        if fields == 9 {
            // The path from which it was renamed.
            entries.next();
        }
        paths.extend(
            entry
                .splitn(fields + 1, |byte| *byte == b' ')
                .nth(fields)
                .map(<[u8]>::to_vec),
        );
    }
    paths
}

/// Checks out in the work tree `made` the submodules that are checked out in `from`, and nested ones, each in its own
/// clone. Returns the paths of the others, each with the reason.
///
/// # Errors
/// If git cannot list the submodules of the work tree.
pub async fn check_out_submodules(from: &Path, made: &Path) -> Result<Vec<(Vec<u8>, Uncloned)>, GitError> {
    let mut failed = Vec::new();
    let mut levels = vec![Vec::new()];
    while let Some(level) = levels.pop() {
        let around = [from, made].map(|top| Git::at_top(&path_below(top, &level)));
        for path in around[1].submodules(None).await? {
            let below = [level.as_slice(), &path].concat();
            let Some(source) = RepoLayout::of_work_tree(&path_below(from, &below)) else {
                continue;
            };
            match check_out(
                [&around[0], &around[1]],
                &path,
                &source.common_dir,
                !level.is_empty(),
            )
            .await
            {
                Ok(None) => levels.push([&below[..], b"/"].concat()),
                Ok(Some(why)) => failed.push((below, Uncloned::Unnamed(why))),
                Err(error) => failed.push((below, Uncloned::Failed(error))),
            }
        }
    }
    Ok(failed)
}

/// Checks out one submodule from the repository `source`; `from` and `made` run in the work trees around it. Returns
/// the reason if git cannot be given its name or its place.
async fn check_out(
    [from, made]: [&Git; 2],
    path: &[u8],
    source: &Path,
    is_inner: bool,
) -> Result<Option<String>, GitError> {
    let (Some(name), Some(url)) = (made.name_of_submodule(path).await?, source.to_str()) else {
        return Ok(Some("its name, or its place, cannot be given to git".to_owned()));
    };
    let key = format!("submodule.{name}.url");
    let there = String::from_utf8_lossy(path);
    let args = ["--quiet", "update", "--init", "--checkout", "--", &there];
    // Its name may have a character that ends a key on a command line. The user may have set these variables, too.
    let given = env::var("GIT_CONFIG_COUNT")
        .ok()
        .and_then(|count| count.parse().ok());
    let number: u32 = given.unwrap_or(0);
    let update = made
        .cmd_with(&CLONES, "submodule", args)
        .env("GIT_CONFIG_COUNT", number.saturating_add(1).to_string())
        .env(&format!("GIT_CONFIG_KEY_{number}"), &key)
        .env(&format!("GIT_CONFIG_VALUE_{number}"), url);
    update.done().await?;
    let clone = Git::at_top(&path_below(made.top(), path));
    let source = Git::at_top(&path_below(from.top(), path));
    source.copy_setting("remote.origin.url", &clone).await?;
    if is_inner {
        from.copy_setting(&key, made).await?;
    }
    Ok(None)
}

/// Copies a commit, with everything reachable from it, from the repository `own` to the repository `to`, and keeps it
/// by this ref; without objects reachable from `base`, if `to` has it.
///
/// # Errors
/// If `own` lacks a needed object, or git cannot write.
pub async fn copy_commit(
    own: &Path,
    to: &Path,
    commit: &Oid,
    base: Option<&Oid>,
    name: &str,
) -> Result<(), GitError> {
    if !is_connected(to, commit).await? {
        let base = match base {
            Some(base) if is_connected(to, base).await? => Some(base),
            _ => None,
        };
        copy_objects(own, to, commit, base).await?;
        if !is_connected(to, commit).await? {
            return Err(GitError::answer(
                "pack-objects",
                &format!("{commit} is not whole"),
            ));
        }
    }
    inside(to, "update-ref", [name, commit.as_str()]).done().await
}

/// Copies the objects of a commit from the repository `own` to the repository `to`, without those of `base`.
///
/// # Errors
/// If `own` lacks one of them, or git cannot write.
pub async fn copy_objects(own: &Path, to: &Path, commit: &Oid, base: Option<&Oid>) -> Result<(), GitError> {
    let mut wanted = format!("{commit}\n");
    if let Some(base) = base {
        wanted += &format!("^{base}\n");
    }
    let place = to.join("objects/pack/pack");
    let args = ["--revs".as_ref(), "--quiet".as_ref(), place.as_os_str()];
    inside(own, "pack-objects", args).stdin(wanted).done().await
}

/// Copies all commits that the refs, their logs and HEAD of the repository `own` have, and the repository `to` lacks;
/// keeps each by a ref with this prefix and its id.
pub async fn copy_all_commits(own: &Path, to: &Path, prefix: &str) -> Result<(), GitError> {
    // Older stash entries are only in the stash's log, and amended commits only in HEAD's.
    let args = ["HEAD", "--all", "--reflog", "--no-walk", "--ignore-missing"];
    let tips = inside(own, "rev-list", args).text().await?;
    for tip in tips.lines() {
        let Some(tip) = Oid::parse(tip) else { continue };
        if !has_in_a_ref(to, &tip).await? {
            copy_commit(own, to, &tip, None, &format!("{prefix}{tip}")).await?;
        }
    }
    Ok(())
}

impl Git {
    /// Lists the paths of the submodules in an index; by default the work tree's.
    pub async fn submodules(&self, index: Option<&Path>) -> Result<Vec<Vec<u8>>, GitError> {
        let list = self.cmd("ls-files", ["-s", "-z"]);
        let entries = match index {
            Some(index) => list.index(index).fields().await?,
            None => list.fields().await?,
        };
        let links = entries.iter().filter(|entry| entry.starts_with(GITLINK));
        let paths = links.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// Returns the name of a submodule in `.gitmodules`.
    async fn name_of_submodule(&self, path: &[u8]) -> Result<Option<String>, GitError> {
        let file = self.top().join(".gitmodules");
        let args = ["-z", "--get-regexp", r"^submodule\..*\.path$"];
        let listed = self.config_of(&file, &args).any_exit().await?;
        let mut entries = listed.stdout.split(|byte| *byte == 0);
        let named = entries.find_map(|entry| {
            let entry = std::str::from_utf8(entry).ok()?;
            let (key, value) = entry.split_once('\n')?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            (value.as_bytes() == path).then(|| name.to_owned())
        });
        Ok(named)
    }

    /// Copies the value of a setting to another repository, if it has one.
    async fn copy_setting(&self, key: &str, to: &Self) -> Result<(), GitError> {
        let value = self.cmd("config", ["--get", key]).answer().await?;
        let Some(value) = value else { return Ok(()) };
        let value = String::from_utf8_lossy(&value);
        to.cmd("config", [key, value.trim_end_matches('\n')]).done().await
    }
}

/// Builds a git command for a repository alone: the work tree of a submodule may be missing.
fn inside<S: AsRef<OsStr>>(dir: &Path, verb: &'static str, args: impl IntoIterator<Item = S>) -> GitCommand {
    let git = Git::at(dir).with_repository(dir).offline();
    git.cmd(verb, args).env("GIT_WORK_TREE", dir)
}

/// Returns whether a ref of a repository contains a commit.
async fn has_in_a_ref(dir: &Path, commit: &Oid) -> Result<bool, GitError> {
    let args = ["--max-count=1", commit.as_str(), "--not", "--all"];
    let left = inside(dir, "rev-list", args).any_exit().await?;
    Ok(left.code == Some(0) && left.stdout.is_empty())
}

/// Returns whether a repository has all objects of a commit.
async fn is_connected(dir: &Path, commit: &Oid) -> Result<bool, GitError> {
    let args = ["--quiet", "--objects", commit.as_str(), "--not", "--all"];
    Ok(inside(dir, "rev-list", args).any_exit().await?.code == Some(0))
}

/// Lists the repositories of present and former submodules of a work tree with this git directory, and nested ones.
pub fn submodule_repositories(git_dir: &Path) -> Result<Vec<PathBuf>, FileError> {
    let (mut found, mut dirs) = (Vec::new(), vec![git_dir.join("modules")]);
    while let Some(dir) = dirs.pop() {
        for entry in entries_of(&dir)? {
            let path = entry.path();
            if may_exist(&path.join("objects")) {
                dirs.push(path.join("modules"));
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // The name of a submodule can have several components.
                dirs.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns the target for copies from a submodule's clone in a loop's work tree: the repository of the same submodule
/// in the shared directory (gitrepository-layout(5), `modules`), else the one of the work tree `from`.
pub fn shared_submodule(
    own: &Path,
    [git_dir, common_dir]: [&Path; 2],
    from: Option<&Path>,
) -> Option<PathBuf> {
    let [own, git_dir] = [own.canonicalize().ok()?, git_dir.canonicalize().ok()?];
    let shared = own.strip_prefix(git_dir).ok().map(|rest| common_dir.join(rest));
    let shared = shared.filter(|shared| may_exist(&shared.join("objects")));
    shared.or_else(|| Some(RepoLayout::of_work_tree(from?)?.common_dir))
}
