//! Finds git's locks, decides whether another git process may hold them, and removes stale ones. Takes no lock itself.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::discover::Repo;
use super::error::GitError;
use super::index::{lock_of, wait_while};
use super::layout::path_in;
use super::stamp::Stamp;
use crate::fs::{entries_of, may_exist, read_if_there, seen_in, seen_itself};
use crate::paths::real;
use crate::processes::{Program, Stat, Table, began_by, ourselves, program};

/// Maximum number of waits for a lock that another work tree may hold.
const TURNS: u32 = 11;

/// Returns git's existing locks, except those of single refs.
pub fn of_git(repo: &Repo) -> Vec<PathBuf> {
    let mut locks = vec![
        lock_of(&repo.index()),
        lock_of(&repo.users_index()),
        repo.common_dir.join("packed-refs.lock"),
        repo.common_dir.join("config.lock"),
    ];
    locks.extend(of_pseudorefs(&repo.git_dir));
    locks.retain(|lock| may_exist(lock));
    locks.dedup();
    locks
}

/// Lists the locks of HEAD and pseudorefs such as `ORIG_HEAD` and `AUTO_MERGE`: refs with upper-case names beside it
/// (gitglossary(7), "pseudoref").
fn of_pseudorefs(git_dir: &Path) -> Vec<PathBuf> {
    let paths = seen_in(git_dir).map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        let stem = path.file_stem().map(|stem| stem.as_encoded_bytes().to_vec());
        let is_name = |stem: Vec<u8>| stem.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
        path.extension().is_some_and(|extension| extension == "lock") && stem.is_some_and(is_name)
    };
    paths.filter(is_one).collect()
}

/// Returns whether all work trees of the repository share a lock, so that a git in any of them can hold it.
pub fn is_shared(repo: &Repo, lock: &Path) -> bool {
    let names = ["packed-refs.lock", "config.lock", "shallow.lock"];
    let is_named = names.iter().any(|name| lock == repo.common_dir.join(name));
    let of_loops = ["refs/ralph", "refs/heads/ralph"].map(|name| repo.common_dir.join(name));
    let is_of_loop = of_loops.iter().any(|loops| lock.starts_with(loops));
    let is_of_ref = lock.starts_with(repo.common_dir.join("refs")) && !is_of_loop;
    is_named || is_of_ref || of_stash(repo).contains(&lock.to_owned())
}

/// Returns the paths of the locks of the stash: of its ref, and of its reflog, which git locks to drop an entry
/// (git-reflog(1), `delete`).
pub fn of_stash(repo: &Repo) -> [PathBuf; 2] {
    ["refs/stash.lock", "logs/refs/stash.lock"].map(|name| repo.common_dir.join(name))
}

/// Refuses a repository in which a git holds a lock, or has left one.
///
/// # Errors
/// [`GitError::Locked`] with the first lock that is not released.
pub async fn require_free(repo: &Repo) -> Result<(), GitError> {
    let lock = stuck(repo, &of_git(repo)).await.into_iter().next();
    lock.map_or(Ok(()), |lock| Err(GitError::Locked(lock)))
}

/// Waits for locks to be released: briefly, and longer for shared ones while a git runs in any work tree. Returns those
/// that were not released. Git processes take shared locks in turn: a lock of the same name that another git has taken
/// since does not count.
pub async fn stuck(repo: &Repo, locks: &[PathBuf]) -> Vec<PathBuf> {
    let stamp = |lock: &Path| seen_itself(lock).map(|found| Stamp::of(&found));
    let found: Vec<(&PathBuf, Stamp)> = locks
        .iter()
        .filter_map(|lock| Some((lock, stamp(lock)?)))
        .collect();
    let is_held = |lock: &Path, found| stamp(lock).is_some_and(|now| now == found || !is_shared(repo, lock));
    let left = || {
        let left = found.iter().filter(|(lock, found)| is_held(lock, *found));
        left.map(|(lock, _)| (*lock).clone()).collect::<Vec<PathBuf>>()
    };
    for _ in 0..TURNS {
        wait_while(|| !left().is_empty()).await;
        let left = left();
        let is_waited_for = left.iter().any(|lock| is_shared(repo, lock));
        if !is_waited_for || may_be_held(repo, &left) != Some(true) {
            return left;
        }
    }
    left()
}

/// Removes the locks that no process holds; returns their number. First waits briefly for a git in another terminal to
/// finish.
///
/// # Errors
/// If another git process may hold a lock; nothing is removed then.
pub async fn remove_stale(repo: &Repo, found: &[PathBuf]) -> Result<usize, GitError> {
    let stuck = stuck(repo, found).await;
    let Some(first) = stuck.first() else { return Ok(0) };
    if may_be_held(repo, &stuck) != Some(false) {
        return Err(GitError::Locked(first.clone()));
    }
    for lock in &stuck {
        repo.door(lock).remove_file(lock)?;
    }
    Ok(stuck.len())
}

/// Lists the top directories of all work trees of a repository, from git's files alone; `None` if they cannot be read.
fn all_tops(repo: &Repo) -> Option<Vec<PathBuf>> {
    let mut dirs = vec![repo.common_dir.clone()];
    for entry in entries_of(&repo.common_dir.join("worktrees")).ok()? {
        let link = read_if_there(&entry.path().join("gitdir")).ok()?;
        dirs.extend(link.map(|link| entry.path().join(path_in(&link))));
    }
    let tops = dirs.iter().filter_map(|dir| dir.parent());
    Some(tops.map(Path::to_owned).collect())
}

/// Returns whether a living git can hold one of these locks: a git in this work tree, or, for shared locks, in any of
/// the repository, that started before the last of them was written. `None` if unknown.
pub fn may_be_held(repo: &Repo, locks: &[PathBuf]) -> Option<bool> {
    let everywhere = locks.iter().any(|lock| is_shared(repo, lock));
    let written = locks.iter().map(|lock| seen_itself(lock)?.modified().ok());
    // A lock without a time may belong to any git.
    let written = written.collect::<Option<Vec<SystemTime>>>();
    let written = written.and_then(|times| times.into_iter().max());
    let table = Table::read()?;
    let mut places: Vec<PathBuf> = [&repo.top, &repo.git_dir, &repo.common_dir]
        .map(|place| real(place))
        .into();
    if everywhere {
        places.extend(all_tops(repo)?.iter().map(|top| real(top)));
    }
    // `git ralph` is itself a git process that waits for this one.
    let ours = table.lineage();
    let may_hold = |stat: &Stat| written.is_none_or(|written| began_by(stat, written));
    let others = table
        .living()
        .filter(|(pid, stat)| stat.parent != ourselves() && !ours.contains(pid) && may_hold(stat));
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
/// git's locks for a moment only. A git that only reads, such as `git cat-file --batch` or a `git log` in a pager, holds none.
fn waits_for_others(program: &Program) -> bool {
    const READERS: [&[u8]; 9] = [
        b"blame",
        b"cat-file",
        b"for-each-ref",
        b"grep",
        b"log",
        b"rev-list",
        b"shortlog",
        b"show",
        b"upload-pack",
    ];
    let serves = |word: &[u8]| word.ends_with(b"-daemon") || word.ends_with(b"git-ralph") || word == b"ralph";
    let command = command_of(&program.words);
    program.words.first().is_some_and(|word| serves(word))
        || command.is_some_and(|command| READERS.contains(&command) || serves(command))
}

/// Returns the subcommand of a git command line, after git's own options.
fn command_of(words: &[Vec<u8>]) -> Option<&[u8]> {
    const WITH_VALUE: [&[u8]; 5] = [b"-c", b"-C", b"--git-dir", b"--work-tree", b"--namespace"];
    let mut words = words.iter().skip(1).map(Vec::as_slice);
    loop {
        let word = words.next()?;
        if !word.starts_with(b"-") {
            return Some(word);
        }
        if WITH_VALUE.contains(&word) {
            words.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_lock_that_another_git_has_taken_since_is_not_stuck() {
        let dir = tempfile::tempdir().unwrap();
        duct::cmd!("git", "init", "-q").dir(dir.path()).run().unwrap();
        let (repo, _) = crate::git::discover(dir.path()).await.unwrap();
        let (lock, next) = (
            repo.common_dir.join("packed-refs.lock"),
            repo.common_dir.join("next"),
        );
        fs::write(&lock, "").unwrap();
        let taken_anew = async {
            // After the first check, which does not wait.
            tokio::task::yield_now().await;
            fs::write(&next, "").unwrap();
            fs::rename(&next, &lock).unwrap();
        };
        let locks = [lock.clone()];
        let (stuck, ()) = tokio::join!(stuck(&repo, &locks), taken_anew);
        assert_eq!(stuck, [] as [PathBuf; 0]);
        assert!(lock.exists());
    }

    #[tokio::test]
    async fn lock_of_the_work_tree_counts_for_any_holder() {
        let dir = tempfile::tempdir().unwrap();
        duct::cmd!("git", "init", "-q").dir(dir.path()).run().unwrap();
        let (repo, _) = crate::git::discover(dir.path()).await.unwrap();
        let locks = [repo.git_dir.join("index.lock")];
        fs::write(&locks[0], "").unwrap();
        let written = async {
            tokio::task::yield_now().await;
            // Git writes the lock while it holds it, and may then ask for a message.
            fs::write(&locks[0], "an index").unwrap();
        };
        let (stuck, ()) = tokio::join!(stuck(&repo, &locks), written);
        assert_eq!(stuck, locks);
    }

    #[tokio::test]
    async fn locks_of_refs_that_another_git_holds_are_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        duct::cmd!("git", "init", "-q").dir(dir.path()).run().unwrap();
        let (repo, _) = crate::git::discover(dir.path()).await.unwrap();
        for (name, milliseconds) in [
            ("core.packedRefsTimeout", "5000"),
            ("core.filesRefLockTimeout", "1000"),
        ] {
            let set = repo.git.cmd("config", ["-z", name]).fields().await.unwrap();
            assert_eq!(set, [milliseconds.as_bytes()], "{name}");
        }
    }

    #[test]
    fn only_a_git_that_may_work_in_the_repository_counts() {
        let of = |name: &str, line: &str, directory: Option<&str>| Program {
            name: name.as_bytes().to_vec(),
            words: line.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
            directory: directory.map(PathBuf::from),
        };
        let places = [PathBuf::from("/home/me/project")];
        let judged = |programs: &[Program]| any_at_work(programs.iter().cloned(), &places);
        let here = of("git", "git commit", Some("/home/me/project/src"));
        let other_project = of("git", "git commit", Some("/home/me/project-2"));
        let unseen = of("git", "git commit", None);
        for line in ["git checkout ralph", "git -c ralph.lease=3s commit -F log"] {
            assert_eq!(
                judged(&[of("git", line, Some("/home/me/project"))]),
                Some(true),
                "{line}"
            );
        }
        let others = [
            of("vim", "vim", Some("/home/me/project")),
            of("git", "git fsmonitor--daemon run", Some("/home/me/project")),
            of("git", "git ralph run", Some("/home/me/project")),
            of(
                "git",
                "git -c ralph.lease=3s -c a=b ralph run",
                Some("/home/me/project"),
            ),
            of("git", "git -C src --no-pager log -p", Some("/home/me/project")),
            of("git-ralph", "git-ralph run", Some("/home/me/project")),
            of("git", "git cat-file --batch", Some("/home/me/project")),
            of("git", "git log -p", Some("/home/me/project")),
            of("gitlab-runner", "gitlab-runner run", None),
        ];
        assert_eq!(judged(&[]), Some(false));
        assert_eq!(judged(&others), Some(false));
        assert_eq!(judged(std::slice::from_ref(&other_project)), Some(false));
        assert_eq!(judged(&[other_project.clone(), unseen.clone()]), None);
        assert_eq!(judged(&[unseen, other_project, here]), Some(true));
    }

    #[tokio::test]
    async fn unreadable_work_trees_are_not_an_empty_list() {
        let dir = tempfile::tempdir().unwrap();
        duct::cmd!("git", "init", "-q").dir(dir.path()).run().unwrap();
        let (repo, _) = crate::git::discover(dir.path()).await.unwrap();
        assert_eq!(all_tops(&repo).unwrap().len(), 1);
        // Only a file can be read.
        fs::create_dir_all(repo.common_dir.join("worktrees/w/gitdir")).unwrap();
        assert_eq!(all_tops(&repo), None);
    }
}
