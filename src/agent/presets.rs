//! The agents that git-ralph knows by name: one table, shown by `git ralph doctor` and by
//! the manual.
//!
//! Each line was tried by running the program without a person in front of it, unless it says that it was not.

use std::ffi::OsString;

use super::decode::Format;
use super::{AgentCommand, belongings};
use crate::sandbox::Belongings;

/// An agent that is known by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name, as in `ralph.agent`.
    pub name: &'static str,
    /// The program, as searched on PATH.
    pub program: &'static str,
    /// The arguments with which it reads the prompt on standard input and works without a person.
    pub args: &'static [&'static str],
    /// Environment variables that it needs for that.
    pub env: &'static [(&'static str, &'static str)],
    /// The format of its output with these arguments.
    pub format: Format,
    /// The argument with which it acts without asking, if it has one.
    pub unasked: Option<&'static str>,
    /// The prefix of the files that it leaves in the top directory of the work tree for its own use.
    pub litter: Option<&'static str>,
    /// True if this line was tried with the real program.
    pub tried: bool,
    /// Its part of the home directory and the environment, in a box.
    pub belongings: Belongings,
}

/// Every preset, in the order in which they are searched on PATH when no agent is named.
pub const ALL: &[Preset] = &[
    Preset {
        name: "claude",
        program: "claude",
        args: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ],
        env: &[],
        format: Format::Claude,
        unasked: Some("--dangerously-skip-permissions"),
        litter: None,
        tried: true,
        belongings: belongings::CLAUDE,
    },
    Preset {
        name: "codex",
        program: "codex",
        args: &["exec", "--json", "-s", "workspace-write", "-"],
        env: &[],
        format: Format::Codex,
        unasked: None,
        litter: None,
        tried: true,
        belongings: belongings::CODEX,
    },
    Preset {
        name: "gemini",
        program: "gemini",
        args: &["--yolo", "--output-format", "stream-json"],
        // Otherwise it asks whether it may trust the directory.
        env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        format: Format::Gemini,
        unasked: Some("--yolo"),
        litter: None,
        tried: true,
        belongings: belongings::GEMINI,
    },
    Preset {
        name: "opencode",
        program: "opencode",
        args: &["run", "--format", "json"],
        env: &[],
        format: Format::Opencode,
        unasked: None,
        litter: None,
        tried: true,
        belongings: belongings::OPENCODE,
    },
    Preset {
        name: "copilot",
        program: "copilot",
        args: &["--allow-all-tools", "--no-color", "--output-format", "json"],
        env: &[],
        format: Format::Copilot,
        unasked: Some("--allow-all-tools"),
        litter: None,
        tried: true,
        belongings: belongings::COPILOT,
    },
    Preset {
        name: "qwen",
        program: "qwen",
        args: &["--yolo", "--output-format", "stream-json"],
        env: &[],
        format: Format::Qwen,
        unasked: Some("--yolo"),
        litter: None,
        tried: true,
        belongings: belongings::QWEN,
    },
    Preset {
        name: "pi",
        program: "pi",
        args: &["-p", "--mode", "json"],
        env: &[],
        format: Format::Pi,
        // It never asks.
        unasked: Some("-p"),
        litter: None,
        tried: true,
        belongings: belongings::PI,
    },
    Preset {
        name: "aider",
        program: "aider",
        args: &[
            "--message-file",
            "/dev/stdin",
            "--yes-always",
            "--no-auto-commits",
            "--no-pretty",
            "--no-stream",
            "--no-gitignore",
        ],
        env: &[],
        format: Format::Text,
        unasked: Some("--yes-always"),
        litter: Some(".aider."),
        tried: true,
        belongings: belongings::AIDER,
    },
    Preset {
        name: "amp",
        program: "amp",
        args: &["-x", "--stream-json"],
        env: &[],
        format: Format::Claude,
        unasked: None,
        litter: None,
        tried: false,
        belongings: belongings::AMP,
    },
    Preset {
        name: "droid",
        program: "droid",
        args: &["exec", "--skip-permissions-unsafe", "-o", "stream-json"],
        env: &[],
        format: Format::Droid,
        unasked: Some("--skip-permissions-unsafe"),
        litter: None,
        tried: true,
        belongings: belongings::DROID,
    },
    Preset {
        name: "cline",
        program: "cline",
        args: &[],
        // Otherwise a daemon does the work, which stays when the attempt ends.
        env: &[("CLINE_SESSION_BACKEND_MODE", "local")],
        format: Format::Text,
        unasked: None,
        litter: None,
        tried: true,
        belongings: belongings::CLINE,
    },
    Preset {
        name: "vibe",
        program: "vibe",
        args: &["-p", "--auto-approve", "--trust"],
        env: &[],
        format: Format::Text,
        unasked: Some("--auto-approve"),
        litter: None,
        tried: true,
        belongings: belongings::VIBE,
    },
    Preset {
        name: "cn",
        program: "cn",
        args: &["-p", "--auto"],
        env: &[],
        format: Format::Text,
        unasked: Some("--auto"),
        litter: None,
        tried: true,
        belongings: belongings::CN,
    },
    Preset {
        name: "auggie",
        program: "auggie",
        args: &["--print", "--quiet"],
        env: &[],
        format: Format::Text,
        unasked: None,
        litter: None,
        tried: false,
        belongings: belongings::AUGGIE,
    },
    Preset {
        name: "cursor-agent",
        program: "cursor-agent",
        args: &["-p", "--trust", "--force", "--output-format", "stream-json"],
        env: &[],
        format: Format::Claude,
        unasked: Some("--force"),
        litter: None,
        tried: false,
        belongings: belongings::CURSOR_AGENT,
    },
    Preset {
        name: "goose",
        program: "goose",
        args: &["run", "-i", "-", "--no-session", "--output-format", "stream-json"],
        env: &[("GOOSE_MODE", "auto")],
        format: Format::Goose,
        unasked: None,
        litter: None,
        tried: false,
        belongings: belongings::GOOSE,
    },
    Preset {
        name: "kimi",
        program: "kimi",
        args: &["-p", "\"$(cat {prompt_file})\""],
        env: &[],
        format: Format::Text,
        unasked: None,
        litter: None,
        tried: true,
        belongings: belongings::KIMI,
    },
    Preset {
        name: "kiro-cli",
        program: "kiro-cli",
        args: &["chat", "--no-interactive", "--trust-all-tools"],
        env: &[],
        format: Format::Text,
        unasked: Some("--trust-all-tools"),
        litter: None,
        tried: false,
        belongings: belongings::KIRO_CLI,
    },
    Preset {
        name: "openhands",
        program: "openhands",
        // Without `--json` nothing tells of an error of its service.
        args: &[
            "--headless",
            "--json",
            "--override-with-envs",
            "-f",
            "{prompt_file}",
        ],
        env: &[("OPENHANDS_SUPPRESS_BANNER", "1")],
        format: Format::Openhands,
        unasked: None,
        litter: None,
        tried: true,
        belongings: belongings::OPENHANDS,
    },
    Preset {
        name: "crush",
        program: "crush",
        args: &["run", "-q"],
        env: &[],
        format: Format::Text,
        unasked: None,
        litter: None,
        tried: false,
        belongings: belongings::CRUSH,
    },
];

impl Preset {
    /// Returns the preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|preset| preset.name == name)
    }

    /// Returns its command, as a shell line if an argument needs a shell.
    pub fn command(&self) -> AgentCommand {
        if self.args.iter().any(|argument| argument.contains('$')) {
            return AgentCommand::Shell(self.line());
        }
        let words = [self.program].into_iter().chain(self.args.iter().copied());
        AgentCommand::Args(words.map(OsString::from).collect())
    }

    /// Returns its command line, for people.
    #[must_use]
    pub fn line(&self) -> String {
        let words: Vec<&str> = [self.program]
            .into_iter()
            .chain(self.args.iter().copied())
            .collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_name_means_one_preset_and_its_own_argument() {
        for preset in ALL {
            assert_eq!(Preset::named(preset.name), Some(preset));
            if let Some(unasked) = preset.unasked {
                assert!(preset.args.contains(&unasked), "{}", preset.name);
            }
        }
        assert_eq!(Preset::named("claude -p"), None);
        let kimi = Preset::named("kimi").unwrap().command();
        let (argv, from_file) = kimi.argv(Path::new("/a b/prompt.md"));
        assert_eq!(argv, ["sh", "-c", "kimi -p \"$(cat '/a b/prompt.md')\""]);
        assert!(from_file);
    }
}
