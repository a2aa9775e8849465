//! Names the formats of agents' output.

use serde::{Deserialize, Serialize};

/// The format of an agent's output.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[strum(parse_err_ty = UnknownFormat, parse_err_fn = unknown)]
pub enum Format {
    /// Detected from the first line.
    #[default]
    Auto,
    /// Plain text.
    Text,
    /// `claude --output-format stream-json`, or `json`.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `gemini --output-format stream-json`, or `json`.
    Gemini,
    /// `opencode run --format json`.
    Opencode,
    /// `copilot --output-format json`.
    Copilot,
    /// `qwen --output-format stream-json`.
    Qwen,
    /// `pi --mode json`.
    Pi,
    /// `droid exec -o stream-json`, or `json`.
    Droid,
    /// `goose run --output-format stream-json`.
    Goose,
    /// `cline --json`.
    Cline,
    /// `openhands --headless --json`.
    Openhands,
    /// The text of `kiro-cli chat`, in which `> ` begins each answer.
    Kiro,
}

impl Format {
    /// Returns whether the output is read as text, as far as the format is known.
    pub const fn reads_text(self) -> bool {
        matches!(self, Self::Auto | Self::Text | Self::Kiro)
    }

    /// Returns whether agents with this format never report the cost of an attempt.
    pub const fn tells_no_cost(self) -> bool {
        matches!(
            self,
            Self::Codex | Self::Gemini | Self::Qwen | Self::Copilot | Self::Openhands
        )
    }
}

/// The name of an unknown format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent format '{0}'")]
pub struct UnknownFormat(String);

fn unknown(name: &str) -> UnknownFormat {
    UnknownFormat(name.to_owned())
}
