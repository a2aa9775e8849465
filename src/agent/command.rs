//! The agent's command line: an argument list after `--`, or a shell line from the settings.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use crate::async_cmd::{find_program, quoted};

/// The placeholder for the path of the prompt file in an agent's arguments.
const PROMPT_FILE: &str = "{prompt_file}";

/// The command that starts an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCommand {
    /// A program and its arguments, as given after `--`.
    Args(Vec<OsString>),
    /// A line for `sh -c`, as given by `ralph.agent`.
    Shell(String),
}

impl AgentCommand {
    /// Returns the command without the agent's own sandbox: replaces these arguments by `none`.
    pub fn without_sandbox(&self, args: &[&str], none: &str) -> Self {
        match self {
            Self::Args(words) => {
                let place = words.windows(args.len().max(1)).position(|words| words == args);
                let Some(place) = place else { return self.clone() };
                let mut words = words.clone();
                words.splice(place..place + args.len(), [OsString::from(none)]);
                Self::Args(words)
            }
            Self::Shell(line) => Self::Shell(line.replacen(&args.join(" "), none, 1)),
        }
    }

    /// Returns the argument list to start, with the path of the prompt file inserted, and whether the command named it:
    /// if so, the agent reads the prompt from that file and not from standard input.
    pub fn argv(&self, prompt_file: &Path) -> (Vec<OsString>, bool) {
        let path = prompt_file.to_string_lossy();
        match self {
            Self::Args(args) => {
                let named = args.iter().any(|arg| arg.to_string_lossy().contains(PROMPT_FILE));
                let put_in = |arg: &OsString| match arg.to_str() {
                    Some(text) => OsString::from(text.replace(PROMPT_FILE, &path)),
                    None => arg.clone(),
                };
                (args.iter().map(put_in).collect(), named)
            }
            Self::Shell(line) => {
                let named = line.contains(PROMPT_FILE);
                let line = line.replace(PROMPT_FILE, &quoted(&path));
                (["sh", "-c", &line].map(OsString::from).into(), named)
            }
        }
    }

    /// Returns the program that the command names, if it cannot be found. Runs no process: of a shell line, checks only
    /// a plain first word.
    pub fn missing_program(&self, dir: &Path) -> Option<String> {
        let program = self.first_word()?;
        let is_missing = find_program(&program, dir).is_none();
        is_missing.then(|| program.to_string_lossy().into_owned())
    }

    /// Returns the program as the command names it; `None` for a shell line without a plain first word.
    pub fn first_word(&self) -> Option<OsString> {
        match self {
            Self::Args(args) => Some(args.first().cloned().unwrap_or_default()),
            Self::Shell(line) => plain_first_word(line).map(OsString::from),
        }
    }

    /// Returns the name of the program, without its directory; of a shell line that of its first plain word, or `sh`.
    pub(super) fn program(&self) -> String {
        let first = self.first_word().unwrap_or_else(|| "sh".into());
        let first = first.to_string_lossy();
        first.rsplit('/').next().unwrap_or(&first).to_owned()
    }

    /// Returns true if a word of the command is this program, in any directory.
    pub(super) fn runs(&self, program: &str) -> bool {
        self.words()
            .any(|word| word.rsplit('/').next().is_some_and(|name| name == program))
    }

    /// Returns true if this is a word of the command.
    pub(super) fn has_word(&self, wanted: &str) -> bool {
        self.words().any(|word| word == wanted)
    }

    fn words(&self) -> impl Iterator<Item = String> {
        let words: Vec<String> = match self {
            Self::Args(args) => args
                .iter()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            Self::Shell(line) => line.split_whitespace().map(ToOwned::to_owned).collect(),
        };
        words.into_iter()
    }
}

impl fmt::Display for AgentCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Args(args) => {
                let words: Vec<String> = args.iter().map(|arg| quoted(&arg.to_string_lossy())).collect();
                f.write_str(&words.join(" "))
            }
            Self::Shell(line) => f.write_str(line),
        }
    }
}

/// Words that a shell interprets itself, and that may begin an agent's line.
const SHELL_WORDS: &[&str] = &[
    ".", ":", "[", "break", "case", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export",
    "false", "for", "if", "printf", "pwd", "read", "return", "set", "shift", "test", "trap", "true", "type",
    "ulimit", "umask", "unset", "until", "wait", "while",
];

/// Returns the program of a shell line, without directory and arguments: its first plain word, or `sh`.
pub fn program_of(line: &str) -> &str {
    let first = first_word(line).unwrap_or("sh");
    first.rsplit('/').next().unwrap_or(first)
}

/// Returns the first word of a command line that is no assignment, if a shell would search PATH for it.
pub fn plain_first_word(line: &str) -> Option<&str> {
    first_word(line).filter(|word| !SHELL_WORDS.contains(word))
}

fn first_word(line: &str) -> Option<&str> {
    let is_assignment = |word: &&str| word.contains('=') && !word.starts_with('=');
    // Only a shell can find the end of a value with one of these characters.
    let is_plain = |word: &str| !word.contains(['\'', '"', '`', '$', '\\', '(']);
    if !line.split_whitespace().take_while(is_assignment).all(is_plain) {
        return None;
    }
    let word = line.split_whitespace().find(|word| !is_assignment(word))?;
    let plain = word.chars().all(|c| c.is_alphanumeric() || "-_./+:".contains(c));
    plain.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_of_returns_the_program_without_its_arguments() {
        for (line, name) in [
            ("cargo test --token=x", "cargo"),
            ("KEY=s3cret /opt/bin/check -v", "check"),
            ("KEY='s 3' check", "sh"),
            ("test -e x", "test"),
            ("\"$HOME/x\" y", "sh"),
            ("(cd x; make)", "sh"),
            ("", "sh"),
        ] {
            assert_eq!(program_of(line), name, "{line}");
        }
    }

    fn shell(line: &str) -> AgentCommand {
        AgentCommand::Shell(line.to_owned())
    }

    #[test]
    fn the_prompt_file_is_put_in_where_it_is_named() {
        let (argv, named) = shell("agent {prompt_file}").argv(Path::new("/a b/prompt.md"));
        assert_eq!(argv, ["sh", "-c", "agent '/a b/prompt.md'"]);
        assert!(named);
        let given = AgentCommand::Args(vec!["x".into(), "--file={prompt_file}".into()]);
        assert_eq!(
            given.argv(Path::new("/p")),
            (vec!["x".into(), "--file=/p".into()], true)
        );
        assert!(!shell("agent").argv(Path::new("/p")).1);
    }

    #[test]
    fn the_name_of_the_program_has_no_secret_in_it() {
        for (line, name) in [
            ("KEY=secret /opt/bin/claude -p --key secret", "claude"),
            ("claude", "claude"),
            ("\"$AGENT\" -p", "sh"),
            ("KEY=$(cat secret) claude", "sh"),
        ] {
            assert_eq!(shell(line).program(), name, "{line}");
        }
        let args = AgentCommand::Args(vec!["./a/b.sh".into(), "--key=secret".into()]);
        assert_eq!(args.program(), "b.sh");
    }

    #[test]
    fn without_sandbox_replaces_the_sandbox_arguments() {
        let replaced = |command: AgentCommand| {
            command
                .without_sandbox(&["-s", "workspace-write"], "--no-sandbox")
                .to_string()
        };
        let words = ["codex", "exec", "-s", "workspace-write", "-"].map(OsString::from);
        assert_eq!(
            replaced(AgentCommand::Args(words.into())),
            "codex exec --no-sandbox -"
        );
        let line = "codex exec -s workspace-write - --model x";
        assert_eq!(replaced(shell(line)), "codex exec --no-sandbox - --model x");
        assert_eq!(replaced(shell("codex exec -")), "codex exec -");
    }

    #[test]
    fn only_a_plain_program_can_be_missing() {
        let top = Path::new("/");
        assert_eq!(
            shell("no-such-agent -p").missing_program(top).as_deref(),
            Some("no-such-agent")
        );
        assert_eq!(
            shell("X=1 no-such-agent").missing_program(top).as_deref(),
            Some("no-such-agent")
        );
        for line in [
            "sh -c true",
            "exec no-such-agent",
            "\"$AGENT\" -p",
            "(cd x; y)",
            "X='a b c' no-such-agent",
            "x=$(git rev-parse HEAD) && no-such-agent",
            "X=\"$(cat f x)\" no-such-agent",
            "X=a\\ b no-such-agent",
            "",
        ] {
            assert_eq!(shell(line).missing_program(top), None, "{line}");
        }
        let args = AgentCommand::Args(vec!["./no-such-agent".into()]);
        assert_eq!(args.missing_program(top).as_deref(), Some("./no-such-agent"));
    }
}
