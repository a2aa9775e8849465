//! Lists the git commands that change nothing, and finds files at which git would hang. Git opens any path with the
//! name of one of its files: opening a pipe without a writer never returns, and reading a device never ends.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::fs::{Links, read_regular_text, seen, seen_in, seen_itself};

/// The files of a work tree that git opens in any directory, or at its top.
pub const RULES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];

/// The commands that change nothing: a request to stop may end them. Other commands have forms that write.
pub(super) const READS: &[&str] = &[
    "cat-file",
    "check-attr",
    "check-ignore",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
    "status",
    "var",
    "version",
];

/// The files of a git directory that git always reads completely (gitrepository-layout(5)).
const READ_WHOLE: [&str; 11] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
];

/// Returns a device in the place of a file that any git reads in the work tree of `dir`: it would fill the memory.
/// Checks the status of a dozen files, and opens none.
pub fn endless_file(dir: &Path) -> Option<PathBuf> {
    let top = dir
        .ancestors()
        .find(|top| seen_itself(&top.join(".git")).is_some())?;
    let dot_git = top.join(".git");
    let files = READ_WHOLE.iter().map(|name| dot_git.join(name));
    [dot_git.clone()].into_iter().chain(files).find(|file| {
        let kind = seen(file).map(|found| found.file_type());
        // The null device is empty.
        let is_empty = || {
            file.canonicalize()
                .is_ok_and(|target| target == Path::new("/dev/null"))
        };
        kind.is_some_and(|kind| kind.is_char_device() || kind.is_block_device()) && !is_empty()
    })
}

/// Returns the pipe of a repository for which a process waits, and unblocks the process: one of git's rules in the work
/// tree of `dir`, or any file in the git directories.
pub(super) fn waited_for(dir: &Path) -> Option<PathBuf> {
    let top = dir
        .ancestors()
        .find(|top| seen_itself(&top.join(".git")).is_some());
    let top = top.unwrap_or(dir);
    if is_waited_for(&top.join(".git")) {
        return Some(top.join(".git"));
    }
    let named = |file: PathBuf, prefix: &str| {
        let text = read_regular_text(&file, Links::Followed, 1 << 16).ok()?;
        Some(file.parent()?.join(text.trim_end().strip_prefix(prefix)?))
    };
    let git_dir = named(top.join(".git"), "gitdir: ").unwrap_or_else(|| top.join(".git"));
    let common_dir = named(git_dir.join("commondir"), "");
    let of_git = [Some(git_dir), common_dir].into_iter().flatten();
    let mut open: Vec<(PathBuf, bool)> = of_git.map(|dir| (dir, true)).collect();
    open.push((top.to_owned(), false));
    while let Some((dir, is_gits)) = open.pop() {
        for entry in seen_in(&dir) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() {
                if is_gits || name != ".git" {
                    open.push((entry.path(), is_gits));
                }
            } else if !kind.is_file()
                && (is_gits || RULES.iter().any(|rules| name == *rules))
                && is_waited_for(&entry.path())
            {
                return Some(entry.path());
            }
        }
    }
    None
}

/// Returns whether a process waits for the other end of this pipe.
fn is_waited_for(path: &Path) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "a pipe is looked at; nothing is written to it"
    )]
    let open = |options: &mut OpenOptions| {
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        options.custom_flags(flags.bits()).open(path)
    };
    if !seen(path).is_some_and(|found| found.file_type().is_fifo()) {
        return false;
    }
    // A pipe cannot be opened for writing without a reader; without a writer, a reader gets its end.
    open(OpenOptions::new().write(true)).is_ok()
        || open(OpenOptions::new().read(true)).is_ok_and(|mut pipe| pipe.read(&mut [0]).is_err())
}
