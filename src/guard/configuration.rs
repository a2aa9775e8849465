//! The settings that make the agent's git use the guard's hooks, in the guarded repository alone.
//!
//! They are in a file, named in the agent's environment, that git includes only in this repository (git-config(1),
//! "Conditional includes"). So git never starts the guard's hooks in other repositories that the agent creates.
//! Git 2.54 and later can run hooks from its configuration; with them, the user's hooks stay in place.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::scripts::{self, ALONE, PUSH, Places, REFS, write_new};
use crate::fs::{FileError, file_error};
use crate::git::quoted as value;

/// Settings for the git of another program.
pub type GitSettings = Vec<(OsString, OsString)>;

/// Name of the file in the slot.
pub(super) const FILE: &str = "guard.config";

/// The first version of git that runs hooks from its configuration.
pub const CONFIGURED_HOOKS: (u32, u32) = (2, 54);

/// Writes the file, and returns the settings for the agent's git that lead to it.
pub(super) fn write(
    version: Option<(u32, u32)>,
    hooks: &Path,
    places: Places<'_>,
) -> Result<GitSettings, FileError> {
    let file = places.rail.slot.file(FILE);
    write_new(&places.rail.slot.door(), &file, &text(version, hooks), 0o600)?;
    let common_dir = places.rail.common_dir;
    let common_dir = common_dir
        .canonicalize()
        .map_err(|source| file_error("find", common_dir, source))?;
    if !can_name(&common_dir) {
        return Ok(vec![("include.path".into(), file.into())]);
    }
    let included = |below: &str| {
        let mut name = OsString::from("includeIf.gitdir:");
        name.push(OsString::from_vec(literal(&common_dir)));
        name.push(below);
        name.push(".path");
        (name, file.clone().into_os_string())
    };
    Ok(vec![included(""), included("/worktrees/*")])
}

/// Returns whether this path can be part of a setting's name or of a line of a file.
pub(super) fn can_name(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b'\n')
}

/// Returns the file's text, depending on git's version.
fn text(version: Option<(u32, u32)>, hooks: &Path) -> Vec<u8> {
    if version.is_some_and(|version| version >= CONFIGURED_HOOKS) {
        let command = value(&scripts::quoted(&hooks.join(ALONE)));
        let events = format!("\n\tevent = {REFS}\n\tevent = {PUSH}\n");
        let head = b"[hook \"git-ralph\"]\n\tcommand = ".as_slice();
        [head, &command, events.as_bytes()].concat()
    } else {
        let hooks = value(hooks.as_os_str().as_bytes());
        [b"[core]\n\thooksPath = ".as_slice(), &hooks, b"\n"].concat()
    }
}

/// Returns a pattern that matches this path alone (gitignore(5)).
fn literal(path: &Path) -> Vec<u8> {
    let mut pattern = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b"*?[\\".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_sets_the_hooks_for_each_git_version() {
        let hooks = Path::new("/it's \"here\"/hooks");
        for version in [None, Some((2, 39)), Some((2, 53)), Some((1, 99))] {
            assert_eq!(
                String::from_utf8(text(version, hooks)).unwrap(),
                "[core]\n\thooksPath = \"/it's \\\"here\\\"/hooks\"\n",
                "{version:?}"
            );
        }
        for version in [Some((2, 54)), Some((2, 55)), Some((3, 0))] {
            assert_eq!(
                String::from_utf8(text(version, hooks)).unwrap(),
                "[hook \"git-ralph\"]\n\tcommand = \"'/it'\\\\''s \\\"here\\\"/hooks/git-ralph'\"\n\t\
                 event = reference-transaction\n\tevent = pre-push\n",
                "{version:?}"
            );
        }
    }

    #[test]
    fn a_pattern_matches_its_own_path_alone() {
        assert_eq!(literal(Path::new(r"/a [b]*?\c")), br"/a \[b]\*\?\\c");
    }
}
