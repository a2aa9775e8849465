//! What the log of a GitHub workflow understands beside words: groups that fold, annotations, and the summary of a job.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

/// Ends what [`group`] began.
pub const END_GROUP: &str = "::endgroup::\n";

/// Whether this runs in a workflow.
#[must_use]
pub fn is_there() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Begins a group of lines that is shown as this title.
#[must_use]
pub fn group(title: &str) -> String {
    format!("::group::{}\n", escaped(title))
}

/// Marks the job with an error.
#[must_use]
pub fn error(message: &str) -> String {
    format!("::error title=git ralph::{}\n", escaped(message))
}

/// Adds to the page that is shown for the job; nothing happens where there is none.
///
/// # Errors
/// When the file that the workflow names cannot be written.
pub fn summarise(markdown: impl FnOnce() -> String) -> io::Result<()> {
    let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(PathBuf::from(path))?;
    file.write_all(markdown().as_bytes())
}

/// A workflow command is one line.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stays_one_line() {
        assert_eq!(error("50% of\nit"), "::error title=git ralph::50%25 of%0Ait\n");
    }
}
