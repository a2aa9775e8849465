//! Installs files outside of a loop, and removes them again byte for byte: manual pages and completions, hooks in the
//! settings of agents, hooks in a repository.

pub mod agent_settings;
pub mod manual;
pub mod repository_hooks;
