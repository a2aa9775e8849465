//! Finds the work tree, the git directories and HEAD: from files, or with one git process.

use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;

use super::command::{Git, failure};
use super::error::GitError;
use super::identity::Signers;
use super::known_indexes::KnownIndexes;
use super::known_refs::KnownRefs;
use super::layout::{LayoutHead, RepoLayout};
use super::sharing::Sharing;
use crate::fs::Below;
use crate::names::Oid;

/// The branch and commit of HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The full name of its branch; `None` if detached.
    pub branch: Option<String>,
    /// The commit; `None` on a branch without commits.
    pub oid: Option<Oid>,
}

impl Head {
    pub fn new(branch: Option<String>, oid: Option<Oid>) -> Self {
        Self { branch, oid }
    }

    /// Returns the short name of its branch.
    pub fn branch_name(&self) -> Option<&str> {
        self.branch.as_deref()?.strip_prefix("refs/heads/")
    }

    /// Returns whether it is on the same branch as `place`; if detached, at the same commit.
    pub fn is_at(&self, place: &Self) -> bool {
        self.branch == place.branch && (place.branch.is_some() || self.oid == place.oid)
    }
}

/// A repository with a work tree.
#[derive(Clone, Debug)]
pub struct Repo {
    /// Calls git in this work tree.
    pub git: Git,
    /// The top directory of the work tree, absolute.
    pub top: PathBuf,
    /// The git directory of this work tree (index, HEAD), absolute.
    pub git_dir: PathBuf,
    /// The git directory shared by all work trees (refs, objects, configuration), absolute.
    pub common_dir: PathBuf,
    /// True if the configuration can make git convert files between the work tree and its objects.
    pub converts: bool,
    /// True if git ignores executable bits.
    pub ignores_modes: bool,
    /// True if git writes symlinks as files.
    pub ignores_links: bool,
    /// The length of an object id in bytes.
    pub oid_length: usize,
    /// The permissions of its files.
    pub sharing: Sharing,
    /// The author and the committer of new commits.
    pub signers: Signers,
    /// Cache of index files.
    pub(super) known_indexes: KnownIndexes,
    /// Cache of loose refs.
    pub(super) known_refs: KnownRefs,
}

impl Repo {
    /// Returns a repository with cautious assumptions, until the configuration has been read.
    pub fn new(top: PathBuf, layout: RepoLayout, oid_length: usize) -> Self {
        Self {
            git: Git::at_top(&top),
            top,
            git_dir: layout.git_dir,
            common_dir: layout.common_dir,
            converts: true,
            ignores_modes: true,
            ignores_links: true,
            oid_length,
            sharing: Sharing::Unknown,
            signers: Signers::own(),
            known_indexes: KnownIndexes::default(),
            known_refs: KnownRefs::default(),
        }
    }

    /// Returns its git directories.
    pub fn layout(&self) -> RepoLayout {
        RepoLayout {
            git_dir: self.git_dir.clone(),
            common_dir: self.common_dir.clone(),
        }
    }

    /// Returns the handle for this path: from the repository's directory that contains it, which no attempt can
    /// replace. For any other path, it is the parent directory.
    pub fn door(&self, path: &Path) -> Below {
        let dirs = [&self.git_dir, &self.common_dir, &self.top];
        let found = dirs.into_iter().find(|dir| path.starts_with(dir));
        Below::new(found.map_or_else(|| path.parent().unwrap_or(path), PathBuf::as_path))
    }

    /// Returns the path of the index that describes the work tree: the loop's own, or the work tree's.
    pub fn index(&self) -> PathBuf {
        let own = self.git.own_index();
        own.map_or_else(|| self.users_index(), Path::to_owned)
    }

    /// Returns the path of the work tree's index.
    pub fn users_index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Returns the repository with the index of the work tree as its index.
    pub fn with_users_index(&self) -> Self {
        Self {
            git: self.git.clone().with_index(None),
            ..self.clone()
        }
    }

    /// Reads HEAD.
    pub async fn head(&self) -> Result<Head, GitError> {
        let output = self
            .git
            .cmd("rev-parse", ["HEAD", "--symbolic-full-name", "HEAD"])
            .any_exit()
            .await?;
        if output.code == Some(0) {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines = text.lines();
            return read_head(&mut lines).ok_or_else(|| unreadable(&text));
        }
        self.unborn_head().await
    }

    async fn unborn_head(&self) -> Result<Head, GitError> {
        let name = self.git.cmd("symbolic-ref", ["-q", "HEAD"]).bytes().await?;
        Ok(Head::new(
            Some(String::from_utf8_lossy(&name).trim().to_owned()),
            None,
        ))
    }
}

/// Finds the repository around `dir`, with its HEAD, without a process. Returns `None` if only git can tell; the
/// configuration may still name another repository.
pub fn discover_in_files(dir: &Path) -> Option<(Repo, Head)> {
    let (top, layout) = RepoLayout::certainly_above(dir)?;
    let (branch, oid) = match layout.head() {
        LayoutHead::Branch(name) => {
            let oid = layout.loose(&name)?;
            (Some(name), oid)
        }
        LayoutHead::Detached(oid) => (None, Oid::parse(&oid)?),
        LayoutHead::Unknown => return None,
    };
    let oid_length = oid.as_str().len() / 2;
    let head = Head::new(branch, Some(oid));
    Some((Repo::new(top, layout, oid_length), head))
}

/// Finds the repository around `dir`, with its HEAD, with one git process.
pub async fn discover(dir: &Path) -> Result<(Repo, Head), GitError> {
    let query = [
        "--path-format=absolute",
        "--show-toplevel",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-object-format",
        "HEAD",
        "--symbolic-full-name",
        "HEAD",
    ];
    let output = Git::at(dir).cmd("rev-parse", query).any_exit().await?;
    let text = String::from_utf8(output.stdout.clone())
        .map_err(|_| unreadable(&String::from_utf8_lossy(&output.stdout)))?;
    let mut lines = text.lines();
    let (Some(top), Some(git_dir), Some(common_dir), Some(format)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return Err(failure("rev-parse", &output));
    };
    let layout = RepoLayout {
        git_dir: PathBuf::from(git_dir),
        common_dir: PathBuf::from(common_dir),
    };
    let oid_length = if format == "sha256" { 32 } else { 20 };
    let repo = Repo::new(PathBuf::from(top), layout, oid_length);
    if !repo.git_dir.is_absolute() || !repo.common_dir.is_absolute() || !repo.top.is_absolute() {
        return Err(unreadable(&text));
    }
    let head = match (output.code, read_head(&mut lines)) {
        (Some(0), Some(head)) => head,
        _ => repo.unborn_head().await?,
    };
    Ok((repo, head))
}

impl Git {
    /// Returns the first two numbers of git's version: 2 and 54 for 2.54.1, or `None` for another format. Runs git only
    /// once.
    pub async fn version(&self) -> Result<Option<(u32, u32)>, GitError> {
        static KNOWN: OnceCell<Option<(u32, u32)>> = OnceCell::const_new();
        let ask = async || {
            let bytes = self.cmd("version", [""; 0]).bytes().await?;
            Ok(version_in(&String::from_utf8_lossy(&bytes)))
        };
        KNOWN.get_or_try_init(ask).await.copied()
    }
}

fn version_in(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("git version ")?.trim().splitn(3, '.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn read_head<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<Head> {
    let oid = Oid::parse(lines.next()?)?;
    let name = lines.next()?;
    Some(Head::new((name != "HEAD").then(|| name.to_owned()), Some(oid)))
}

fn unreadable(answer: &str) -> GitError {
    GitError::answer("rev-parse", answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discovery_by_files_agrees_with_git_or_returns_nothing() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            std::fs::create_dir_all(at("r/sub/dir")).unwrap();
            let git = Git::at(&at("r")).with_own_identity(true);
            let run = async |verb, args: &[&str]| git.cmd(verb, args).done().await.unwrap();
            run("init", &["-q", "-b", "main"]).await;
            assert!(discover_in_files(&at("r")).is_none(), "no commit yet");
            run("commit", &["-q", "--allow-empty", "-m", "first"]).await;
            run("worktree", &["add", "-q", "-b", "other", "../linked"]).await;
            run("pack-refs", &["--all"]).await;
            std::os::unix::fs::symlink(at("r/sub"), at("through")).unwrap();
            for place in ["r", "r/sub/dir", "linked", "through/dir"] {
                let (found, head) = discover_in_files(&at(place)).unwrap();
                let (asked, asked_head) = discover(&at(place)).await.unwrap();
                assert_eq!(head, asked_head, "{place}");
                let parts = |repo: Repo| (repo.top, repo.git_dir, repo.common_dir, repo.oid_length);
                assert_eq!(parts(found), parts(asked), "{place}");
            }
            run("checkout", &["-q", "--detach"]).await;
            let (_, head) = discover_in_files(&at("r")).unwrap();
            assert_eq!(head, discover(&at("r")).await.unwrap().1);
            assert_eq!(head.branch, None);
            std::fs::rename(at("r/.git/config"), at("config")).unwrap();
            std::fs::create_dir(at("r/.git/config")).unwrap();
            assert!(discover_in_files(&at("r")).is_none());
            std::fs::remove_dir(at("r/.git/config")).unwrap();
            std::fs::rename(at("config"), at("r/.git/config")).unwrap();
            for place in ["", "r/.git", "none"] {
                assert!(discover_in_files(&at(place)).is_none(), "{place}");
            }
            std::fs::write(at("r/.git/HEAD"), "nonsense").unwrap();
            assert!(discover_in_files(&at("r")).is_none());
        });
    }

    #[test]
    fn versions_are_read_as_far_as_they_are_numbers() {
        assert_eq!(version_in("git version 2.39.5\n"), Some((2, 39)));
        assert_eq!(version_in("git version 2.54.0.rc1.12.gabc\n"), Some((2, 54)));
        assert_eq!(version_in("git version 2.50.1 (Apple Git-155)\n"), Some((2, 50)));
        assert_eq!(version_in("git version 3.0\n"), Some((3, 0)));
        assert_eq!(version_in("something else"), None);
    }
}
