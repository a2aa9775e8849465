//! The same states and misdeeds with the strategy stash: what a user's repository shows of the loop at each step is
//! nothing but the files and a stash entry.

use std::fs;

use super::states::STATES;
use super::{CHANGE, Case, selection, was_ignored};
use crate::nothing_of;
use crate::support::Print;

/// What must be the same at every step: the index, HEAD, and the user's refs, the stash among them.
pub struct Place {
    print: Print,
    reflogs: String,
}

impl Place {
    /// Reads it.
    pub fn of(case: &Case) -> Self {
        let reflogs =
            ["HEAD", "main"].map(|name| case.seeing(&["reflog", "show", "--format=%H %gs", name, "--"]));
        Self {
            print: case.sandbox.print(),
            reflogs: reflogs.concat(),
        }
    }
}

/// The branch of HEAD in the words of git stash.
pub fn on(head: &str) -> &str {
    head.strip_prefix("refs/heads/").unwrap_or("(no branch)")
}

/// Misdeeds that move the user's refs or HEAD, whose logs tell of it.
fn is_logged(script: &str) -> bool {
    ["g ", "git ", "reflog", ".git"]
        .iter()
        .any(|word| script.contains(word))
}

impl Case {
    /// Says what is not as it was, but for the files and the loop's own refs. `entries` are the loop's stash entries.
    pub fn is_in_place(&mut self, when: &str, place: &Place, entries: &[&str]) {
        let now = Place::of(self);
        if now.print.index != place.print.index && self.limit("index").is_none() {
            let (now, was) = (&now.print.index, &place.print.index);
            self.wrong.push(format!("{when}: index:\n{now}instead of\n{was}"));
        }
        if now.print.head != place.print.head {
            self.wrong.push(format!("{when}: HEAD: {}", now.print.head));
        }
        if now.reflogs != place.reflogs && !is_logged(self.misdeed.script) {
            self.wrong.push(format!("{when}: reflogs:\n{}", now.reflogs));
        }
        for line in place.print.refs.lines() {
            // Other branches are treated as ever.
            let is_of_head = place
                .print
                .head
                .contains(line.split(' ').next().unwrap_or_default());
            if is_of_head && !now.print.refs.contains(line) {
                self.wrong.push(format!("{when}: gone or moved: {line}"));
            }
        }
        let list = self.seeing(&["stash", "list", "--format=%gs"]);
        let own: Vec<&str> = list.lines().filter(|line| line.contains(": ralph:")).collect();
        if own != entries {
            self.wrong.push(format!("{when}: stash: {list}"));
        }
    }

    /// Says what is wrong with the checkpoint of the complete story, and with finishing.
    pub fn is_kept_in_place(&mut self) {
        let tip = format!("refs/ralph/{CHANGE}/tip");
        let subject = self.seeing(&["log", "-1", "--format=%s", &tip, "--"]);
        if subject != "checkpoint: 1\n" {
            self.wrong.push(format!("the last checkpoint is {subject}"));
        }
        let index = self.sandbox.outside("notes/fresh.index");
        let _ = fs::remove_file(&index);
        let fresh = |args: &[&str]| {
            let cmd = self.sandbox.git_cmd(&super::CLEAR_SIGHT).args(args);
            cmd.env("GIT_INDEX_FILE", &index).run()
        };
        fresh(&["read-tree", &tip]).exits(0);
        fresh(&["update-index", "-q", "--refresh"]);
        let differ = fresh(&["diff-files", "--name-status"]).exits(0).stdout;
        let others = fresh(&["ls-files", "--others", "--exclude-standard", "-z"]).stdout;
        let held = fresh(&["ls-files", "-z"]).exits(0).stdout;
        if !differ.is_empty() && self.limit("commit").is_none() {
            self.wrong
                .push(format!("the checkpoint is not the work tree: {differ}"));
        }
        for path in others
            .split('\0')
            .filter(|path| !path.is_empty() && !path.ends_with('/'))
        {
            if !was_ignored(path) && self.limit(path).is_none() {
                self.wrong.push(format!("not in the checkpoint: {path}"));
            }
        }
        for path in held.split('\0').filter(|path| was_ignored(path)) {
            self.wrong
                .push(format!("ignored at the start, but in the checkpoint: {path}"));
        }
    }
}

/// Goes through the misdeeds in one state.
fn sweep(name: &str) {
    let number = STATES.iter().position(|state| state.name == name).unwrap();
    let state = &STATES[number];
    let mut found = Vec::new();
    // Another verdict than that of the other strategy.
    for (misdeed, complete) in selection(number + 1, 8) {
        let Some(sandbox) = state.sandbox() else {
            return;
        };
        sandbox.configure("ralph.strategy", "stash");
        found.extend(Case::new(sandbox, state, misdeed, false).judge(complete));
    }
    nothing_of(&found);
}

macro_rules! states {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            sweep(stringify!($name));
        })*

        #[test]
        fn every_state_with_a_commit_is_swept() {
            let names: Vec<_> = STATES.iter().map(|state| state.name).filter(|name| *name != "unborn").collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

states! {
    clean mixed links crlf modes hooks names detached subdirectory linked_worktree lossy_filter
    flagged sparse nested ignored_only special_files split_index many_files lying_monitor stale_settings environment no_identity
    attributes_at_home strict_umask shared_umask widened_umask narrowed_umask modules large_files of_a_container
}
