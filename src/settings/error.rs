//! Says which setting is wrong, and how to set it.

use super::table::spelled;
use crate::error::advice::{Advice, Advise, hint};
use crate::git::GitError;

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Git could not read its configuration.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A value of the wrong kind.
    #[error("the setting {} is '{value}', but must be {wanted}", spelled(key))]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The expected kind of value.
        wanted: &'static str,
    },
}

impl Advise for SettingsError {
    fn advice(&self) -> Advice {
        match self {
            Self::Git(error) => error.advice(),
            Self::Value { key, .. } => {
                let key = spelled(key);
                hint(format!(
                    "git config {key} <value>, or see where it is set: git config --show-origin --get-all {key}"
                ))
            }
        }
    }
}
