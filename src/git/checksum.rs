//! The checksum at the end of an index file (gitformat-index(5)). Git writes it but does not check it when it reads an
//! index: git reads a truncated index as one with other entries.

use memchr::memmem;
use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::index_file::IndexFile;

impl IndexFile {
    /// Returns whether the index ends with its own checksum, or with zeros instead.
    pub fn is_whole(&self) -> bool {
        let (bytes, oid) = (self.bytes(), self.oid());
        let Some((body, sum)) = bytes.split_at_checked(bytes.len().saturating_sub(oid)) else {
            return false;
        };
        if sum.iter().all(|byte| *byte == 0) {
            // A file can also be truncated after zeros. A file that only git can read has one of these extensions.
            let only_git = [&b"link\0\0"[..], b"sdir\0\0\0\0"];
            return self.index().is_some() || only_git.iter().any(|name| memmem::find(body, name).is_some());
        }
        sum_of(body, oid).is_none_or(|right| right == sum)
    }
}

/// Returns the checksum of these bytes; `None` for an unknown length.
fn sum_of(body: &[u8], oid: usize) -> Option<Vec<u8>> {
    match oid {
        20 => Some(Sha1::digest(body).to_vec()),
        32 => Some(Sha256::digest(body).to_vec()),
        _ => None,
    }
}

/// Writes the checksum at the end of a changed index, unless it has zeros instead; returns whether the checksum is now
/// right.
pub(super) fn seal(index: &mut [u8], oid: usize) -> bool {
    let Some((body, sum)) = index.split_at_mut_checked(index.len().saturating_sub(oid)) else {
        return false;
    };
    if sum.iter().all(|byte| *byte == 0) {
        return true;
    }
    let right = sum_of(body, oid).filter(|right| right.len() == sum.len());
    right.is_some_and(|right| {
        sum.copy_from_slice(&right);
        true
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_index_that_was_cut_or_damaged_is_not_whole() {
        for (format, oid) in [("sha1", 20), ("sha256", 32)] {
            let dir = tempfile::tempdir().unwrap();
            let git = |args: &[&str]| {
                let git = crate::git::Git::at(dir.path());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let (verb, args) = args.split_first().unwrap();
                let verb: &'static str = verb.to_string().leak();
                runtime.unwrap().block_on(git.cmd(verb, args).done()).unwrap();
            };
            git(&["init", "-q", "--object-format", format]);
            for name in ["a", "b", "d", "longer.txt"] {
                fs::write(dir.path().join(name), name).unwrap();
            }
            git(&["add", "-A"]);
            let is_whole = |bytes: &[u8]| IndexFile::new(bytes.to_vec(), oid).is_whole();
            let bytes = fs::read(dir.path().join(".git/index")).unwrap();
            assert!(is_whole(&bytes));
            for end in 0..bytes.len() {
                assert!(!is_whole(&bytes[..end]), "{format}: cut to {end}");
                let mut flipped = bytes.clone();
                flipped[end] ^= 1;
                assert!(!is_whole(&flipped), "{format}: {end} flipped");
            }
            let mut without = bytes.clone();
            let sum = without.len() - oid;
            without[sum..].fill(0);
            assert!(is_whole(&without));
        }
    }
}
