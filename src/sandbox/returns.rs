//! Copies files out of a sandbox that a process there replaces: such a file cannot be mounted, because a mount cannot
//! be replaced (rename(2): EBUSY), and a renewed sign-in must not be lost.
//!
//! A shell in the sandbox makes a copy, runs the command, and writes the file if the copy has changed. After any
//! terminating signal, it still waits for the command first.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use crate::names::quoted;

/// The shell that copies the files, by its path: a program of that name on PATH can be an attempt's.
pub(super) const SHELL: &str = "/bin/sh";

/// The prefix of the places of the original files in the sandbox.
const THERE: &str = "/dev/shm/git-ralph-";

/// The files, by their path.
#[derive(Default)]
pub(super) struct Returns {
    paths: Vec<String>,
}

impl Returns {
    /// Takes a file, and returns its place in the sandbox; `None` if its path is no text.
    pub(super) fn take(&mut self, path: &Path) -> Option<String> {
        let path = path.to_str()?;
        self.paths.push(path.to_owned());
        Some(format!("{THERE}{}", self.paths.len() - 1))
    }

    /// Returns the command that runs `command`, between the copies and their return if there are files.
    pub(super) fn around(&self, command: &[OsString]) -> Vec<OsString> {
        let (mut before, mut after) = (String::new(), String::new());
        for (number, path) in self.paths.iter().enumerate() {
            let (own, there) = (quoted(path), format!("{THERE}{number}"));
            // Writing to a string does not fail.
            let _ = writeln!(
                before,
                "[ -f {there} ] && cat {there} >{own} && cat {own} >{there}.was"
            );
            let _ = writeln!(
                after,
                "[ -s {own} ] && [ \"$(cat {own})\" != \"$(cat {there}.was)\" ] && cat {own} >{there}"
            );
        }
        // A shell reports a missing program by its exit code; bwrap does not.
        let script = if self.paths.is_empty() {
            "exec \"$@\"".to_owned()
        } else {
            format!(
                "mask=$(umask); umask 077\n{before}umask \"$mask\"\ntrap : HUP INT TERM\n\"$@\"\ncode=$?\n{after}exit \"$code\""
            )
        };
        let mut words: Vec<OsString> = [SHELL, "-c", script.as_str(), "sh"]
            .iter()
            .map(OsString::from)
            .collect();
        words.extend_from_slice(command);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_wraps_the_command_and_returns_files() {
        let command = [OsString::from("agent"), OsString::from("-p")];
        let mut returns = Returns::default();
        assert_eq!(returns.around(&command)[2], "exec \"$@\"");
        let there = returns.take(Path::new("/h/it's/auth.json"));
        assert_eq!(there.as_deref(), Some("/dev/shm/git-ralph-0"));
        let words = returns.around(&command);
        assert_eq!(words.len(), 6);
        assert_eq!(words[4..], command);
        let script = words[2].to_str().unwrap();
        assert!(
            script.contains(r"cat /dev/shm/git-ralph-0 >'/h/it'\''s/auth.json'"),
            "{script}"
        );
    }
}
