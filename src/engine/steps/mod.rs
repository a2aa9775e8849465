//! The steps, one file for each. A step looks, makes what can fail as objects, and leaves its plan to `transition`.

pub(super) mod abort;
pub(super) mod adopt;
pub(crate) mod attempt;
pub(crate) mod checkpoint;
pub(super) mod finish;
pub(crate) mod finish_refusal;
mod gates_at_start;
pub(super) mod leave;
pub(crate) mod manual;
pub(crate) mod manual_edits;
pub(super) mod preflight;
pub(crate) mod prune;
pub(super) mod redo;
pub(super) mod restore;
pub(super) mod resume;
pub(super) mod return_to_base;
pub(crate) mod revert;
pub(super) mod run;
pub(crate) mod save;
mod saved;
mod snapshot;
pub(super) mod start;
pub(super) mod start_again;
pub(crate) mod start_refusal;
pub(super) mod take_list;
pub(crate) mod unneeded;
pub(super) mod work_away;
