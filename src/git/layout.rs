//! Reads a repository from its files alone (gitrepository-layout(5)), for frequent questions of hooks and shell prompts
//! that must not start a process. Leaves an unusual layout to git.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem;
use nix::unistd::geteuid;

use super::ref_file::is_own;
use super::{Git, loose};
use crate::fs::{
    FileError, Links, entries_of, is_seen_as_file, may_be_there, may_exist, read_regular, read_regular_text,
    seen, seen_itself,
};
use crate::names::Oid;
use crate::paths::{from_environment, path_of};

/// Maximum length of HEAD, a ref or a link to a directory, in bytes.
const MOST: u64 = 1 << 20;
/// Time limit for git to say whether it accepts a repository.
const LIMIT: Duration = Duration::from_secs(2);
/// Maximum length of all packed refs, in bytes.
const MOST_REFS: u64 = 1 << 30;

/// Maximum length of the path of a work tree in its file, in bytes.
const MOST_OF_A_PATH: u64 = 1 << 16;

/// The directories of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoLayout {
    /// The git directory of the work tree: HEAD, `config.worktree`.
    pub git_dir: PathBuf,
    /// The directory that all work trees share: refs, configuration, hooks.
    pub common_dir: PathBuf,
}

/// The content of the file HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutHead {
    /// The full name of a branch.
    Branch(String),
    /// An object id.
    Detached(String),
    /// Only git can tell: the refs are not in files, or the file is unreadable.
    Unknown,
}

impl LayoutHead {
    /// Returns the branch's full name or the object id.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Branch(target) | Self::Detached(target) => Some(target),
            Self::Unknown => None,
        }
    }
}

impl RepoLayout {
    /// Finds the repository in which git runs a hook: the environment names its git directory, or it is the one of the
    /// current directory (githooks(5)).
    pub fn of_hook() -> Option<Self> {
        let git_dir = from_environment("GIT_DIR").or_else(|| git_dir_at(Path::new(".git")))?;
        let common_dir = from_environment("GIT_COMMON_DIR").unwrap_or_else(|| common_dir_of(&git_dir));
        Some(Self { git_dir, common_dir })
    }

    /// Finds the repository around a directory: the one named by the environment, else the nearest one above. A
    /// repository of another user is used only if git accepts it (`safe.directory`); git is run for no other.
    pub async fn around(dir: &Path) -> Option<Self> {
        if let Some(named) = from_environment("GIT_DIR") {
            return Self::of(dir.join(named));
        }
        let (top, layout) = Self::above(dir)?;
        let git = top.join(".git");
        if [&top, &git, &layout.git_dir, &layout.common_dir]
            .into_iter()
            .all(|path| is_ours(path))
        {
            return Some(layout);
        }
        let asked = Git::at(&top).with_limit(LIMIT).cmd("rev-parse", ["--git-dir"]);
        asked.bytes().await.is_ok().then_some(layout)
    }

    /// Returns whether git would block forever in a directory: it opens any entry named HEAD, even a pipe.
    pub fn is_waited_for(dir: &Path) -> bool {
        let blocks = |head: PathBuf| seen(&head).is_some_and(|found| !found.is_file() && !found.is_dir());
        let mut dirs = dir.ancestors();
        dirs.any(|dir| blocks(dir.join("HEAD")) || blocks(dir.join(".git/HEAD")) || blocks(dir.join(".git")))
    }

    /// Finds the repository whose work tree contains `dir`, and the top directory of that work tree.
    pub fn above(dir: &Path) -> Option<(PathBuf, Self)> {
        // The shell may have reached this directory through a symlink.
        let real = dir.canonicalize();
        let mut dirs = real.as_deref().unwrap_or(dir).ancestors();
        dirs.find_map(|top| Some((top.to_owned(), Self::of_work_tree(top)?)))
    }

    /// Finds the repository whose work tree contains `dir` as git finds it, with all paths resolved. Returns `None` if
    /// git's result may differ: it belongs to another user, is on another file system, or lacks a part.
    pub fn certainly_above(dir: &Path) -> Option<(PathBuf, Self)> {
        let (top, layout) = Self::above(dir)?;
        let git_dir = layout.git_dir.canonicalize().ok()?;
        let common_dir = layout.common_dir.canonicalize().ok()?;
        let device = |path: &Path| Some(seen(path)?.dev());
        let is_dir = |path: PathBuf| seen(&path).is_some_and(|found| found.is_dir());
        // A directory with one of these may be, or contain, a git directory.
        let real = dir.canonicalize().ok()?;
        let mut below = real.ancestors().take_while(|dir| *dir != top);
        let is_whole = device(dir)? == device(&top)?
            && !below.any(|dir| may_be_there(&dir.join("HEAD")) || may_be_there(&dir.join(".git")))
            && [&top, &top.join(".git"), &git_dir, &common_dir]
                .into_iter()
                .all(|path| is_ours(path))
            && is_dir(common_dir.join("objects"))
            && is_seen_as_file(&common_dir.join("config"))
            && is_dir(common_dir.join("refs"))
            && !may_exist(&common_dir.join("reftable"));
        let layout = Self { git_dir, common_dir };
        is_whole.then_some((top, layout))
    }

    /// Returns the repository whose work tree has its top at `dir`.
    pub fn of_work_tree(dir: &Path) -> Option<Self> {
        Self::of(dir.join(git_dir_at(&dir.join(".git"))?))
    }

    fn of(git_dir: PathBuf) -> Option<Self> {
        let head = seen_itself(&git_dir.join("HEAD"))?;
        if !head.is_file() && !head.is_symlink() {
            return None;
        }
        let common_dir = common_dir_of(&git_dir);
        Some(Self { git_dir, common_dir })
    }

    /// Returns whether the refs are stored in a format that only git can read.
    pub fn has_hidden_refs(&self) -> bool {
        may_exist(&self.common_dir.join("reftable"))
    }

    /// Reads HEAD from its file alone.
    pub fn head(&self) -> LayoutHead {
        let Ok(text) = read_text(&self.git_dir.join("HEAD")) else {
            return LayoutHead::Unknown;
        };
        match text.strip_prefix("ref:").map(str::trim) {
            // If refs are stored in tables, the file names an invalid branch.
            Some("refs/heads/.invalid") => LayoutHead::Unknown,
            Some(name) => LayoutHead::Branch(name.to_owned()),
            None => LayoutHead::Detached(text.trim().to_owned()),
        }
    }

    /// Returns whether this repository has the given common directory.
    pub fn shares(&self, common_dir: &Path) -> bool {
        is_same_dir(&self.common_dir, common_dir)
    }

    /// Reads the current value of a ref: an object id, or `ref:` and a name.
    pub async fn current(&self, name: &str) -> Option<String> {
        if self.has_hidden_refs() {
            let output = self.git().cmd("rev-parse", ["--verify", "--quiet", name]).text();
            return Some(Oid::parse(&output.await.ok()?)?.to_string());
        }
        let is_own = !name.starts_with("refs/") || is_own(name);
        let dir = if is_own { &self.git_dir } else { &self.common_dir };
        match read_text(&dir.join(name)) {
            Ok(text) => Some(match text.strip_prefix("ref:") {
                Some(target) => format!("ref:{}", target.trim()),
                None => Oid::parse(&text)?.to_string(),
            }),
            Err(_) => self.packed(name),
        }
    }

    /// Reads a branch from its own file or from the packed refs, without starting a process.
    pub fn loose(&self, name: &str) -> Option<Oid> {
        match read_text(&self.common_dir.join(name)) {
            Ok(text) => Oid::parse(text.trim()),
            Err(_) => Oid::parse(&self.packed(name)?),
        }
    }

    fn packed(&self, name: &str) -> Option<String> {
        let packed = read_regular(&self.common_dir.join("packed-refs"), Links::Followed, MOST_REFS).ok()?;
        let end = memmem::find(&packed, format!(" {name}\n").as_bytes())?;
        let line = packed[..end].rsplit(|byte| *byte == b'\n').next()?;
        Some(Oid::parse(std::str::from_utf8(line).ok()?)?.to_string())
    }

    /// Returns whether the deletion of a ref at `old` only removes its own file after it was packed: the packed refs
    /// contain it, and no process is about to remove it from them.
    pub fn is_only_unpacked(&self, name: &str, old: &str) -> bool {
        self.packed(name).as_deref() == Some(old) && !may_exist(&self.common_dir.join("packed-refs.lock"))
    }

    /// Returns whether the history of `new` contains `old`; runs git unless a few loose commits show it, or show that
    /// it contains `descendant`, a known descendant of `old`. Returns true also if git cannot tell.
    pub async fn contains(&self, new: &str, old: &Oid, descendant: Option<&Oid>) -> bool {
        let objects = self.common_dir.join("objects");
        let olds: Vec<&Oid> = descendant.into_iter().chain([old]).collect();
        if let Some(new) = Oid::parse(new)
            && loose::is_known_to_contain(&objects, &new, &olds)
        {
            return true;
        }
        let args = ["--is-ancestor", old.as_str(), new];
        let output = self.git().cmd("merge-base", args).any_exit().await;
        !output.is_ok_and(|output| output.code == Some(1))
    }

    /// Returns whether the repository has no other work tree than this one (gitrepository-layout(5), `worktrees`).
    pub fn is_only_work_tree(&self) -> bool {
        let others = entries_of(&self.common_dir.join("worktrees"));
        self.git_dir == self.common_dir && others.is_ok_and(|others| others.is_empty())
    }

    /// Lists the existing linked work trees (gitrepository-layout(5), `worktrees/<id>/gitdir`).
    pub fn linked_work_trees(&self) -> Result<impl Iterator<Item = PathBuf> + use<>, FileError> {
        let entries = entries_of(&self.common_dir.join("worktrees"))?.into_iter();
        let dirs = entries.filter_map(|entry| registered_top(&entry.path()));
        Ok(dirs.filter(|dir| may_exist(dir)))
    }

    /// Returns the path of the stash's reflog; the path is empty if the stash has no file of its own.
    pub fn stash_log(&self) -> PathBuf {
        self.common_dir.join("logs/refs/stash")
    }

    /// Asks git for the subject of a commit.
    pub async fn subject(&self, commit: &str) -> Option<String> {
        let args = ["-s", "--format=%s", commit, "--"];
        let text = self.git().cmd("show", args).text().await.ok()?;
        Some(text.trim().to_owned())
    }

    /// Returns a git that runs in this repository.
    pub fn git(&self) -> Git {
        Git::at(&self.git_dir)
    }
}

/// Returns the top directory of a linked work tree, as git has registered it.
pub fn registered_top(registration: &Path) -> Option<PathBuf> {
    let link = read_regular(&registration.join("gitdir"), Links::Refused, MOST_OF_A_PATH).ok()?;
    let link = PathBuf::from(OsString::from_vec(link.trim_ascii_end().to_vec()));
    link.parent().map(Path::to_owned)
}

/// Finds the git directories around `dir`, with objects, and with refs or loops, and the top of their work tree, even
/// if git cannot read them.
pub fn git_directories(dir: &Path) -> Option<(PathBuf, RepoLayout)> {
    let real = dir.canonicalize();
    real.as_deref().unwrap_or(dir).ancestors().find_map(|top| {
        let whole = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let git_dir = whole(top.join(git_dir_at(&top.join(".git"))?));
        let common_dir = whole(common_dir_of(&git_dir));
        let is_dir = |name: &str| seen(&common_dir.join(name)).is_some_and(|found| found.is_dir());
        // An interrupted attempt may have removed the refs.
        let is_one = is_dir("objects") && (is_dir("refs") || is_dir("ralph"));
        is_one.then(|| (top.to_owned(), RepoLayout { git_dir, common_dir }))
    })
}

/// Returns the nearest file `.git` at or above a directory, and the missing repository that it names; `None` if it is a
/// directory, or names a repository.
pub fn leads_nowhere(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = dir.canonicalize();
    let mut files = real
        .as_deref()
        .unwrap_or(dir)
        .ancestors()
        .map(|top| top.join(".git"));
    let file = files.find(|file| may_be_there(file))?;
    let place = file.with_file_name(git_dir_at(&file).filter(|place| *place != file)?);
    RepoLayout::of(place.clone()).is_none().then_some((file, place))
}

/// Returns whether a file belongs to the current user, or to the user of sudo, by git's rules.
fn is_ours(path: &Path) -> bool {
    let we = geteuid().as_raw();
    let sudo = || env::var("SUDO_UID").ok()?.parse::<u32>().ok();
    seen_itself(path).is_some_and(|found| found.uid() == we || we == 0 && sudo() == Some(found.uid()))
}

/// Returns whether two paths name one directory.
pub fn is_same_dir(one: &Path, other: &Path) -> bool {
    match (seen(one), seen(other)) {
        (Some(one), Some(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Returns a git directory, or the one named by a file in its place.
fn git_dir_at(path: &Path) -> Option<PathBuf> {
    if seen(path).is_some_and(|found| found.is_dir()) {
        return Some(path.to_owned());
    }
    let text = read_regular(path, Links::Followed, MOST).ok()?;
    Some(path_in(text.strip_prefix(b"gitdir: ")?))
}

fn common_dir_of(git_dir: &Path) -> PathBuf {
    match read_regular(&git_dir.join("commondir"), Links::Followed, MOST) {
        Ok(text) => git_dir.join(path_in(&text)),
        Err(_) => git_dir.to_owned(),
    }
}

/// Reads one of git's short files. Leaves a pipe or device in its place to git.
fn read_text(path: &Path) -> io::Result<String> {
    read_regular_text(path, Links::Followed, MOST)
}

/// Returns the path that a line of one of git's files names.
pub fn path_in(line: &[u8]) -> PathBuf {
    path_of(line.strip_suffix(b"\n").unwrap_or(line)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_linked_work_tree_leads_to_the_shared_directory() {
        let temp = tempfile::tempdir().unwrap();
        let main = temp.path().join("main/.git");
        let own = main.join("worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::write(main.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/ralph/c\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let linked = temp.path().join("linked/deep/er");
        fs::create_dir_all(&linked).unwrap();
        let link = format!("gitdir: {}\n", own.display());
        fs::write(temp.path().join("linked/.git"), link).unwrap();
        let (top, found) = RepoLayout::above(&linked).unwrap();
        assert!(is_same_dir(&top, &temp.path().join("linked")));
        assert!(found.shares(&main));
        assert_eq!(found.head(), LayoutHead::Branch("refs/heads/ralph/c".to_owned()));
        let (_, found) = RepoLayout::above(&temp.path().join("main/no/such/dir")).unwrap();
        assert_eq!(found.head(), LayoutHead::Branch("refs/heads/main".to_owned()));
        fs::write(main.join("HEAD"), "ref: refs/heads/.invalid\n").unwrap();
        assert_eq!(found.head(), LayoutHead::Unknown);
        let oid = "0123456789012345678901234567890123456789";
        fs::write(main.join("HEAD"), format!("{oid}\n")).unwrap();
        assert_eq!(found.head(), LayoutHead::Detached(oid.to_owned()));
        assert_eq!(RepoLayout::above(&temp.path().join("missing")), None);
    }

    #[test]
    fn layout_claims_nothing_about_unreadable_places() {
        let temp = tempfile::tempdir().unwrap();
        let git_dir = temp.path().join(".git");
        for dir in ["objects", "refs"] {
            fs::create_dir_all(git_dir.join(dir)).unwrap();
        }
        fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git_dir.join("config"), "").unwrap();
        let below = temp.path().join("below");
        fs::create_dir(&below).unwrap();
        let (_, layout) = RepoLayout::certainly_above(&below).unwrap();
        assert!(layout.is_only_work_tree());
        // Git may find a repository there.
        fs::create_dir(below.join(".git")).unwrap();
        assert_eq!(RepoLayout::certainly_above(&below), None);
        let refused = temp.path().join("n".repeat(256));
        let layout = RepoLayout {
            git_dir: refused.clone(),
            common_dir: refused,
        };
        assert!(!layout.is_only_work_tree() && layout.has_hidden_refs());
    }
}
