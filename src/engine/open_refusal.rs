//! Errors of finding the subject of a command: the repository, the loop, a kept attempt.

use std::path::{Path, PathBuf};

use crate::error::advice::{hint, list};
use crate::error::refusals::refusals;
use crate::fs::seen;
use crate::git::RefFile;
use crate::names::{Change, closest, stories_option, typed, typed_path};

refusals! {
/// The reason why a repository, a loop or a kept attempt was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenRefusal {
    #[error("not inside the work tree of a git repository\n  {0}")]
    NoWorkTree(String)
        => "cd into a repository, or create one with: git init";
    /// The file `.git` of a linked work tree or a submodule.
    #[error("{} says that the repository is {}, and there is none", file.display(), place.display())]
    LeadsNowhere { file: PathBuf, place: PathBuf }
        => |file| {
            let top = typed_path(file.parent().unwrap_or(file));
            hint(format!("move the repository back there; or, if this is a linked work tree: git -C <repository> worktree repair {top}"))
        };
    /// The file `commondir`, which only git directories of linked work trees have.
    #[error("git finds no repository here, because {} leads it to another place", .0.display())]
    LedAway(PathBuf)
        => "rm {path}; git writes that file for linked work trees only", (path);
    #[error("this repository has no work tree")]
    Bare
        => "git worktree add <dir> && cd <dir>";
    #[error("the current directory is inside the repository's own directory {}", .0.display())]
    InsideGitDir(PathBuf)
        => "cd into the work tree";
    /// Git takes the directory for no work tree, although its `.git` leads to this repository.
    #[error("git finds no work tree here, although .git leads to {}", .0.display())]
    NoWorkTreeHere(PathBuf)
        => "to see what git says: git status; settings that do so: git config --show-origin --get-regexp '^(core\\.bare|core\\.worktree|extensions\\.)'";
    /// Git cannot read the repository; with git's own message.
    #[error("git cannot read the repository {}\n  {words}", git_dir.display())]
    Damaged { git_dir: PathBuf, words: String }
        => |git_dir| hint(repair(git_dir));
    #[error("GIT_DIR names {}, but the current directory belongs to {}", named.display(), found.display())]
    OtherGitDir { named: PathBuf, found: PathBuf }
        => "cd into the work tree of that repository, or: unset GIT_DIR";
    /// `core.worktree` names a directory without a `.git`: no git that is run there finds the repository.
    #[error("git finds no repository from its own work tree {}: {} names it (core.worktree)", top.display(), git_dir.display())]
    TreeApart { top: PathBuf, git_dir: PathBuf }
        => |top, git_dir| hint(format!(
            "let git find it from there: echo gitdir: {} >{}",
            typed_path(git_dir),
            typed_path(&top.join(".git"))
        ));
    /// A device stands where git reads a file: no git may be run.
    #[error("{} is a device: git would never finish reading it", .0.display())]
    Device(PathBuf)
        => "rm {path}, and put back what was there", (path);
    #[error("git-ralph cannot start a loop, or answer for the user, inside an attempt")]
    InsideAttempt
        => "finish the story, and end with its promise; the loop then continues";
    #[error("there is no loop '{name}' here{}", list(" (loops: ", known, ")"))]
    UnknownLoop {
        name: String,
        known: Vec<String>,
        /// The changes that a loop could be started for.
        changes: Vec<String>,
        /// The list without a known place that is probably meant.
        checklist: Option<String>,
    }
        => |name, known, changes, checklist| match (closest(name, known), known.as_slice()) {
            _ if changes.contains(name) => hint(format!("git ralph start {name}", name = typed(name))),
            (Some(meant), _) => hint(format!("did you mean '{meant}'?")),
            (None, []) if checklist.is_some() => {
                hint(format!("git ralph start {}{}", typed(name), stories_option(checklist.as_deref())))
            }
            (None, []) => hint(start_one_of(changes)),
            (None, _) => hint("name one of them, or see: git ralph status"),
        };
    /// The branch or the refs of a loop without its state.
    #[error("the state of loop '{change}' is gone from .git/ralph, and its {} still there", if *is_in_place { "refs are".to_owned() } else { format!("branch ralph/{change} is") })]
    LostState {
        change: String,
        /// True if no branch has its checkpoints.
        is_in_place: bool,
        /// True if HEAD is on its branch, or need not be.
        is_here: bool,
    }
        => |change, is_here| {
            let branch = typed(format!("ralph/{change}"));
            let switch = if *is_here { String::new() } else { format!("git checkout {branch}, then: ") };
            let change = typed(change);
            hint(format!("to go on from there: {switch}git ralph start {change} --resume (add --stories <list> unless the list is in a known place)"))
        };
    /// `start` was cut off before it changed a ref, and git has removed its commits.
    #[error("the beginning of loop '{0}' was cut off, and git no longer has its commits (git prune); nothing was changed, and the loop is forgotten")]
    BeginningGone(String)
        => "to begin it again: git ralph start {change}", (change);
    /// There is no live loop, but perhaps finished ones.
    #[error("{}{}", if finished.is_empty() { "no loop has been started in this repository" } else { "there is no active loop here" }, list(" (finished: ", finished, ")"))]
    NoLoop {
        finished: Vec<String>,
        /// The changes that a loop could be started for.
        changes: Vec<String>,
        /// The list without a known place that is probably meant.
        checklist: Option<String>,
    }
        => |changes, checklist| hint(match checklist {
            Some(list) => format!("git ralph start {}{}", typed(Change::of_list(list)), stories_option(Some(list))),
            None => start_one_of(changes),
        });
    /// Several changes have lists, and none has an open story.
    #[error("no change has an open story{}", list(": ", .0, ""))]
    NoOpenStories(Vec<String>)
        => NoStory, "git ralph stories <change>";
    /// Several changes have open stories, and none is named.
    #[error("there are several changes with open stories{}", list(": ", changes, ""))]
    SeveralChanges { changes: Vec<String>, verb: &'static str }
        => |changes, verb| hint(format!("name one of them, such as: git ralph {verb} {}", changes.first().map_or_else(|| "<change>".to_owned(), typed)));
    #[error("there are several loops here{}", list(": ", .0, ""))]
    SeveralLoops(Vec<String>)
        => "name one of them, or see: git ralph status";
    #[error("loop '{change}' belongs to the work tree {path}")]
    OtherWorkTree { change: String, path: String }
        => "cd {path}", path;
    /// The work tree that a loop made for itself.
    #[error("the work tree of loop '{change}' {}: {}", if *is_gone { "is gone" } else { "no longer belongs to this repository" }, path.display())]
    WorkTreeGone {
        change: String,
        path: PathBuf,
        /// True if nothing is there.
        is_gone: bool,
    }
        => |change, path, is_gone| hint(make_again(change, path, *is_gone));
    /// Git has moved it (git-worktree(1), move), and git-ralph does not know the new place.
    #[error("the work tree of loop '{change}' was moved to {}", to.display())]
    WorkTreeMoved {
        change: String,
        path: PathBuf,
        to: PathBuf,
    }
        => "git worktree move -f -f {to} {path}", to, path;
    /// The repository was moved, and git does not know the new place.
    #[error("the work tree of loop '{change}' no longer finds this repository, which was moved: {}", path.display())]
    WorkTreeCutOff { change: String, path: PathBuf }
        => "git worktree repair {path}", path;
    /// git-ralph was cut off while it made the work tree of a loop again.
    #[error("the work tree of loop '{change}' is only half made: {}", path.display())]
    WorkTreeHalfMade { change: String, path: PathBuf }
        => "git ralph start {change} --worktree", change;
    #[error("there is no saved attempt {attempt}")]
    UnknownAttempt { change: String, attempt: String }
        => "git ralph log {change}", change;
    #[error("no attempt of '{0}' is recorded")]
    NoAttempts(String)
        => "git ralph status {change}", (change);
    /// Events name commits for ever.
    #[error("git does not have these commits of '{0}' any more: git ralph prune, or git gc, has removed them")]
    Pruned(String)
        => "git ralph log {change}", (change);
    #[error("'{0}' is not an attempt: use <story>@<number>")]
    NoAttempt(String)
        => "git ralph log";
    /// A word with which several stories begin.
    #[error("several stories begin with '{word}': {}", stories.join(", "))]
    SeveralStories {
        change: String,
        word: String,
        stories: Vec<String>,
    }
        => "all with their ids: git ralph stories {change}", change;
    /// No word, where the story that is attempted is meant.
    #[error("several stories of '{change}' are attempted: {}", running.join(", "))]
    WhichToSkip { change: String, running: Vec<String> }
        => "git ralph skip {change} <story>", change;
    /// A word that names neither a loop nor a story with an attempt.
    #[error("'{word}' is not a story with an attempt, or a change")]
    NoStoryOrChange { change: String, word: String }
        => "attempts: git ralph log {change}", change;
}
}

impl OpenRefusal {
    /// Returns whether the directory of the loop's own work tree is not there.
    pub fn is_of_lost_work_tree(&self) -> bool {
        matches!(self, Self::WorkTreeGone { .. } | Self::OtherWorkTree { .. })
    }

    /// Refuses a word that should name an attempt of a loop.
    pub fn of_attempt(change: &Change, word: String) -> Self {
        let change = change.to_string();
        if word.contains('@') {
            let attempt = word;
            Self::UnknownAttempt { change, attempt }
        } else {
            Self::NoStoryOrChange { change, word }
        }
    }
}

/// Returns the command to type if git cannot read a repository.
fn repair(git_dir: &Path) -> String {
    let (head, config) = (git_dir.join("HEAD"), git_dir.join("config"));
    let name = |file: &Path| typed_path(file);
    match RefFile::read(&head) {
        RefFile::Missing | RefFile::Damaged => format!(
            "name the branch that you were on in it: echo 'ref: refs/heads/<branch>' >{}",
            name(&head)
        ),
        _ if seen(&config).is_some_and(|found| found.is_dir()) => format!(
            "make a new file there: mv {0} {0}.damaged && git init",
            name(&config)
        ),
        _ => "repair what git names, then: git ralph status".to_owned(),
    }
}

/// Returns the command that makes the work tree of a loop again; what is in its place is moved.
fn make_again(change: &str, path: &Path, is_gone: bool) -> String {
    let start = format!("git ralph start {change} --worktree", change = typed(change));
    let path = path.to_string_lossy();
    if is_gone {
        start
    } else {
        let aside = format!("{path}.old");
        format!("mv {} {} && {start}", typed(&path), typed(&aside))
    }
}

/// Returns the command that begins a loop for one of these changes.
fn start_one_of(changes: &[String]) -> String {
    match changes {
        [] => "git ralph start <change>".to_owned(),
        [only] => format!("git ralph start {only}", only = typed(only)),
        [first, second] => format!(
            "git ralph start {}, or: git ralph start {}",
            typed(first),
            typed(second)
        ),
        [first, others @ ..] => {
            let others: Vec<String> = others.iter().map(typed).collect();
            format!(
                "git ralph start {}, or one of: {}",
                typed(first),
                others.join(", ")
            )
        }
    }
}
