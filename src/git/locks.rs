//! Finds git's locks, and tells whether another git process runs, so that a lock may not be stale. Looks at `/proc`;
//! takes no lock itself.

use std::fs;
use std::path::{Path, PathBuf};

use super::discover::Repo;
use super::index::{lock_of, wait_for_locks};
use super::layout::path_in;

/// How many more times a lock is waited for that another work tree may hold.
const TURNS: usize = 10;

/// Returns git's existing locks, except those of single refs.
#[must_use]
pub fn of_git(repo: &Repo) -> Vec<PathBuf> {
    let mut locks = vec![
        lock_of(&repo.index()),
        lock_of(&repo.users_index()),
        repo.common_dir.join("packed-refs.lock"),
        repo.common_dir.join("config.lock"),
    ];
    locks.extend(of_pseudorefs(&repo.git_dir));
    locks.retain(|lock| lock.exists());
    locks.dedup();
    locks
}

/// Lists the locks of HEAD and the like, such as `ORIG_HEAD` and `AUTO_MERGE`: refs with upper-case names beside it
/// (gitglossary(7), "pseudoref").
fn of_pseudorefs(git_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(git_dir).into_iter().flatten();
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        let stem = path.file_stem().map(|stem| stem.as_encoded_bytes().to_vec());
        let is_name = |stem: Vec<u8>| stem.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
        path.extension().is_some_and(|extension| extension == "lock") && stem.is_some_and(is_name)
    };
    paths.filter(is_one).collect()
}

/// Returns whether a lock belongs to all work trees of the repository, so that a git in any of them can hold it.
#[must_use]
pub fn is_shared(repo: &Repo, lock: &Path) -> bool {
    let names = ["packed-refs.lock", "config.lock"];
    names.iter().any(|name| lock == repo.common_dir.join(name))
}

/// Waits for these locks to be released: a moment, and longer for those that all work trees share while a git works in
/// any of them, as others may take them one after the other.
pub async fn wait(repo: &Repo, locks: &[PathBuf]) {
    wait_for_locks(locks).await;
    let shared: Vec<PathBuf> = locks
        .iter()
        .filter(|lock| is_shared(repo, lock))
        .cloned()
        .collect();
    for _ in 0..TURNS {
        if shared.iter().all(|lock| !lock.exists()) || git_at_work(repo, true) != Some(true) {
            return;
        }
        wait_for_locks(&shared).await;
    }
}

/// Lists the top directories of all work trees of a repository, from git's files alone.
fn all_tops(repo: &Repo) -> Vec<PathBuf> {
    let linked = fs::read_dir(repo.common_dir.join("worktrees"))
        .into_iter()
        .flatten();
    let links = linked.filter_map(Result::ok).filter_map(|entry| {
        let link = fs::read(entry.path().join("gitdir")).ok()?;
        Some(entry.path().join(path_in(&link)))
    });
    let main = repo.common_dir.clone();
    let dirs = links.chain([main]);
    dirs.filter_map(|dir| dir.parent().map(Path::to_owned)).collect()
}

/// Returns whether another git process works in this work tree, or `everywhere` in a work tree of the repository;
/// `None` if that cannot be seen.
#[must_use]
pub fn git_at_work(repo: &Repo, everywhere: bool) -> Option<bool> {
    let processes = fs::read_dir("/proc").ok()?;
    let ours = ancestors();
    let mut places: Vec<PathBuf> = [&repo.top, &repo.git_dir, &repo.common_dir]
        .map(|place| real(place))
        .into();
    if everywhere {
        places.extend(all_tops(repo).iter().map(|top| real(top)));
    }
    let mut found = None;
    for pid in processes
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    {
        let dir = PathBuf::from(format!("/proc/{pid}"));
        let Ok(name) = fs::read_to_string(dir.join("comm")) else {
            continue;
        };
        found.get_or_insert(false);
        let is_ours = ours.contains(&pid) || parent_of(pid) == Some(std::process::id());
        if !name.starts_with("git") || is_ours || waits_for_others(&dir) {
            continue;
        }
        let here =
            fs::read_link(dir.join("cwd")).is_ok_and(|cwd| places.iter().any(|place| cwd.starts_with(place)));
        if here {
            return Some(true);
        }
    }
    found
}

/// Returns whether this is a git that only serves others, such as `git fsmonitor--daemon`, or a git-ralph: they hold
/// git's locks for a moment only.
fn waits_for_others(dir: &Path) -> bool {
    let words = fs::read(dir.join("cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).take(3);
    words.any(|word| word.ends_with(b"-daemon") || word.ends_with(b"git-ralph") || word == b"ralph")
}

/// Lists this process and its ancestors: `git ralph` is itself a git process that waits for this one.
fn ancestors() -> Vec<u32> {
    let mut found = vec![std::process::id()];
    while let Some(parent) = found.last().and_then(|pid| parent_of(*pid)) {
        if parent == 0 || found.contains(&parent) {
            break;
        }
        found.push(parent);
    }
    found
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
