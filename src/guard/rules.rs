//! Decides which ref moves the guard refuses, and with which message to the agent. Reads no repository.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memchr::memmem;

use super::rail::Rail;
use crate::fs::{Links, read_regular, seen};
use crate::names::{Change, Oid};
use crate::slot::Slot;

/// Name of the file in the slot with the state at the beginning of the attempt.
pub(super) const FILE: &str = "guard.rules";

/// The line of a loop without a branch of its own.
const IN_PLACE: &str = "in place\n";

/// The line of a loop in a repository with several work trees.
const SHARES_STASH: &str = "shares the stash\n";

/// A move of a ref as git reports it to a hook. A value is an object id, or `ref:` and a name; `None` means that the
/// ref does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The ref's full name.
    pub name: String,
    /// Its old value.
    pub old: Option<String>,
    /// Its new value.
    pub new: Option<String>,
}

impl Move {
    /// Reads a line that git passes to a `reference-transaction` hook.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let mut parts = line.trim_end_matches('\n').splitn(3, ' ');
        let (old, new, name) = (parts.next()?, parts.next()?, parts.next()?);
        let value = |text: &str| (!text.bytes().all(|byte| byte == b'0')).then(|| text.to_owned());
        Some(Self {
            name: name.to_owned(),
            old: value(old),
            new: value(new),
        })
    }
}

/// The state at the beginning of the attempt.
pub struct Rules {
    change: Change,
    checkpoint: Oid,
    /// The lines of the file, each between line feeds.
    text: Vec<u8>,
}

/// The guard's judgement of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The move is allowed.
    Fine,
    /// The move is allowed if the new value contains the checkpoint.
    IfItContainsTheCheckpoint,
    /// The move is refused; the text says what to do instead.
    No(String),
}

/// Returns a text that identifies a directory by its device and inode, independent of its path.
fn identity(dir: &Path) -> String {
    seen(dir).map_or_else(
        || "unknown".to_owned(),
        |metadata| format!("{}:{}", metadata.dev(), metadata.ino()),
    )
}

/// Returns the text of the rules file of an attempt.
pub(super) fn written(rail: &Rail<'_>) -> String {
    let mut text = format!(
        "checkpoint {}\nwork tree {}\n",
        rail.checkpoint,
        identity(rail.git_dir)
    );
    if rail.in_place {
        text.push_str(IN_PLACE);
    }
    if rail.shares_stash {
        text.push_str(SHARES_STASH);
    }
    for name in rail.branches {
        let _ = writeln!(text, "branch {name}");
    }
    for entry in rail.stashes {
        let _ = writeln!(text, "stash {entry}");
    }
    text
}

/// Maximum length of the rules, in bytes: there may be many branches.
const MOST: u64 = 64 << 20;

impl Rules {
    /// Reads the rules of an attempt; returns `None` if they are missing or unreadable.
    pub fn load(change: &str, slot: &Slot) -> Option<Self> {
        let change = Change::new(change).ok()?;
        Self::of(
            change,
            &read_regular(&slot.file(FILE), Links::Refused, MOST).ok()?,
        )
    }

    /// Returns the rules that hold between two attempts: those for the loop's own branch.
    pub fn between_attempts(change: Change, checkpoint: Oid) -> Self {
        let text = Vec::new();
        Self {
            change,
            checkpoint,
            text,
        }
    }

    fn of(change: Change, file: &[u8]) -> Option<Self> {
        let first = file.split(|byte| *byte == b'\n').next()?;
        let checkpoint = Oid::parse(std::str::from_utf8(first).ok()?.strip_prefix("checkpoint ")?)?;
        let text = [b"\n", file].concat();
        Some(Self {
            change,
            checkpoint,
            text,
        })
    }

    /// Returns the checkpoint that the loop's branch must contain.
    pub fn checkpoint(&self) -> &Oid {
        &self.checkpoint
    }

    /// Returns whether this is the git directory of the loop's work tree: other work trees have their own HEAD.
    pub fn is_about(&self, git_dir: &Path) -> bool {
        self.holds("work tree", &identity(git_dir))
    }

    fn has(&self, line: &str) -> bool {
        memmem::find(&self.text, format!("\n{line}").as_bytes()).is_some()
    }

    fn holds(&self, kind: &str, name: &str) -> bool {
        memmem::find(&self.text, format!("\n{kind} {name}\n").as_bytes()).is_some()
    }

    /// Judges a move whose old value is known. `stash` returns the entries of the stash.
    pub fn judge(&self, moved: &Move, stash: impl FnOnce() -> Vec<String>) -> Ruling {
        let name = moved.name.as_str();
        let symbolic = |value: &String| value.starts_with("ref:");
        if name == self.change.branch_ref() && !self.has(IN_PLACE) {
            return match &moved.new {
                None => Ruling::No(format!(
                    "the branch {} holds the finished stories and may not be deleted or renamed: stay on it, \
                     or make a branch of your own (git switch -c <name>)",
                    self.change.branch()
                )),
                Some(new) if symbolic(new) => Ruling::No(self.rewritten()),
                Some(new) if new == self.checkpoint.as_str() => Ruling::Fine,
                Some(_) => Ruling::IfItContainsTheCheckpoint,
            };
        }
        if name.starts_with("refs/ralph/") {
            return Ruling::No(
                "refs/ralph/ is where git-ralph keeps work: leave it alone, and give what you want to keep a \
                 new branch or a tag"
                    .to_owned(),
            );
        }
        if name == "refs/stash" && moved.new.is_none() {
            let mut kept = moved.old.iter().cloned().chain(stash());
            if kept.any(|entry| self.holds("stash", &entry)) {
                return Ruling::No(
                    "the stash holds entries that were there before this attempt: use git stash apply, and \
                     drop only what you put there yourself (git stash drop stash@{0})"
                        .to_owned(),
                );
            }
            return Ruling::Fine;
        }
        // Git asks no hook when it takes one of several entries, and has then changed the files already.
        if name == "refs/stash" && self.has(SHARES_STASH) {
            return Ruling::No(
                "other work trees share the stash, and git stash pop there would take this entry: commit what you want \
                 to come back to, or copy it to a directory that git ignores"
                    .to_owned(),
            );
        }
        if self.holds("branch", name) {
            let short = name.strip_prefix("refs/heads/").unwrap_or(name);
            let what = if moved.new.is_some() {
                "moved"
            } else {
                "deleted or renamed"
            };
            let instead = if self.has(IN_PLACE) {
                "leave the work in the work tree, uncommitted".to_owned()
            } else {
                let branch = self.change.branch();
                format!("commit on {branch}, or on a branch of your own (git switch -c <name>)")
            };
            return Ruling::No(format!(
                "the branch {short} was there before this attempt and may not be {what}: {instead}"
            ));
        }
        Ruling::Fine
    }

    /// Returns the message about a move after which the branch does not contain the checkpoint.
    pub fn rewritten(&self) -> String {
        format!(
            "the branch {} must keep its checkpoint {}: commit or merge on top of it, and amend, rebase or reset \
             only commits of your own above it; after a refused rebase, git rebase --abort; if files have changed, git restore --source=HEAD --staged \
             --worktree . brings them back",
            self.change.branch(),
            self.checkpoint.short()
        )
    }

    /// Returns the message about a push.
    pub fn push() -> &'static str {
        "nothing is pushed during an attempt: leave the work in the work tree or commit it; the user pushes it \
         after git ralph finish"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    fn judged(name: &str, old: Option<char>, new: Option<char>) -> Ruling {
        let parsed = |digit| Oid::parse(&oid(digit)).unwrap();
        let branches = ["refs/heads/main", "refs/heads/ralph/b"];
        let text = written(&Rail {
            slot: &Slot::of(Path::new("/")),
            change: &Change::new("c").unwrap(),
            git_dir: Path::new("/"),
            common_dir: Path::new("/"),
            users_hooks: None,
            checkpoint: &parsed('1'),
            in_place: false,
            shares_stash: false,
            branches: &branches,
            stashes: &[parsed('a'), parsed('b')],
        });
        let rules = Rules::of(Change::new("c").unwrap(), text.as_bytes()).unwrap();
        let moved = Move {
            name: name.to_owned(),
            old: old.map(oid),
            new: new.map(oid),
        };
        rules.judge(&moved, || vec![oid('b'), oid('f')])
    }

    fn no(name: &str, old: Option<char>, new: Option<char>) -> String {
        match judged(name, old, new) {
            Ruling::No(why) => why,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn lines_of_git_are_read() {
        let zero = "0".repeat(40);
        let line = format!("{zero} {} refs/heads/a\n", oid('2'));
        let moved = Move::parse(line.as_bytes()).unwrap();
        assert_eq!((moved.old, moved.new), (None, Some(oid('2'))));
        assert_eq!(moved.name, "refs/heads/a");
        let head = Move::parse(format!("{zero} ref:refs/heads/a HEAD\n").as_bytes()).unwrap();
        assert_eq!(head.new.as_deref(), Some("ref:refs/heads/a"));
        assert_eq!(Move::parse(b"odd\n"), None);
    }

    #[test]
    fn the_loops_branch_keeps_its_checkpoint() {
        let own = "refs/heads/ralph/c";
        assert!(no(own, Some('1'), None).contains("ralph/c holds the finished stories"));
        assert_eq!(judged(own, Some('2'), Some('1')), Ruling::Fine);
        assert_eq!(
            judged(own, Some('1'), Some('2')),
            Ruling::IfItContainsTheCheckpoint
        );
    }

    #[test]
    fn a_loop_without_a_branch_has_no_branch_to_commit_on() {
        let checkpoint = Oid::parse(&oid('1')).unwrap();
        let branches = ["refs/heads/main", "refs/heads/ralph/c"];
        let text = written(&Rail {
            slot: &Slot::of(Path::new("/")),
            change: &Change::new("c").unwrap(),
            git_dir: Path::new("/"),
            common_dir: Path::new("/"),
            users_hooks: None,
            checkpoint: &checkpoint,
            in_place: true,
            shares_stash: true,
            branches: &branches,
            stashes: &[],
        });
        let rules = Rules::of(Change::new("c").unwrap(), text.as_bytes()).unwrap();
        let stashed = Move {
            name: "refs/stash".to_owned(),
            old: None,
            new: Some(oid('2')),
        };
        assert!(
            matches!(rules.judge(&stashed, Vec::new), Ruling::No(why) if why.contains("other work trees share"))
        );
        for name in branches {
            let moved = Move {
                name: name.to_owned(),
                old: Some(oid('1')),
                new: Some(oid('2')),
            };
            let Ruling::No(why) = rules.judge(&moved, Vec::new) else {
                panic!("{name}")
            };
            assert!(
                why.ends_with("leave the work in the work tree, uncommitted"),
                "{why}"
            );
        }
    }

    #[test]
    fn rules_refuse_to_move_earlier_branches_and_refs_of_loops() {
        assert!(no("refs/heads/main", Some('1'), Some('2')).contains("main was there before"));
        assert!(no("refs/heads/main", Some('1'), None).contains("deleted"));
        assert!(no("refs/heads/ralph/b", Some('1'), Some('2')).contains("ralph/b"));
        assert!(no("refs/ralph/c/start", Some('1'), Some('2')).contains("refs/ralph/"));
        for name in [
            "HEAD",
            "refs/heads/mai",
            "refs/heads/main2",
            "refs/heads/mine",
            "refs/tags/main",
        ] {
            assert_eq!(judged(name, Some('1'), Some('2')), Ruling::Fine, "{name}");
            assert_eq!(judged(name, Some('1'), None), Ruling::Fine, "{name}");
        }
    }

    #[test]
    fn rules_allow_dropping_a_stash_without_entries_of_the_user() {
        assert!(no("refs/stash", Some('a'), None).contains("git stash apply"));
        assert!(no("refs/stash", Some('f'), None).contains("stash"));
        assert_eq!(judged("refs/stash", Some('a'), Some('f')), Ruling::Fine);
        let rules = Rules::of(
            Change::new("c").unwrap(),
            format!("checkpoint {}\n", oid('1')).as_bytes(),
        )
        .unwrap();
        let dropped = Move {
            name: "refs/stash".to_owned(),
            old: Some(oid('f')),
            new: None,
        };
        assert_eq!(rules.judge(&dropped, || vec![oid('f')]), Ruling::Fine);
    }
}
