//! Answers git when it calls a hook of the guard: judges the move, records it, and runs the user's own hook with the
//! same arguments, standard input, directory and environment.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;

use super::log::{self, Kind, Lines};
use super::rules::{Move, Rules, Ruling};
use super::scripts::{EARLIER, PUSH, REFS, VERB, is_program};
use super::users_hook::{follow, users_hooks};
use crate::fs::{Below, Links, read_regular_text, seen};
use crate::git::RepoLayout;
use crate::names::Oid;
use crate::slot::Slot;

/// A call of one of the guard's hooks by git.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// The slot of the attempt.
    pub slot: Slot,
    /// The change.
    pub change: String,
    /// The hook's name.
    pub hook: String,
    /// The arguments that git passed.
    pub args: Vec<OsString>,
    /// True if git itself runs the user's hooks.
    pub alone: bool,
}

impl HookCall {
    /// Reads the arguments, the verb first; returns `None` if they are for `cli`.
    pub fn read(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let verb = args.next()?;
        let is_earlier = EARLIER.iter().any(|known| verb == *known);
        if !is_earlier && verb != VERB {
            return None;
        }
        let first = args.next()?;
        let alone = first == "--alone";
        let dir = PathBuf::from(if alone { args.next()? } else { first });
        let (slot, change) = if is_earlier {
            (Slot::of_earlier(&dir), dir.file_name()?.to_owned())
        } else {
            (Slot::at(&dir), args.next()?)
        };
        Some(Self {
            slot,
            change: change.into_string().ok()?,
            hook: args.next()?.into_string().ok()?,
            args: args.collect(),
            alone,
        })
    }
}

/// The guard's answer to git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Git may go on.
    GoOn,
    /// Git must stop; git's caller is told why.
    Refused(String),
    /// The user's own hook failed.
    HookFailed,
}

/// Judges a hook call and answers git. In doubt, git may go on.
pub async fn answer(call: &HookCall, input: &mut dyn BufRead) -> Answer {
    let layout = RepoLayout::of_hook();
    let ours = layout.as_ref().filter(|layout| {
        let common_dir = call.slot.loop_dir().ancestors().nth(2);
        common_dir.is_some_and(|common_dir| layout.shares(common_dir))
    });
    if call.hook == PUSH && ours.is_some() {
        let mut lines = Lines::default();
        lines.push_refused();
        lines.append(&call.slot.door(), &call.slot.file(log::FILE));
        return Answer::Refused(Rules::push().to_owned());
    }
    let users = if call.alone {
        None
    } else {
        users_hooks(layout.as_ref(), &call.slot.file(super::rail::HOOKS)).await
    };
    if let (Some(users), REFS, Some(_)) = (&users, call.hook.as_str(), ours) {
        follow(users, &call.slot);
    }
    let hook = users
        .map(|users| users.join(&call.hook))
        .filter(|hook| is_program(hook));
    let state = call.args.first().and_then(|state| state.to_str());
    let (true, Some(layout), Some(state @ ("prepared" | "committed"))) = (call.hook == REFS, ours, state)
    else {
        return run_hook(hook.as_deref(), &call.args, Stdio::inherit());
    };
    let mut look = Review::new(call, layout, state == "prepared");
    let each = async |line: &[u8]| {
        if let Some(moved) = Move::parse(line) {
            look.at(moved).await;
        }
    };
    let copy = read(input, hook.as_deref(), each).await;
    match (look.end(), copy) {
        (Some(no), _) => Answer::Refused(no),
        (None, Some(copy)) => run_hook(hook.as_deref(), &call.args, copy.into()),
        (None, None) => Answer::GoOn,
    }
}

/// Passes each line of the input to `each`. Returns a copy of it for the user's hook, if there is one: a file, because there
/// may be any number of lines.
pub async fn read(
    input: &mut dyn BufRead,
    hook: Option<&Path>,
    mut each: impl AsyncFnMut(&[u8]),
) -> Option<File> {
    let mut copy = hook.and_then(|_| tempfile::tempfile().ok());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // The user's hook must not run on half of the input.
        copy = copy.and_then(|mut copy| copy.write_all(&line).is_ok().then_some(copy));
        each(&line).await;
        line.clear();
    }
    copy.and_then(|mut copy| copy.rewind().is_ok().then_some(copy))
}

/// Returns a move with its old value; `None` if the ref is only taken out of the packed ones.
pub async fn whole(mut moved: Move, layout: &RepoLayout) -> Option<Move> {
    if let (None, Some(old)) = (&moved.new, &moved.old)
        && layout.is_only_unpacked(&moved.name, old)
    {
        return None;
    }
    if moved.old.is_none() {
        moved.old = layout.current(&moved.name).await;
    }
    Some(moved)
}

/// A file in the slot: a commit whose history is known to contain the checkpoint.
pub(super) const TIP: &str = "guard.tip";

/// Collects the moves of a transaction and judges each.
struct Review<'a> {
    slot: &'a Slot,
    layout: &'a RepoLayout,
    prepared: bool,
    rules: Option<Rules>,
    /// A move of HEAD; dropped if it only mirrors the move of its branch to the same commit.
    head: Option<Move>,
    lines: Lines,
    no: Option<String>,
}

impl<'a> Review<'a> {
    fn new(call: &'a HookCall, layout: &'a RepoLayout, prepared: bool) -> Self {
        Self {
            slot: &call.slot,
            layout,
            prepared,
            rules: prepared.then(|| Rules::load(&call.change, &call.slot)).flatten(),
            head: None,
            lines: Lines::default(),
            no: None,
        }
    }

    async fn at(&mut self, moved: Move) {
        let is_head = moved.name == "HEAD";
        // Git's own pseudorefs, like ORIG_HEAD, are not judged.
        if !is_head && !moved.name.starts_with("refs/") {
            return;
        }
        if !self.prepared {
            self.lines.push(Kind::Committed, &moved);
            return;
        }
        let Some(moved) = whole(moved, self.layout).await else {
            return;
        };
        if !is_head && self.head.as_ref().is_some_and(|head| head.new == moved.new) {
            self.head = None;
        }
        if moved.old == moved.new {
            return;
        }
        if is_head {
            if self
                .rules
                .as_ref()
                .is_some_and(|rules| rules.is_about(&self.layout.git_dir))
            {
                self.head = Some(moved);
            }
            return;
        }
        match self.refusal(&moved).await {
            Some(no) => {
                self.lines.push(Kind::Refused, &moved);
                self.no.get_or_insert(no);
            }
            None => self.lines.push(Kind::Prepared, &moved),
        }
    }

    async fn refusal(&self, moved: &Move) -> Option<String> {
        let rules = self.rules.as_ref()?;
        let stash = || stash_entries(&self.layout.stash_log());
        match (rules.judge(moved, stash), &moved.new) {
            (Ruling::No(why), _) => {
                if moved.name == "refs/stash" {
                    self.list_stash_again(moved).await;
                }
                Some(why)
            }
            (Ruling::IfItContainsTheCheckpoint, Some(new))
                if !self.keeps_the_checkpoint(new, rules).await =>
            {
                Some(rules.rewritten())
            }
            _ => None,
        }
    }

    /// Returns whether the history of a commit contains the checkpoint. Remembers a commit that does: it is likely to
    /// be the parent of the next one.
    async fn keeps_the_checkpoint(&self, new: &str, rules: &Rules) -> bool {
        let file = self.slot.file(TIP);
        let tip = read_regular_text(&file, Links::Refused, 128).ok();
        let tip = tip.and_then(|tip| Oid::parse(&tip));
        let keeps = self.layout.contains(new, rules.checkpoint(), tip.as_ref()).await;
        if keeps {
            let _ = self.slot.door().write_private(&file, new);
        }
        keeps
    }

    /// Adds the last stash entry to the reflog again: `git stash drop` removes it there before it runs the hook.
    async fn list_stash_again(&self, moved: &Move) {
        let stash = self.layout.stash_log();
        let Some(entry) = &moved.old else { return };
        if seen(&stash).is_some_and(|found| found.len() == 0) {
            let subject = self.layout.subject(entry).await.unwrap_or_default();
            let line = format!(
                "{} {entry} git-ralph <git-ralph@localhost> {} +0000\t{subject}\n",
                "0".repeat(entry.len()),
                Timestamp::now().as_second()
            );
            let _ = Below::new(&self.layout.common_dir).append(&stash, line.as_bytes());
        }
    }

    /// Records the moves; returns the reason of a refusal.
    fn end(mut self) -> Option<String> {
        if let Some(head) = self.head.take() {
            self.lines.push(Kind::Prepared, &head);
        }
        self.lines.append(&self.slot.door(), &self.slot.file(log::FILE));
        self.no
    }
}

/// Maximum length of the stash's reflog, in bytes.
const MOST_OF_A_LOG: u64 = 256 << 20;

/// Returns the entries that the stash's reflog lists.
fn stash_entries(log: &Path) -> Vec<String> {
    let text = read_regular_text(log, Links::Followed, MOST_OF_A_LOG).unwrap_or_default();
    let entry = |line: &str| line.split(' ').nth(1).map(ToOwned::to_owned);
    text.lines().filter_map(entry).collect()
}

/// Runs the user's hook, if there is one, with the standard streams of the calling git.
pub fn run_hook(hook: Option<&Path>, args: &[OsString], input: Stdio) -> Answer {
    let Some(hook) = hook else { return Answer::GoOn };
    #[expect(
        clippy::disallowed_methods,
        reason = "a hook keeps the streams of the git that asks"
    )]
    let ran = Command::new(hook).args(args).stdin(input).status();
    match ran {
        Ok(status) if status.success() => Answer::GoOn,
        // Git, too, treats a hook that cannot be run as one that failed.
        _ => Answer::HookFailed,
    }
}
