//! Explains mistakes in a command line: words that other programs use, and the command that does the same here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that people know from other programs, and the command to type instead.
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

/// Returns the error with better advice than clap's where that would mislead.
pub fn explained(mut error: clap::Error) -> clap::Error {
    match error.kind() {
        // That would turn an option into the command of an agent.
        ErrorKind::UnknownArgument => {
            let _ = error.remove(ContextKind::Suggested);
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
        _ => {}
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::Cli;

    fn said(line: &str) -> String {
        let words = std::iter::once("git-ralph").chain(line.split(' '));
        explained(Cli::try_parse_from(words).unwrap_err()).to_string()
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
