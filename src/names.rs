//! Names that every module uses: the change, git's object ids, and text as part of a ref or of a file name. This module
//! starts no process and reads no file.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::advice::{Advice, Advise, hint};

mod short;

pub use short::ShortNames;

/// The line of a reason that precedes the output of what failed.
pub const OUTPUT: &str = "Its output:";

/// The words in the reason of an attempt that promised COMPLETE, and changed no file that git tracks.
pub const NO_CHANGE: &str = "git sees no change outside the story list";

/// The longest change name, in bytes: with suffixes it still fits a file name.
const MAX_CHANGE: usize = 200;

/// The name of a change: one component of a git ref (`git check-ref-format`), without a leading `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Change(String);

/// The reason why a text cannot name a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is not a valid name for a change: {why}")]
pub struct BadChange {
    /// The text as given.
    pub name: String,
    /// The rule that it breaks.
    pub why: &'static str,
}

impl Advise for BadChange {
    fn advice(&self) -> Advice {
        let rule = "use letters, digits, '-', '_' and single dots";
        if self.name.contains('/') {
            let list = quoted(&self.name);
            hint(format!("{rule}; a story list is named with --stories {list}"))
        } else {
            hint(rule)
        }
    }
}

impl Change {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, BadChange> {
        let is_toml = |end: &OsStr| end.eq_ignore_ascii_case("toml");
        let rules = [
            (name.is_empty(), "it is empty"),
            (name.contains('/'), "it has a '/'"),
            (name.starts_with('-'), "it begins with '-'"),
            (name.len() > MAX_CHANGE, "it is longer than 200 bytes"),
            (
                Path::new(name).extension().is_some_and(is_toml),
                "it ends in '.toml'",
            ),
            (name.contains('%'), "it has a '%'"),
            (
                name == "@" || ref_component(name) != name,
                "git does not allow it in a branch name",
            ),
        ];
        match rules.into_iter().find(|(is_broken, _)| *is_broken) {
            Some((_, why)) => Err(BadChange {
                name: name.to_owned(),
                why,
            }),
            None => Ok(Self(name.to_owned())),
        }
    }

    /// Names a change after its story list: the file's name without its extension, in lower case. What a name cannot
    /// have becomes a dash.
    pub fn of_list(list: &str) -> Self {
        let stem = Path::new(list).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().to_lowercase();
        // A '+' separates the number of a side.
        if let (Ok(change), false) = (Self::new(&stem), stem.contains('+')) {
            return change;
        }
        let words = stem.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let name: String = words.join("-").chars().take(SLUG_LENGTH).collect();
        Self::new(name.trim_end_matches('-')).unwrap_or_else(|_| Self("stories".to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the side of this change with this number.
    pub fn side(&self, place: u16) -> Result<Self, BadChange> {
        Self::new(&format!("{}+{place}", self.0))
    }

    /// Returns the change of a side, and its number.
    pub fn side_of(&self) -> Option<(Self, u16)> {
        let (change, place) = self.0.rsplit_once('+')?;
        Some((Self::new(change).ok()?, place.parse().ok()?))
    }

    /// Returns the change whose stories this loop attempts: for a side, the change that it belongs to.
    pub fn worked_on(&self) -> Self {
        self.side_of().map_or_else(|| self.clone(), |(change, _)| change)
    }

    /// Returns the short name of the loop's branch: `ralph/<change>`.
    pub fn branch(&self) -> String {
        format!("ralph/{}", self.0)
    }

    /// Returns the full name of the loop's branch.
    pub fn branch_ref(&self) -> String {
        format!("refs/heads/ralph/{}", self.0)
    }

    /// Returns a ref of the loop outside the branches: `refs/ralph/<change>/<rest>`.
    pub fn ralph_ref(&self, rest: &str) -> String {
        format!("refs/ralph/{}/{rest}", self.0)
    }

    /// Returns the prefix of the refs that keep the work of an attempt's subagents.
    pub fn subagents_ref(&self, story: &str, attempt: u32) -> String {
        self.ralph_ref(&format!("subagents/{}/{attempt}", ref_component(story)))
    }

    /// Returns the ref that keeps attempt `number` of a story.
    pub fn attempt_ref(&self, story: &str, number: u32) -> String {
        self.ralph_ref(&format!("attempts/{}/{number}", ref_component(story)))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Change {
    type Error = BadChange;

    fn try_from(name: String) -> Result<Self, BadChange> {
        Self::new(&name)
    }
}

/// A git object id in full, as hexadecimal text (SHA-1 or SHA-256).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "String")]
pub struct Oid(String);

impl Oid {
    /// Parses an id as git prints it; returns `None` if it is not 40 or 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let hex = text.bytes().all(|b| b.is_ascii_hexdigit());
        (hex && (text.len() == 40 || text.len() == 64)).then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first ten digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }

    /// Returns the id that means "no such object" in a ref transaction, in the length of this id.
    pub fn zero_like(&self) -> String {
        "0".repeat(self.0.len())
    }
}

/// Returns these bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("'{text}' is not an object id"))
    }
}

/// Turns any text into one component of a ref and of a file name, without collisions: what `git
/// check-ref-format` refuses there (control characters, blanks, `~^:?*[\/`, `..`, `@{`, a `.` at either end,
/// `.lock` at the end), and `%`, become percent escapes.
pub fn ref_component(text: &str) -> String {
    let last = text.chars().count().saturating_sub(1);
    let mut out = String::with_capacity(text.len());
    let mut previous = '\0';
    for (at, c) in text.chars().enumerate() {
        let refused = c.is_control()
            || " ~^:?*[\\/%\u{7f}".contains(c)
            || (c == '.' && (at == 0 || at == last || previous == '.'))
            || (c == '{' && previous == '@');
        if refused {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
        previous = c;
    }
    if let Some(stem) = out.strip_suffix(".lock") {
        out = format!("{stem}%2Elock");
    }
    if out == "@" { "%40".to_owned() } else { out }
}

/// Maximum length of an id made from a title, in characters, without a suffix such as `-2`.
pub const SLUG_LENGTH: usize = 60;

/// Returns a story in one line: its title, preceded by its id unless the title contains it.
pub fn heading(id: &str, title: &str) -> String {
    id_and_title(id, ": ", title)
}

/// Returns the title of a story, preceded by its id and a separator unless the title contains the id.
pub fn id_and_title(id: &str, separator: &str, title: &str) -> String {
    if says_id(title, id) {
        title.to_owned()
    } else {
        format!("{id}{separator}{title}")
    }
}

/// Returns the name of a story in a test report: its title, preceded by its id unless the title begins with it.
pub fn test_name(id: &str, title: &str) -> String {
    match title {
        "" => id.to_owned(),
        title if begins_with(title, id) => title.to_owned(),
        title => format!("{id}: {title}"),
    }
}

fn begins_with(title: &str, id: &str) -> bool {
    let rest = title.strip_prefix(id);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns whether a title contains its id: it begins with the id, or the id was made from its words.
fn says_id(title: &str, id: &str) -> bool {
    begins_with(title, id) || is_made_of(id, title)
}

/// Returns whether an id was made from the title, and is not the label with which the title begins.
pub fn only_repeats(title: &str, id: &str) -> bool {
    is_made_of(id, title) && !begins_with(title, id)
}

/// Returns whether an id was made from the words of the title.
pub fn is_made_of(id: &str, title: &str) -> bool {
    let words = title.split(|char: char| !char.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    let made: String = words
        .collect::<Vec<_>>()
        .join("-")
        .chars()
        .take(SLUG_LENGTH)
        .collect();
    made.trim_end_matches('-') == id
}

/// Returns the words of a text on one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Returns the name of a branch without `refs/heads/`.
pub fn short_branch(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}

/// Returns whether a ref is the branch of a loop, or the remote-tracking one of it.
pub fn is_loop_branch(name: &str) -> bool {
    let on_remote = name
        .strip_prefix("refs/remotes/")
        .and_then(|name| name.split_once('/'));
    let branch = on_remote
        .map(|(_, branch)| branch)
        .or(name.strip_prefix("refs/heads/"));
    branch.is_some_and(|branch| branch.starts_with("ralph/"))
}

/// Returns the name that was probably meant: one that a typing mistake turns into this one. Numbers that are close to
/// each other mean different things.
pub(crate) fn closest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    if !name.contains(char::is_alphabetic) {
        return None;
    }
    let slips = |other: &&String| strsim::damerau_levenshtein(name, other);
    let nearest = known.iter().min_by_key(slips)?;
    let most = (name.chars().count() / 3).min(3);
    (slips(&nearest) <= most && nearest != name).then_some(nearest)
}

/// Returns each part of the stories that is not empty, with its number and ids: `, 1 skipped (3)`.
pub(crate) fn parts_of_stories(parts: &[(&[String], &str)]) -> String {
    let parts = parts.iter().filter(|(ids, _)| !ids.is_empty());
    let words = parts.map(|(ids, what)| format!(", {} {what} ({})", ids.len(), ids.join(", ")));
    words.collect()
}

/// Returns a number with its noun: `1 retry`, `2 retries`.
pub(crate) fn counted<N: fmt::Display + Copy + PartialEq + From<u8>>(
    number: N,
    one: &str,
    several: &str,
) -> String {
    let noun = if number == N::from(1) { one } else { several };
    format!("{number} {noun}")
}

/// Quotes a word for a POSIX shell if necessary. For words that the user types, see [`typed`].
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+^{}".contains(c);
    let expands = word.contains('{') && (word.contains(',') || word.contains("..")) || word.starts_with('=');
    if !word.is_empty() && word.chars().all(plain) && !expands {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Quotes a word of a command that the user types or pastes. Every argument of such a command that is not a constant is
/// quoted here or by [`typed_path`]. Characters on which a terminal acts are written as escapes, on one line, as bash,
/// ksh and zsh read them.
pub fn typed(word: impl fmt::Display) -> String {
    typed_bytes(word.to_string().as_bytes())
}

/// Returns the option that names a story list in a command, with a space before it; empty if no list has to be named.
pub fn stories_option(list: Option<&str>) -> String {
    list.map_or_else(String::new, |list| format!(" --stories {}", typed(list)))
}

/// Quotes a path, of any bytes, of a command that the user types or pastes.
pub fn typed_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    typed_bytes(path.as_os_str().as_bytes())
}

fn typed_bytes(word: &[u8]) -> String {
    match str::from_utf8(word) {
        Ok(text) if !text.chars().any(is_unseen) => return quoted(text),
        _ => {}
    }
    let mut escaped = String::from("$'");
    for chunk in word.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' | '\\' => escaped.extend(['\\', character]),
                _ if is_unseen(character) => {
                    escape_bytes(&mut escaped, character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => escaped.push(character),
            }
        }
        escape_bytes(&mut escaped, chunk.invalid());
    }
    escaped + "'"
}

/// Writes bytes as three octal digits each, so that a following digit is not part of them.
fn escape_bytes(escaped: &mut String, bytes: &[u8]) {
    for byte in bytes {
        escaped.push_str(&format!("\\{byte:03o}"));
    }
}

/// Returns true for control characters, and for those that change the direction of text.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats US dollars: `$0.12`, and `$0.0030` below a cent; a negative cost as zero.
pub(crate) fn dollars(cost: f64) -> String {
    let cost = if cost > 0.0 { cost } else { 0.0 };
    if 0.0 < cost && cost < 0.01 {
        return format!("${cost:.4}");
    }
    format!("${cost:.2}")
}

#[cfg(test)]
mod tests;
