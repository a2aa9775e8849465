//! Parallel attempts at several stories of a change. Each runs in a *side*: a loop of this one story, in a linked work
//! tree at the checkpoint that was last when it began, without gates. The loop of the change takes in its results.
//!
//! - `ready` finds the next story that may begin. `begin` starts a side with the loop's knowledge of its story.
//! - `made` reads the results of a side, and `remove` removes it once these are taken in.
//! - `take_in` turns them into an attempt of the loop: merged with the last checkpoint, and judged there as a whole.
//! - `keep` keeps work that is no longer judged.
//! - `list` holds the loop's list meanwhile, and `shared` the parts of the repository that all attempts share.
//! - `notices` repeats the notices of a side.
//! - `merge` merges the trees, and `blame` decides who is at fault if gates fail on the merged tree.

mod begin;
mod blame;
mod keep;
mod list;
mod made;
mod merge;
mod notices;
mod ready;
mod remove;
mod shared;
mod take_in;

pub use begin::begin_side;
pub(crate) use blame::blame;
pub use list::{hold_list, release_list};
pub(crate) use list::{left_list, with_held_list};
pub use made::{Made, made_by, open_side};
pub use ready::{Beginning, may_begin, was_taken_in, why_in_turn};
pub(in crate::engine) use remove::remove_all;
pub use remove::{free_places, is_accepted, remove_left, remove_lost, remove_side};
pub use shared::Shared;
pub use take_in::{Taken, take_in};

use crate::settings::{NoSignal, Settings};

/// Returns the settings of an attempt in a side: the loop judges and counts it. The loop's limits apply to its rounds.
pub fn settings_of_side(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.verify.clear();
    settings.review.clear();
    settings.tests.pathspecs.clear();
    if settings.no_signal == NoSignal::Gates {
        settings.no_signal = NoSignal::default();
    }
    settings.max_attempts = None;
    settings
}
