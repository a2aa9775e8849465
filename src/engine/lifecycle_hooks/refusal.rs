//! The error of a lifecycle hook that refuses a step.

use std::path::PathBuf;

use crate::error::advice::{Advice, Advise, hint};
use crate::names::typed_path;

/// A hook refused a step; nothing was done.
#[derive(Debug, thiserror::Error)]
#[error("hook {hook} refused ({why})")]
pub struct HookRefused {
    pub hook: &'static str,
    pub why: String,
    pub file: Option<PathBuf>,
    pub log: PathBuf,
}

impl Advise for HookRefused {
    fn advice(&self) -> Advice {
        let place = match &self.file {
            Some(file) => typed_path(file),
            None => r"in the configuration (git config --show-origin --get-regexp ^hook\.)".to_owned(),
        };
        hint(format!(
            "the hook is {place}; its output: {}",
            typed_path(&self.log)
        ))
    }
}
