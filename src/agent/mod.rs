//! The agent: how its command is found and run, what it prints, what it promised.
//!
//! `choice` says which one is meant, by name from the table of `presets` or by its `command`; `process` runs it until nothing of it is alive
//! (`process_tree`, by the `process_table`; `orphans`: after a crash), `decode` reads its output, `promise` its last word and `learnings` what it wants others to know. Knows nothing of git, of story lists or of the loop's state.

mod choice;
mod command;
pub mod decode;
mod learnings;
pub mod orphans;
mod patience;
pub mod presets;
pub mod process;
mod process_table;
pub mod process_tree;
pub mod promise;

pub use choice::{Agent, Pieces};
pub use command::AgentCommand;
