//! Errors of `finish` and `abort`.

use std::path::PathBuf;

use crate::error::advice::{hint, lines};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::fs::may_exist;
use crate::names::{typed, typed_path};
use crate::state::{Ending, State};

refusals! {
/// The reason why a loop was not closed.
#[derive(Debug, thiserror::Error)]
pub enum FinishRefusal {
    /// `finish` without a choice, and without a terminal to ask on.
    #[error("choose --cleanup or --keep")]
    NoChoice(String)
        => Usage, "git ralph finish --cleanup {change}, or: git ralph finish --keep {change}", (change);
    /// The loop was closed in the other way.
    #[error("loop '{change}' is already finished, with --{was}")]
    FinishedOtherwise {
        change: String,
        was: &'static str,
        /// The commands that lead to what the other way leaves.
        commands: [String; 2],
    }
        => |was, commands| {
            let other = if *was == "keep" { "cleanup" } else { "keep" };
            let [first, second] = commands;
            hint(format!("to have it as after --{other}: {first}, then: {second}"))
        };
    #[error("choose either --cleanup or --keep, not both")]
    TwoChoices
        => Usage, "git ralph finish --cleanup, or: git ralph finish --keep";
    /// `run` with several changes, without `--cleanup` or `--keep`.
    #[error(
        "several changes need --cleanup or --keep: a second loop cannot begin in the work tree of the first"
    )]
    NoChoiceForSeveral {
        changes: Vec<String>,
        /// True if only the first change has stories: the other words may be meant as the agent's command.
        is_agent: bool,
    }
        => |changes, is_agent| hint(match changes.split_first() {
            Some((change, agent)) if *is_agent => {
                let agent: Vec<String> = agent.iter().map(typed).collect();
                format!("to run an agent: git ralph run {change} -- {}", agent.join(" "), change = typed(change))
            }
            _ => format!(
                "git ralph run {} --cleanup",
                changes.iter().map(typed).collect::<Vec<_>>().join(" ")
            ),
        })
        .exit(Exit::Usage);
    /// `run --jobs` without `--keep`; the text is the command with it.
    #[error("changes side by side need --keep: with --cleanup the work of the first would be in the way of the others")]
    NotKept(String)
        => |(command)| hint(command.clone()).exit(Exit::Usage);
    #[error("branch {branch} no longer exists (it was at {oid})")]
    OriginalGone { branch: String, oid: String }
        => Person, "git branch {branch} {oid}", branch, oid;
    /// Git cannot read the original branch's file.
    #[error("branch {branch} is damaged: git cannot read {} (it was at {oid})", file.display())]
    OriginalDamaged {
        branch: String,
        oid: String,
        file: PathBuf,
    }
        => Person, "rm {file} && git branch {branch} {oid}", file, branch, oid;
    /// `abort`, but the original branch has moved.
    #[error("{branch} has moved since the loop began")]
    OriginalMoved {
        change: String,
        branch: String,
        /// True if HEAD is on the branch of the loop.
        is_away: bool,
    }
        => |change, branch, is_away| {
            let back = is_away.then(|| format!(" && git checkout {}", typed(branch)));
            let keep = format!("git ralph finish --keep {}{}", typed(change), back.unwrap_or_default());
            hint(format!("to keep what the loop did: {keep}")).exit(Exit::Person)
        };
    #[error("{branch} is checked out in {path}")]
    OriginalElsewhere { branch: String, path: String }
        => Person, "git -C {path} checkout --detach", path;
    /// `--into` for a loop in one of the user's work trees.
    #[error("loop '{0}' works in a work tree of yours: it has no other to bring its work into")]
    NoWorkTreeOfItsOwn(String)
        => "git ralph finish --cleanup {change}", (change);
    /// No work tree can get the work of a loop with its own work tree.
    #[error("{}", nowhere(branch.as_deref()))]
    NoWorkTreeToGoTo {
        change: String,
        /// The branch on which the loop began.
        branch: Option<String>,
    }
        => Person, "git ralph finish --cleanup {change} --into <work tree>, or: git ralph finish --keep {change}", change;
    #[error("{} is not another work tree of this repository", .0.display())]
    NotAWorkTree(PathBuf)
        => "git worktree list shows them";
    #[error("{} has uncommitted changes:{}\nnothing was changed", path.display(), lines(paths))]
    ChangesInTheWay {
        path: PathBuf,
        paths: Vec<String>,
        /// The commands that make `git stash` see files hidden by flags of the index.
        show: Vec<String>,
    }
        => |path, show| {
            let show: String = show.iter().map(|show| format!("{show}; ")).collect();
            let stash = format!("git -C {} stash", typed_path(path));
            hint(format!("{show}commit or stash them: {stash}; or bring the work elsewhere: --into <work tree>"))
                .exit(Exit::Person)
        };
    #[error("loop '{other}' is active in {}", path.display())]
    LoopInTheWay { other: String, path: PathBuf }
        => Person, "git ralph finish {other}, or: --into <another work tree>", other;
    /// Files changed while they were being written, or since a crash.
    #[error("cannot write the work of the loop to {}:\n  {words}", path.display())]
    NotWritten {
        change: String,
        path: PathBuf,
        words: String,
    }
        => Person, "remove the cause, or put what is in the way elsewhere, then: git ralph status {change} (see git -C {path} status)", change, path;
    #[error("branch {branch} had no commit when the loop began, and has one now")]
    OriginalBorn { change: String, branch: String }
        => Person, "git ralph finish --keep {change}, then rebase or merge it yourself", change;
    #[error(
        "{branch} has moved and conflicts with the loop in{}\nnothing was changed",
        lines(paths)
    )]
    Conflict {
        change: String,
        branch: String,
        paths: Vec<String>,
    }
        => Person, "git ralph finish --keep {change}, then rebase or merge it yourself", change;
}
}

/// Returns the reason why no work tree can get the work of a loop.
fn nowhere(branch: Option<&str>) -> String {
    match branch {
        Some(branch) => {
            format!("{branch}, where the loop began, is checked out in no work tree, or in several")
        }
        None => "the loop began on a detached HEAD, so it has no work tree to bring its work to".to_owned(),
    }
}

impl FinishRefusal {
    /// Refuses to finish a loop again in another way than it `was` finished, and names the commands that do it. `keeps`
    /// is true for `--keep`. Returns `None` if the way is the same, or git has no commands for it.
    pub fn of_other_way(state: &State, was: Ending, keeps: bool) -> Option<Self> {
        let head = state
            .common
            .original_head
            .as_ref()
            .filter(|_| state.has_branch())?;
        let branch = &state.common.branch;
        let (own, finished) = (typed(branch), typed(state.change.ralph_ref("finished")));
        let original = match state.begun_on() {
            Some(original) => typed(original),
            None => format!("--detach {head}"),
        };
        let (was, commands) = match (was, keeps, &state.here.linked) {
            (Ending::Keep, false, Some(linked)) => {
                let git = format!("git -C {}", typed_path(linked.from.as_path()));
                let apply = format!("{git} apply --whitespace=nowarn");
                let bring = format!("{git} diff-tree -p --binary {head} {own} | {apply}");
                // Ignored files of the loop's work tree stay there.
                let place = state.work_tree();
                let leave = format!("git -C {} checkout --quiet --detach && ", typed_path(place));
                let leave = Some(leave).filter(|_| may_exist(place)).unwrap_or_default();
                (
                    "keep",
                    [
                        format!("{git} checkout {original} && {bring}"),
                        format!("{leave}git branch -D {own}"),
                    ],
                )
            }
            (Ending::Keep, false, None) => {
                let back = format!("git checkout {original} && git merge --squash --ff {own}");
                (
                    "keep",
                    [back, format!("git reset --quiet && git branch -D {own}")],
                )
            }
            (Ending::Cleanup, true, None) => {
                let name = typed(format!("refs/heads/{branch}"));
                let head = format!("git symbolic-ref HEAD {name} && git reset --quiet");
                ("cleanup", [format!("git branch {own} {finished}"), head])
            }
            _ => return None,
        };
        Some(Self::FinishedOtherwise {
            change: state.change.to_string(),
            was,
            commands,
        })
    }
}
