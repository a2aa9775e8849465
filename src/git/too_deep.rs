//! Directories whose paths are longer than the system allows: git cannot open them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::entries_of;

/// Returns whether git could not open directories only because their paths are longer than the system allows. Git
/// prints at most 4096 bytes of a message, which has no room for the reason.
pub(super) fn are_all_too_long(words: &str) -> bool {
    !words.contains("Permission denied")
        && words
            .lines()
            .filter(|line| line.contains("could not open directory"))
            .all(|line| line.len() > 4000 || line.ends_with("File name too long"))
}

/// Lists the directories with entries whose paths are longer than the system allows, each by as much of its own path as
/// a message can contain.
pub(super) fn too_deep(top: &Path) -> BTreeSet<Vec<u8>> {
    let (mut found, mut open) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(dir) = open.pop() {
        let entries = match entries_of(&top.join(&dir)) {
            Ok(entries) => entries,
            Err(error) if error.source.kind() == io::ErrorKind::InvalidFilename => {
                let mut shown = dir.ancestors().map(|dir| dir.as_os_str().as_encoded_bytes());
                found.extend(shown.find(|path| path.len() <= 255).map(<[u8]>::to_vec));
                continue;
            }
            Err(_) => continue,
        };
        let directories = entries
            .into_iter()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git");
        open.extend(directories.map(|entry| dir.join(entry.file_name())));
    }
    found
}
