//! The index file itself (gitformat-index(5), versions 2 to 4), for the one thing that git does not
//! print: which entries were touched between two states of it. Reads, never writes.

use std::collections::HashMap;

/// Length of the fixed part of an entry before the object id.
const STAT: usize = 40;
/// Bit of the flags that says that a second pair of flag bytes follows.
const EXTENDED: u16 = 0x4000;

/// What identifies the state of a file: its change time, in seconds and nanoseconds, and inode.
pub type Touched = (u32, u32, u32);

/// The paths of an index with what identifies the state of each; `None` when the bytes are no index
/// that we know. `oid` is the length of an object id in bytes.
#[must_use]
pub fn entries(bytes: &[u8], oid: usize) -> Option<HashMap<Vec<u8>, Touched>> {
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let version = number(bytes, 4)?;
    let count = usize::try_from(number(bytes, 8)?).ok()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = HashMap::new();
    let mut at = 12;
    let mut previous: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = at;
        let touched = (
            number(bytes, at)?,
            number(bytes, at + 4)?,
            number(bytes, at + 20)?,
        );
        let flags_at = at + STAT + oid;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        at = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
        let kept = if version == 4 {
            let dropped = offset(bytes, &mut at)?;
            previous.len().checked_sub(dropped)?
        } else {
            0
        };
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        previous.truncate(kept);
        previous.extend_from_slice(bytes.get(at..at + length)?);
        at += length;
        // Before version 4 entries are padded with 1 to 8 zeros to a multiple of eight.
        at = if version == 4 {
            at + 1
        } else {
            start + (at - start) / 8 * 8 + 8
        };
        found.insert(previous.clone(), touched);
    }
    Some(found)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The variable-width number of version 4 (the same as in pack offsets).
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
