//! Reads index files (gitformat-index(5), versions 2 to 4), to save a git process or to find facts that git does not
//! print: entries that need special treatment, and files touched between two states of an index. Never writes. Leaves
//! unknown formats to git.

use std::cmp::Ordering;
use std::fs::Metadata;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use crate::names::{Oid, hex};

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
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index keeps the lower 32 bits"
)]
pub fn touched(file: &Metadata) -> Touched {
    (file.ctime() as u32, file.ctime_nsec() as u32, file.ino() as u32)
}

/// An index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path.
    pub path: &'a [u8],
    /// Its mode in git's form.
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

impl Entry<'_> {
    /// Returns whether it is a file whose content git would compare.
    pub fn is_plain_file(&self) -> bool {
        let is_file = self.mode & 0o170_000 == 0o100_000;
        is_file && self.stage == 0 && !self.assumed && !self.skipped && !self.intended
    }

    /// Returns the object id of its content.
    pub fn object(&self) -> Option<Oid> {
        Oid::parse(&hex(self.oid))
    }
}

/// The bytes of an index file, and its entries if this module understands it completely.
#[derive(Debug, Default)]
pub struct IndexFile {
    bytes: Vec<u8>,
    oid: usize,
    contents: Option<Contents>,
}

/// Locates the entries in the bytes of an index. Fields are parsed on access: most callers need few of them.
#[derive(Debug, Default)]
struct Contents {
    places: Vec<Place>,
    /// The full paths of version 4; other versions have them in the file itself.
    paths: Option<Vec<u8>>,
    tree: Option<Oid>,
}

/// The offsets of an entry, in bytes; of its path, in the file or in `Contents::paths`.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    path: u32,
    path_end: u32,
}

/// A view of an index file that is completely understood.
#[derive(Clone, Copy, Debug)]
pub struct Index<'a> {
    bytes: &'a [u8],
    oid: usize,
    contents: &'a Contents,
}

impl IndexFile {
    /// Takes the bytes of an index file; `oid` is the length of an object id in bytes.
    pub fn new(bytes: Vec<u8>, oid: usize) -> Self {
        let contents = Contents::parse(&bytes, oid);
        Self { bytes, oid, contents }
    }

    /// Returns the length of an object id, in bytes.
    pub fn oid(&self) -> usize {
        self.oid
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns its entries; `None` if the bytes are no index, or not one that this module understands completely (a
    /// split index, or one with directories as entries).
    pub fn index(&self) -> Option<Index<'_>> {
        Some(Index {
            bytes: &self.bytes,
            oid: self.oid,
            contents: self.contents.as_ref()?,
        })
    }

    /// Returns its entries, in the order of their paths; none if only git can read the file.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.index().into_iter().flat_map(Index::entries)
    }

    /// Returns the paths of its entries, in order.
    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.entries().map(|entry| entry.path)
    }

    /// Returns the entry of a path; none if only git can read the file.
    pub fn find(&self, path: &[u8]) -> Option<Entry<'_>> {
        self.index()?.find(path)
    }

    /// Returns whether a path certainly has an entry.
    pub fn has(&self, path: &[u8]) -> bool {
        self.find(path).is_some()
    }
}

impl<'a> Index<'a> {
    /// Returns its entries, in the order of their paths.
    pub fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        (0..self.contents.places.len()).filter_map(move |place| self.entry(place))
    }

    /// Returns an entry with this path; with a conflict, one of them.
    pub fn find(self, path: &[u8]) -> Option<Entry<'a>> {
        self.entry(self.place_of(path)?)
    }

    /// Returns the offset of that entry in the file, in bytes.
    pub fn start_of(self, path: &[u8]) -> Option<usize> {
        let place = self.contents.places.get(self.place_of(path)?)?;
        Some(place.start as usize)
    }

    /// Returns its tree, if it caches one.
    pub fn tree(self) -> Option<&'a Oid> {
        self.contents.tree.as_ref()
    }

    fn place_of(self, path: &[u8]) -> Option<usize> {
        let places = &self.contents.places;
        let found = places.binary_search_by(|place| self.contents.path(self.bytes, place).cmp(path));
        found.ok()
    }

    fn entry(self, place: usize) -> Option<Entry<'a>> {
        let place = self.contents.places.get(place)?;
        let (bytes, start) = (self.bytes, place.start as usize);
        let flags_at = start + STAT + self.oid;
        let (flags, more) = flags(bytes, flags_at)?;
        Some(Entry {
            path: self.contents.path(bytes, place),
            mode: number(bytes, start + 24)?,
            oid: bytes.get(start + STAT..flags_at)?,
            touched: (
                number(bytes, start)?,
                number(bytes, start + 4)?,
                number(bytes, start + 20)?,
            ),
            stage: stage(flags),
            assumed: flags & ASSUMED != 0,
            skipped: more & SKIPPED != 0,
            intended: more & INTENDED != 0,
        })
    }
}

impl Contents {
    fn parse(bytes: &[u8], oid: usize) -> Option<Self> {
        if bytes.get(..4)? != b"DIRC" {
            return None;
        }
        let version = number(bytes, 4)?;
        let count = usize::try_from(number(bytes, 8)?).ok()?;
        if !(2..=4).contains(&version) || count > bytes.len() / STAT {
            return None;
        }
        let mut contents = Self {
            places: Vec::with_capacity(count),
            paths: (version == 4).then(Vec::new),
            tree: None,
        };
        let mut at = 12;
        let mut last: Option<(Place, u16)> = None;
        for _ in 0..count {
            let (place, stage) = contents.next(bytes, &mut at, oid)?;
            let path = contents.path(bytes, &place);
            if let Some((last, last_stage)) = last
                && (contents.path(bytes, &last), last_stage) >= (path, stage)
            {
                return None;
            }
            contents.places.push(place);
            last = Some((place, stage));
        }
        contents.read_extensions(bytes.get(..bytes.len().checked_sub(oid)?)?, at, oid)?;
        Some(contents)
    }

    /// Reads the place and the stage of the entry at this offset, and moves on to the next.
    fn next(&mut self, bytes: &[u8], at: &mut usize, oid: usize) -> Option<(Place, u16)> {
        let start = *at;
        let flags_at = start + STAT + oid;
        let (flags, _) = flags(bytes, flags_at)?;
        *at = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
        let path = if let Some(paths) = &mut self.paths {
            let dropped = offset(bytes, at)?;
            let previous = self.places.last().map_or(0..0, Place::path);
            let kept = previous.len().checked_sub(dropped)?;
            let rest = until_zero(bytes, *at)?;
            *at += rest.len() + 1;
            let begin = paths.len();
            paths.extend_from_within(previous.start..previous.start + kept);
            paths.extend_from_slice(rest);
            begin..paths.len()
        } else {
            let path = *at..*at + until_zero(bytes, *at)?.len();
            // Entries are padded with 1 to 8 zeros to a multiple of eight.
            *at = start + (path.end - start) / 8 * 8 + 8;
            path
        };
        let place = Place {
            start: u32::try_from(start).ok()?,
            path: u32::try_from(path.start).ok()?,
            path_end: u32::try_from(path.end).ok()?,
        };
        Some((place, stage(flags)))
    }

    fn path<'b>(&'b self, bytes: &'b [u8], place: &Place) -> &'b [u8] {
        let from = self.paths.as_deref().unwrap_or(bytes);
        from.get(place.path()).unwrap_or_default()
    }

    /// Reads the extensions after the entries. An extension with a lower-case name changes the meaning of the entries.
    fn read_extensions(&mut self, bytes: &[u8], mut at: usize, oid: usize) -> Option<()> {
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

impl Place {
    fn path(&self) -> Range<usize> {
        self.path as usize..self.path_end as usize
    }
}

/// Reads the flags of an entry, and the second ones if it has them.
fn flags(bytes: &[u8], at: usize) -> Option<(u16, u16)> {
    let flags = short(bytes, at)?;
    let more = if flags & EXTENDED == 0 {
        0
    } else {
        short(bytes, at + 2)?
    };
    Some((flags, more))
}

fn stage(flags: u16) -> u16 {
    flags >> 12 & 3
}

/// Reads the first entry of the cached trees: an empty path, `<entries> <subtrees>`, and the id if it is valid.
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

/// Compares the paths of two index files; `None` stands for the side that lacks a path. A conflict counts by its
/// first side.
pub fn compare<'a>(
    from: &'a IndexFile,
    to: &'a IndexFile,
    mut each: impl FnMut(Option<Entry<'a>>, Option<Entry<'a>>),
) {
    let (mut old, mut new) = (from.entries().peekable(), to.entries().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(was), Some(is)) => was.path.cmp(is.path),
        };
        match order {
            Ordering::Less => each(old.next(), None),
            Ordering::Greater => each(None, new.next()),
            Ordering::Equal => each(old.next(), new.next()),
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
            let file = IndexFile::new(bytes, LENGTH);
            let entries: Vec<_> = file.entries().collect();
            let found: Vec<_> = entries.iter().map(|entry| entry.path).collect();
            assert_eq!(found, paths.map(str::as_bytes));
            assert_eq!((entries[2].mode, entries[2].touched), (3, (3, 0, 0)));
            assert!(entries[0].assumed && !entries[1].assumed);
            let index = file.index().unwrap();
            assert_eq!(
                paths.map(|path| index.find(path.as_bytes()).unwrap().path),
                paths.map(str::as_bytes)
            );
            assert_eq!(
                (index.find(b"d"), index.find(b"d/one/x"), index.start_of(b"a")),
                (None, None, Some(12))
            );
        }
    }

    #[test]
    fn the_tree_is_known_only_while_it_is_valid() {
        let valid = tree(&[&b"\0"[..], b"2 0\n", &[0xab; LENGTH]].concat());
        let bytes = index(2, &["a", "b"], &valid);
        let file = IndexFile::new(bytes, LENGTH);
        assert_eq!(
            file.index().unwrap().tree().unwrap().as_str(),
            "ab".repeat(LENGTH)
        );
        let bytes = index(2, &["a", "b"], &tree(b"\0-1 0\n"));
        assert_eq!(IndexFile::new(bytes, LENGTH).index().unwrap().tree(), None);
    }

    fn is_unknown(bytes: Vec<u8>) -> bool {
        IndexFile::new(bytes, LENGTH).index().is_none()
    }

    #[test]
    fn reader_leaves_incomplete_indexes_to_git() {
        for version in 2..=4 {
            let bytes = index(version, &["a", "d/one", "d/other"], &[]);
            for end in 0..bytes.len() {
                assert!(is_unknown(bytes[..end].to_vec()), "{end}");
            }
        }
        assert!(is_unknown(index(2, &["b", "a"], &[])));
        assert!(is_unknown(index(2, &["a"], b"link\0\0\0\0")));
        assert!(is_unknown(index(2, &["a"], b"sdir\0\0\0\0")));
    }

    #[test]
    fn two_indexes_are_compared_path_by_path() {
        let (was, is) = (index(2, &["a", "b", "d"], &[]), index(4, &["b", "c", "d"], &[]));
        let (was, is) = (IndexFile::new(was, LENGTH), IndexFile::new(is, LENGTH));
        let mut found = Vec::new();
        compare(&was, &is, |old, new| found.push((old.is_some(), new.is_some())));
        assert_eq!(found, [(true, false), (true, true), (false, true), (true, true)]);
    }
}
