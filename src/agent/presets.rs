//! The agents that git-ralph knows by name: one table, shown by `git ralph doctor` and by
//! the manual.
//!
//! Each command line was tried by running the program unattended, unless it says otherwise.

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
    /// The arguments with which it reads the prompt on standard input and works unattended.
    pub args: &'static [&'static str],
    /// Environment variables required for that.
    pub env: &'static [(&'static str, &'static str)],
    /// The format of its output with these arguments.
    pub format: Format,
    /// The argument that makes it act without asking, if it has one.
    pub unasked: Option<&'static str>,
    /// The prefix of the files that it leaves in the top directory of the work tree for its own use.
    pub litter: Option<&'static str>,
    /// True if this line was tried with the real program.
    pub tried: bool,
    /// Its files in the home directory and its environment variables, in a sandbox.
    pub belongings: Belongings,
}

/// Every preset, in the order in which they are searched on PATH when no agent is named.
pub const ALL: &[Preset] = &[
    Preset {
        args: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ],
        format: Format::Claude,
        unasked: Some("--dangerously-skip-permissions"),
        ..Preset::of("claude", belongings::CLAUDE)
    },
    Preset {
        args: &["exec", "--json", "-s", "workspace-write", "-"],
        format: Format::Codex,
        ..Preset::of("codex", belongings::CODEX)
    },
    Preset {
        args: &["--yolo", "--output-format", "stream-json"],
        // Without this variable, the agent asks whether to trust the directory.
        env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        format: Format::Gemini,
        unasked: Some("--yolo"),
        ..Preset::of("gemini", belongings::GEMINI)
    },
    Preset {
        // Its log contains the reason why a step is repeated.
        args: &["run", "--format", "json", "--print-logs", "--log-level", "ERROR"],
        format: Format::Opencode,
        ..Preset::of("opencode", belongings::OPENCODE)
    },
    Preset {
        // Without `--allow-all-paths`, the agent refuses a command that names the loop's own files.
        args: &[
            "--allow-all-tools",
            "--allow-all-paths",
            "--no-color",
            "--output-format",
            "json",
        ],
        format: Format::Copilot,
        unasked: Some("--allow-all-tools"),
        ..Preset::of("copilot", belongings::COPILOT)
    },
    Preset {
        args: &["--yolo", "--output-format", "stream-json"],
        format: Format::Qwen,
        unasked: Some("--yolo"),
        ..Preset::of("qwen", belongings::QWEN)
    },
    Preset {
        args: &["-p", "--mode", "json"],
        format: Format::Pi,
        // This agent never asks.
        unasked: Some("-p"),
        ..Preset::of("pi", belongings::PI)
    },
    Preset {
        args: &[
            "--message-file",
            "/dev/stdin",
            "--yes-always",
            "--no-auto-commits",
            "--no-pretty",
            "--no-stream",
            "--no-gitignore",
        ],
        unasked: Some("--yes-always"),
        litter: Some(".aider."),
        ..Preset::of("aider", belongings::AIDER)
    },
    Preset {
        args: &["-x", "--stream-json"],
        format: Format::Claude,
        tried: false,
        ..Preset::of("amp", belongings::AMP)
    },
    Preset {
        args: &["exec", "--skip-permissions-unsafe", "-o", "stream-json"],
        format: Format::Droid,
        unasked: Some("--skip-permissions-unsafe"),
        ..Preset::of("droid", belongings::DROID)
    },
    Preset {
        // Without this variable, a daemon does the work, and outlives the attempt.
        env: &[("CLINE_SESSION_BACKEND_MODE", "local")],
        ..Preset::of("cline", belongings::CLINE)
    },
    Preset {
        args: &["-p", "--auto-approve", "--trust"],
        unasked: Some("--auto-approve"),
        ..Preset::of("vibe", belongings::VIBE)
    },
    Preset {
        args: &["-p", "--auto"],
        unasked: Some("--auto"),
        ..Preset::of("cn", belongings::CN)
    },
    Preset {
        args: &["--print", "--quiet"],
        tried: false,
        ..Preset::of("auggie", belongings::AUGGIE)
    },
    Preset {
        args: &["-p", "--trust", "--force", "--output-format", "stream-json"],
        format: Format::Claude,
        unasked: Some("--force"),
        tried: false,
        ..Preset::of("cursor-agent", belongings::CURSOR_AGENT)
    },
    Preset {
        args: &["run", "-i", "-", "--no-session", "--output-format", "stream-json"],
        env: &[("GOOSE_MODE", "auto")],
        format: Format::Goose,
        tried: false,
        ..Preset::of("goose", belongings::GOOSE)
    },
    Preset {
        args: &["-p", "\"$(cat {prompt_file})\""],
        ..Preset::of("kimi", belongings::KIMI)
    },
    Preset {
        args: &["chat", "--no-interactive", "--trust-all-tools"],
        format: Format::Kiro,
        unasked: Some("--trust-all-tools"),
        tried: false,
        ..Preset::of("kiro-cli", belongings::KIRO_CLI)
    },
    Preset {
        // Only the output with `--json` shows errors of its service.
        args: &[
            "--headless",
            "--json",
            "--override-with-envs",
            "-f",
            "{prompt_file}",
        ],
        env: &[("OPENHANDS_SUPPRESS_BANNER", "1")],
        format: Format::Openhands,
        ..Preset::of("openhands", belongings::OPENHANDS)
    },
    Preset {
        args: &["run", "-q"],
        tried: false,
        ..Preset::of("crush", belongings::CRUSH)
    },
];

impl Preset {
    /// Returns a preset that was tried, is named like its program, and prints plain text.
    const fn of(name: &'static str, belongings: Belongings) -> Self {
        Self {
            name,
            program: name,
            args: &[],
            env: &[],
            format: Format::Text,
            unasked: None,
            litter: None,
            tried: true,
            belongings,
        }
    }

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
        AgentCommand::Args(self.words().map(OsString::from).collect())
    }

    /// Returns its command line, for display.
    #[must_use]
    pub fn line(&self) -> String {
        self.words().collect::<Vec<_>>().join(" ")
    }

    fn words(&self) -> impl Iterator<Item = &'static str> {
        [self.program].into_iter().chain(self.args.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn name_selects_one_preset_with_its_own_argument() {
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
