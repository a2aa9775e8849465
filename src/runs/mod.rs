//! Decides which change is driven next, and drives it: one change, several that are named, or those of a queue.
//!
//! - `schedule` decides which change is next (pure). `worker` works on the changes of a schedule, and tells it the `end` of
//!   each.
//! - `beside` works on several changes at once, and `stories` on several stories of one change, each in a process of its own
//!   (`children`).
//! - `drive` takes one step of a loop after another, and publishes each on the remote that holds the loop.
//! - `one` starts or resumes the loop of one change: `hold` takes it on a remote, and the `command` works at it.

mod beside;
mod children;
mod command;
mod drive;
mod end;
mod hold;
mod one;
mod schedule;
mod stories;
mod worker;

pub use beside::{Changes, beside};
pub use children::stop_with;
pub use command::{Command, Printed};
pub use drive::drive;
pub use one::one;
pub use schedule::Schedule;
pub use stories::abreast;
pub use worker::work;
