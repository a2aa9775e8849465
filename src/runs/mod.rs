//! Decides which change is driven next, and drives it: one change, several named ones, or those of a queue.
//!
//! - `schedule` decides which change is next (pure). `worker` works on the changes of a schedule, and reports the `end`
//!   of each to it.
//! - `beside` works on several changes at once, and `stories` on several stories of one change, each in its own process
//!   (`children`).
//! - `drive` takes one step of a loop after another, and publishes each on the remote that holds the loop.
//! - `one` starts or resumes the loop of one change: `hold` takes it on a remote, and the `command` works on it.

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
