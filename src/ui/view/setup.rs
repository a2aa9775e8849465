//! The loops that are viewed, and the process that views them.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use crate::inspect::follow::LoopFollower;

/// A loop to view.
pub struct Viewed {
    /// Follows its files.
    pub follower: LoopFollower,
    /// Its change.
    pub change: String,
    /// Its stories: ids, titles, and whether each is complete.
    pub stories: Vec<(String, String, bool)>,
    /// The limit of its cost, in US dollars.
    pub max_cost: Option<f64>,
    /// The longest silence of an agent's own session that counts as working.
    pub idle: Option<SignedDuration>,
    /// The time at which it reaches its limit.
    pub ends: Option<Timestamp>,
    /// Its work tree.
    pub top: PathBuf,
}

/// The loops, and the process that views them.
pub struct Setup {
    /// The loops; at least one.
    pub loops: Vec<Viewed>,
    /// True if this process drives the loop.
    pub is_owner: bool,
    /// The pager, a shell command.
    pub pager: String,
    /// True if colours are wanted.
    pub coloured: bool,
    /// True if what has happened is shown again.
    pub is_replay: bool,
}

impl Setup {
    /// Shows what has happened again, this many times as fast.
    pub fn replay(&mut self, speed: f64) {
        self.is_replay = true;
        for viewed in std::mem::take(&mut self.loops) {
            let follower = viewed.follower.replayed(speed);
            self.loops.push(Viewed { follower, ..viewed });
        }
    }
}
