//! The agent: how its command is found and run, what it prints, what it promised.
//!
//! `command` finds it, `process` runs it until nothing of it is alive (`survivors`), `decode` reads its output,
//! `promise` its last word and `learnings` what it wants others to know. Knows nothing of git, of story lists or of the loop's state.

mod command;
pub mod decode;
mod learnings;
pub mod process;
pub mod promise;
pub mod survivors;

pub use command::AgentCommand;
