//! Notifies the user at the end of a long run, or when it asks a question (`ralph.notify`).

use std::time::{Duration, Instant};

use crate::async_cmd::{self, Command};
use crate::engine::Loop;
use crate::settings::{Notify, to_std};
use crate::ui::Screen;

/// The user probably still watches a shorter run.
const LONG: Duration = Duration::from_secs(60);

/// Rings the bell or runs the configured command, if the run that began at `begun` was long. `what` is the message.
pub(super) async fn notify(screen: Screen, open: &Loop<'_>, begun: Instant, what: &str) {
    if begun.elapsed() < LONG {
        return;
    }
    if let Err(error) = tell(screen, open, what).await {
        open.tell(format!("warning: the command of ralph.notify failed: {error}"));
    }
}

async fn tell(screen: Screen, open: &Loop<'_>, what: &str) -> Result<(), String> {
    let settings = &open.context.configuration.settings;
    let command = match &settings.notify {
        Notify::Off => return Ok(()),
        Notify::Bell => {
            screen.bell();
            return Ok(());
        }
        Notify::Command(command) => command,
    };
    let command = Command::new("sh")
        .args(["-c", command])
        .dir(&open.repo().top)
        .env("RALPH_CHANGE", open.change().as_str())
        .env("RALPH_MESSAGE", what)
        .limit(to_std(settings.command_timeout));
    match async_cmd::run(command).await {
        Ok(output) if output.code == Some(0) => Ok(()),
        Ok(output) => Err(match output.code {
            Some(code) => format!("exit code {code}"),
            None => "it was killed".to_owned(),
        }),
        Err(error) => Err(error.to_string()),
    }
}
