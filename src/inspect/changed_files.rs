//! The files that an attempt has changed so far, for display: read without a lock, within a short time or not at all;
//! and an index with which git shows them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::async_cmd::Bounds;
use crate::engine::own_output::files_of_holder;
use crate::events::log::{attempts, range_of};
use crate::fs::{Below, FileError, file_error, is_there};
use crate::git::{Git, GitError};
use crate::settings::BoxMode;
use crate::state::{State, Store};

/// Maximum time for git.
const LIMIT: Duration = Duration::from_secs(2);
/// The bounds of git's output and memory.
const BOUNDS: Bounds = Bounds {
    output: 4 << 20,
    memory: 512 << 20,
};

/// An attempt, and whether it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Of {
    /// The story's id.
    pub story: String,
    /// The number of the attempt.
    pub attempt: u32,
    /// True if its work is in the work tree now; false if a commit keeps it.
    pub runs: bool,
}

/// The changed files by path, each with git's letter for its change.
pub type Changed = BTreeMap<String, char>;

/// The reason why the changed files are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Git took too long, or printed too much: a retry would have the same result.
    TooLong,
    /// Git cannot list them now.
    NotNow(String),
}

/// Reads the files that an attempt of a loop has changed, in a thread that may block. Takes no lock, and writes
/// nothing: does not disturb the attempt's use of git.
pub fn changed_files(store: &Store, of: &Of) -> Result<Changed, Unknown> {
    let since = Instant::now();
    let not_now = |error: String| {
        if since.elapsed() < LIMIT {
            Unknown::NotNow(error)
        } else {
            Unknown::TooLong
        }
    };
    let state = store.load().map_err(|error| not_now(error.to_string()))?;
    let state = state.ok_or_else(|| not_now("the files of the loop are gone".to_owned()))?;
    let range = range_of(&store.file("events.jsonl"), &of.story, Some(of.attempt), true);
    let range = match range {
        _ if of.runs => None,
        Ok(None) => return Err(not_now("nothing is kept of this attempt".to_owned())),
        Ok(range) => range,
        Err(error) => return Err(not_now(error.to_string())),
    };
    let runtime = runtime().map_err(|error| not_now(error.to_string()))?;
    let found = runtime.block_on(read(store, &state, range));
    found.map_err(|error| not_now(error.to_string()))
}

/// The name of the copy in its directory.
const INDEX: &str = "index";

/// A copy of a work tree's index with an entry for each new file too, so that `git diff <commit>` shows these files. It
/// is removed on drop.
#[derive(Debug)]
pub struct WithNewFiles {
    dir: TempDir,
    /// The repositories inside the work tree whose files the copy lacks.
    pub nested: Vec<String>,
}

impl WithNewFiles {
    /// Makes the copy for the work tree of a loop; reads no content of a file.
    ///
    /// # Errors
    /// If the copy cannot be written, or git cannot list the new files.
    pub async fn make(store: &Store, state: &State) -> Result<Self, GitError> {
        Self::make_with(git_of(store, state), own_output(store, state)).await
    }

    /// Makes the copy as [`Self::make`] does, and waits for it in a separate thread: the caller may be a task.
    ///
    /// # Errors
    /// As for [`Self::make`].
    pub fn make_now(store: &Store, state: &State) -> Result<Self, GitError> {
        let made = Self::make_with(git_of(store, state), own_output(store, state));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| runtime()?.block_on(made));
            waiting
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    async fn make_with(git: Git, left_out: Vec<Vec<u8>>) -> Result<Self, GitError> {
        let dir = tempfile::tempdir();
        let dir = dir.map_err(|source| file_error("make", &std::env::temp_dir(), source))?;
        let own = match git.own_index() {
            Some(index) => index.to_owned(),
            None => {
                let path = git.cmd("rev-parse", ["--git-path", "index"]).text().await?;
                git.top().join(path.trim_end_matches('\n'))
            }
        };
        let copy = dir.path().join(INDEX);
        if is_there(&own)? {
            Below::new(dir.path()).copy(&own, &copy)?;
        }
        let args = ["-z", "--others", "--exclude-standard"];
        let (nested, new): (Vec<_>, Vec<_>) = git
            .cmd("ls-files", args)
            .fields()
            .await?
            .into_iter()
            .filter(|path| !left_out.contains(path))
            .partition(|path| path.ends_with(b"/"));
        let nested = nested.iter().map(|path| in_text(path)).collect();
        if new.is_empty() {
            return Ok(Self { dir, nested });
        }
        // Git compares the content: the entry has no times.
        let empty = git.cmd("hash-object", ["--stdin"]).stdin("").text().await?;
        let entry = format!("100644 {}\t", empty.trim_end());
        let lines = new.iter().map(|path| [entry.as_bytes(), path, b"\0"].concat());
        let lines: Vec<Vec<u8>> = lines.collect();
        let add = git.cmd("update-index", ["-z", "--index-info"]).index(&copy);
        add.stdin(lines.concat()).done().await?;
        Ok(Self { dir, nested })
    }

    /// Returns the path of the copy.
    pub fn index(&self) -> PathBuf {
        self.dir.path().join(INDEX)
    }
}

/// Returns a note about repositories that are not shown.
pub fn not_shown(nested: &[String]) -> String {
    format!("not shown, because they are repositories: {}", nested.join(", "))
}

/// The options of a `git diff` that runs no configured programs.
const WITHOUT_PROGRAMS: [&str; 2] = ["--no-ext-diff", "--no-textconv"];

/// The arguments of a `git diff` that reads such a copy, before the commit: it writes no tree of the copy, and no index
/// of a submodule, and runs no file that the attempt may have written.
pub const DIFF: [&str; 6] = [
    "-c",
    "index.sparse=false",
    "diff",
    "--ignore-submodules=dirty",
    WITHOUT_PROGRAMS[0],
    WITHOUT_PROGRAMS[1],
];

/// Returns the arguments of a `git diff` of two commits of a loop. If an attempt of it has, or will have, a sandbox,
/// git runs no program that the attempt may have written.
///
/// # Errors
/// If the events cannot be read.
pub fn diff_of_commits(store: &Store, mode: BoxMode) -> Result<Vec<&'static str>, FileError> {
    let had_box = || {
        Ok(attempts(&store.file("events.jsonl"))?
            .iter()
            .any(|entry| entry.attempt.boxed.is_some()))
    };
    let has_box = mode != BoxMode::Off || had_box()?;
    let options = WITHOUT_PROGRAMS.iter().filter(|_| has_box);
    Ok(std::iter::once("diff").chain(options.copied()).collect())
}

fn runtime() -> Result<Runtime, GitError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|source| file_error("start", Path::new("git"), source))?)
}

/// Returns the files that receive the output of the process that holds the loop: they do not count as work.
fn own_output(store: &Store, state: &State) -> Vec<Vec<u8>> {
    files_of_holder(store, state.work_tree())
}

/// Returns the git that reads the work tree of a loop.
fn git_of(store: &Store, state: &State) -> Git {
    Git::at_top(state.work_tree()).with_index(state.common.strategy.loop_index(&store.dir()))
}

/// Reads the differences between two states, or between the checkpoint and the work tree.
async fn read(store: &Store, state: &State, range: Option<(String, String)>) -> Result<Changed, GitError> {
    let git = git_of(store, state).with_limit(LIMIT);
    if let Some((from, to)) = range {
        return Ok(names_and_letters(&between(&git, &from, &to).await?));
    }
    let mut changed = Changed::new();
    if state.has_branch() {
        // Commits made by the agent.
        changed = names_and_letters(&between(&git, state.checkpoint().as_str(), "HEAD").await?);
    }
    let args = [
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
    ];
    let mut status = git.cmd("status", args).within(BOUNDS).fields().await?;
    let left_out = own_output(store, state);
    status.retain(|field| {
        !field
            .strip_prefix(b"?? ")
            .is_some_and(|path| left_out.iter().any(|own| own == path))
    });
    changed.extend(of_status(&status, state.has_branch()));
    Ok(changed)
}

async fn between(git: &Git, from: &str, to: &str) -> Result<Vec<Vec<u8>>, GitError> {
    let args = ["-r", "-z", "--name-status", "--no-renames", from, to, "--"];
    git.cmd("diff-tree", args).within(BOUNDS).fields().await
}

/// Parses the output of `git diff-tree --name-status -z`.
fn names_and_letters(fields: &[Vec<u8>]) -> Changed {
    let pairs = fields.chunks_exact(2);
    let named = pairs.filter_map(|pair| {
        let [letter, path] = pair else { return None };
        Some((in_text(path), char::from(*letter.first()?)))
    });
    named.collect()
}

/// Parses the output of `git status --porcelain=v1 -z`. If HEAD is not the checkpoint, only the second letter counts:
/// the index is the checkpoint's.
fn of_status(fields: &[Vec<u8>], is_head_the_checkpoint: bool) -> Changed {
    let named = fields.iter().filter_map(|field| {
        let ([staged, unstaged, b' '], path) = field.split_first_chunk()? else {
            return None;
        };
        let letter = match (*staged, *unstaged) {
            (b'?', _) => b'A',
            (staged, b' ') if is_head_the_checkpoint => staged,
            (_, b' ') => return None,
            (b'A', b'M') if is_head_the_checkpoint => b'A',
            (_, unstaged) => unstaged,
        };
        Some((in_text(path), char::from(letter)))
    });
    named.collect()
}

fn in_text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(all: &[&str]) -> Vec<Vec<u8>> {
        all.iter().map(|field| field.as_bytes().to_vec()).collect()
    }

    fn words(changed: &Changed) -> Vec<String> {
        let words = changed.iter().map(|(path, letter)| format!("{letter} {path}"));
        words.collect()
    }

    #[test]
    fn parser_reads_gits_lists_of_changed_files() {
        let status = fields(&["?? new", " M edited", "M  staged", "AM made", "D  gone", "x"]);
        let all = ["M edited", "D gone", "A made", "A new", "M staged"];
        assert_eq!(words(&of_status(&status, true)), all);
        assert_eq!(words(&of_status(&status, false)), ["M edited", "M made", "A new"]);
        let trees = names_and_letters(&fields(&["A", "new", "M", "a b", "D"]));
        assert_eq!(words(&trees), ["M a b", "A new"]);
    }
}
