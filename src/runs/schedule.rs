//! Decides which change of a run is next, and the consequences of its end for the others. Pure: no clock, no files, and
//! no random numbers of its own.
//!
//! Invariants (property-tested below): a change that was passed over is never taken again; one that another run took
//! first is taken again only after a pause, or after another change was closed; the run ends only if no change is left
//! that it may take, or because of the change that it worked on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::exit::Exit;
use crate::names::Change;

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Work on this change.
    Work(Change),
    /// Read the queue again after a pause.
    Wait,
    /// The run ends with this exit code.
    Done(Exit),
    /// No change was worked on, and none is left.
    NothingLeft,
    /// Other runs hold all remaining changes.
    AllHeld,
}

/// The standing of a remaining change in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A run can take it, and continues its loop.
    Begun,
    /// A run can take it; it has no loop yet.
    New,
    /// Another run holds it, and may be dead.
    Held,
    /// Another run holds it, and was seen to renew its lease.
    HeldByLiving,
}

/// The end of the work on one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The loop is closed.
    Closed,
    /// Nothing was left to do before the run.
    WasComplete,
    /// Another run took it first, or this one was too slow.
    Taken,
    /// Another run has finished it.
    Over,
    /// The change needs the user; the others can continue.
    NeedsUser,
    /// The reason applies to every change.
    Stopped,
}

/// The consequence of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next turn follows.
    GoOn,
    /// The change is to be passed over, with this exit code.
    PassOver(Exit),
    /// The run ends with this exit code.
    Stop(Exit),
}

/// The known changes of a run.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// True if the changes come from a queue, in random order among equals, and those that need the user are passed
    /// over. Otherwise they were named, are taken in order, and the first failure ends the run with its exit code.
    has_queue: bool,
    /// The named changes that have not begun.
    named: VecDeque<Change>,
    /// The number of named changes.
    number: usize,
    /// The changes that another run was faster to take.
    tried: BTreeSet<Change>,
    /// The changes that were over when this run came to them, whatever a queue says of them later.
    over: BTreeSet<Change>,
    /// The changes that need the user, with the exit codes that say so.
    passed_over: BTreeMap<Change, Exit>,
    /// The exit code of the changes that were closed; `None` if there are none.
    exit: Option<Exit>,
}

impl Schedule {
    /// Begins a run of these changes in this order, but of the one that is `active` here first.
    pub fn of_named(mut changes: Vec<Change>, active: Option<&Change>) -> Self {
        changes.sort_by_key(|change| Some(change) != active);
        Self::new(false, changes)
    }

    /// Begins a run of the changes in a queue.
    pub fn of_queue() -> Self {
        Self::new(true, Vec::new())
    }

    fn new(has_queue: bool, named: Vec<Change>) -> Self {
        Self {
            has_queue,
            number: named.len(),
            named: named.into(),
            ..Self::default()
        }
    }

    /// Returns the named changes that have not begun.
    pub fn left(&self) -> Vec<&str> {
        self.named.iter().map(Change::as_str).collect()
    }

    /// Returns the number of changes that were passed over.
    pub fn number_passed_over(&self) -> usize {
        self.passed_over.len()
    }

    /// Returns the heading of a change that begins; `None` if it is the only one.
    pub fn heading(&self, change: &Change) -> Option<String> {
        if self.has_queue {
            return Some(format!("change {change}"));
        }
        let position = self.number - self.named.len();
        (self.number > 1).then(|| format!("change {position} of {}: {change}", self.number))
    }

    /// Returns the next turn of a run of named changes.
    pub fn next_named(&mut self) -> Option<Turn> {
        if self.has_queue {
            return None;
        }
        let end = Turn::Done(self.exit.unwrap_or(Exit::Done));
        Some(self.named.pop_front().map_or(end, Turn::Work))
    }

    /// Returns the next turn according to a queue, whose first change goes first. `random` decides among changes that are
    /// alike: workers that begin at the same time would all take the first.
    pub fn choose(&mut self, queue: &[(Change, Standing)], random: usize) -> Turn {
        let is_free = |(_, standing): &&(_, _)| matches!(standing, Standing::Begun | Standing::New);
        // A run does not wait for a change that it never takes again.
        let left = queue.iter().filter(|(change, _)| !self.is_out(change));
        let (free, held): (Vec<_>, Vec<_>) = left.partition(is_free);
        let possible = free.iter().filter(|(change, _)| self.may_take(change));
        let possible: Vec<_> = possible.collect();
        if let Some((_, first)) = possible.first() {
            let alike = possible.iter().take_while(|(_, standing)| standing == first);
            let (change, _) = possible[random % alike.count()];
            return Turn::Work(change.clone());
        }
        let was_tried = free.iter().any(|(change, _)| self.tried.contains(change));
        if was_tried || held.iter().any(|(_, standing)| *standing == Standing::Held) {
            // A faster run may have ended by then, and a holder be dead.
            self.tried.clear();
            return Turn::Wait;
        }
        let exits = self.passed_over.values().copied().chain(self.exit);
        match worst(exits) {
            Some(exit) if held.is_empty() || !self.passed_over.is_empty() => Turn::Done(exit),
            _ if held.is_empty() => Turn::NothingLeft,
            _ => Turn::AllHeld,
        }
    }

    /// Takes the end of the work on a change, and its exit code.
    pub fn note(&mut self, change: &Change, end: End, exit: Exit) -> Then {
        let first = self.exit.filter(|exit| *exit != Exit::Done).unwrap_or(exit);
        match end {
            End::Closed => {
                self.tried.clear();
                let worst = worst(self.exit.into_iter().chain([exit]));
                self.exit = worst.filter(|_| self.has_queue).or(Some(first));
                Then::GoOn
            }
            End::WasComplete | End::Over if !self.has_queue => Then::GoOn,
            End::Stopped | End::Taken | End::NeedsUser if !self.has_queue => Then::Stop(first),
            End::Stopped => Then::Stop(exit),
            End::Taken => {
                self.tried.insert(change.clone());
                Then::GoOn
            }
            End::Over => {
                self.over.insert(change.clone());
                Then::GoOn
            }
            End::WasComplete | End::NeedsUser => Then::PassOver(match exit {
                Exit::RetriesSpent => exit,
                _ => Exit::Person,
            }),
        }
    }

    /// Passes over a change from now on; returns false if it already was.
    pub fn pass_over(&mut self, change: &Change, exit: Exit) -> bool {
        let is_new = !self.passed_over.contains_key(change);
        self.passed_over.entry(change.clone()).or_insert(exit);
        is_new
    }

    /// Returns whether the run may work on a change now.
    pub fn may_take(&self, change: &Change) -> bool {
        !self.tried.contains(change) && !self.is_out(change)
    }

    /// Returns whether the run never works on a change again.
    fn is_out(&self, change: &Change) -> bool {
        self.over.contains(change) || self.passed_over.contains_key(change)
    }
}

/// Returns the worst exit code of changes: that of an error, else that of one that needs the user, and so on.
pub(super) fn worst(exits: impl Iterator<Item = Exit>) -> Option<Exit> {
    exits.max_by_key(|exit| match exit {
        Exit::Done => 0,
        Exit::NoStory => 1,
        Exit::RetriesLeft | Exit::RetriesSpent => 2,
        Exit::Limit => 3,
        Exit::Busy => 4,
        Exit::Person => 5,
        Exit::Error | Exit::Usage | Exit::Refused => 6,
        Exit::Signal(_) => 7,
    })
}

#[cfg(test)]
mod tests;
