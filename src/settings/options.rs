//! Options of a command line. They override the configuration: for that command, or for the loop that it begins.

use serde::{Deserialize, Serialize};

use super::{BoxMode, Limit, Mark, MinimumBox, Settings, is_default};

/// The settings of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The agent's name, or its shell command line.
    pub agent: Option<String>,
    /// Gates that replace the configured ones.
    pub verify: Vec<String>,
    /// The other settings.
    pub plain: PlainOptions,
}

/// The settings of a command line that contain no command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainOptions {
    /// Retries after the first attempt, for each story.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Wall time of an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Limit>,
    /// Time without output after which an attempt is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Limit>,
    /// Whether the processes of an attempt run in a sandbox.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub boxed: Option<BoxMode>,
}

/// The settings that a loop keeps on every machine: the setting of its mark, and the options of the command that began
/// it. All other settings are read again by each command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopSettings {
    /// Who marks a complete story.
    #[serde(default)]
    pub mark: Mark,
    /// The options of the command that began the loop.
    #[serde(flatten)]
    pub plain: PlainOptions,
    /// The programs of the gates among these options, for a message on another machine; empty where the loop began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    /// The sandbox that a file of the work tree required when the loop began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub least: MinimumBox,
}

/// The commands of the command line that began a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopCommands {
    /// The agent's name, or its shell command line.
    pub agent: Option<String>,
    /// Gates that replace the configured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// The gates that are no longer run: git-ralph was killed during an attempt, which could have written them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<String>,
}

impl LoopCommands {
    /// Drops the commands, but keeps the text of the gates; returns descriptions of the dropped ones. Keeps commands
    /// that the configuration has as well.
    pub fn forget_commands(&mut self, configured: &Settings) -> Vec<String> {
        let mut forgotten = Vec::new();
        if self.agent.is_some() && self.agent != configured.agent {
            forgotten.extend(self.agent.take().map(|agent| format!("the agent '{agent}'")));
        }
        if !self.verify.is_empty() && self.verify != configured.verify {
            self.unproven = std::mem::take(&mut self.verify);
            forgotten.extend(self.unproven.iter().map(|gate| format!("the gate '{gate}'")));
        }
        forgotten
    }
}

impl Options {
    /// Overrides the configured values with these options.
    pub fn apply(&self, settings: &mut Settings) {
        self.apply_but(settings, |_| false);
    }

    /// Overrides the configured values with these options, except for settings (named in lower case) that are given in
    /// another way.
    pub(super) fn apply_but(&self, settings: &mut Settings, is_given: impl Fn(&str) -> bool) {
        let is_free = |key: &str| !is_given(key);
        let plain = self.plain;
        if let Some(agent) = self.agent.as_ref().filter(|_| is_free("ralph.agent")) {
            settings.agent = Some(agent.clone());
        }
        if let Some(most) = plain.max_retries.filter(|_| is_free("ralph.maxretries")) {
            settings.max_retries = most;
        }
        if let Some(limit) = plain.timeout.filter(|_| is_free("ralph.timeout")) {
            settings.timeout = limit.0;
        }
        if let Some(limit) = plain.idle_timeout.filter(|_| is_free("ralph.idletimeout")) {
            settings.idle_timeout = limit.0;
        }
        if !self.verify.is_empty() && is_free("ralph.verify") {
            settings.verify.clone_from(&self.verify);
        }
        if let Some(mode) = plain.boxed.filter(|_| is_free("ralph.box")) {
            // Without a value, the option does not weaken the configured sandbox.
            let configured = settings.boxing.mode;
            settings.boxing.mode = if mode.is_required() {
                mode.max(configured)
            } else {
                mode
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn kept_settings_survive_their_serialization() {
        let kept = LoopSettings {
            mark: Mark::Never,
            plain: PlainOptions {
                max_retries: Some(0),
                timeout: Some(Limit(Some(SignedDuration::from_mins(90)))),
                idle_timeout: Some(Limit(None)),
                boxed: Some(BoxMode::Require),
            },
            gates: vec!["make".to_owned()],
            least: MinimumBox {
                mode: BoxMode::On,
                commands: true,
            },
        };
        let text = toml::to_string(&kept).unwrap();
        assert_eq!(toml::from_str::<LoopSettings>(&text).unwrap(), kept, "{text}");
    }
}
