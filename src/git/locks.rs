//! Finds git's locks, tells whether another git process runs, so that a lock may not be stale, and removes stale ones.
//! Takes no lock itself.

use std::fs;
use std::path::{Path, PathBuf};

use super::command::GitError;
use super::discover::Repo;
use super::index::{lock_of, wait_for_locks};
use super::layout::path_in;
use crate::fs::remove_file;
use crate::processes::{Program, Table, ourselves, program};

/// Number of further waits for a lock that another work tree may hold.
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
    let names = ["packed-refs.lock", "config.lock", "shallow.lock"];
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

/// Removes the locks that no process holds; returns their number. A git that runs in another window gets a moment to
/// finish.
///
/// # Errors
/// If another git process may hold a lock; nothing is removed then.
pub async fn remove_stale(repo: &Repo, mut found: Vec<PathBuf>) -> Result<usize, GitError> {
    wait(repo, &found).await;
    found.retain(|lock| lock.exists());
    let Some(first) = found.first() else { return Ok(0) };
    let any_is_shared = found.iter().any(|lock| is_shared(repo, lock));
    if git_at_work(repo, any_is_shared) != Some(false) {
        return Err(GitError::Locked(first.clone()));
    }
    for lock in &found {
        remove_file(lock)?;
    }
    Ok(found.len())
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
    let table = Table::read()?;
    let mut places: Vec<PathBuf> = [&repo.top, &repo.git_dir, &repo.common_dir]
        .map(|place| real(place))
        .into();
    if everywhere {
        places.extend(all_tops(repo).iter().map(|top| real(top)));
    }
    // `git ralph` is itself a git process that waits for this one.
    let ours = table.lineage();
    let others = table
        .living()
        .filter(|(pid, stat)| stat.parent != ourselves() && !ours.contains(pid));
    any_at_work(others.filter_map(|(pid, _)| program(pid)), &places)
}

/// Returns whether one of these programs is a git in one of the places; `None` if one may be.
fn any_at_work(programs: impl Iterator<Item = Program>, places: &[PathBuf]) -> Option<bool> {
    let mut may_be = false;
    for program in programs.filter(|program| program.name.starts_with(b"git") && !waits_for_others(program)) {
        match &program.directory {
            Some(dir) if places.iter().any(|place| dir.starts_with(place)) => return Some(true),
            Some(_) => {}
            // Other users' services, such as `gitlab-runner`, run for ever.
            None => may_be |= program.name == b"git" || program.name.starts_with(b"git-"),
        }
    }
    (!may_be).then_some(false)
}

/// Returns whether this is a git that only serves others, such as `git fsmonitor--daemon`, or a git-ralph: they hold
/// git's locks for a moment only.
fn waits_for_others(program: &Program) -> bool {
    let mut words = program.words.iter().take(3);
    words.any(|word| word.ends_with(b"-daemon") || word.ends_with(b"git-ralph") || word == b"ralph")
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_git_that_works_here_or_may_do_so_counts() {
        let of = |name: &str, line: &str, directory: Option<&str>| Program {
            name: name.as_bytes().to_vec(),
            words: line.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
            directory: directory.map(PathBuf::from),
        };
        let places = [PathBuf::from("/home/me/project")];
        let judged = |programs: &[Program]| any_at_work(programs.iter().cloned(), &places);
        let here = of("git", "git commit", Some("/home/me/project/src"));
        let elsewhere = of("git", "git commit", Some("/home/me/project-2"));
        let unseen = of("git", "git commit", None);
        let others = [
            of("vim", "vim", Some("/home/me/project")),
            of("git", "git fsmonitor--daemon run", Some("/home/me/project")),
            of("git", "git ralph run", Some("/home/me/project")),
            of("git-ralph", "git-ralph run", Some("/home/me/project")),
            of("gitlab-runner", "gitlab-runner run", None),
        ];
        assert_eq!(judged(&[]), Some(false));
        assert_eq!(judged(&others), Some(false));
        assert_eq!(judged(std::slice::from_ref(&elsewhere)), Some(false));
        assert_eq!(judged(&[elsewhere.clone(), unseen.clone()]), None);
        assert_eq!(judged(&[unseen, elsewhere, here]), Some(true));
    }
}
