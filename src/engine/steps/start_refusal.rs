//! Errors of `start`.

use std::path::PathBuf;

use crate::error::advice::{hint, lines, list};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::names::{stories_option, typed};

refusals! {
/// The reason why `start` began no loop.
#[derive(Debug, thiserror::Error)]
pub enum StartRefusal {
    #[error("there are unmerged paths{}", list(": ", .0, ""))]
    Unmerged(Vec<String>)
        => "resolve them, then: git add <path>";
    /// Neither HEAD nor a stash entry can be a commit.
    #[error("HEAD has no commit yet, and --strategy stash needs one")]
    NoCommit
        => "git commit --allow-empty -m 'first commit', or leave out --strategy stash";
    #[error("HEAD is on {branch}, but there is no such loop")]
    OnLoopBranch {
        branch: String,
        /// The list that the user has named.
        stories: Option<String>,
    }
        => |branch, stories| {
            let change = branch.trim_start_matches("ralph/");
            let stories = stories.as_ref().map_or_else(
                || " (with --stories <list> unless the list is in a known place)".to_owned(),
                |list| format!(" --stories {}", typed(list)),
            );
            hint(format!(
                "git ralph start {change} --resume{stories}, or: git checkout <another branch>",
                change = typed(change)
            ))
        };
    #[error("HEAD is on {branch}, the branch of a finished loop")]
    OnFinishedBranch {
        branch: String,
        /// The name of the branch on which the loop began.
        original: String,
    }
        => "to build on it: git checkout -b <new branch>; to leave it: git checkout {original}; then run the same command again", original;
    #[error("{branch} is checked out in {path}")]
    CheckedOutElsewhere { branch: String, path: String }
        => "git -C {path} checkout --detach", path;
    #[error("loop '{0}' is already active in this work tree")]
    OtherLoop(String)
        => "git ralph finish {change}, or the same command with --worktree", (change);
    /// A loop that moves the commit at which the changes of `--jobs` would begin.
    #[error("loop '{0}' is active in this work tree, and moves the commit at which --jobs begins every change")]
    ActiveBeside(String)
        => "git ralph finish {change}, or the same command in another work tree", (change);
    #[error("changes side by side make their checkpoints on branches, and the strategy stash makes none")]
    InPlaceBeside
        => { hint("git -c ralph.strategy=branch ralph run <changes> --jobs <n> --keep").exit(Exit::Usage) };
    #[error("--worktree=<directory> is the work tree of one loop, and --jobs makes one for each change")]
    OneWorkTreeForSeveral
        => { hint("to name the directory of all of them: git config ralph.worktreeDir <directory>").exit(Exit::Usage) };
    /// The loop's own work tree has only committed files.
    #[error("the list {0} is not committed, so a new work tree would not have it")]
    ListNotCommitted(String)
        => "git add -f {path} && git commit -m stories -- {path}; then run the same command again", (path);
    /// A branch whose name conflicts with `ralph/<change>`.
    #[error("cannot create branch {wanted}: there is a branch {branch}")]
    BranchInTheWay { branch: String, wanted: String }
        => "git branch -m {branch} <another name>", branch;
    #[error("refusing to run an agent on the home or root directory: {}", .0.display())]
    TooMuch(PathBuf)
        => "use a repository in a directory of its own";
    #[error("HEAD points to {0}, which is not a branch")]
    OddHead(String)
        => "git checkout <branch>";
    /// A gate that would fail every story.
    #[error("the gate `{command}` {} ({why})", red(*cannot_be_run))]
    RedGate {
        change: String,
        command: String,
        /// True if the gate is missing, or cannot be run.
        cannot_be_run: bool,
        /// True if it is given by `--verify`.
        is_typed: bool,
        why: String,
    }
        => |command, cannot_be_run, is_typed| {
            let first = match (*cannot_be_run, *is_typed) {
                (true, true) => "name another command with --verify".to_owned(),
                (true, false) => format!(
                    "name another command: git config --replace-all --fixed-value ralph.verify '<command>' {}",
                    typed(command)
                ),
                (false, _) => "make it pass, then run the same command again".to_owned(),
            };
            hint(format!("no loop has begun; {first}; to start anyway, add --allow-red"))
        };
    /// A loop from a remote lists its stories by a command, which is never taken from a remote.
    #[error("'{0}' lists its stories by a command, and none is configured here")]
    NoListCommand(String)
        => "git config ralph.storiesCommand '<command>'";
    #[error("the story list of a loop from a remote is not in the repository: {0}")]
    ListOutside(String)
        => "run the loop where it began";
    #[error("HEAD has no commit yet, and a work tree for the loop needs one")]
    NoCommitForWorkTree
        => "git commit --allow-empty -m 'first commit'";
    /// `--worktree` with the strategy stash.
    #[error(
        "--worktree needs the strategy branch: the strategy stash is for a loop in your own work tree"
    )]
    StashInWorkTree
        => Usage, "leave out --worktree, or the strategy stash";
    #[error("cannot make the loop's work tree: {} exists and is not a work tree of '{change}'", path.display())]
    WorkTreeInTheWay { change: String, path: PathBuf }
        => "git ralph start {change} --worktree=<another directory>", change;
    #[error("cannot make the loop's work tree {}: {why}", path.display())]
    NoPlaceForWorkTree {
        change: String,
        path: PathBuf,
        why: String,
    }
        => "git ralph start {change} --worktree=<another directory>, or: git config ralph.worktreeDir <directory>", change;
    /// The work tree that an earlier loop of the change has left.
    #[error("the work tree of the last loop of '{change}' has changes, or a branch: {}", path.display())]
    WorkTreeInUse { change: String, path: PathBuf }
        => "to see what is in it: git -C {path} status --ignored; if you need nothing of it: git worktree remove --force {path}", path;
    /// A work tree that git-ralph began to make.
    #[error("the work tree that was made for '{change}' stays, because {why}: {}", path.display())]
    WorkTreeStays {
        change: String,
        path: PathBuf,
        why: &'static str,
    }
        => "look at it, then: git worktree unlock {path} && git worktree remove {path}", path;
    /// A work tree with the branch of a loop whose state is gone.
    #[error("the work tree {} has the work of '{change}', but the state of that loop is lost", path.display())]
    WorkTreeOfLostLoop { change: String, path: PathBuf }
        => "git ralph start {change} --resume --worktree", change;
    /// The command that prepares a new work tree failed.
    #[error(
        "the command `{command}` that sets up the loop's work tree failed ({why}){}",
        lines(output.lines())
    )]
    SetupFailed {
        command: String,
        why: String,
        /// The end of its output.
        output: String,
    }
        => "correct the command, then run the same again: git config ralph.worktreeSetup '<command>'";
    #[error("the submodule {path} cannot be checked out in the loop's work tree: {words}")]
    SubmoduleNotCloned { path: String, words: String }
        => "git submodule update --init {path}; or leave it out: git submodule deinit {path}", path;
    /// Such an environment contains the path of the directory in which it was made.
    #[error("ralph.worktreeCopy names a virtual environment ({0}), whose programs would write into this one")]
    EnvironmentCopied(String)
        => "have it made there: git config ralph.worktreeSetup '<command>'";
    #[error("ralph.worktreeCopy names {files} files of {} MB, which are too many to copy", bytes / 1_000_000)]
    TooMuchCopied { files: usize, bytes: u64 }
        => "have them made there: git config ralph.worktreeSetup '<command>'";
    /// `start --resume` lacks something that it needs.
    #[error(
        "cannot resume '{change}': HEAD must be on ralph/{change}, or where it was if the strategy was stash, and the state before the loop must still be saved"
    )]
    NothingToResume {
        change: String,
        /// True if its branch is there.
        has_branch: bool,
        /// The story list, if a command has to name it.
        stories: Option<String>,
    }
        => |change, has_branch, stories| {
            let checkout = format!("git checkout {}, or start over: ", typed(format!("ralph/{change}")));
            let checkout = if *has_branch { checkout } else { String::new() };
            hint(format!("{checkout}git ralph start {}{}", typed(change), stories_option(stories.as_deref())))
        };
}
}

/// Returns the description of a gate that fails before any work.
fn red(cannot_be_run: bool) -> &'static str {
    if cannot_be_run {
        "cannot be run"
    } else {
        "fails before any work"
    }
}
