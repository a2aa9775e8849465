//! Explains errors in a command line: names the command of git-ralph for words known from other programs.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;

/// Words known from other programs, and the command to type instead.
const OTHER_WORDS: &[(&[&str], &str)] = &[
    (&["resume", "continue", "go"], "to continue a loop: git ralph run"),
    (&["ls", "loops"], "to list the loops: git ralph status"),
    (
        &["pause", "kill", "halt"],
        "to stop a loop: git ralph stop; git ralph run continues it",
    ),
    (
        &["undo", "reset", "rollback"],
        "to undo to the checkpoint: git ralph revert; to undo the whole loop: git ralph abort",
    ),
    (
        &["init", "setup", "config"],
        "to see what is set up and what is missing: git ralph doctor; settings: git config ralph.<key>",
    ),
    (&["logs", "history"], "to see the attempts: git ralph log"),
    (
        &["view", "tui", "monitor"],
        "to see a loop while it runs: git ralph watch",
    ),
    (&["cleanup", "close", "end"], "to close a loop: git ralph finish"),
];

/// Returns the error, with better advice where clap's is misleading.
pub fn explained(mut error: clap::Error) -> clap::Error {
    match error.kind() {
        // This advice would turn an option into an agent's command.
        ErrorKind::UnknownArgument => {
            let _ = error.remove(ContextKind::Suggested);
        }
        // The list includes hidden commands.
        ErrorKind::MissingSubcommand => {
            let _ = error.remove(ContextKind::ValidSubcommand);
        }
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
                return error;
            };
            let instead = OTHER_WORDS
                .iter()
                .find(|(words, _)| words.contains(&typed.as_str()));
            if let Some((_, instead)) = instead {
                let _ = error.remove(ContextKind::SuggestedSubcommand);
                let tips = vec![(*instead).into()];
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
            }
        }
        ErrorKind::MissingRequiredArgument => {
            if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) {
                let missing = missing.iter().map(|words| words_of(words, true)).collect();
                error.insert(ContextKind::InvalidArg, ContextValue::Strings(missing));
            }
        }
        ErrorKind::TooManyValues | ErrorKind::InvalidValue => {
            if let Some(ContextValue::String(whose)) = error.get(ContextKind::InvalidArg) {
                let whose = words_of(whose, false);
                error.insert(ContextKind::InvalidArg, ContextValue::String(whose));
            }
        }
        _ => {}
    }
    error
}

/// Returns the words of a command as its usage names them. Clap takes the first of several for the required one, which here
/// may always be left out, and lets the last one repeat.
fn words_of(words: &str, are_missing: bool) -> String {
    let words = words.strip_suffix("...").unwrap_or(words);
    let Some((before, rest)) = words.split_once("<CHANGE> [") else {
        return words.to_owned();
    };
    let end = rest.find(' ').unwrap_or(rest.len());
    let story = rest[..end].strip_suffix(']').unwrap_or(&rest[..end]);
    if are_missing {
        format!("{before}<{story}>")
    } else {
        format!("{before}[CHANGE] <{story}>{}", &rest[end..])
    }
}

/// Returns the text of an error in this command line. It ends with the command that shows the typed command's help: git
/// answers `git ralph --help` with a manual page, which may not be installed.
pub fn text(error: &clap::Error, words: impl Iterator<Item = OsString>) -> String {
    let text = error.render().ansi().to_string();
    let Some((said, advice)) = text.rsplit_once("try '") else {
        return text;
    };
    let mut whole = Cli::command();
    // Subcommands are added when the command is built.
    whole.build();
    let (mut help, mut command) = ("git ralph".to_owned(), &whole);
    for word in words.skip(1) {
        match command.find_subcommand(&word) {
            Some(found) => {
                command = found;
                help = format!("{help} {}", found.get_name());
            }
            None if word.as_encoded_bytes().starts_with(b"-") => {}
            None => break,
        }
    }
    let advice = advice.replacen("--help", &format!("{help} -h"), 1);
    format!("{said}try '{advice}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(line: &str) -> String {
        let words = std::iter::once("git-ralph").chain(line.split(' '));
        let error = explained(Cli::try_parse_from(words.clone()).unwrap_err());
        let text = text(&error, words.map(OsString::from));
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn hint_translates_words_of_other_tools() {
        assert!(
            said("resume").contains("to continue a loop: git ralph run"),
            "{}",
            said("resume")
        );
        assert!(!said("resume").contains("similar"), "{}", said("resume"));
        assert!(said("staus").contains("'status'"), "{}", said("staus"));
        for (words, instead) in OTHER_WORDS {
            for word in *words {
                assert!(said(word).contains(instead), "{word}: {}", said(word));
            }
        }
    }

    #[test]
    fn error_ends_with_a_command_that_shows_the_help() {
        for (line, help) in [
            ("frobnicate", "git ralph"),
            ("-q", "git ralph"),
            ("-q run --frob", "git ralph run"),
            ("run list --max-retries x", "git ralph run"),
            ("diff --json --stat", "git ralph diff"),
            ("hooks install --frob", "git ralph hooks install"),
        ] {
            let said = said(line);
            let advice = format!("\nFor more information, try '{help} -h'.\n");
            assert!(said.ends_with(&advice), "{line}: {said}");
            assert!(!said.contains("demo-agent"), "{said}");
        }
    }

    #[test]
    fn words_of_a_command_are_named_as_in_its_usage() {
        for (line, words) in [
            ("restore", "not provided:\n  <STORY[@ATTEMPT]>\n"),
            ("redo", "not provided:\n  <STORY>\n"),
            ("skip 1 2 3", "value '3' for '[CHANGE] [STORY]' found"),
            (
                "restore 1 2 3",
                "value '3' for '[CHANGE] <STORY[@ATTEMPT]>' found",
            ),
            (
                "run --verify=",
                "invalid value '' for '--verify <COMMAND>': it must be a shell command",
            ),
            ("run --jobs 0", "a whole number from 1 to 65535"),
        ] {
            assert!(said(line).contains(words), "{line}: {}", said(line));
        }
    }

    #[test]
    fn no_option_is_offered_as_an_agent() {
        for line in [
            "run add-login --what-if",
            "log --oneline",
            "status -s",
            "prune --all",
        ] {
            let said = said(line);
            assert!(
                said.contains("unexpected argument") && !said.contains("tip"),
                "{said}"
            );
        }
    }
}
