//! Chooses the agent: the command after `--`, a name or a shell line from the settings, or the first known program on
//! PATH.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::Serialize;

use super::AgentCommand;
use super::decode::Format;
use super::presets::{self, Preset};
use crate::async_cmd::find_program;
use crate::sandbox::Belongings;

/// The settings of an agent by name: `ralph.agent.<name>.command`, `.args` and `.format`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pieces {
    /// The shell line that replaces the preset's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments to append to the command line, in shell syntax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// The output format that replaces the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

/// An agent, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The name by which the agent was chosen, if any.
    pub name: Option<String>,
    /// The command that starts it.
    pub command: AgentCommand,
    /// Environment variables that it needs.
    pub env: &'static [(&'static str, &'static str)],
    /// The format of its output.
    pub format: Format,
    /// The format that its output probably has, if it must be detected: the format of its preset, if only the command
    /// was replaced.
    pub likely: Option<Format>,
    /// The argument that makes it act without asking, if known.
    pub unasked: Option<&'static str>,
    /// The prefix of the files that it creates in the top directory for its own use.
    pub litter: Option<&'static str>,
    /// Its files in the home directory and its environment variables, in a sandbox.
    pub belongings: Belongings,
}

impl Agent {
    /// Chooses the agent of a step: `given` (after `--`), else `configured` (a name or a shell line), else the first
    /// preset whose program is on PATH; returns `None` without any of these.
    pub fn choose(
        given: &[OsString],
        configured: Option<&str>,
        pieces: &BTreeMap<String, Pieces>,
        dir: &Path,
    ) -> Option<Self> {
        if !given.is_empty() {
            return Some(Self::of_command(AgentCommand::Args(given.to_vec())));
        }
        match configured {
            Some(name) => Some(
                Self::named(name, pieces)
                    .unwrap_or_else(|| Self::of_command(AgentCommand::Shell(name.to_owned()))),
            ),
            None => presets::ALL
                .iter()
                .find(|preset| find_program(OsStr::new(preset.program), dir).is_some())
                .and_then(|preset| Self::named(preset.name, pieces)),
        }
    }

    /// Returns the agent of this name, if there is one.
    fn named(name: &str, pieces: &BTreeMap<String, Pieces>) -> Option<Self> {
        let preset = Preset::named(name);
        let own = pieces.get(name).cloned().unwrap_or_default();
        let is_replaced = own.command.is_some();
        let known = preset.map(|preset| preset.format);
        let agent = match (own.command, preset) {
            (Some(line), _) => AgentCommand::Shell(line),
            (None, Some(preset)) => preset.command(),
            (None, None) => return None,
        };
        let agent = Self::of_command(match &own.args {
            Some(args) => AgentCommand::Shell(format!("{agent} {args}")),
            None => agent,
        });
        Some(Self {
            name: Some(name.to_owned()),
            env: preset.map_or(&[], |preset| preset.env),
            format: match own.format {
                Some(format) => format,
                // Another command may print any format.
                None if is_replaced => agent.format,
                None => known.unwrap_or_default(),
            },
            likely: known.filter(|format| is_replaced && !format.reads_text()),
            litter: preset.and_then(|preset| preset.litter),
            belongings: preset.map_or_else(Belongings::default, |preset| preset.belongings),
            ..agent
        })
    }

    fn of_command(command: AgentCommand) -> Self {
        let mut named = presets::ALL.iter().filter(|preset| command.runs(preset.program));
        let preset = named.clone().next();
        let unasked = named.find_map(|preset| preset.unasked.filter(|argument| command.has_word(argument)));
        let belongings = preset.map_or_else(Belongings::default, |preset| preset.belongings);
        // The first line does not identify it.
        let format = preset
            .map(|preset| preset.format)
            .filter(|format| *format == Format::Kiro);
        Self {
            name: None,
            command,
            env: &[],
            format: format.unwrap_or_default(),
            likely: None,
            unasked,
            litter: None,
            belongings,
        }
    }

    /// Returns its name, or its program's, for records that may be published: a command line can contain keys.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.command.program())
    }

    /// Returns its name, if any, and its command, for display.
    pub fn described(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}: {}", self.command),
            None => self.command.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(configured: &str, pieces: &[(&str, Pieces)]) -> Agent {
        let pieces = pieces
            .iter()
            .map(|(name, pieces)| ((*name).to_owned(), pieces.clone()))
            .collect();
        Agent::choose(&[], Some(configured), &pieces, Path::new("/")).unwrap()
    }

    #[test]
    fn given_command_overrides_the_configured_agent() {
        let given = ["my-agent".into(), "-x".into()];
        let agent = Agent::choose(&given, Some("claude"), &BTreeMap::new(), Path::new("/")).unwrap();
        assert_eq!(agent.command, AgentCommand::Args(given.to_vec()));
        assert_eq!((agent.name, agent.format), (None, Format::Auto));
    }

    #[test]
    fn arguments_are_added_to_the_command_of_a_name() {
        let with_args = |name: &str, command: Option<&str>| {
            let pieces = Pieces {
                command: command.map(str::to_owned),
                args: Some("--model 'a b'".to_owned()),
                format: None,
            };
            let agent = chosen(name, &[(name, pieces)]);
            (agent.command.to_string(), agent.format)
        };
        let (claude, format) = with_args("claude", None);
        assert!(claude.starts_with("claude -p "), "{claude}");
        assert!(claude.ends_with(" --model 'a b'"), "{claude}");
        assert_eq!(format, Format::Claude);
        let (kimi, _) = with_args("kimi", None);
        assert_eq!(kimi, "kimi -p \"$(cat {prompt_file})\" --model 'a b'");
        let (own, format) = with_args("claude", Some("my-claude"));
        assert_eq!((own.as_str(), format), ("my-claude --model 'a b'", Format::Auto));
    }

    #[test]
    fn choice_takes_a_preset_by_name_and_other_text_as_a_shell_line() {
        let agent = chosen("gemini", &[]);
        assert_eq!(
            agent.command.to_string(),
            "gemini --yolo --output-format stream-json"
        );
        assert_eq!(agent.env, [("GEMINI_CLI_TRUST_WORKSPACE", "true")]);
        assert_eq!((agent.format, agent.unasked), (Format::Gemini, Some("--yolo")));
        let line = chosen("gemini --model x", &[]);
        assert_eq!(line.command, AgentCommand::Shell("gemini --model x".to_owned()));
        assert_eq!((line.name, line.format, line.unasked), (None, Format::Auto, None));
    }

    #[test]
    fn command_line_of_kiro_has_its_format() {
        let pieces = |command: &str| Pieces {
            command: Some(command.to_owned()),
            ..Pieces::default()
        };
        let own = |command: &str| chosen("kiro-cli", &[("kiro-cli", pieces(command))]).format;
        assert_eq!(chosen("kiro-cli", &[]).format, Format::Kiro);
        assert_eq!(own("kiro-cli chat --model x"), Format::Kiro);
        assert_eq!(own("./other"), Format::Auto);
        let line = chosen("/opt/bin/kiro-cli chat --no-interactive", &[]);
        assert_eq!((line.format, line.likely), (Format::Kiro, None));
    }

    #[test]
    fn settings_replace_pieces_of_a_preset_or_define_a_new_agent() {
        let pieces = Pieces {
            command: Some("claude -p --model y --dangerously-skip-permissions".to_owned()),
            ..Pieces::default()
        };
        let agent = chosen("claude", &[("claude", pieces.clone())]);
        assert_eq!(
            agent.command,
            AgentCommand::Shell(pieces.command.clone().unwrap())
        );
        assert_eq!((agent.format, agent.likely), (Format::Auto, Some(Format::Claude)));
        assert_eq!(agent.unasked, Some("--dangerously-skip-permissions"));
        let own = Pieces {
            format: Some(Format::Codex),
            ..pieces
        };
        let agent = chosen("mine", &[("mine", own)]);
        assert_eq!(
            (agent.name.as_deref(), agent.format),
            (Some("mine"), Format::Codex)
        );
        let format = Pieces {
            format: Some(Format::Text),
            ..Pieces::default()
        };
        let agent = chosen("pi", &[("pi", format)]);
        assert_eq!(
            (agent.command.to_string().as_str(), agent.format),
            ("pi -p --mode json", Format::Text)
        );
    }

    #[test]
    fn choice_finds_the_unasked_argument_only_for_its_own_program() {
        assert_eq!(chosen("pi -p", &[]).unasked, Some("-p"));
        assert_eq!(chosen("/opt/bin/claude -p", &[]).unasked, None);
        assert_eq!(
            chosen("X=1 /opt/bin/claude --dangerously-skip-permissions", &[]).unasked,
            Some("--dangerously-skip-permissions")
        );
        assert_eq!(chosen("grep --yolo", &[]).unasked, None);
    }
}
