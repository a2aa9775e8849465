//! Shows a long text to the user: a manual page with man, any other text with git's pager. Both replace this process,
//! and read an unnamed temporary file, so that nothing is left to wait for or to clean up.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::shown::shown;
use super::{Screen, styles};
use crate::async_cmd::{self, Command, find_program};

/// Maximum time for git to print its pager.
const LIMIT: Duration = Duration::from_secs(20);

/// Shows a page on the terminal with `man`. Returns only if man cannot be started.
pub fn man(page: &str) -> io::Error {
    take_over("man", &["-l", "-"], page)
}

/// Shows a text through the pager that git would use in `dir`; without a terminal, prints it.
pub async fn show(screen: Screen, dir: &Path, text: &str) {
    let stdout = anstream::stdout();
    if stdout.is_terminal()
        && let Some(program) = of_git(dir).await
    {
        let _ = page(&program, &shown(text, styles(stdout.current_choice())));
    }
    screen.answer(text);
}

/// Returns git's pager as a shell command; `None` if the text is to be printed directly.
async fn of_git(dir: &Path) -> Option<String> {
    let git = Command::new("git")
        .args(["var", "GIT_PAGER"])
        .dir(dir)
        .limit(LIMIT);
    let output = async_cmd::run(git).await.ok()?;
    let pager = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.code == Some(0) && !pager.is_empty() && pager != "cat").then_some(pager)
}

/// Returns git's pager in `dir`, else `less`, as a shell command.
pub async fn name(dir: &Path) -> String {
    of_git(dir).await.unwrap_or_else(|| "less".to_owned())
}

/// Shows a text on the terminal with git's pager in `dir`, and returns.
pub async fn show_and_return(dir: &Path, text: &str) -> io::Result<()> {
    let pager = name(dir).await;
    let file = unnamed(&shown(text, styles(anstream::stdout().current_choice())))?;
    let shown = tokio::task::spawn_blocking(move || show_file(&pager, file)).await;
    shown.map_err(io::Error::other)?
}

/// Shows the diff of two states, given by git's arguments, on the terminal with git's pager, and returns.
pub async fn show_diff_and_return(top: &Path, args: &[String]) -> io::Result<()> {
    let (top, args) = (top.to_owned(), args.to_owned());
    let show = move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        show_git(&top, &args, None)
    };
    tokio::task::spawn_blocking(show)
        .await
        .map_err(io::Error::other)?
}

/// Shows a file with a pager, and waits for its end.
pub(super) fn show_file(pager: &str, file: File) -> io::Result<()> {
    wait_for("sh", &["-c", pager], Stdio::from(file), Path::new("."), None)
}

/// Shows git's output with its own pager, and waits for its end. Uses `index` instead of the work tree's index.
pub(super) fn show_git(top: &Path, args: &[&str], index: Option<&Path>) -> io::Result<()> {
    wait_for("git", args, Stdio::inherit(), top, index)
}

/// Runs a program on the terminal to its end. `less` stays open even for a short text: the screen is restored when it
/// exits.
fn wait_for(program: &str, args: &[&str], stdin: Stdio, dir: &Path, index: Option<&Path>) -> io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the user reads it for as long as they like"
    )]
    let mut command = std::process::Command::new(program);
    let less = std::env::var("LESS").unwrap_or_else(|_| "R".to_owned());
    command.env("LESS", format!("{less} -+F -+X"));
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    command
        .args(args)
        .current_dir(dir)
        .stdin(stdin)
        .status()
        .map(|_| ())
}

/// Shows a text on the terminal with a pager command as in `GIT_PAGER`. Returns only if it cannot be started.
fn page(pager: &str, text: &str) -> io::Error {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    // The shell would start, and fail after the text is gone.
    if pager.chars().all(is_word) && find_program(OsStr::new(pager), Path::new(".")).is_none() {
        return io::ErrorKind::NotFound.into();
    }
    take_over("sh", &["-c", pager], text)
}

fn take_over(program: &str, args: &[&str], text: &str) -> io::Error {
    let stdin = match unnamed(text) {
        Ok(file) => file,
        Err(error) => return error,
    };
    #[expect(clippy::disallowed_methods, reason = "nothing is left to wait for the child")]
    let mut command = std::process::Command::new(program);
    // Git's defaults, unless the user has set them.
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() && program == "sh" {
            command.env(name, value);
        }
    }
    command.args(args).stdin(Stdio::from(stdin)).exec()
}

fn unnamed(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
