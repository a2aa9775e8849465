//! Reads index files (gitformat-index(5), versions 2 to 4), to save a git process or to find facts that git does not
//! print: which entries need care, and which files were touched between two states of an index. Never writes. Anything
//! unknown is left to git.

use std::borrow::Cow;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use crate::names::Oid;

/// Length of the fixed part of an entry before the object id.
const STAT: usize = 40;
/// The flag bit that says that a second pair of flag bytes follows.
const EXTENDED: u16 = 0x4000;
/// The flag bit for assume-unchanged.
const ASSUMED: u16 = 0x8000;
/// The bit of the second flags for skip-worktree.
const SKIPPED: u16 = 0x4000;
/// The bit of the second flags for an intent to add: git knows the path, but no content is staged (`git add -N`).
const INTENDED: u16 = 0x2000;
/// The mode of a submodule.
pub const GITLINK: u32 = 0o160_000;

/// Identifies the state of a file: its change time, in seconds and nanoseconds, and its inode.
pub type Touched = (u32, u32, u32);

/// Returns the state of a file as git records it in an index.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index keeps the lower 32 bits"
)]
pub fn touched(file: &Metadata) -> Touched {
    (file.ctime() as u32, file.ctime_nsec() as u32, file.ino() as u32)
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path.
    pub path: Cow<'a, [u8]>,
    /// Its mode as git knows it.
    pub mode: u32,
    /// The object id of its content.
    pub oid: &'a [u8],
    /// The state of its file.
    pub touched: Touched,
    /// The side of a conflict that it belongs to; 0 without a conflict.
    pub stage: u16,
    /// True if assume-unchanged is set.
    pub assumed: bool,
    /// True if skip-worktree is set.
    pub skipped: bool,
    /// True if only the intent to add it is staged.
    pub intended: bool,
}

/// A whole index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index<'a> {
    /// Its entries, in the order of their paths.
    pub entries: Vec<Entry<'a>>,
    /// The offset of each entry in the file, in bytes.
    pub starts: Vec<usize>,
    /// The tree that it holds, if it names one.
    pub tree: Option<Oid>,
}

impl<'a> Index<'a> {
    /// Reads an index; returns `None` if the bytes are not an index, or not one that this module knows completely (a
    /// split index, or one with directories as entries). `oid` is the length of an object id in bytes.
    #[must_use]
    pub fn parse(bytes: &'a [u8], oid: usize) -> Option<Self> {
        if bytes.get(..4)? != b"DIRC" {
            return None;
        }
        let version = number(bytes, 4)?;
        let count = usize::try_from(number(bytes, 8)?).ok()?;
        if !(2..=4).contains(&version) || count > bytes.len() / STAT {
            return None;
        }
        let mut index = Self {
            entries: Vec::with_capacity(count),
            starts: Vec::with_capacity(count),
            tree: None,
        };
        let mut at = 12;
        for _ in 0..count {
            index.starts.push(at);
            let entry = index.entry(bytes, &mut at, version, oid)?;
            if let Some(last) = index.entries.last()
                && (&*last.path, last.stage) >= (&*entry.path, entry.stage)
            {
                return None;
            }
            index.entries.push(entry);
        }
        index.extensions(bytes.get(..bytes.len().checked_sub(oid)?)?, at, oid)?;
        Some(index)
    }

    fn entry(&self, bytes: &'a [u8], at: &mut usize, version: u32, oid: usize) -> Option<Entry<'a>> {
        let start = *at;
        let touched = (
            number(bytes, start)?,
            number(bytes, start + 4)?,
            number(bytes, start + 20)?,
        );
        let flags_at = start + STAT + oid;
        let flags = short(bytes, flags_at)?;
        let (more, path_at) = if flags & EXTENDED == 0 {
            (0, flags_at + 2)
        } else {
            (short(bytes, flags_at + 2)?, flags_at + 4)
        };
        *at = path_at;
        let path = if version == 4 {
            let dropped = offset(bytes, at)?;
            let previous = self.entries.last().map_or(&[][..], |last| &*last.path);
            let kept = previous.get(..previous.len().checked_sub(dropped)?)?;
            let rest = until_zero(bytes, *at)?;
            *at += rest.len() + 1;
            Cow::Owned([kept, rest].concat())
        } else {
            let path = until_zero(bytes, path_at)?;
            // Entries are padded with 1 to 8 zeros to a multiple of eight.
            *at = start + (path_at + path.len() - start) / 8 * 8 + 8;
            Cow::Borrowed(path)
        };
        Some(Entry {
            path,
            mode: number(bytes, start + 24)?,
            oid: bytes.get(start + STAT..flags_at)?,
            touched,
            stage: flags >> 12 & 3,
            assumed: flags & ASSUMED != 0,
            skipped: more & SKIPPED != 0,
            intended: more & INTENDED != 0,
        })
    }

    /// Reads the extensions after the entries. An extension with a lower-case name changes the meaning of the entries.
    fn extensions(&mut self, bytes: &[u8], mut at: usize, oid: usize) -> Option<()> {
        while at < bytes.len() {
            let name = bytes.get(at..at + 4)?;
            let length = usize::try_from(number(bytes, at + 4)?).ok()?;
            let data = bytes.get(at + 8..)?.get(..length)?;
            if !name.first()?.is_ascii_uppercase() {
                return None;
            }
            if name == b"TREE" {
                self.tree = root_tree(data, oid);
            }
            at += 8 + length;
        }
        (at == bytes.len()).then_some(())
    }
}

/// Reads the first entry of the cached trees: an empty path, "<entries> <subtrees>", and the id if it is valid.
fn root_tree(data: &[u8], oid: usize) -> Option<Oid> {
    let rest = data.strip_prefix(b"\0")?;
    let line = rest.iter().position(|byte| *byte == b'\n')?;
    if rest.first()? == &b'-' {
        return None;
    }
    let id = rest.get(line + 1..line + 1 + oid)?;
    let text: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    Oid::parse(&text)
}

/// Compares the paths of two indexes; `None` stands for the side that lacks a path. A conflict counts by its
/// first side.
pub fn compare<'i, 'a>(
    from: &'i Index<'a>,
    to: &'i Index<'a>,
    mut each: impl FnMut(Option<&'i Entry<'a>>, Option<&'i Entry<'a>>),
) {
    let (mut old, mut new) = (from.entries.iter().peekable(), to.entries.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(was), Some(is)) => was.path.cmp(&is.path),
        };
        match order {
            std::cmp::Ordering::Less => each(old.next(), None),
            std::cmp::Ordering::Greater => each(None, new.next()),
            std::cmp::Ordering::Equal => each(old.next(), new.next()),
        }
    }
}

fn until_zero(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.get(..memchr::memchr(0, rest)?)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Reads the variable-width number of version 4 (the same as in pack offsets).
fn offset(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut byte = *bytes.get(*at)?;
    *at += 1;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 20;

    /// Builds an index of these paths; each entry's change time and mode are its position in the list.
    fn index(version: u32, paths: &[&str], extensions: &[u8]) -> Vec<u8> {
        let count = u32::try_from(paths.len()).unwrap();
        let mut bytes = [&b"DIRC"[..], &version.to_be_bytes(), &count.to_be_bytes()].concat();
        let mut previous = "";
        for (place, path) in (1..).zip(paths) {
            let place: u32 = place;
            let start = bytes.len();
            let mut stat = [0; STAT];
            stat[..4].copy_from_slice(&place.to_be_bytes());
            stat[24..28].copy_from_slice(&place.to_be_bytes());
            bytes.extend(stat);
            bytes.extend([7; LENGTH]);
            let flags = if place == 1 { ASSUMED } else { 0 };
            bytes.extend((flags | 3).to_be_bytes());
            if version == 4 {
                let same = path.bytes().zip(previous.bytes()).take_while(|(a, b)| a == b);
                let same = same.count();
                bytes.push(u8::try_from(previous.len() - same).unwrap());
                bytes.extend(&path.as_bytes()[same..]);
                bytes.push(0);
            } else {
                bytes.extend(path.as_bytes());
                let length = (bytes.len() - start) / 8 * 8 + 8;
                bytes.resize(start + length, 0);
            }
            previous = path;
        }
        bytes.extend(extensions);
        bytes.extend([0; LENGTH]);
        bytes
    }

    fn tree(data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap();
        [&b"TREE"[..], &length.to_be_bytes(), data].concat()
    }

    #[test]
    fn every_version_gives_the_same_entries() {
        let paths = ["a", "d/one", "d/other", "e"];
        for version in 2..=4 {
            let bytes = index(version, &paths, &[]);
            let parsed = Index::parse(&bytes, LENGTH).unwrap();
            let found: Vec<_> = parsed.entries.iter().map(|entry| entry.path.to_vec()).collect();
            assert_eq!(found, paths.map(|path| path.as_bytes().to_vec()));
            assert_eq!(
                (parsed.entries[2].mode, parsed.entries[2].touched),
                (3, (3, 0, 0))
            );
            assert!(parsed.entries[0].assumed && !parsed.entries[1].assumed);
        }
    }

    #[test]
    fn the_tree_is_known_only_while_it_is_valid() {
        let valid = tree(&[&b"\0"[..], b"2 0\n", &[0xab; LENGTH]].concat());
        let bytes = index(2, &["a", "b"], &valid);
        let found = Index::parse(&bytes, LENGTH).unwrap().tree.unwrap();
        assert_eq!(found.as_str(), "ab".repeat(LENGTH));
        let bytes = index(2, &["a", "b"], &tree(b"\0-1 0\n"));
        assert_eq!(Index::parse(&bytes, LENGTH).unwrap().tree, None);
    }

    #[test]
    fn what_is_not_whole_is_left_to_git() {
        for version in 2..=4 {
            let bytes = index(version, &["a", "d/one", "d/other"], &[]);
            for end in 0..bytes.len() {
                assert_eq!(Index::parse(&bytes[..end], LENGTH), None, "{end}");
            }
        }
        assert_eq!(Index::parse(&index(2, &["b", "a"], &[]), LENGTH), None);
        assert_eq!(Index::parse(&index(2, &["a"], b"link\0\0\0\0"), LENGTH), None);
        assert_eq!(Index::parse(&index(2, &["a"], b"sdir\0\0\0\0"), LENGTH), None);
    }

    #[test]
    fn two_indexes_are_compared_path_by_path() {
        let (was, is) = (index(2, &["a", "b", "d"], &[]), index(4, &["b", "c", "d"], &[]));
        let (was, is) = (
            Index::parse(&was, LENGTH).unwrap(),
            Index::parse(&is, LENGTH).unwrap(),
        );
        let mut found = Vec::new();
        compare(&was, &is, |old, new| found.push((old.is_some(), new.is_some())));
        assert_eq!(found, [(true, false), (true, true), (false, true), (true, true)]);
    }
}
