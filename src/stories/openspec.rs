//! The directories of `OpenSpec` changes.
//!
//! A change is a directory below `openspec/changes`; its stories are the boxes of its `tasks.md`, or of the file named
//! by `apply.tracks` of its schema. Finished changes are in `openspec/changes/archive`. The schema of a change is named
//! by its `.openspec.yaml`, else by `openspec/config.yaml`.
//!
//! This module does not know how a list of tasks is read.

use std::path::Path;

use super::file::{self, directories};
use super::yaml::text_at;
use crate::fs::{may_exist, seen_itself};

const CHANGES: &str = "openspec/changes";
const ARCHIVE: &str = "archive";
const TASKS: &str = "tasks.md";

/// Length of `YYYY-MM-DD-`, the prefix of an archived change's name.
const DATE: usize = 11;

/// Returns the path of the story file of `change`, relative to the top of the repository; it need not exist.
pub fn tasks_path(top: &Path, change: &str) -> String {
    in_directory(top, &format!("{CHANGES}/{change}"))
}

/// Returns the changes of the repository at `top` that have a story file, sorted.
///
/// Omits names that are not UTF-8 and files that cannot be read.
pub fn changes(top: &Path) -> Vec<String> {
    directories(&top.join(CHANGES))
        .into_iter()
        .filter(|name| name != ARCHIVE && may_exist(&top.join(tasks_path(top, name))))
        .collect()
}

/// Returns the story files of archived changes named `change`, with or without their date.
pub fn archived(top: &Path, change: &str) -> Vec<String> {
    let archive = format!("{CHANGES}/{ARCHIVE}");
    directories(&top.join(&archive))
        .into_iter()
        .filter(|name| name == change || without_date(name) == Some(change))
        .map(|name| in_directory(top, &format!("{archive}/{name}")))
        .filter(|path| may_exist(&top.join(path)))
        .collect()
}

/// Finds the story file at `path` after its change was archived: the latest with its name.
pub fn moved(top: &Path, path: &str) -> Option<String> {
    let (root, change) = split(path)?;
    let moved = archived(&top.join(root), change).pop()?;
    Some(format!("{root}{moved}"))
}

/// Returns the path of a story file before its change was archived, if it is in the archive.
pub fn before_archive(path: &str) -> Option<String> {
    let (root, archived) = path.split_once(&format!("{CHANGES}/{ARCHIVE}/"))?;
    let (name, file) = archived.split_once('/')?;
    let name = without_date(name).unwrap_or(name);
    Some(format!("{root}{CHANGES}/{name}/{file}"))
}

/// Returns the story file of `change` in the nearest `OpenSpec` above a directory below the top.
pub fn nearest(top: &Path, below_top: &Path, change: &str) -> Option<String> {
    let above = below_top.ancestors().filter(|dir| *dir != Path::new(""));
    let root = above
        .into_iter()
        .find(|dir| may_exist(&top.join(dir).join(CHANGES)))?;
    let path = root.join(tasks_path(&top.join(root), change));
    let path = path.to_str().filter(|path| may_exist(&top.join(path)))?;
    Some(path.to_owned())
}

/// Returns whether a path is that of a file of a change.
pub fn is_of_change(path: &str) -> bool {
    split(path).is_some()
}

/// Splits the path of a change's file into the part above its `openspec` directory and the change's name, which begins
/// with the archive's if the file is there.
fn split(path: &str) -> Option<(&str, &str)> {
    let starts = path.match_indices(CHANGES).map(|(at, _)| at);
    let is_whole = |at: &usize| {
        path.get(..*at)
            .is_some_and(|root| root.is_empty() || root.ends_with('/'))
    };
    let start = starts.filter(is_whole).last()?;
    let root = path.get(..start)?;
    let (change, file) = path
        .get(start + CHANGES.len()..)?
        .strip_prefix('/')?
        .split_once('/')?;
    (!change.is_empty() && !file.is_empty()).then_some((root, change))
}

/// Describes the file that the schema of `change` tracks and the files that match it, if it is not one plain file.
pub fn several(top: &Path, change: &str) -> Option<String> {
    let dir = format!("{CHANGES}/{change}");
    let pattern = tracked(top, &dir).filter(|path| !is_plain(path))?;
    let (_, name) = pattern.rsplit_once('/').unwrap_or(("", &pattern));
    let mut found = Vec::new();
    files_named(top, &dir, name, &mut found);
    (!found.is_empty()).then(|| {
        format!(
            "the schema of the change tracks '{pattern}', which are several lists: {}",
            found.join(", ")
        )
    })
}

/// Finds the files below `dir` whose name matches `pattern`, in which one `*` matches any text.
fn files_named(top: &Path, dir: &str, pattern: &str, found: &mut Vec<String>) {
    let is_named = |name: &str| match pattern.split_once('*') {
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
        None => name == pattern,
    };
    for name in directories(&top.join(dir)) {
        let path = format!("{dir}/{name}");
        match seen_itself(&top.join(&path)) {
            Some(is) if is.is_dir() => files_named(top, &path, pattern, found),
            Some(is) if is.is_file() && is_named(&name) => found.push(path),
            _ => {}
        }
    }
}

pub(super) fn without_date(name: &str) -> Option<&str> {
    let (date, name) = name.split_at_checked(DATE)?;
    let is_date = date.char_indices().all(|(at, c)| match at {
        4 | 7 | 10 => c == '-',
        _ => c.is_ascii_digit(),
    });
    is_date.then_some(name)
}

/// Returns the story file of the change in `dir`: the one that its schema tracks, if that is one plain file.
fn in_directory(top: &Path, dir: &str) -> String {
    let tracked = tracked(top, dir).filter(|path| is_plain(path));
    format!("{dir}/{}", tracked.as_deref().unwrap_or(TASKS))
}

/// Returns the path or pattern that the schema of the change in `dir` tracks.
fn tracked(top: &Path, dir: &str) -> Option<String> {
    let name = schema(top, dir)?;
    let schema = top.join("openspec/schemas").join(name).join("schema.yaml");
    read(&schema, &["apply", "tracks"])
}

fn schema(top: &Path, dir: &str) -> Option<String> {
    let of = |path: &Path| read(path, &["schema"]);
    of(&top.join(dir).join(".openspec.yaml"))
        .or_else(|| of(&top.join("openspec/config.yaml")))
        .filter(|name| is_plain(name))
}

/// Returns whether a path stays in its directory and names one file.
fn is_plain(path: &str) -> bool {
    let inside = Path::new(path)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    inside && !path.is_empty() && !path.contains(['*', '?', '[', '{'])
}

/// Returns the text at these keys of a YAML file, if readable; `OpenSpec` itself reports errors in it.
fn read(path: &Path, keys: &[&str]) -> Option<String> {
    let bytes = file::read(path, "").ok()?;
    text_at(str::from_utf8(&bytes).ok()?, keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(top: &Path, path: &str, text: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn lists_changes_with_tasks_sorted_and_without_the_archive() {
        let top = tempfile::tempdir().unwrap();
        for change in ["zebra", "apple", "archive", "archive/2020-01-01-old"] {
            write(top.path(), &format!("{CHANGES}/{change}/tasks.md"), "- [ ] x\n");
        }
        fs::create_dir(top.path().join(CHANGES).join("only-proposed")).unwrap();
        write(top.path(), "openspec/changes/README.md", "");

        assert_eq!(changes(top.path()), ["apple", "zebra"]);
    }

    #[test]
    fn a_repository_without_openspec_has_no_changes() {
        let top = tempfile::tempdir().unwrap();
        assert!(changes(top.path()).is_empty());
    }

    #[test]
    fn the_schema_of_a_change_names_the_file_that_it_tracks() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        let schema = |tracks: &str| {
            let text = format!(
                "name: mine\nversion: 1\nartifacts:\n  - id: plan\n    generates: plan.md\napply:\n  requires: [plan]\n{tracks}"
            );
            write(top, "openspec/schemas/mine/schema.yaml", &text);
        };
        schema("  tracks: plan.md\n");
        assert_eq!(tasks_path(top, "c"), "openspec/changes/c/tasks.md");
        write(top, "openspec/config.yaml", "context: |\n  tabs\nschema: mine\n");
        assert_eq!(tasks_path(top, "c"), "openspec/changes/c/plan.md");
        write(
            top,
            "openspec/changes/c/.openspec.yaml",
            "schema: spec-driven\ncreated: 2026-01-02\n",
        );
        assert_eq!(tasks_path(top, "c"), "openspec/changes/c/tasks.md");
        write(top, "openspec/changes/c/.openspec.yaml", "schema: mine\n");
        write(top, "openspec/changes/c/plan.md", "- [ ] x\n");
        assert_eq!(changes(top), ["c"]);
        for other in [
            "  tracks: 'tasks/*.md'\n",
            "  tracks: ../x.md\n",
            "  tracks: null\n",
            ": :\n",
        ] {
            schema(other);
            assert_eq!(tasks_path(top, "c"), "openspec/changes/c/tasks.md", "{other}");
        }
    }

    #[test]
    fn an_archived_change_is_the_latest_of_its_name() {
        let top = tempfile::tempdir().unwrap();
        for name in ["2025-01-01-a", "2026-01-01-a", "2026-01-01-b", "99-a"] {
            write(top.path(), &format!("{CHANGES}/archive/{name}/tasks.md"), "");
        }
        let path = "openspec/changes/archive/2026-01-01-a/tasks.md";
        assert_eq!(
            moved(top.path(), "openspec/changes/a/tasks.md").as_deref(),
            Some(path)
        );
        assert_eq!(moved(top.path(), "TODO.md"), None);
        assert_eq!(archived(top.path(), "a").len(), 2);
    }
}
