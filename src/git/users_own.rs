//! The user's own git commands, run as if typed: with their configuration, pager and colours.

use std::os::unix::process::CommandExt;

use super::command::{Git, REPOSITORY_VARIABLES};
use super::error::GitError;
use crate::async_cmd::CommandError;

fn not_started(source: std::io::Error) -> GitError {
    GitError::Run(CommandError::Spawn {
        program: "git".to_owned(),
        source,
    })
}

impl Git {
    /// Replaces this process by a git command of the user's, with the user's configuration, pager and colours. Returns
    /// only if git cannot be started.
    pub fn take_over(&self, args: &[&str]) -> GitError {
        not_started(self.users_own(args).exec())
    }

    /// Runs a git command of the user's on the terminal, with the user's configuration, pager and colours. Returns
    /// git's exit code, if it has one.
    pub async fn show(&self, args: &[&str]) -> Result<Option<i32>, GitError> {
        let mut command = self.users_own(args);
        let shown = tokio::task::spawn_blocking(move || command.status()).await;
        match shown {
            Ok(Err(source)) => Err(not_started(source)),
            Ok(Ok(status)) => Ok(status.code()),
            Err(_) => Ok(None),
        }
    }

    fn users_own(&self, args: &[&str]) -> std::process::Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "the user reads it for as long as they like"
        )]
        let mut command = std::process::Command::new("git");
        for name in REPOSITORY_VARIABLES {
            command.env_remove(name);
        }
        if let Some(index) = self.own_index() {
            command.env("GIT_INDEX_FILE", index);
        }
        command.arg("-C").arg(self.top()).args(args);
        command
    }
}
