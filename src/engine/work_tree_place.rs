//! The work tree that a loop makes for itself: its change and its directory.

use std::path::{Component, Path, PathBuf};

use super::Context;
use crate::events::Notices;
use crate::fs::{FileError, entries_of, is_there, may_be_there, may_be_written, seen, target_of};
use crate::names::Change;
use crate::settings::Settings;

/// The place of a work tree that a loop makes for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// As configured (`ralph.worktreeDir`).
    Configured,
    /// This directory, relative to the current one.
    Named(PathBuf),
}

/// A change whose loop has a work tree of its own, or is to get one.
#[derive(Clone, Copy)]
pub(super) struct OwnTree<'a> {
    pub context: &'a Context<'a>,
    pub change: &'a Change,
    pub place: &'a Place,
    pub settings: &'a Settings,
}

impl Notices for OwnTree<'_> {
    fn tell(&self, message: String) {
        self.context.tell(self.change, message);
    }
}

/// Returns whether a work tree can be made in this directory: it is missing or empty.
pub(in crate::engine) fn is_free(top: &Path) -> Result<bool, FileError> {
    Ok(match target_of(top)? {
        Some(found) => found.is_dir() && entries_of(top)?.is_empty(),
        None => !is_there(top)?,
    })
}

/// Returns the directory for the work trees of loops; `main` is the main work tree.
pub(in crate::engine) fn configured(main: &Path, settings: &Settings) -> PathBuf {
    match &settings.worktree_dir {
        Some(dir) => real(&main.join(dir)),
        None => {
            let mut name = main.file_name().unwrap_or_default().to_owned();
            name.push(".ralph");
            real(&main.with_file_name(name))
        }
    }
}

/// Returns why no work tree can be made in the directory of `ralph.worktreeDir`; `main` is the main work tree.
pub fn unusable_place(main: &Path, settings: &Settings) -> Option<String> {
    settings.worktree_dir.as_ref()?;
    why_unusable(&configured(main, settings))
}

/// Returns why nothing can be made in a directory, which need not exist.
pub(super) fn why_unusable(dir: &Path) -> Option<String> {
    let above = dir.ancestors().find(|path| may_be_there(path))?;
    let why = match seen(above) {
        Some(found) if !found.is_dir() => "is no directory",
        Some(_) if may_be_written(above) => return None,
        Some(_) => "cannot be written",
        None => "cannot be reached",
    };
    Some(format!("{} {why}", above.display()))
}

/// Returns the path with symlinks resolved as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    let found = plain.ancestors().find_map(|above| {
        let rest = plain.strip_prefix(above).ok()?;
        let above = above.canonicalize().ok()?;
        Some(if rest.as_os_str().is_empty() {
            above
        } else {
            above.join(rest)
        })
    });
    found.unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_is_resolved_as_far_as_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        std::os::unix::fs::symlink(top.join("a/b"), top.join("link")).unwrap();
        for (path, is) in [
            ("link", "a/b"),
            ("link/../c/d", "a/c/d"),
            ("a/./none/../x", "a/x"),
            ("new/one", "new/one"),
        ] {
            assert_eq!(real(&top.join(path)), top.join(is), "{path}");
        }
    }

    #[test]
    fn work_trees_are_beside_the_main_one_unless_a_directory_is_set() {
        let mut settings = Settings::default();
        let main = Path::new("/none/of/these/repo");
        assert_eq!(
            configured(main, &settings),
            Path::new("/none/of/these/repo.ralph")
        );
        settings.worktree_dir = Some("../trees".to_owned());
        assert_eq!(configured(main, &settings), Path::new("/none/of/these/trees"));
        settings.worktree_dir = Some("/elsewhere/none".to_owned());
        assert_eq!(configured(main, &settings), Path::new("/elsewhere/none"));
    }

    #[test]
    fn work_tree_needs_an_unused_or_empty_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("full/empty")).unwrap();
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("none", at("nowhere")).unwrap();
        std::os::unix::fs::symlink("full/empty", at("link")).unwrap();
        for (name, free) in [
            ("none", true),
            ("full/empty", true),
            ("link", true),
            ("full", false),
            ("file", false),
            ("nowhere", false),
        ] {
            assert_eq!(is_free(&at(name)).unwrap(), free, "{name}");
        }
        is_free(&at(&"n".repeat(256))).unwrap_err();
    }
}
