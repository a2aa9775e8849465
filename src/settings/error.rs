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
        match (first, other) {
            (None, other) => other,
            (
                Some(Self::Value {
                    key,
                    value,
                    wanted,
                    mut more,
                }),
                Self::Value {
                    key: other,
                    value: its,
                    ..
                },
            ) => {
                more.push(format!("{}={its}", spelled(&other)));
                Self::Value {
                    key,
                    value,
                    wanted,
                    more,
                }
            }
            (Some(first), _) => first,
        }
    }
}
