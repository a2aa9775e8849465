//! Repairs packed refs (git-pack-refs(1)) with a line because of which git reads no ref.

use std::path::Path;

use memchr::memmem;

use crate::fs::{Durability, Links, read_regular};
use crate::protect::trash::{free_name, move_away};
use crate::protect::{ProtectError, Site};

/// Maximum length of all packed refs, in bytes.
const MOST: u64 = 1 << 30;
/// The beginning of the header.
const HEADER: &[u8] = b"# pack-refs with:";
/// The word in the header because of which git uses a binary search.
const SORTED: &[u8] = b" sorted";

/// Removes the lines because of which git reads no ref; the original file goes to the directory `trash`.
pub(in crate::protect) fn repair(site: Site<'_>, trash: &Path) -> Result<(), ProtectError> {
    let path = site.repo.common_dir.join("packed-refs");
    // Only a regular file is read here: git reports any other.
    let Ok(packed) = read_regular(&path, Links::Refused, MOST) else {
        return Ok(());
    };
    let readable = readable(&packed, site.repo.oid_length);
    if readable == packed {
        return Ok(());
    }
    let kept = free_name(&trash.join("packed-refs"))?;
    move_away(site, &path, &kept)?;
    site.door(&path)
        .write(&path, &readable, 0o644, Durability::Synced)?;
    site.tell(format!(
        "{} has lines with which git does not read all refs; that is put right, and the file as it was is kept as {}",
        path.display(),
        kept.display()
    ));
    Ok(())
}

/// Returns the lines that git can read: the header, refs, and the peeled tag after each. If they are unsorted, the
/// header must not call them sorted, because git would search them. An object id has `length` bytes.
fn readable(packed: &[u8], length: usize) -> Vec<u8> {
    let (mut kept, mut is_after_ref) = (Vec::with_capacity(packed.len()), false);
    let (mut last, mut is_sorted): (&[u8], bool) = (b"", true);
    for (number, line) in packed.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let name = name_of(line, length);
        let is_ref = name.is_some();
        is_sorted &= name.is_none_or(|name| last <= name);
        last = name.unwrap_or(last);
        let is_header = number == 0 && line.starts_with(HEADER);
        let is_oid = |text: &[u8]| is_oid(text, length);
        let is_peeled = is_after_ref && line.strip_prefix(b"^").is_some_and(is_oid);
        if is_header || is_ref || is_peeled {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
        is_after_ref = is_ref;
    }
    let header = kept.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let sorted = memmem::find(header, SORTED).filter(|_| !is_sorted && header.starts_with(HEADER));
    if let Some(at) = sorted {
        kept.drain(at..at + SORTED.len());
    }
    kept
}

/// Returns the ref name of a line with an object id and a valid name.
fn name_of(line: &[u8], length: usize) -> Option<&[u8]> {
    let mut words = line.splitn(2, |byte| *byte == b' ');
    let (oid, name) = (words.next()?, words.next()?);
    let mut parts = name.split(|byte| *byte == b'/');
    let is_whole = parts.next() == Some(b"refs") && name.len() > b"refs/".len();
    let is_top = !name.is_empty() && name.iter().all(|c| c.is_ascii_uppercase() || *c == b'_');
    let is_safe = is_top || is_whole && parts.all(|part| !matches!(part, b"" | b"." | b".."));
    (is_oid(oid, length) && is_safe).then_some(name)
}

fn is_oid(text: &[u8], length: usize) -> bool {
    text.len() == 2 * length && text.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_git_refuses_are_left_out() {
        let oid = "1".repeat(40);
        let good = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{oid} refs/heads/a\n{oid} refs/tags/t\n^{oid}\n"
        );
        assert_eq!(readable(good.as_bytes(), 20), good.as_bytes());
        let bad = [
            "garbage".to_owned(),
            format!("{oid} refs/heads/../../x"),
            format!("{oid} refs/heads//x\n^{oid}"),
            format!("{oid} lower"),
            "# later".to_owned(),
            format!("^{oid}"),
            oid.clone(),
            format!("{} refs/heads/z", "1".repeat(64)),
        ];
        for line in bad {
            let text = format!("{good}{line}\n");
            assert_eq!(readable(text.as_bytes(), 20), good.as_bytes(), "{line}");
        }
        assert_eq!(readable(good.trim_end().as_bytes(), 20), good.as_bytes());
        let turned = good.replace("refs/heads/a", "refs/z");
        assert_eq!(
            readable(turned.as_bytes(), 20),
            turned.replace(" sorted", "").as_bytes()
        );
        let garbage = format!("# garbage\n{oid} refs/heads/a\n");
        assert_eq!(readable(garbage.as_bytes(), 20), &garbage.as_bytes()[10..]);
    }
}
