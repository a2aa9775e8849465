//! Errors of loops on a remote.

use std::time::Duration;

use crate::error::advice::{Advise, hint, lines};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::names::{counted, typed};

refusals! {
/// The reason why a loop was not transferred to or from a remote.
#[derive(Debug, thiserror::Error)]
pub enum RemoteRefusal {
    /// Neither an option nor a setting names a remote; the repository may have only one.
    #[error("no remote is named")]
    NoRemote(Option<String>)
        => |(only)| hint(match only {
            Some(only) => format!("add --remote {only}, or: git config ralph.remote {only}", only = typed(only)),
            None => "add --remote <name>, or: git config ralph.remote <name>; the names: git remote".to_owned(),
        });
    /// There is nothing to push.
    #[error("there is no loop{} here to push", .0.as_ref().map_or_else(String::new, |change| format!(" '{change}'")))]
    NotHere(Option<String>)
        => |(change)| hint(format!(
            "to get one from a remote: git ralph pull {}",
            change.as_ref().map_or_else(|| "<change>".to_owned(), typed)
        ));
    #[error("cannot read the remote {remote}{}", lines(words.trim().lines()))]
    Unreadable { remote: String, words: String }
        => "git ls-remote {remote}", remote;
    /// Git can read the remote, but not this loop.
    #[error("cannot fetch '{change}' from {remote}{}", lines(words.trim().lines()))]
    NotFetched {
        change: String,
        remote: String,
        words: String,
    }
        => "where the loop is whole: git ralph push {change} --remote {remote}", change, remote;
    /// The remote has the branch for users, but no state.
    #[error("{remote} has branch {branch} with commits that are not here, and no state of '{change}'")]
    NoState {
        change: String,
        branch: String,
        remote: String,
    }
        => |change, branch, remote| hint(format!(
            "where the loop is whole: git ralph push {change} --remote {remote}; to begin it again: git fetch {remote} {branch}:{there} && git push {remote} :{branch}",
            change = typed(change),
            remote = typed(remote),
            there = typed(format!("{branch}-there")),
            branch = typed(branch)
        ))
        .exit(Exit::Person);
    /// The remote has a ref that git takes for another one.
    #[error("{remote} has a ref {name}, and git takes it for {meant}, which is not there")]
    Mistaken {
        remote: String,
        name: String,
        meant: String,
    }
        => Person, "keep what is there, and remove it: git fetch {remote} {name}:refs/heads/kept && git push {remote} :{name}", remote, name;
    /// Another setting names the refs of the loops.
    #[error("{remote} keeps its loops below {there}, and none below {here}")]
    OtherRefs {
        remote: String,
        here: String,
        there: String,
    }
        => "git config ralph.remoteRefs {there}", there;
    /// The loop of a clone in which another setting names the refs.
    #[error("{remote} has '{change}' below {there}; a loop below {here} would do its work again")]
    LoopBelowOtherRefs {
        change: String,
        remote: String,
        here: String,
        there: String,
    }
        => Person, "git config ralph.remoteRefs {there}; to leave that loop behind instead: git push {remote} :{there}{change}/state", there, remote, change;
    /// Neither git nor the remote confirms the push.
    #[error("cannot push '{change}' to {remote}{}", lines(words.trim().lines()))]
    NotPushed {
        change: String,
        remote: String,
        words: String,
    }
        => "git ralph doctor --remote {remote}", remote;
    /// Another run has the loop.
    #[error("{holder} holds '{change}' on {remote} until {until}; it renewed its lease at {renewed}")]
    Held {
        change: String,
        remote: String,
        holder: String,
        renewed: String,
        /// The end of its lease.
        until: String,
    }
        => Busy, "wait, or take it from a holder that is dead: git ralph pull {change} --remote {remote} --take", change, remote;
    /// This run held the loop.
    #[error("this run lost '{change}': another run holds it on {remote} now")]
    Lost { change: String, remote: String }
        => Busy, "the work of this run is kept here; to see it: git ralph log {change}", change;
    /// The ref of the loop that this run held was removed.
    #[error("this run lost '{change}': {remote} does not have {name} any more")]
    Gone {
        change: String,
        remote: String,
        /// The ref.
        name: String,
    }
        => Person, "the work of this run is kept here; to put it there again: git ralph push {change} --remote {remote}", change, remote;
    /// A lease cannot be renewed, and another run may take the loop.
    #[error("this run gave up '{change}': it could not renew its lease on {remote} for {}{}", counted(silent.as_secs(), "second", "seconds"), lines(words.trim().lines()))]
    Silent {
        change: String,
        remote: String,
        words: String,
        silent: Duration,
    }
        => Busy, "the work of this run is kept here; run the same command again";
    /// The host has rules of its own.
    #[error("{remote} refuses the work on '{change}'{}", lines(words.trim().lines()))]
    Refused {
        change: String,
        remote: String,
        words: String,
    }
        => Person, "fix the cause named above, then: git ralph push {change} --remote {remote}; if it is in what a failed attempt left, see git for-each-ref refs/ralph/{change}/attempts, and give that up: git update-ref -d <ref>", change, remote;
    /// The host refuses the first state of a loop.
    #[error("{remote} refuses the work on '{change}', and has nothing of it{}", lines(words.trim().lines()))]
    RefusedRefs {
        change: String,
        remote: String,
        words: String,
    }
        => Person, "fix the cause named above, then: git ralph push {change} --remote {remote}; if {remote} takes only branches and tags, first: git config ralph.remoteRefs refs/heads/ralph-state/; if it is in what a failed attempt left, see git for-each-ref refs/ralph/{change}/attempts, and give that up: git update-ref -d <ref>", change, remote;
    /// The branch for users is missing.
    #[error(
        "the work on '{change}' is done, but branch {branch} on {remote} does not have it{}",
        lines(why.trim().lines())
    )]
    NoBranch {
        change: String,
        branch: String,
        remote: String,
        why: String,
    }
        => |change, branch, remote| hint(format!(
            "keep the work there under another name: git fetch {remote} {branch}:{there} && git push {remote} :{branch}, then: git ralph push {change} --remote {remote}",
            change = typed(change),
            remote = typed(remote),
            there = typed(format!("{branch}-there")),
            branch = typed(branch)
        ))
        .exit(Exit::Person);
    /// The remote has a newer state of the loop than this repository.
    #[error("{remote} has newer work on '{change}'")]
    Behind { change: String, remote: String }
        => Person, "git ralph pull {change} --remote {remote}", change, remote;
    /// The remote has another loop of this name.
    #[error("{remote} has a different loop '{change}', with {}; the one here has {}", stories(*.there), stories(*.here))]
    Different {
        change: String,
        remote: String,
        /// The number of complete stories there.
        there: usize,
        /// The number of complete stories here.
        here: usize,
    }
        => |change, remote| hint(format!(
            "to have that one here instead: git ralph abort {change} && git ralph pull {change} --remote {remote}; the work of the one here stays in refs/ralph/{change}/finished",
            change = typed(change),
            remote = typed(remote)
        ))
        .exit(Exit::Person);
    /// The remote was put back, as by a backup, or has another state.
    #[error("{remote} went back: it has state {there} of '{change}', which does not follow the last one seen here, state {here}")]
    WentBack {
        change: String,
        remote: String,
        there: u64,
        here: u64,
        /// The ref of the loop on the remote.
        name: String,
    }
        => Person, "put what is here there again: git push {remote} --delete {name}, then: git ralph push {change} --remote {remote}; or take what is there instead: git ralph pull {change} --remote {remote} --take --force", change, remote, name;
    /// `push` of a loop that `run --any` closed locally so that another could begin.
    #[error("loop '{change}' was set aside here for another one, and is not pushed as it is")]
    SetAside { change: String, remote: String }
        => Person, "to continue it: git ralph pull {change} --remote {remote}; if {remote} has lost it: git ralph start {change} --resume && git ralph push {change} --remote {remote}", change, remote;
    /// Two different loops of one name.
    #[error("a different loop '{0}' is active in this repository; it was not pulled from the remote")]
    Another(String)
        => Person, "git ralph finish {change}, or: git ralph abort {change}", (change);
    #[error("{remote} has no loop '{change}'")]
    Unknown { change: String, remote: String }
        => "git ralph queue --remote {remote}", remote;
    /// No loop is named, and the remote has none.
    #[error("{remote} has no loop")]
    NoLoops { remote: String }
        => "in the repository that has the loop: git ralph push --remote {remote}", remote;
    /// No loop is named, and the remote has several.
    #[error("there are several loops on {remote}: {}", changes.join(", "))]
    SeveralLoops {
        changes: Vec<String>,
        remote: String,
        /// True if the user typed the remote, which is not the configured one.
        is_typed: bool,
    }
        => |changes, remote, is_typed| {
            let remote = if *is_typed {
                format!(" --remote {}", typed(remote))
            } else {
                String::new()
            };
            let commands = changes.iter();
            let commands = commands.map(|change| format!("git ralph pull {}{remote}", typed(change)));
            hint(commands.collect::<Vec<_>>().join(", or: "))
        };
    /// The ref holds no state, or one of a newer program.
    #[error("cannot read the state of '{change}' on {remote}: {why}")]
    Unintelligible {
        change: String,
        remote: String,
        /// The ref.
        name: String,
        why: String,
    }
        => "install a newer git-ralph, or, where the loop is whole: git push {remote} :{name}, then git ralph push {change} --remote {remote}", remote, name, change;
    #[error("'{0}' uses the strategy stash: its checkpoints cannot leave this repository")]
    InPlace(String)
        => "start it without --strategy stash";
    #[error("'{change}' on {remote} is {phase}: nothing is left to do")]
    Over {
        change: String,
        remote: String,
        phase: &'static str,
        is_active_here: bool,
    }
        => |change, remote, phase, is_active_here| hint(match *phase {
            _ if *is_active_here => format!(
                "to bring its end here: git ralph pull {} --remote {}", typed(change), typed(remote)
            ),
            "finished" => format!(
                "to do it again: git -c ralph.keepAttempts=1s ralph prune {change} --remote {remote}, then: git ralph start {change}; if {remote} has branch {branch}, before that: git fetch {remote} {branch}:{there} && git push {remote} :{branch}",
                branch = typed(format!("ralph/{change}")),
                there = typed(format!("ralph/{change}-there")),
                change = typed(change),
                remote = typed(remote)
            ),
            _ => "git ralph queue shows all changes".to_owned(),
        })
        .exit(Exit::NoStory);
    /// `prune` was called for a loop that can still be resumed.
    #[error("loop '{change}' on {remote} is not finished: nothing was removed")]
    NotFinished { change: String, remote: String }
        => "git ralph queue --remote {remote}", remote;
    #[error("no change is left to do")]
    NothingLeft
        => NoStory, "git ralph queue shows all changes";
    #[error("every change that is left is held by another run")]
    AllHeld
        => Busy, "run the same command later";
    /// A question that needs a terminal.
    #[error("taking '{0}' from its holder ends the holder's attempt")]
    TakeUnconfirmed(String)
        => "add --force";
}
}

/// Returns how many stories are complete: `1 complete story`.
fn stories(number: usize) -> String {
    counted(number, "complete story", "complete stories")
}

impl RemoteRefusal {
    /// Returns the message with its hint, on one line.
    pub fn with_hint(&self) -> String {
        match self.advice().hint {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }
}
