//! Names the formats of agents' output.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The format of an agent's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
}

impl Format {
    /// Returns whether its agent never says what an attempt cost.
    pub const fn tells_no_cost(self) -> bool {
        matches!(
            self,
            Self::Codex | Self::Gemini | Self::Qwen | Self::Copilot | Self::Openhands
        )
    }

    /// Every format, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::Auto,
        Self::Text,
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Copilot,
        Self::Qwen,
        Self::Pi,
        Self::Droid,
        Self::Goose,
        Self::Cline,
        Self::Openhands,
    ];

    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Text => "text",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Qwen => "qwen",
            Self::Pi => "pi",
            Self::Droid => "droid",
            Self::Goose => "goose",
            Self::Cline => "cline",
            Self::Openhands => "openhands",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A format that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent format '{0}'")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
