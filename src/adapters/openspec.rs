//! Where `OpenSpec` keeps its changes.
//!
//! A change is a directory below `openspec/changes`, its stories are the boxes
//! of its `tasks.md`; `openspec/changes/archive` holds what is over.
//!
//! This module must not know how a `tasks.md` is read.

use std::path::Path;

const CHANGES: &str = "openspec/changes";
const ARCHIVE: &str = "archive";
const TASKS: &str = "tasks.md";

/// The story file of `change`, relative to the top of the repository.
#[must_use]
pub fn tasks_path(change: &str) -> String {
    format!("{CHANGES}/{change}/{TASKS}")
}

/// The changes of the repository at `top` that have a story file, sorted.
///
/// Names that are not UTF-8 and what cannot be read are left out.
#[must_use]
pub fn changes(top: &Path) -> Vec<String> {
    let mut changes: Vec<String> = std::fs::read_dir(top.join(CHANGES))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name != ARCHIVE && top.join(tasks_path(name)).exists())
        .collect();
    changes.sort();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lists_changes_with_tasks_sorted_and_without_the_archive() {
        let top = tempfile::tempdir().unwrap();
        for change in ["zebra", "apple", "archive", "archive/2020-old"] {
            fs::create_dir_all(top.path().join(CHANGES).join(change)).unwrap();
            fs::write(top.path().join(tasks_path(change)), "- [ ] x\n").unwrap();
        }
        fs::create_dir(top.path().join(CHANGES).join("only-proposed")).unwrap();
        fs::write(top.path().join(CHANGES).join("README.md"), "").unwrap();

        assert_eq!(changes(top.path()), ["apple", "zebra"]);
    }

    #[test]
    fn a_repository_without_openspec_has_no_changes() {
        let top = tempfile::tempdir().unwrap();
        assert!(changes(top.path()).is_empty());
    }
}
