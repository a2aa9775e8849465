//! Hooks in the settings of agents: which agents have them, where their settings are, and how git-ralph's hooks are
//! added and removed.
//!
//! - `edit` changes a text, `layout` detects its layout;
//! - `receipt` records what the text does not show afterwards: the created files, and the objects that were empty.
//!
//! This module does not depend on the purpose of the hooks.

mod edit;
mod error;
mod layout;
mod receipt;
#[cfg(test)]
mod tests;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use edit::Wanted;
pub use error::SettingsFileError;
use error::{failed, wrong};
use layout::Layout;
use receipt::Receipts;

use crate::fs::{
    Durability, make_named_dir, may_be_there, read_if_there, remove_named, remove_named_dir, target_of,
    umask_now, write_named,
};
use crate::paths::from_environment;

/// An agent whose session can be driven by hooks.
#[derive(Debug)]
pub struct Agent {
    /// Its name.
    pub name: &'static str,
    /// git-ralph's hooks for it.
    pub hooks: &'static [Wanted],
    /// The variable that names its directory, and the directory in the user's home.
    variable: Option<&'static str>,
    directory: &'static str,
    /// The file in that directory.
    file: &'static str,
    /// The file in the top directory of a project.
    project: &'static str,
    /// A note for its user.
    pub note: Option<&'static str>,
}

/// The command of the hooks.
const STOP: &str = "git ralph hook stop";
/// Time limit of one hour, because gates may take long: in seconds, and in milliseconds.
const SECONDS: u64 = 3600;
const MILLISECONDS: u64 = SECONDS * 1000;

const fn hook(event: &'static str, command: &'static str, timeout: u64) -> Wanted {
    Wanted {
        event,
        command,
        timeout,
    }
}

/// The agents, by name.
pub const ALL: &[Agent] = &[
    Agent {
        name: "claude",
        hooks: &[
            hook("Stop", STOP, SECONDS),
            hook("StopFailure", "git ralph hook stop-failure", SECONDS),
            hook("SessionEnd", "git ralph hook session-end", SECONDS),
        ],
        variable: Some("CLAUDE_CONFIG_DIR"),
        directory: ".claude",
        file: "settings.json",
        project: ".claude/settings.local.json",
        note: None,
    },
    Agent {
        name: "codex",
        hooks: &[hook("Stop", STOP, SECONDS)],
        variable: Some("CODEX_HOME"),
        directory: ".codex",
        file: "hooks.json",
        project: ".codex/hooks.json",
        note: Some(
            "codex skips hooks that its user has not trusted, and does not say so: trust them in codex, by /hooks, or run: codex exec --dangerously-bypass-hook-trust",
        ),
    },
    Agent {
        name: "gemini",
        hooks: &[hook("AfterAgent", STOP, MILLISECONDS)],
        variable: None,
        directory: ".gemini",
        file: "settings.json",
        project: ".gemini/settings.json",
        note: None,
    },
    Agent {
        name: "qwen",
        hooks: &[hook("Stop", STOP, MILLISECONDS)],
        variable: None,
        directory: ".qwen",
        file: "settings.json",
        project: ".qwen/settings.json",
        note: None,
    },
];

/// Returns the agent of this name.
pub fn named(name: &str) -> Option<&'static Agent> {
    ALL.iter().find(|agent| agent.name == name)
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The file, with symlinks resolved.
    pub path: PathBuf,
    /// The hooks that were added or removed.
    pub hooks: Vec<&'static Wanted>,
    /// True if the file itself was created or removed.
    pub whole: bool,
}

/// The status of an agent's hooks in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// None is there, and none was added.
    Nothing,
    /// All are there.
    Whole,
    /// Some are there.
    Part(Vec<&'static Wanted>),
    /// They were added, and have been removed since.
    Overwritten,
}

impl Agent {
    /// Returns settings that contain only the hooks.
    pub fn settings(&self) -> String {
        let event = |hook: &Wanted| format!("\"{}\":[{}]", hook.event, hook.group());
        let events: Vec<String> = self.hooks.iter().map(event).collect();
        let whole = format!("{{\"hooks\":{{{}}}}}", events.join(","));
        Layout::of("").render(&whole, "", true) + "\n"
    }

    /// Returns the path of the settings: the user's, or those of the project with this top directory.
    pub fn file(&self, project: Option<&Path>) -> Result<PathBuf, SettingsFileError> {
        if let Some(top) = project {
            return Ok(top.join(self.project));
        }
        if let Some(dir) = self.variable.and_then(from_environment) {
            return Ok(dir.join(self.file));
        }
        let home = from_environment("HOME").ok_or(SettingsFileError::NoHome)?;
        Ok(home.join(self.directory).join(self.file))
    }

    /// Adds the hooks to a file.
    ///
    /// # Errors
    /// If the file is no valid settings file, or cannot be read or written; it is unchanged then.
    pub fn install(&'static self, path: &Path) -> Result<Changed, SettingsFileError> {
        let target = target(path)?;
        let mut receipts = Receipts::load()?;
        let before = read(&target)?;
        let mut made = receipts.of(&target).unwrap_or_default();
        let (mark, text) = without_mark(before.as_deref().unwrap_or_default());
        let (after, hooks) =
            edit::add(text, self.hooks, &mut made.empties).map_err(|why| wrong(&target, why))?;
        let changed = Changed {
            path: target.clone(),
            whole: before.is_none(),
            hooks,
        };
        if changed.hooks.is_empty() {
            return Ok(changed);
        }
        // The written text must be readable in any case.
        edit::present(&after, self.hooks).map_err(|why| wrong(&target, why))?;
        if before.is_none() {
            made.file = true;
            made.empties.clear();
        }
        let dir = target.parent().unwrap_or(Path::new("/"));
        if !target_of(dir)?.is_some_and(|found| found.is_dir()) {
            make_named_dir(dir, 0o777)?;
            made.directory = true;
        }
        // The receipt is saved first: after any interruption the hooks can be removed again.
        let known = receipts.of(&target);
        receipts.put(&target, Some(made))?;
        if let Err(error) = write(&target, &format!("{mark}{after}")) {
            receipts.put(&target, known)?;
            return Err(error);
        }
        Ok(changed)
    }

    /// Removes the hooks from a file.
    pub fn uninstall(&'static self, path: &Path) -> Result<Changed, SettingsFileError> {
        let target = target(path)?;
        let mut receipts = Receipts::load()?;
        let made = receipts.of(&target).unwrap_or_default();
        let mut changed = Changed {
            path: target.clone(),
            whole: false,
            hooks: Vec::new(),
        };
        if let Some(before) = read(&target)? {
            let (mark, text) = without_mark(&before);
            let (after, hooks) =
                edit::remove(text, self.hooks, &made.empties).map_err(|why| wrong(&target, why))?;
            if !hooks.is_empty() {
                edit::present(&after, self.hooks).map_err(|why| wrong(&target, why))?;
                changed.whole = made.file && edit::is_bare(&after);
                if changed.whole {
                    remove_named(&target)?;
                    if let (true, Some(dir)) = (made.directory, target.parent()) {
                        // Succeeds only if the directory is empty.
                        let _ = remove_named_dir(dir);
                    }
                } else {
                    write(&target, &format!("{mark}{after}"))?;
                }
                changed.hooks = hooks;
            }
        }
        if receipts.of(&target).is_some() {
            receipts.put(&target, None)?;
        }
        Ok(changed)
    }

    /// Returns the status of the hooks in a file.
    pub fn standing(&'static self, path: &Path) -> Result<Standing, SettingsFileError> {
        let target = target(path)?;
        let known = Receipts::load()?.of(&target).is_some();
        let found = match read(&target)? {
            Some(text) => {
                let (_, text) = without_mark(&text);
                edit::present(text, self.hooks).map_err(|why| wrong(&target, why))?
            }
            None => Vec::new(),
        };
        Ok(match found.len() {
            0 if known => Standing::Overwritten,
            0 => Standing::Nothing,
            some if some == self.hooks.len() => Standing::Whole,
            _ => Standing::Part(found),
        })
    }
}

/// Returns the file that a path leads to; symlinks stay.
fn target(path: &Path) -> Result<PathBuf, SettingsFileError> {
    match path.canonicalize() {
        Ok(target) => Ok(target),
        Err(source) if source.kind() == io::ErrorKind::NotFound && !may_be_there(path) => {
            let dir = path.parent().map(Path::canonicalize);
            let (Some(Ok(dir)), Some(name)) = (dir, path.file_name()) else {
                return Ok(path.to_owned());
            };
            Ok(dir.join(name))
        }
        Err(source) => Err(failed("follow", path, source)),
    }
}

fn read(path: &Path) -> Result<Option<String>, SettingsFileError> {
    // A read from a pipe might not end.
    if target_of(path)?.is_some_and(|found| !found.is_file()) {
        return Err(wrong(path, "it is no regular file".to_owned()));
    }
    let text = read_if_there(path)?.map(String::from_utf8).transpose();
    text.map_err(|_| wrong(path, "it is not UTF-8 text".to_owned()))
}

/// Splits a text into its byte order mark and the rest.
fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    })
}

/// Writes a file as a whole or not at all, with its former mode.
fn write(path: &Path, text: &str) -> Result<(), SettingsFileError> {
    let before = target_of(path)?;
    if before
        .as_ref()
        .is_some_and(|metadata| metadata.permissions().readonly())
    {
        return Err(failed("write", path, io::ErrorKind::PermissionDenied.into()));
    }
    let mode = before.map_or(0o666 & !umask_now(), |before| before.mode() & 0o7777);
    write_named(path, text.as_bytes(), mode, Durability::Synced)?;
    Ok(())
}
