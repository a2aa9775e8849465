//! The viewed loops, and the viewing process.

use std::path::PathBuf;

use super::model::Model;
use crate::inspect::follow::LoopFollower;
use crate::settings::BoxMode;

/// A loop to view.
pub struct Viewed {
    /// Follows its files.
    pub follower: LoopFollower,
    /// Its stories and attempts, as far as known.
    pub model: Model,
    /// Its work tree.
    pub top: PathBuf,
    /// The sandbox mode of its attempts.
    pub boxed: BoxMode,
}

/// The loops, and the process that views them.
pub struct Setup {
    /// The loops; at least one.
    pub loops: Vec<Viewed>,
    /// True if this process drives the loop.
    pub is_owner: bool,
    /// The pager, a shell command.
    pub pager: String,
    /// True if past events are replayed.
    pub is_replay: bool,
}

impl Setup {
    /// Replays past events, at this multiple of their speed.
    pub fn replay(&mut self, speed: f64) {
        self.is_replay = true;
        for viewed in &mut self.loops {
            viewed.follower.replay(speed);
        }
    }
}
