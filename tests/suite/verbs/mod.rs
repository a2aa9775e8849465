//! The verbs: what each does, from outside.

mod abort;
mod complete;
mod demo;
mod diff;
mod doctor;
mod fail;
mod finish;
mod finish_keep;
mod hooks;
mod install;
mod log;
mod next;
mod prompt;
mod prune;
mod report;
mod repository_hooks;
mod restore;
mod retry;
mod revert;
mod run;
mod run_several;
mod skip;
mod start;
mod start_refuses;
mod status;
mod stories;
