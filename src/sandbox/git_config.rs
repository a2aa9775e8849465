//! Shows git's configuration without its keys: a copy without keys covers each file that has some.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::walls::{END, MOST_COPIES, Mount};

use crate::fs::{is_seen_as_file, seen_bytes, seen_in, seen_itself};
use crate::paths::real;

/// Parts of the names of settings whose values are keys.
const KEYS: &[&str] = &["extraheader", "token", "secret", "password", "smtppass", "apikey"];
/// Maximum size of all copies, in bytes: they are an argument of a program.
const MOST: usize = 100_000;
/// Maximum depth of including files, as in git, and of directories of submodules.
const DEPTH: usize = 10;
/// The name of the copies of git's own files in a slot, and of the ones with settings.
const COPIES: &str = "git-files";
const COPIED: [&str; 3] = [
    "common/config",
    "common/config.worktree",
    "worktree/config.worktree",
];

/// A URL with a user name, and perhaps a password.
static USER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*)://([^\s/?\#"']*)@"#).ok());

/// The place for which a sandbox is made; no path contains symlinks.
pub(super) struct Place<'a> {
    /// The top directory of the work tree.
    pub top: &'a Path,
    /// The git directory of the work tree, and the one that all work trees share.
    pub dirs: [&'a Path; 2],
    /// The home directory.
    pub home: Option<&'a Path>,
    /// The loop's own directory.
    pub own: Option<&'a Path>,
    /// The files that the user wants to be visible unchanged.
    pub allowed: Vec<PathBuf>,
}

/// Covers the visible files of git's configuration that contain keys.
pub(super) fn covers(mounts: &[Mount], place: &Place<'_>) -> Vec<Mount> {
    let mut found = Found {
        room: MOST,
        ..Found::default()
    };
    for file in files(place) {
        found.add(&file, place.home, DEPTH);
    }
    let is_own = |path: &Path| place.dirs.iter().any(|dir| path.starts_with(dir));
    // A file of the work tree is the attempt's own, and git shows its differences.
    found.covers.retain(|(path, _)| {
        is_seen(path, mounts)
            && !place.allowed.contains(path)
            && (is_own(path) || !path.starts_with(place.top))
    });
    let has_own = found.covers.iter().any(|(path, _)| is_own(path));
    let mut covers = Vec::new();
    for (path, text) in found.covers {
        let cover = |path: &PathBuf| match &text {
            Some(text) => Mount::Text(path.clone(), text.clone()),
            None => Mount::Nothing(path.clone()),
        };
        // A mounted symlink is a file in the sandbox.
        let names = mounts.iter().map(Mount::path).filter(|name| **name != path);
        let names = names.filter(|name| name.canonicalize().is_ok_and(|real| real == path));
        covers.extend(names.map(cover));
        covers.push(cover(&path));
    }
    if has_own {
        covers.extend(copies(place));
    }
    covers
}

/// Returns the paths of git's configuration files, existing or not.
fn files(place: &Place<'_>) -> Vec<PathBuf> {
    let [git_dir, common_dir] = place.dirs;
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let mut files = vec![common_dir.join("config"), git_dir.join("config.worktree")];
    files.extend(
        ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"]
            .into_iter()
            .filter_map(variable),
    );
    files.extend(variable("XDG_CONFIG_HOME").map(|dir| dir.join("git/config")));
    for path in [".gitconfig", ".config/git/config"] {
        files.extend(place.home.map(|home| home.join(path)));
    }
    files.push("/etc/gitconfig".into());
    of_repository(common_dir, DEPTH, &mut files);
    files
}

/// Adds the files of a repository, its other work trees and its submodules.
fn of_repository(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    files.extend(["config", "config.worktree"].map(|name| dir.join(name)));
    files.extend(seen_in(&dir.join("worktrees")).map(|tree| tree.path().join("config.worktree")));
    of_modules(&dir.join("modules"), depth, files);
}

fn of_modules(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for path in seen_in(dir).map(|entry| entry.path()) {
        // The name of a submodule can have several components.
        if seen_itself(&path.join("HEAD")).is_some() {
            of_repository(&path, depth, files);
        } else {
            of_modules(&path, depth, files);
        }
    }
}

/// Covers git-ralph's own copies of git's configuration. The loop's own slot must stay usable; those of others need
/// not.
fn copies(place: &Place<'_>) -> Vec<Mount> {
    let mut covers = Vec::new();
    let loops = seen_in(&place.dirs[1].join("ralph")).map(|entry| entry.path());
    for dir in loops.filter(|path| seen_itself(path).is_some_and(|found| found.is_dir())) {
        covers.push(Mount::Empty(dir.join("trash")));
        if place.own.is_none_or(|own| own != dir) {
            covers.push(Mount::Empty(dir.join("slots")));
            continue;
        }
        for slot in seen_in(&dir.join("slots")).map(|entry| entry.path()) {
            covers.extend(COPIED.map(|name| Mount::Nothing(slot.join(COPIES).join(name))));
        }
    }
    covers
}

/// Returns whether a path without symlinks is visible.
fn is_seen(path: &Path, mounts: &[Mount]) -> bool {
    let holds = |mount: &&Mount| path.starts_with(real(mount.path()));
    let last = mounts.iter().rfind(holds);
    !matches!(last, Some(Mount::Empty(_) | Mount::Nothing(_)))
}

/// The files with keys, each with a copy without keys, if it can be shown, and all checked files.
#[derive(Default)]
struct Found {
    covers: Vec<(PathBuf, Option<String>)>,
    known: Vec<PathBuf>,
    /// Number of copies.
    texts: usize,
    /// The remaining bytes for copies.
    room: usize,
}

impl Found {
    fn add(&mut self, file: &Path, home: Option<&Path>, depth: usize) {
        let (Some(depth), Ok(file)) = (depth.checked_sub(1), file.canonicalize()) else {
            return;
        };
        if self.known.contains(&file) || !is_seen_as_file(&file) {
            return;
        }
        self.known.push(file.clone());
        let bytes = seen_bytes(&file).unwrap_or_default();
        let text = Text::read(&String::from_utf8_lossy(&bytes));
        self.covers.extend(
            text.stores
                .into_iter()
                .filter_map(|path| Some((path.canonicalize().ok()?, None))),
        );
        if text.has_keys {
            // Git stops at an unreadable file, so a file that does not fit stays visible unchanged.
            let is_text = !text.rest.contains('\0') && text.rest.lines().all(|line| line != END);
            if !is_text {
                self.covers.push((file.clone(), None));
            } else if text.rest.len() <= self.room && self.texts < MOST_COPIES {
                self.room -= text.rest.len();
                self.texts += 1;
                self.covers.push((file.clone(), Some(text.rest)));
            }
        }
        for path in &text.included {
            let path = match (path.strip_prefix("~/"), home) {
                (Some(below), Some(home)) => home.join(below),
                _ => file.with_file_name(path),
            };
            self.add(&path, home, depth);
        }
    }
}

/// The content of a file of git's configuration.
#[derive(Debug, Default, PartialEq, Eq)]
struct Text {
    /// The text without keys.
    rest: String,
    has_keys: bool,
    /// The files that it includes, ignoring case.
    included: Vec<String>,
    /// The files in which passwords are stored.
    stores: Vec<PathBuf>,
}

impl Text {
    /// Parses it line by line; keeps a line without a key unchanged.
    fn read(text: &str) -> Self {
        let mut read = Self::default();
        let mut section = String::new();
        let mut is_dropped = false;
        for line in text.split_inclusive('\n') {
            let continues = line.trim_end().ends_with('\\');
            let (header, rest) = split(line, &mut section);
            let name = rest
                .split(|char: char| !char.is_alphanumeric() && char != '-')
                .next();
            let name = name.unwrap_or_default();
            let value = rest[name.len()..]
                .trim_start()
                .strip_prefix('=')
                .unwrap_or_default();
            let name = name.to_ascii_lowercase();
            if is_dropped || is_key(&section, &name, value, continues) {
                // This line may continue the one before.
                read.rest += header.trim_end();
                read.rest.push('\n');
                (is_dropped, read.has_keys) = (continues, true);
                continue;
            }
            match (section.as_str(), name.as_str()) {
                ("include" | "includeif", "path") => read.included.push(plain(value)),
                ("credential", "helper") => {
                    let file = plain(value);
                    let file = file
                        .split_once("--file")
                        .map(|(_, file)| file.trim_start_matches(['=', ' ']));
                    read.stores.extend(file.map(PathBuf::from));
                }
                _ => {}
            }
            let shown = match USER.as_ref() {
                Some(user) => user.replace_all(line, without_password),
                None => line.into(),
            };
            read.has_keys |= shown != line;
            read.rest += &shown;
        }
        if !read.rest.ends_with('\n') {
            read.rest.push('\n');
        }
        read
    }
}

/// Splits a line after the section headers at its beginning; the last header is the section from then on.
fn split<'l>(line: &'l str, section: &mut String) -> (&'l str, &'l str) {
    let mut rest = line.trim_start_matches(|char: char| char.is_whitespace() || char == '\u{feff}');
    while let Some(inner) = rest.strip_prefix('[') {
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = inner.find(|char| {
            let ends = char == ']' && !is_quoted;
            is_quoted ^= char == '"' && !is_escaped;
            is_escaped = char == '\\' && !is_escaped;
            ends
        });
        let Some(end) = end else { break };
        let name = inner[..end]
            .split(|char: char| !char.is_alphanumeric() && char != '-')
            .next();
        *section = name.unwrap_or_default().to_ascii_lowercase();
        rest = inner[end + 1..].trim_start();
    }
    (&line[..line.len() - rest.len()], rest)
}

fn is_key(section: &str, name: &str, value: &str, continues: bool) -> bool {
    let says = |word: &str| value.contains(word);
    KEYS.iter().any(|part| name.contains(part)) && section != "ralph"
        // A command that contains the password.
        || section == "credential" && says("!") && (continues || says("echo") || says("printf"))
        || name == "proxy" && says("@") && !says("://")
}

/// Returns a URL without its password, and without its user unless the user is the only identification.
fn without_password(address: &Captures<'_>) -> String {
    let scheme = &address[1];
    match address[2].split(':').next() {
        Some(user) if scheme.contains("ssh") => format!("{scheme}://{user}@"),
        _ => format!("{scheme}://"),
    }
}

/// Returns a value without its quotes and comment.
fn plain(value: &str) -> String {
    let (mut plain, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for char in value.trim().chars() {
        match char {
            _ if is_escaped => {
                plain.push(char);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            _ => plain.push(char),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_loses_its_keys_and_nothing_else() {
        let kept = "# url \\\n[core]\n\tbare = false\n[remote \"o]\\\"\"]\n\turl = ssh://git@host/x\n\turl = git@host:x\n\
                    [ralph]\n\tmaxTokens = 1\n[alias]\n\tx = \"!a; \\\n\tb\"\n";
        let read = Text::read(kept);
        assert_eq!((read.rest.as_str(), read.has_keys), (kept, false));
        for (text, rest) in [
            ("[http]\n\textraHeader = AUTH x\n", "[http]\n\n"),
            (
                "[http \"https://a.b/\"] EXTRAHEADER=x\n[a]\n",
                "[http \"https://a.b/\"]\n[a]\n",
            ),
            (
                "[http]\nextraheader = \\\n x \\\n y\nproxy = me:pw@p\nz = 1",
                "[http]\n\n\n\n\nz = 1\n",
            ),
            (
                "[a]\nx = \\\ntoken = 1\nurl = https://u:p@h/x",
                "[a]\nx = \\\n\nurl = https://h/x\n",
            ),
            ("[url \"https://t0k@h/\"]\n", "[url \"https://h/\"]\n"),
            (
                "[r]\nurl = \"ssh://git:p@h/x\"\n",
                "[r]\nurl = \"ssh://git@h/x\"\n",
            ),
            (
                "[credential]\nhelper = \"!f() { echo password=x; }; f\"\n",
                "[credential]\n\n",
            ),
            (
                "[credential \"a\"]\nhelper = !f() {\\\necho }\n[b]\n",
                "[credential \"a\"]\n\n\n[b]\n",
            ),
        ] {
            let read = Text::read(text);
            assert_eq!((read.rest.as_str(), read.has_keys), (rest, true), "{text}");
        }
    }

    #[test]
    fn text_names_other_files() {
        let text = "[include]\n\tpath = ~/a ; why\n[includeIf \"gitdir:x\"] PATH = \"b c\"\n[credential]\nhelper = store --file /k\n\
                    helper = store --file=/l\n";
        let read = Text::read(text);
        assert_eq!(read.included, ["~/a", "b c"]);
        assert_eq!(read.stores, [Path::new("/k"), Path::new("/l")]);
    }

    #[test]
    fn only_what_is_seen_counts() {
        let mounts = [Mount::Empty("/h".into()), Mount::Read("/h/a".into())];
        let seen = ["/etc/x", "/h/a", "/h/b"].map(|path| is_seen(Path::new(path), &mounts));
        assert_eq!(seen, [true, true, false]);
    }
}
