//! Errors of steps that need the repository in another state.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::advice::{hint, lines};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::git::UncleanSubmodule;
use crate::names::{typed, typed_path};
use crate::paths::{first_few, shown};

refusals! {
/// The reason why a step cannot work on the present repository.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryRefusal {
    #[error("{} in progress {}", with_article(operation), place_of(own.as_ref()))]
    OperationInProgress {
        /// Git's name for it.
        operation: String,
        /// The loop's own work tree, if it is there: the command may have been typed in another one.
        own: Option<PathBuf>,
    }
        => |operation, own| {
            let git = own.as_ref().map_or_else(|| "git".to_owned(), |own| format!("git -C {}", typed_path(own)));
            match operation.as_str() {
                "bisect" => hint(format!("{git} bisect reset")),
                "cherry-pick or revert" => hint(format!("{git} cherry-pick --abort, or: {git} revert --abort")),
                what => hint(format!("{git} {what} --continue, or: {git} {what} --abort")),
            }
        };
    /// After a kill: while git-ralph runs, it puts the directory back.
    #[error("{} is no directory, as it was when the loop began, and leads to {}", link.display(), git_dir.display())]
    LinkInPlace { link: PathBuf, git_dir: PathBuf }
        => Person, "look at what is there; to put it back: rm {link} && mv {git_dir} {link}, then the same command again", link, git_dir;
    #[error("submodule {path} has uncommitted changes:{}", lines(paths))]
    DirtySubmodule { path: String, paths: Vec<String> }
        => Person, "to see them: git -C {path} status; commit them there, or stash them: git -C {path} stash -u", path;
    /// The path, and git's words.
    #[error("git cannot read the submodule {}{}", .0, lines(.1.lines()))]
    UnreadableSubmodule(String, String)
        => "if objects are missing: git -C {path} fetch --refetch; if its index is damaged: rm \"$(git -C {path} rev-parse --path-format=absolute --git-path index)\" && git -C {path} reset; if that is called no repository, it is gone, or its HEAD is damaged: git rev-parse :{path} shows the commit that belongs there", (path);
    #[error("HEAD is on {head}, not on {branch}")]
    HeadElsewhere {
        head: String,
        branch: String,
        /// The loop's own work tree, if it has one: the command may have been typed in another one.
        own: Option<PathBuf>,
    }
        => Person, "{own}git checkout {branch}", own, branch;
    #[error("branch {branch} no longer exists (its last checkpoint is {checkpoint})")]
    BranchGone {
        branch: String,
        checkpoint: String,
        own: Option<PathBuf>,
    }
        => Person, "{own}git branch {branch} {checkpoint} && git checkout {branch}", own, branch, checkpoint;
    /// A loop that leaves HEAD in its place began on a branch that was renamed or deleted.
    #[error("branch {branch}, on which the loop began, no longer exists")]
    PlaceGone {
        branch: String,
        /// The commit at which HEAD was; the checkpoints are on no branch.
        oid: String,
    }
        => Person, "git branch {branch} {oid} && git checkout {branch}", branch, oid;
    /// The branch no longer contains its checkpoint.
    #[error("{branch} no longer contains its checkpoint {checkpoint}")]
    CheckpointGone {
        branch: String,
        checkpoint: String,
        own: Option<PathBuf>,
    }
        => Person, "{own}git branch rescued {branch} && git reset --soft {checkpoint}", own, branch, checkpoint;
    /// A loop that comes from a remote would take it along.
    #[error("the work tree has uncommitted changes")]
    Uncommitted
        => "git stash -u, or use another work tree: git worktree add --detach ../<dir>";
    /// Git is to ignore changes of these files, and a loop from a remote would overwrite them.
    #[error("git ignores changes of these files, and has no copy of them:{}", lines(paths))]
    Hidden {
        /// The shown paths.
        paths: Vec<String>,
        /// The same as arguments.
        typed: String,
    }
        => "git update-index --no-skip-worktree --no-assume-unchanged -- {typed}, then: git stash", typed;
    /// `restore` would overwrite work that is not at a checkpoint.
    #[error("the work tree has changed since the last checkpoint of '{0}'")]
    NotAtCheckpoint(String)
        => "put the changes aside: git stash -u; or undo them, which keeps them in a ref: git ralph revert {change}", (change);
    #[error("{of} would overwrite these files:{}\nnothing was changed", lines(paths))]
    InTheWay {
        /// The source of the files that would overwrite them.
        of: String,
        paths: Vec<String>,
    }
        => Person, "move them elsewhere, then run the same command again";
    #[error("the work tree or the branch has edits since the last checkpoint of '{change}'; redo keeps only those that a checkpoint has")]
    EditsSince {
        change: String,
        /// True if `git stash` puts aside nothing but these edits.
        can_stash: bool,
    }
        => |change, can_stash| {
            let aside = if *can_stash { "put them aside: git stash -u; or " } else { "" };
            hint(format!("{aside}undo them, which keeps them in a ref: git ralph revert {}", typed(change))).exit(Exit::Person)
        };
    /// The work of a loop that leaves HEAD in its place was stashed, or discarded.
    #[error("the loop's work is not in the work tree; these files are as if '{change}' had not changed them:{}", lines(paths))]
    WorkAway { change: String, paths: Vec<String> }
        => Person, "git stash pop, if you have stashed it; to have the last checkpoint again: git ralph revert {change}, and to undo a story then: git ralph redo {change} <story>", change;
    /// `redo` cannot put a commit of the user's on top of the checkpoint before the story.
    #[error("commit {commit} changed files that story {story} or a later one changed too:{}\nnothing was changed", lines(paths))]
    EditsBuiltOn {
        commit: String,
        story: String,
        paths: Vec<String>,
    }
        => Person, "to see them: git show {commit}; add a story for the change that you want", commit;
    /// `redo` would have to move a submodule back.
    #[error("story {story} or a later one moved the submodule {path}; redo cannot move it back, and nothing was changed")]
    SubmoduleMoved { story: String, path: String }
        => Person, "add a story for the change that you want";
    /// A pulled checkpoint has a commit of a submodule that is checked out, and its repository here has not.
    #[error("a story moved the submodule {path} to {commit}, which its repository here does not have; nothing was changed")]
    SubmoduleCommitMissing { path: String, commit: String }
        => |path| hint(format!(
            "git -C {path} fetch; if its remote has not got that commit either: git submodule deinit {path}; then run the same command again",
            path = typed(path)
        )).exit(Exit::Person);
    /// A pulled checkpoint moves a submodule inside of one that is checked out.
    #[error("a story moved a submodule inside of the submodule {path}, which only git can check out; nothing was changed")]
    SubmoduleNested { path: String }
        => |path| hint(format!(
            "git submodule deinit {path}; run the same command again, then: git submodule update --init --recursive {path}",
            path = typed(path)
        )).exit(Exit::Person);
    /// An attempt began at an earlier checkpoint, and its files have changed in later ones.
    #[error("attempt {attempt} changed files that have changed in a checkpoint since:{}\nnothing was changed", lines(paths))]
    ChangedSince {
        attempt: String,
        paths: Vec<String>,
        /// The tree that the attempt began with, and that which it left.
        from: String,
        to: String,
    }
        => Person, "to apply it yourself: git diff-tree -p --binary {from} {to} | git apply --3way --whitespace=nowarn", from, to;
}
}

impl From<UncleanSubmodule> for RepositoryRefusal {
    fn from(unclean: UncleanSubmodule) -> Self {
        let path = shown(&unclean.path);
        match unclean.unreadable {
            None => {
                let changed = unclean.changed.iter();
                let changed: Vec<Vec<u8>> = changed
                    .map(|inner| [&unclean.path, &b"/"[..], inner].concat())
                    .collect();
                let paths = first_few(&changed);
                Self::DirtySubmodule { path, paths }
            }
            Some(words) => Self::UnreadableSubmodule(path, words),
        }
    }
}

/// Returns the words for the work tree in which an operation is.
fn place_of(own: Option<&PathBuf>) -> String {
    own.map_or_else(
        || "here".to_owned(),
        |own| format!("in {}", shown(own.as_os_str().as_bytes())),
    )
}

/// Returns the name of an operation as the beginning of a sentence about it.
fn with_article(operation: &str) -> String {
    match operation {
        // Git's own words.
        "am" => "an am session is".to_owned(),
        _ => format!("a {operation} is"),
    }
}
