//! Says which setting is wrong, and how to set it.

use super::table::spelled;
use crate::error::advice::{hint, list};
use crate::error::refusals::refusals;
use crate::git::GitError;

refusals! {
/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Git could not read its configuration.
    Git(#[from] GitError) = transparent;
    /// A value of the wrong kind.
    #[error("the setting {} is '{value}', but must be {wanted}{}", spelled(key), list("; also wrong: ", more, ""))]
    Value {
        key: String,
        value: String,
        /// The expected kind of value.
        wanted: &'static str,
        /// Other settings with a value of the wrong kind, each as `key=value`.
        more: Vec<String>,
    }
        => |key| {
            let key = spelled(key);
            hint(format!(
                "git config {key} <value>, or see where it is set: git config --show-origin --get-all {key}"
            ))
        };
}
}

impl SettingsError {
    /// Adds another error to the first one; returns both.
    pub(super) fn and(first: Option<Self>, other: Self) -> Self {
        let Some(mut first) = first else { return other };
        if let (Self::Value { more, .. }, Self::Value { key, value, .. }) = (&mut first, &other) {
            more.push(format!("{}={value}", spelled(key)));
        }
        first
    }
}
