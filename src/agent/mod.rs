//! The agent: choosing its command, running it and reading its output.
//!
//! `choice` finds the agent by a name in the table of `presets` or by its `command`; `process` runs it, below a
//! `runner`, until none of its processes is alive (`process_tree`; `orphans` after a crash); `installed` finds its
//! version; `decode` reads its output, `promise` its promise and `learnings` its notes for later stories. This module
//! does not know git, story lists or the loop's state.

mod belongings;
mod choice;
mod command;
pub mod decode;
mod installed;
pub mod job;
mod learnings;
pub mod orphans;
mod patience;
pub mod presets;
pub mod process;
pub mod process_tree;
pub mod promise;
pub mod runner;

pub use choice::{Agent, Pieces};
pub use command::{AgentCommand, plain_first_word, program_of};
