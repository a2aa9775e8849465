//! Errors of `land`.

use std::path::PathBuf;

use crate::engine::repository_refusal::RepositoryRefusal;
use crate::error::advice::lines;
use crate::error::refusals::refusals;
use crate::exit::Exit;

refusals! {
/// The reason why a change does not land.
#[derive(Debug, thiserror::Error)]
pub enum LandRefusal {
    #[error("no change is finished with --keep and not yet part of {0}")]
    NothingToLand(String)
        => NoStory, "git ralph status";
    #[error("loop '{0}' is still active")]
    NotFinished(String)
        => Person, "git ralph finish --keep {change}", (change);
    /// Its work is not on a branch.
    #[error("'{0}' was not finished with --keep on a branch of its own in this repository")]
    NotKept(String)
        => "git ralph status {change}", (change);
    #[error("branch {0} no longer exists")]
    BranchGone(String)
        => "git branch --list 'ralph/*'";
    /// A merge, a rebase or the like is in progress.
    #[error("{0}")]
    Operation(RepositoryRefusal)
        => |(refusal)| refusal.advice().exit(Exit::Person);
    #[error("HEAD is not on a branch with a commit")]
    NoBranch
        => Person, "git checkout <branch>, then the same command again";
    #[error("this work tree is on {branch}, the branch of '{change}' itself")]
    OnItsBranch { change: String, branch: String, original: String }
        => Person, "git checkout {original} && git ralph land {change}", original, change;
    #[error("{} has branch {branch} checked out too, and its files would stay behind", path.display())]
    CheckedOutTwice { branch: String, path: PathBuf }
        => Person, "git -C {path} checkout --detach, then the same command again", path;
    #[error("loop '{other}' is active in this work tree")]
    LoopActive { other: String }
        => Person, "git ralph finish --keep {other}", other;
    #[error("{} has changes of yours in files that '{change}' changes:{}\nnothing was changed", path.display(), lines(paths))]
    ChangesInTheWay { change: String, path: PathBuf, paths: Vec<String> }
        => Person, "commit or stash them, then: git ralph land {change}", change;
}
}
