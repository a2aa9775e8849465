//! Explains why a remote did not do what was requested.

use std::time::Duration;

use crate::async_cmd::CommandError;
use crate::git::GitError;
use crate::names::counted;

/// Returns a message about a remote that takes too long.
pub(super) fn unanswered(limit: Duration) -> String {
    let limit = counted(limit.as_secs(), "second", "seconds");
    format!("it did not answer within {limit}")
}

/// Returns the reason why a remote did not do what was requested, without the git command.
pub(super) fn reason(error: &GitError) -> String {
    match error {
        GitError::Failed { words, .. } => words.clone(),
        GitError::Run(CommandError::TimedOut { limit, .. }) => unanswered(*limit),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_names_no_command() {
        let error = GitError::Run(CommandError::TimedOut {
            command: "git -c core.hooksPath=/dev/null push".to_owned(),
            limit: Duration::from_secs(5),
        });
        assert_eq!(reason(&error), "it did not answer within 5 seconds");
    }
}
