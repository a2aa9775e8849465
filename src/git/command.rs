//! Calls git: arguments and environment.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::error::GitError;
use super::filters::{Filters, alone};
use super::waits::{READS, waited_for};
use crate::async_cmd::{self, Bounds, Command, Output};
use crate::fs::kind_of;
use crate::names::Oid;

/// The variables through which the environment can select another repository (`git rev-parse --local-env-vars`), except
/// the two that contain the user's `git -c` settings.
pub const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// Variables that change the meaning or the output of git commands.
const MEANING_VARIABLES: &[&str] = &[
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_CEILING_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "LC_ALL",
    "LANGUAGE",
];

/// Settings that every call pins: no hooks, no background work, no unreliable cache, no lossy warnings, and objects and
/// refs on disk before they are used.
const PINNED: &[&str] = &[
    "core.hooksPath=/dev/null",
    "hook.reference-transaction.enabled=false",
    "hook.post-index-change.enabled=false",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "index.skipHash=false",
    "index.sparse=false",
    "core.ignoreStat=false",
    "core.checkStat=default",
    "core.trustctime=true",
    "core.safecrlf=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "add.ignoreErrors=false",
    "advice.addEmbeddedRepo=false",
    "core.fsync=committed,reference",
    "core.fsyncMethod=batch",
    "core.logAllRefUpdates=always",
    // Another loop's git may hold these locks; a stale one delays a command only by seconds.
    "core.packedRefsTimeout=5000",
    "core.filesRefLockTimeout=1000",
    "i18n.commitEncoding=UTF-8",
    "color.diff=false",
    "core.quotePath=false",
];

/// Calls git in one directory.
#[derive(Clone, Debug, Default)]
pub struct Git {
    top: PathBuf,
    /// True if `top` is the top of a work tree: git must not use a repository above it.
    is_top: bool,
    /// True if the file system certainly distinguishes upper and lower case.
    tells_cases: bool,
    limit: Duration,
    own_identity: bool,
    /// Settings in addition to the pinned ones, shared by all clones.
    settings: Arc<Mutex<Vec<String>>>,
    /// The index that replaces the work tree's.
    index: Option<PathBuf>,
    /// The repository that replaces the work tree's.
    repository: Option<PathBuf>,
    fetches: Fetches,
    /// Whether the user has filters that git may run.
    filters: Filters,
}

/// The objects that git may fetch on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fetches {
    /// Objects that a partial clone lacks.
    #[default]
    Missing,
    Nothing,
}

impl Git {
    /// Returns a git that runs in `top`, a work tree or any other directory, with a limit of 10 minutes per command.
    pub fn at(top: &Path) -> Self {
        Self {
            top: top.to_owned(),
            limit: Duration::from_secs(600),
            ..Self::default()
        }
    }

    /// Returns a git that runs in the top directory of a work tree: if its `.git` is gone, git does not use a
    /// repository above it.
    pub fn at_top(top: &Path) -> Self {
        Self {
            is_top: true,
            tells_cases: tells_cases(top),
            ..Self::at(top)
        }
    }

    /// Runs in this directory, which need not be a work tree.
    pub(super) fn in_dir(mut self, dir: &Path) -> Self {
        dir.clone_into(&mut self.top);
        self.is_top = false;
        self
    }

    /// Sets the time limit of each command.
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Makes commits as `git-ralph`, for a user without a name in git's configuration.
    pub fn with_own_identity(mut self, own: bool) -> Self {
        self.own_identity = own;
        self
    }

    /// Gives every command of this git these settings (`<key>=<value>`), replacing earlier ones; does not affect other
    /// clones.
    pub fn with_settings(mut self, settings: Vec<String>) -> Self {
        self.settings = Arc::new(Mutex::new(settings));
        self
    }

    /// Gives the commands of this git and all its clones these settings, replacing earlier ones.
    pub fn change_settings(&self, settings: Vec<String>) {
        *self.shared_settings() = settings;
    }

    /// Uses this index file instead of the work tree's, unless a command names another one.
    pub fn with_index(self, index: Option<PathBuf>) -> Self {
        Self { index, ..self }
    }

    /// Uses the repository in this directory instead of the work tree's. Does not fetch missing objects.
    pub fn with_repository(mut self, dir: &Path) -> Self {
        self.repository = Some(dir.to_owned());
        self
    }

    /// Does not fetch missing objects: the repository's configuration, which an attempt could have written, names the
    /// programs of a fetch.
    pub fn offline(self) -> Self {
        let fetches = Fetches::Nothing;
        Self { fetches, ..self }
    }

    /// Sets whether filters are configured.
    pub fn with_filters(self, filters: Filters) -> Self {
        Self { filters, ..self }
    }

    /// Returns the index file set by [`Self::with_index`].
    pub fn own_index(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    /// Returns the additional settings.
    pub fn settings(&self) -> Vec<String> {
        self.shared_settings().clone()
    }

    fn shared_settings(&self) -> MutexGuard<'_, Vec<String>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether an additional setting has this key.
    pub fn has_setting(&self, key: &str) -> bool {
        let settings = self.shared_settings();
        let mut keys = settings.iter().filter_map(|setting| setting.split_once('='));
        keys.any(|(has, _)| has == key)
    }

    /// Returns the directory in which git runs.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Builds a git command; `verb` and `args` follow the pinned settings.
    pub fn cmd<S: AsRef<OsStr>>(&self, verb: &'static str, args: impl IntoIterator<Item = S>) -> GitCommand {
        self.cmd_with(&[], verb, args)
    }

    /// Builds a `git cat-file` that queries these objects in one process; `how` is the option for the query.
    pub(super) fn ask_about<T: Display>(
        &self,
        objects: impl IntoIterator<Item = T>,
        how: &str,
    ) -> GitCommand {
        let lines = objects.into_iter().map(|object| format!("{object}\n"));
        self.cmd("cat-file", [how]).stdin(lines.collect::<String>())
    }

    /// Builds a git command with further settings in addition to the pinned ones.
    pub fn cmd_with<S: AsRef<OsStr>>(
        &self,
        settings: &[&str],
        verb: &'static str,
        args: impl IntoIterator<Item = S>,
    ) -> GitCommand {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let mut command = Command::new("git")
            .arg("-C")
            .arg(&self.top)
            .limit(self.limit)
            .with_locks()
            .examined(&self.top, waited_for);
        if READS.contains(&verb) {
            command = command.only_reading();
        }
        for name in REPOSITORY_VARIABLES.iter().chain(MEANING_VARIABLES) {
            command = command.env_remove(name);
        }
        for (name, value) in [
            ("LC_MESSAGES", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", ":"),
            ("GIT_PAGER", "cat"),
            ("GIT_ADVICE", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            // Objects are read unchanged, even if git is configured to replace them.
            ("GIT_NO_REPLACE_OBJECTS", "1"),
        ] {
            command = command.env(name, value);
        }
        if let Some(index) = &self.index {
            command = command.env("GIT_INDEX_FILE", index);
        }
        if let Some(repository) = &self.repository {
            command = command.env("GIT_DIR", repository).env("GIT_NO_LAZY_FETCH", "1");
        }
        let stays_out = || {
            args.iter()
                .any(|arg| STAYS_OUT.iter().any(|option| arg == option))
        };
        if self.fetches == Fetches::Nothing || ENTERS_SUBMODULES.contains(&verb) && !stays_out() {
            // Git before 2.45 knows only the second variable.
            command = command
                .env("GIT_NO_LAZY_FETCH", "1")
                .env("GIT_ALLOW_PROTOCOL", "none");
        }
        if let Some(above) = self.top.parent().filter(|_| self.is_top) {
            command = command.env("GIT_CEILING_DIRECTORIES", above);
        }
        if self.own_identity {
            for role in ["AUTHOR", "COMMITTER"] {
                command = command
                    .env(format!("GIT_{role}_NAME"), "git-ralph")
                    .env(format!("GIT_{role}_EMAIL"), "git-ralph@localhost");
            }
        }
        // A repository from another system may have another value; git would then overlook a file whose name differs
        // from another one only in case.
        let by_case = self.tells_cases.then_some("core.ignorecase=false");
        for setting in PINNED
            .iter()
            .copied()
            .chain(by_case)
            .chain(self.shared_settings().iter().map(String::as_str))
            .chain(settings.iter().copied())
        {
            command = command.arg("-c").arg(setting);
        }
        GitCommand {
            command: command.in_short().arg(verb).args(args),
            verb,
            is_alone: self.filters.run_in(verb),
        }
    }
}

/// Returns whether the file system at the top of a work tree certainly distinguishes upper and lower case: `.git` then
/// exists under one name only.
fn tells_cases(top: &Path) -> bool {
    let file =
        |name: &str| kind_of(&top.join(name)).map(|found| found.map(|found| (found.dev(), found.ino())));
    matches!((file(".git"), file(".GIT")), (Ok(Some(one)), Ok(other)) if other != Some(one))
}

/// A git command before its start.
#[derive(Debug)]
pub struct GitCommand {
    command: Command,
    verb: &'static str,
    /// True if it must not run beside another git that may run filters.
    is_alone: bool,
}

impl GitCommand {
    /// Uses this index file instead of the repository's.
    pub fn index(mut self, index: &Path) -> Self {
        self.command = self.command.env("GIT_INDEX_FILE", index);
        self
    }

    /// Passes no lock of the loop to the command.
    pub fn without_locks(mut self) -> Self {
        self.command = self.command.without_locks();
        self
    }

    /// Ends the command if it exceeds these bounds.
    pub fn within(mut self, bounds: Bounds) -> Self {
        self.command = self.command.within(bounds);
        self
    }

    /// Sets a variable for this call.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command = self.command.env(name, value);
        self
    }

    /// Sets its standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.command = self.command.stdin(bytes);
        self
    }

    /// Runs it and accepts any exit code.
    pub async fn any_exit(self) -> Result<Output, GitError> {
        let _alone = if self.is_alone { Some(alone().await) } else { None };
        let mut tries = 0;
        while READS_WORK_TREES.contains(&self.verb) && tries < 50 {
            let output = async_cmd::run(self.command.clone()).await?;
            if !met_half_a_work_tree(&output) {
                return Ok(output);
            }
            tries += 1;
            sleep(Duration::from_millis(20)).await;
        }
        Ok(async_cmd::run(self.command).await?)
    }

    /// Runs it and returns its output.
    ///
    /// # Errors
    /// If git cannot be run or exits with another code than 0; the error contains git's words.
    pub async fn bytes(self) -> Result<Vec<u8>, GitError> {
        let verb = self.verb;
        let output = self.any_exit().await?;
        if output.code == Some(0) {
            Ok(output.stdout)
        } else {
            Err(failure(verb, &output))
        }
    }

    /// Runs it and returns its output; `None` if it exits with 1, git's code for a negative answer.
    pub async fn answer(self) -> Result<Option<Vec<u8>>, GitError> {
        let verb = self.verb;
        let output = self.any_exit().await?;
        match output.code {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(failure(verb, &output)),
        }
    }

    /// Runs it and returns its output as text.
    pub async fn text(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes().await?).into_owned())
    }

    /// Runs it for its effect.
    pub async fn done(self) -> Result<(), GitError> {
        self.bytes().await.map(drop)
    }

    /// Runs it and reads one object id.
    pub async fn oid(self) -> Result<Oid, GitError> {
        let verb = self.verb;
        let text = self.text().await?;
        Oid::parse(&text).ok_or_else(|| GitError::answer(verb, &text))
    }

    /// Runs it and splits a `-z` answer.
    pub async fn fields(self) -> Result<Vec<Vec<u8>>, GitError> {
        Ok(split_z(&self.bytes().await?))
    }
}

/// The commands for which git enters submodules, and the options that prevent it.
const ENTERS_SUBMODULES: [&str; 4] = ["add", "diff-files", "diff-index", "status"];
const STAYS_OUT: [&str; 2] = ["--ignore-submodules=all", "--ignore-submodules=dirty"];

/// The commands that read the files of all work trees.
const READS_WORK_TREES: [&str; 2] = ["for-each-ref", "worktree"];

/// Returns whether git failed because another git is making a work tree: its directory exists, but not all of its
/// files.
fn met_half_a_work_tree(output: &Output) -> bool {
    output.code == Some(128) && names_half_a_work_tree(&String::from_utf8_lossy(&output.stderr))
}

/// Returns whether git names a file of a work tree that it could not read, relative to its own directory.
fn names_half_a_work_tree(words: &str) -> bool {
    words.contains("failed to read") && words.contains("worktrees/")
}

/// Returns the error for a finished command that failed.
pub(super) fn failure(verb: &str, output: &Output) -> GitError {
    GitError::Failed {
        verb: verb.to_owned(),
        code: output.code.unwrap_or_else(|| 128 + output.signal.unwrap_or(0)),
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Splits NUL-terminated fields.
pub fn split_z(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split(|b| *b == 0)
        .filter(|field| !field.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Joins paths, each ended by NUL.
pub fn joined_z<'p>(paths: impl IntoIterator<Item = &'p Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend(path);
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn parser_recognizes_both_messages_about_half_a_work_tree() {
        for words in [
            "fatal: failed to read worktrees/side-2/commondir: Success",
            "fatal: failed to read /r/.git/worktrees/side-2/HEAD: No such file or directory",
        ] {
            assert!(super::names_half_a_work_tree(words), "{words}");
        }
        assert!(!super::names_half_a_work_tree(
            "fatal: failed to read /r/.git/HEAD"
        ));
    }
}
