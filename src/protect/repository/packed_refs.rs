//! The packed refs (git-pack-refs(1)), if git refuses to read any ref for a line among them.

use std::path::Path;
use std::str;

use crate::fs::{Durability, Links, read_regular};
use crate::names::Oid;
use crate::protect::trash::{free_name, move_away};
use crate::protect::{ProtectError, Site};

/// Maximum length of all packed refs, in bytes.
const MOST: u64 = 1 << 30;

/// Removes the lines for which git refuses to read any ref; the file as it was goes to the directory `trash`.
pub(in crate::protect) fn repair(site: Site<'_>, trash: &Path) -> Result<(), ProtectError> {
    let path = site.repo.common_dir.join("packed-refs");
    // What is no regular file is not read here: git says what is wrong with it.
    let Ok(packed) = read_regular(&path, Links::Refused, MOST) else {
        return Ok(());
    };
    let readable = readable(&packed);
    if readable == packed {
        return Ok(());
    }
    let kept = free_name(&trash.join("packed-refs"))?;
    move_away(site, &path, &kept)?;
    site.door(&path)
        .write(&path, &readable, 0o644, Durability::Synced)?;
    site.notices.tell(format!(
        "{} has lines with which git reads no ref at all; they are removed, and the file as it was is kept as {}",
        path.display(),
        kept.display()
    ));
    Ok(())
}

/// Returns the lines that git reads: the header, refs, and after each of these what its tag points to.
fn readable(packed: &[u8]) -> Vec<u8> {
    let (mut kept, mut is_after_ref) = (Vec::with_capacity(packed.len()), false);
    for (number, line) in packed.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let is_ref = is_ref(line);
        let is_header = number == 0 && line.starts_with(b"#");
        let is_peeled = is_after_ref && line.strip_prefix(b"^").is_some_and(is_oid);
        if is_header || is_ref || is_peeled {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
        is_after_ref = is_ref;
    }
    kept
}

/// Returns whether a line has an object and a name that leads to no other place.
fn is_ref(line: &[u8]) -> bool {
    let mut words = line.splitn(2, |byte| *byte == b' ');
    let (Some(oid), Some(name)) = (words.next(), words.next()) else {
        return false;
    };
    let mut parts = name.split(|byte| *byte == b'/');
    let is_whole = parts.next() == Some(b"refs") && name.len() > b"refs/".len();
    let is_top = !name.is_empty() && name.iter().all(|c| c.is_ascii_uppercase() || *c == b'_');
    is_oid(oid) && (is_top || is_whole && parts.all(|part| !matches!(part, b"" | b"." | b"..")))
}

fn is_oid(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| Oid::parse(text).is_some())
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
        assert_eq!(readable(good.as_bytes()), good.as_bytes());
        let bad = [
            "garbage".to_owned(),
            format!("{oid} refs/heads/../../x"),
            format!("{oid} refs/heads//x\n^{oid}"),
            format!("{oid} lower"),
            "# later".to_owned(),
            format!("^{oid}"),
            oid.clone(),
        ];
        for line in bad {
            let text = format!("{good}{line}\n");
            assert_eq!(readable(text.as_bytes()), good.as_bytes(), "{line}");
        }
        assert_eq!(readable(good.trim_end().as_bytes()), good.as_bytes());
    }
}
