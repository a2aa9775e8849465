//! Runs a process in a sandbox, so that it cannot access anything but its work: bubblewrap (bwrap(1)) shows it a
//! read-only system, an almost empty home directory, and the work tree.
//!
//! - `plan` decides what a process sees (pure except for checking files); `home` knows the home directory, `variables`
//!   the environment, `patterns` parses their lists, and `git_config` finds keys in git's configuration.
//! - `walls` makes the command line of a plan, `returns` copies files out of it; `trial` tests it on this machine.
//!
//! `docs/sandbox.md` has the rules for users, and the limits of a sandbox.

mod git_config;
mod home;
mod patterns;
mod plan;
mod returns;
mod trial;
mod variables;
mod walls;

pub use self::home::{Belongings, Directory, Place};
pub use self::plan::{Allowed, Site, Wish, given, made, plan};
pub use self::trial::{Trouble, attempt};
pub use self::walls::{Mount, Walls};
