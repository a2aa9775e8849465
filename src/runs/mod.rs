//! Drives the loop of a change, and holds it on a remote meanwhile.
//!
//! - `drive` takes one step of a loop after another, and publishes each on the remote that holds the loop.
//! - `one` starts or resumes the loop of one change: `hold` takes it on a remote, and the `command` works at it.

mod command;
mod drive;
mod hold;
mod one;

pub use command::Command;
pub use drive::drive;
pub use one::{Ended, one};
