//! Paths of any bytes: their parent directories, and their text, in which bytes that are not UTF-8, and `%`, are percent
//! escapes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Returns the path in an environment variable that is set and not empty.
pub fn from_environment(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(name).filter(|named| !named.is_empty());
    named.map(PathBuf::from)
}

/// Returns a directory of the user: the value of this variable, else this path below the home directory.
pub fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    from_environment(variable).or_else(|| Some(from_environment("HOME")?.join(below_home)))
}

/// The top directory of a work tree, percent-encoded where it is saved or shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTreePath(PathBuf);

impl WorkTreePath {
    /// Wraps the top directory of a work tree.
    pub fn new(top: &Path) -> Self {
        Self(top.to_owned())
    }

    /// Returns the directory itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for WorkTreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&percent_encode(self.0.as_os_str().as_bytes()))
    }
}

impl Serialize for WorkTreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WorkTreePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self(path_of(&percent_decode(&text)).to_owned()))
    }
}

/// Returns the path of any bytes.
pub fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Returns a path relative to a directory, as git writes it; `None` for the directory itself, and outside of it.
pub fn path_in(dir: &Path, path: &Path) -> Option<Vec<u8>> {
    let path = path.strip_prefix(dir).ok()?.as_os_str().as_encoded_bytes();
    (!path.is_empty()).then(|| path.to_vec())
}

/// Returns a path with its links resolved; the path itself if it does not exist.
pub fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns whether a path, relative to the top of a work tree, stays in the work tree and outside of git's directory,
/// judged by its components. A record in a file may contain other paths.
pub fn is_of_work_tree(path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let mut parts = path.split(|byte| *byte == b'/');
    let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    !path
        .get(..4)
        .is_some_and(|first| first.eq_ignore_ascii_case(b".git") && matches!(path.get(4), None | Some(b'/')))
        && parts.all(is_name)
}

/// Returns the path of a name in a directory; the top directory has the empty path.
pub fn named_in(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if dir.is_empty() { b"" } else { b"/" };
    [dir, slash, name].concat()
}

/// Returns every directory above these paths; fast if they are in order.
pub fn directories<'p>(paths: impl Iterator<Item = &'p [u8]>) -> BTreeSet<&'p [u8]> {
    let mut dirs = BTreeSet::new();
    let mut last: &[u8] = b"";
    for path in paths {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let dir = path.get(..end).unwrap_or_default();
        if dir != last {
            dirs.extend(parents(path));
            last = dir;
        }
    }
    dirs
}

/// Returns the directories above a path, without a final `/`.
pub fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .filter_map(|(at, _)| path.get(..at))
}

/// Returns a path as text on one line, for a message: a name with a newline cannot look like a line of git-ralph.
pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).replace('\n', "^J")
}

/// Returns the first few paths as text, for a message, and how many more there are.
pub fn first_few<'p>(paths: impl IntoIterator<Item = &'p Vec<u8>>) -> Vec<String> {
    let mut paths = paths.into_iter();
    let few = paths.by_ref().take(5);
    let mut names: Vec<_> = few.map(|path| shown(path)).collect();
    let more = paths.count();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names
}

/// The directories that tools make in any project.
const OF_TOOLS: &[&[u8]] = &[
    b"__pycache__",
    b".pytest_cache",
    b".mypy_cache",
    b".ruff_cache",
    b".hypothesis",
    b".tox",
    b".nox",
    b".gradle",
    b".nyc_output",
    b"node_modules",
];

/// Returns lines of `.gitignore` for the first of these files: for a tool's own directory, or for the file.
pub fn ignoring<'p>(paths: impl IntoIterator<Item = &'p Vec<u8>>) -> String {
    let mut rules: Vec<Vec<u8>> = Vec::new();
    for path in paths {
        let mut parts = path.rsplit(|byte| *byte == b'/').skip(1);
        let of_tool = parts.find(|part| OF_TOOLS.contains(part));
        let rule = of_tool.map_or_else(|| rule_of(path), |dir| [dir, b"/"].concat());
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    first_few(&rules).join(", ")
}

/// Returns the rule for one file.
fn rule_of(path: &[u8]) -> Vec<u8> {
    let mut rule = vec![b'/'];
    for byte in path {
        if b"*?[\\ ".contains(byte) {
            rule.push(b'\\');
        }
        rule.push(*byte);
    }
    rule
}

/// Returns bytes as text: bytes that are not UTF-8, and `%`, become percent escapes.
pub fn percent_encode(bytes: &[u8]) -> String {
    bytes
        .utf8_chunks()
        .map(|chunk| {
            let invalid: String = chunk
                .invalid()
                .iter()
                .map(|byte| format!("%{byte:02X}"))
                .collect();
            chunk.valid().replace('%', "%25") + &invalid
        })
        .collect()
}

/// Returns the bytes from which [`percent_encode`] made this text.
pub fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Keeps bytes percent-encoded in a text (`#[serde(with = "percent")]`).
pub mod percent {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::percent_encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(super::percent_decode(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_work_tree_leads_neither_out_of_it_nor_into_gits_directory() {
        for path in [
            "a",
            "a/",
            "a/b.c",
            ".gitignore",
            "a/.git",
            ".github/x",
            "..a",
            "a/..b",
        ] {
            assert!(is_of_work_tree(path.as_bytes()), "{path}");
        }
        for path in [
            "",
            "/",
            "/a",
            "..",
            "../a",
            "a/../b",
            "a//b",
            "./a",
            ".git",
            ".git/config",
            ".GIT/hooks",
            ".git/",
        ] {
            assert!(!is_of_work_tree(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn first_few_names_five_and_counts_the_others() {
        let paths = |number: u8| (0..number).map(|n| vec![b'a' + n]).collect::<Vec<_>>();
        assert_eq!(first_few(&paths(5)).join(" "), "a b c d e");
        assert_eq!(first_few(&paths(7)).join(" "), "a b c d e 2 more");
    }

    #[test]
    fn rules_name_the_directory_of_a_tool_or_the_file() {
        let rules = |paths: &[&str]| {
            let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
            ignoring(&paths)
        };
        let made = ["a/__pycache__/b.pyc", "__pycache__/c.pyc", "out/*.log"];
        assert_eq!(rules(&made), "__pycache__/, /out/\\*.log");
    }

    #[test]
    fn a_path_of_any_bytes_survives_its_text() {
        for bytes in [&b"/a%20b"[..], b"/caf\xc3\xa9", b"/\xff%", b"/100%"] {
            let path = WorkTreePath::new(Path::new(OsStr::from_bytes(bytes)));
            let text = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<WorkTreePath>(&text).unwrap(), path);
        }
        assert_eq!(WorkTreePath::new(Path::new("/a%b")).to_string(), "/a%25b");
    }
}
