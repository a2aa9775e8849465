//! Large files of git-lfs: the blob is a pointer (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>), and the
//! content is in a directory beside git's objects.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::discover::Repo;
use super::error::GitError;
use super::foreign::batch;
use crate::fs::target_of;
use crate::names::Oid;

/// Maximum size of a pointer in bytes.
const MOST: u64 = 1024;

impl Repo {
    /// Returns the local content files of the blobs that are pointers. Two processes.
    pub async fn large_files(&self, blobs: &[Oid]) -> Result<BTreeMap<Oid, PathBuf>, GitError> {
        let kinds = self.git.kinds_of(blobs).await?;
        let is_small = |kind: &Option<_>| kind.as_ref().is_some_and(|kind: &super::Kind| kind.size < MOST);
        let pointers = blobs.iter().zip(&kinds).filter(|(_, kind)| is_small(kind));
        let pointers: Vec<Oid> = pointers.map(|(blob, _)| blob.clone()).collect();
        let mut found = BTreeMap::new();
        for (blob, content) in self.git.contents(&pointers).await? {
            if let Some((name, size)) = pointer(&content) {
                let file = self
                    .common_dir
                    .join("lfs/objects")
                    .join(&name[..2])
                    .join(&name[2..4])
                    .join(&name);
                if target_of(&file)?.is_some_and(|file| file.is_file() && file.len() == size) {
                    found.insert(blob, file);
                }
            }
        }
        Ok(found)
    }
}

impl super::Git {
    /// Returns the contents of the existing ones of these blobs, in one process.
    pub async fn contents(&self, blobs: &[Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, GitError> {
        if blobs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let output = self.ask_about(blobs, "--batch").bytes().await?;
        let blobs = batch(&output).map(|(oid, _, content)| (oid, content.to_vec()));
        Ok(blobs.collect())
    }
}

/// Reads a pointer: the SHA-256 of the content, and its size in bytes.
fn pointer(blob: &[u8]) -> Option<(String, u64)> {
    let text = std::str::from_utf8(blob).ok()?;
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
    };
    let name = value("oid")?.strip_prefix("sha256:")?;
    let is_name = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_pointer = is_name && value("version")?.contains("git-lfs");
    Some((
        name.to_owned(),
        value("size")?.parse().ok().filter(|_| is_pointer)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::pointer;

    #[test]
    fn pointer_is_told_from_other_texts() {
        let name = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize 12345\n");
        assert_eq!(pointer(text.as_bytes()), Some((name.to_owned(), 12345)));
        for other in [
            String::new(),
            text.replace("git-lfs", "other"),
            text.replace("4d7a", "../a"),
            text.replace("12345", "-1"),
            text.replace("sha256", "sha1"),
            text.replace("size", "length"),
        ] {
            assert_eq!(pointer(other.as_bytes()), None, "{other}");
        }
    }
}
