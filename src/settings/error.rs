//! Says which setting is wrong, and how to set it.

use super::table::spelled;
use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::git::GitError;

refusals! {
/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Git could not read its configuration.
    Git(#[from] GitError) = transparent;
    /// A value of the wrong kind.
    #[error("the setting {} is '{value}', but must be {wanted}", spelled(key))]
    Value {
        key: String,
        value: String,
        /// The expected kind of value.
        wanted: &'static str,
    }
        => |key| {
            let key = spelled(key);
            hint(format!(
                "git config {key} <value>, or see where it is set: git config --show-origin --get-all {key}"
            ))
        };
}
}
