//! Answers git when it calls one of git-ralph's hooks in a repository.

use std::env;
use std::ffi::OsString;
use std::io::BufRead;
use std::path::PathBuf;
use std::process::Stdio;

use super::note::note;
use crate::agent::process_tree;
use crate::git::{Git, RepoLayout};
use crate::guard::Answer;
use crate::guard::answer::{read, run_hook, whole};
use crate::guard::rules::{Move, Rules, Ruling};
use crate::guard::scripts::{PUSH, REFS};
use crate::names::typed;
use crate::state::{self, State, Store};

/// A call of a hook by git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The hook's name.
    pub hook: String,
    /// The former hook, if this process has to run it.
    pub former: Option<PathBuf>,
    /// The arguments that git passed.
    pub args: Vec<OsString>,
}

impl HookCall {
    /// Parses the arguments after `git-ralph hook git`; returns `None` if they are not for this module.
    pub fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let hook = words.next()?.into_string().ok()?;
        let former = words.next()?;
        Some(Self {
            hook,
            former: (!former.is_empty()).then(|| former.into()),
            args: words.collect(),
        })
    }
}

/// Judges a hook call and answers git. In doubt, nothing is refused.
pub async fn answer(call: &HookCall, input: &mut dyn BufRead) -> Answer {
    let former = call.former.as_deref();
    let run = |input: Stdio| run_hook(former, &call.args, input);
    let live = if is_silent() { None } else { live() };
    let Some((layout, loops)) = live else {
        return run(Stdio::inherit());
    };
    let step = call.args.first().and_then(|step| step.to_str());
    match (call.hook.as_str(), step) {
        (REFS, Some("prepared" | "committed")) | (PUSH, _) => {}
        (REFS, _) => return run(Stdio::inherit()),
        _ => {
            for state in &loops {
                note(&layout, state).await;
            }
            return run(Stdio::inherit());
        }
    }
    let (mut no, mut moved) = (None, false);
    let each = async |line: &[u8]| {
        if call.hook == PUSH {
            no = no.take().or_else(|| push(&layout, &loops, line));
        } else if let Some(its) = Move::parse(line) {
            let about = loops.iter().find(|state| its.name == state.change.branch_ref());
            moved |= about.is_some();
            if let (Some(state), Some("prepared"), None) = (about, step, &no) {
                no = judge(&layout, state, its).await;
            }
        }
    };
    let copy = read(input, former, each).await;
    if let Some(why) = no
        && !is_allowed(&layout).await
    {
        return Answer::Refused(why);
    }
    if moved && step == Some("committed") {
        for state in &loops {
            note(&layout, state).await;
        }
    }
    copy.map_or(Answer::GoOn, |copy| run(copy.into()))
}

/// Returns whether the hooks do nothing: in attempts, and if the settings of the calling git disable hooks.
fn is_silent() -> bool {
    let settings = env::var("GIT_CONFIG_PARAMETERS").unwrap_or_default();
    env::var_os(process_tree::VARIABLE).is_some()
        || settings
            .to_ascii_lowercase()
            .contains("'core.hookspath'='/dev/null'")
}

/// Returns the repository and its live loops; `None` if there is none.
fn live() -> Option<(RepoLayout, Vec<State>)> {
    let layout = RepoLayout::of_hook()?;
    let load = |change| Store::new(&layout.common_dir, change).load_live().ok().flatten();
    let loops: Vec<State> = state::changes(&layout.common_dir)
        .ok()?
        .iter()
        .filter_map(load)
        // Other loops have no branch, and do not use HEAD.
        .filter(State::has_branch)
        .collect();
    (!loops.is_empty()).then_some((layout, loops))
}

/// Returns whether the user disabled all refusals: `git -c ralph.guard=false`, or the configuration.
async fn is_allowed(layout: &RepoLayout) -> bool {
    let call = Git::at(&layout.git_dir).cmd("config", ["--type=bool", "--get", "ralph.guard"]);
    let output = call.any_exit().await;
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"false")
}

/// Returns the reason why this move of the loop's branch is refused, if it is.
async fn judge(layout: &RepoLayout, state: &State, moved: Move) -> Option<String> {
    let moved = whole(moved, layout).await?;
    if moved.old == moved.new {
        return None;
    }
    let rules = Rules::between_attempts(state.change.clone(), state.checkpoint().clone());
    let is_fine = match rules.judge(&moved, Vec::new) {
        Ruling::Fine => true,
        Ruling::IfItContainsTheCheckpoint => match &moved.new {
            Some(new) => layout.contains(new, rules.checkpoint(), None).await,
            None => false,
        },
        Ruling::No(_) => false,
    };
    if is_fine {
        return None;
    }
    let (change, branch) = (&state.change, &state.common.branch);
    Some(if moved.new.is_none() {
        format!(
            "{branch} is the branch of an active loop, and may not be deleted or renamed\n\
             hint: to close the loop: git ralph finish {change}, or git ralph abort {change}; to do it all the same: \
             git -c ralph.guard=false …",
            branch = typed(branch),
            change = typed(change)
        )
    } else {
        format!(
            "{branch} is the branch of an active loop, and has to keep its checkpoint {}\n\
             hint: to go back to the checkpoint: git ralph revert {change}; to before the loop: git ralph abort {change}; \
             to do it all the same: git -c ralph.guard=false …",
            state.checkpoint().short(),
            branch = typed(branch),
            change = typed(change)
        )
    })
}

/// Returns the reason why this line of a push is refused, if it is.
fn push(layout: &RepoLayout, loops: &[State], line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.trim_end().split(' ');
    let (local, remote) = (words.next()?, words.nth(1)?);
    let head = layout.head();
    let head = head.target().filter(|_| local == "HEAD");
    let names = [head.unwrap_or(local), remote];
    let is_of = |state: &&State| {
        let refs = state.change.ralph_ref("");
        names
            .iter()
            .any(|name| *name == state.change.branch_ref() || name.starts_with(&refs))
    };
    let state = loops.iter().find(is_of)?;
    Some(format!(
        "{} is the branch of an active loop, whose commits are not meant for others\n\
         hint: to close the loop: git ralph finish {}; to push it all the same: git push --no-verify …",
        state.common.branch, state.change
    ))
}
