//! Puts a process in a box, so that it cannot reach what is not its work: bubblewrap (bwrap(1)) shows it a system that it
//! can only read, a home directory that is almost empty, and the work tree.
//!
//! - `plan` decides what a process sees (pure but for looking at files); `home` knows the home directory, `variables` the
//!   environment, `patterns` reads their lists, and `git_config` knows what holds keys in git's configuration.
//! - `walls` is the plan as a command line, and `returns` what brings files out of it; `trial` finds out whether the box works here.
//!
//! `docs/sandbox.md` has the rules for users, and what a box does not hold.

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
