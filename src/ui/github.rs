//! Features of the log of a GitHub workflow: groups that fold, annotations, and the summary of a job.

use std::borrow::Cow;
use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::shown::secret;
use crate::fs::append_named;

/// Ends a [`group`].
pub const END_GROUP: &str = "::endgroup::\n";

/// True if another git-ralph prints the output of this process.
static IS_RELAYED: AtomicBool = AtomicBool::new(false);

/// Returns true if the output is the log of a workflow.
pub fn is_there() -> bool {
    let is_workflow = env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    is_workflow && !IS_RELAYED.load(Ordering::Relaxed)
}

/// Leaves the log's commands to another git-ralph, which prints the lines of several processes.
pub fn leave_the_log() {
    IS_RELAYED.store(true, Ordering::Relaxed);
}

/// Begins a group of lines under this title.
pub fn group(title: &str) -> String {
    format!("::group::{}\n", escaped(title))
}

/// Marks the job with an error.
pub fn error(message: &str) -> String {
    format!("::error title=git ralph::{}\n", escaped(message))
}

/// Marks the job with a warning.
pub fn warning(message: &str) -> String {
    format!("::warning title=git ralph::{}\n", escaped(message))
}

/// A part of the log in which no line is a command: the output of an agent.
#[derive(Debug)]
pub struct Pause {
    /// An unpredictable token.
    token: String,
}

impl Default for Pause {
    fn default() -> Self {
        Self { token: secret() }
    }
}

impl Pause {
    /// Returns the line that begins the part.
    pub fn begin(&self) -> String {
        format!("::stop-commands::{}\n", self.token)
    }

    /// Returns the line that ends the part.
    pub fn end(&self) -> String {
        format!("::{}::\n", self.token)
    }
}

/// Returns a text without workflow commands; outside of a workflow the text is unchanged.
pub fn without_commands(text: &str) -> Cow<'_, str> {
    if is_there() && (text.contains("::") || text.contains("##[")) {
        Cow::Owned(inert(text))
    } else {
        Cow::Borrowed(text)
    }
}

fn inert(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        safe.push_str(&line[..line.len() - words.len()]);
        if words.starts_with("::") {
            safe.push('\\');
        }
        // The older form is a command anywhere in a line.
        safe.push_str(&words.replace("##[", "##\\["));
    }
    safe
}

/// Returns the file of the job's summary page, if there is one.
pub fn page() -> Option<PathBuf> {
    let path = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty())?;
    Some(path.into())
}

/// Appends to the job's summary page; does nothing if there is none.
pub fn summarise(markdown: &str) -> io::Result<()> {
    let Some(path) = page() else {
        return Ok(());
    };
    append_named(&path, markdown.as_bytes())
}

/// Escapes a text for a workflow command, which is one line.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inert_disables_workflow_commands_in_foreign_text() {
        let text = "a::b\n  ::error::x\n::stop-commands::y\nz ##[group]w\n";
        let safe = "a::b\n  \\::error::x\n\\::stop-commands::y\nz ##\\[group]w\n";
        assert_eq!(inert(text), safe);
    }

    #[test]
    fn a_command_stays_one_line() {
        assert_eq!(error("50% of\nit"), "::error title=git ralph::50%25 of%0Ait\n");
    }
}
