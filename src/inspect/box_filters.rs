//! Filters of git's configuration that git-ralph's own git runs outside the sandbox although an attempt may have
//! written their program.

use std::path::Path;

use crate::git::{Git, GitError};
use crate::names::typed;

/// A filter (gitattributes(5)) that may run a file of the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnboxedFilter {
    key: String,
    command: String,
}

impl UnboxedFilter {
    /// Returns the warning about the filter.
    pub fn message(&self) -> String {
        let Self { key, command } = self;
        format!(
            "git runs {key} outside of the box, on what an attempt wrote, and may find its program there: {command}"
        )
    }

    /// Returns the advice about the filter.
    pub fn hint(&self) -> String {
        let key = typed(&self.key);
        format!(
            "give it the whole path of a program outside of the work tree; to see where it is set: git config --show-origin {key}"
        )
    }
}

/// Lists these filters for the work tree at `top`, by their keys.
///
/// # Errors
/// If git cannot be run.
pub async fn unboxed_filters(top: &Path) -> Result<Vec<UnboxedFilter>, GitError> {
    let args = ["-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$"];
    let asked = Git::at(top).cmd("config", args).any_exit().await?;
    let text = String::from_utf8_lossy(&asked.stdout);
    let settings = text.split('\0').filter_map(|entry| entry.split_once('\n'));
    let mut found: Vec<UnboxedFilter> = settings
        .filter(|(_, command)| is_loose(command, top))
        .map(|(key, command)| UnboxedFilter {
            key: key.to_owned(),
            command: command.to_owned(),
        })
        .collect();
    found.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(found)
}

/// Returns whether a command may run a file of the work tree.
fn is_loose(command: &str, top: &Path) -> bool {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    if program == "git-lfs" || program == "git" && command.split_whitespace().nth(1) == Some("lfs") {
        return false;
    }
    let program = Path::new(program);
    let is_option = |word: &str| word.starts_with('-') && !matches!(word, "-m" | "-c" | "-e");
    !program.is_absolute() || program.starts_with(top) || !words.all(|word| word == "%f" || is_option(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_path_with_options_alone_is_not_loose() {
        for (command, wanted) in [
            ("git-lfs clean -- %f", false),
            ("git lfs smudge -- %f", false),
            ("/usr/bin/indent --quiet %f", false),
            ("", false),
            ("tools/clean.sh", true),
            ("/w/tools/clean.sh", true),
            ("/usr/bin/python3 -m json.tool", true),
            ("/usr/bin/python3 tools/x.py", true),
            ("nbstripout", true),
        ] {
            assert_eq!(is_loose(command, Path::new("/w")), wanted, "{command}");
        }
    }
}
