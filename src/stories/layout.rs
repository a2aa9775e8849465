//! Finds the story list of a change in the places where tools for changes keep their lists.
//!
//! A layout is a rule for paths; the adapters read the files. Nothing is guessed: two lists for one name are an error
//! that names both, and no list is an error that names the places searched.
//!
//! This module must not know how a list is read.

use std::path::{Component, Path, PathBuf};

use super::file::directories_with;
use super::{Adapter, Commands, Grouping, Source, SourceError, candidates, dated, openspec, prd};

/// The user's choice of the source of a change.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// `<path>[#item|#group]`, relative to the top of the repository or absolute.
    pub stories: Option<String>,
    /// The current directory, relative to the top.
    pub below_top: PathBuf,
    /// The name of an adapter.
    pub adapter: Option<String>,
    /// The commands of the command adapter; none when no command lists stories.
    pub commands: Option<Commands>,
}

/// A place where a tool for changes keeps its stories.
struct Layout {
    adapter: Adapter,
    grouping: Grouping,
    /// The story file of a change, relative to the top.
    path: fn(top: &Path, change: &str) -> String,
    /// The changes that have such a file.
    changes: fn(top: &Path) -> Vec<String>,
}

/// Every layout that has one directory per change.
const LAYOUTS: &[Layout] = &[
    Layout {
        adapter: Adapter::Openspec,
        grouping: Grouping::Auto,
        path: openspec::tasks_path,
        changes: openspec::changes,
    },
    // spec-kit
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Auto,
        path: |_, change| format!("specs/{change}/tasks.md"),
        changes: |top| directories_with(top, "specs", "tasks.md"),
    },
    // Kiro works on one outermost box at a time, whatever the headings above it.
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Item,
        path: |_, change| format!(".kiro/specs/{change}/tasks.md"),
        changes: |top| directories_with(top, ".kiro/specs", "tasks.md"),
    },
    // Agent OS, whose lists have one numbered box for each part.
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Item,
        path: |top, change| dated::spec(top, ".agent-os/specs", change),
        changes: |top| dated::specs(top, ".agent-os/specs"),
    },
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Item,
        path: |top, change| dated::spec(top, "agent-os/specs", change),
        changes: |top| dated::specs(top, "agent-os/specs"),
    },
];

/// Returns the changes of the repository at `top` that have a list of stories in a known place, sorted.
#[must_use]
pub fn changes(top: &Path) -> Vec<String> {
    let layouts: Vec<&Layout> = LAYOUTS.iter().collect();
    known_changes(top, &layouts, &prd::found(top))
}

/// Returns the `prd.json` files of the repository at `top` that belong to no change, and why.
#[must_use]
pub fn passed_over(top: &Path) -> Vec<String> {
    prd::found(top).iter().filter_map(prd::Found::why_not).collect()
}

/// Returns the error for a repository without a list in a known place, where no change is named.
#[must_use]
pub fn none_found(top: &Path) -> SourceError {
    let looked_for = LAYOUTS.iter().map(|layout| (layout.path)(top, "<change>"));
    let others = [prd::places("<change>"), dated::place_of_plan("<change>")];
    SourceError::NoLists {
        looked_for: looked_for.chain(others).collect(),
        passed_over: passed_over(top),
        checklist: candidates::checklist(top),
    }
}

/// Finds the source of `change` in the repository at `top`.
///
/// A given path need not exist. Without one, the known layouts are tried, or only those of the adapter if one
/// was given. `change` must be a valid change name.
///
/// # Errors
/// If the adapter is unknown, the command adapter has no command, or there is no list for `change`, or more than one.
pub fn resolve(top: &Path, change: &str, wanted: &Wanted) -> Result<Source, SourceError> {
    let adapter = wanted.adapter.as_deref().map(Adapter::named).transpose()?;
    match (&wanted.stories, adapter) {
        (_, Some(Adapter::Command)) => {
            let commands = wanted.commands.clone().ok_or(SourceError::NoCommand)?;
            Ok(Source {
                adapter: Adapter::Command,
                path: commands.stories.clone(),
                grouping: Grouping::Auto,
                commands: Some(commands),
            })
        }
        (Some(spec), adapter) => given(top, change, spec, adapter),
        (None, adapter) => detect(top, change, &wanted.below_top, adapter),
    }
}

/// Returns a list given by `--stories`, relative to the directory `below_top`, with its path from the top.
///
/// # Errors
/// If there is such a list only from the top.
pub fn from_directory(top: &Path, below_top: &Path, spec: &str) -> Result<String, SourceError> {
    let (path, _) = Grouping::split(spec);
    if below_top == Path::new("") || Path::new(path).is_absolute() {
        return Ok(spec.to_owned());
    }
    let from_top = tidy(&below_top.join(spec));
    let (there, _) = Grouping::split(&from_top);
    if !top.join(there).exists() && top.join(path).exists() {
        let up = below_top.components().map(|_| "../").collect::<String>();
        return Err(SourceError::FromTop {
            path: there.to_owned(),
            from_here: format!("{up}{spec}"),
        });
    }
    Ok(from_top)
}

/// Returns a relative path without `.` and without `..` behind a name.
fn tidy(path: &Path) -> String {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let path: PathBuf = parts.iter().collect();
    path.to_string_lossy().into_owned()
}

fn given(top: &Path, change: &str, spec: &str, adapter: Option<Adapter>) -> Result<Source, SourceError> {
    let (path, grouping) = Grouping::split(spec);
    let ending = Path::new(path).extension().and_then(|end| end.to_str());
    if adapter.is_none() && matches!(ending, Some("jsonl" | "ndjson")) {
        return Err(SourceError::NoChecklist {
            path: path.to_owned(),
        });
    }
    let layout = LAYOUTS.iter().find(|layout| {
        (layout.path)(top, change) == path && adapter.is_none_or(|given| given == layout.adapter)
    });
    let by_name = || match ending {
        Some("json") => Adapter::Prd,
        _ if openspec::is_of_change(path) => Adapter::Openspec,
        _ => Adapter::Markdown,
    };
    Ok(Source {
        adapter: adapter
            .or(layout.map(|layout| layout.adapter))
            .unwrap_or_else(by_name),
        path: outside(top, path).unwrap_or_else(|| path.to_owned()),
        grouping: match (grouping, layout) {
            (Grouping::Auto, Some(layout)) => layout.grouping,
            _ => grouping,
        },
        commands: None,
    })
}

/// Returns the absolute path that a path means which itself leads out of the repository: whoever types it means that
/// file. A link that leads out is another matter.
fn outside(top: &Path, path: &str) -> Option<String> {
    let mut depth = 0_i32;
    let leads_out = Path::new(path).components().any(|part| {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        depth < 0
    });
    let joined = top.join(path);
    let dir = joined.parent().filter(|_| leads_out)?.canonicalize().ok()?;
    Some(dir.join(joined.file_name()?).to_str()?.to_owned())
}

fn detect(
    top: &Path,
    change: &str,
    below_top: &Path,
    adapter: Option<Adapter>,
) -> Result<Source, SourceError> {
    let layouts: Vec<&Layout> = LAYOUTS
        .iter()
        .filter(|layout| adapter.is_none_or(|wanted| wanted == layout.adapter))
        .collect();
    let files = match adapter {
        None | Some(Adapter::Prd) => prd::found(top),
        Some(_) => Vec::new(),
    };
    let mut hits: Vec<Source> = layouts
        .iter()
        .map(|layout| file(layout.adapter, (layout.path)(top, change), layout.grouping))
        .filter(|source| top.join(&source.path).exists())
        .collect();
    let named = files.iter().filter(|found| found.is_of(change));
    hits.extend(named.map(|found| file(Adapter::Prd, found.path.to_owned(), Grouping::Auto)));
    let openspec = adapter.is_none_or(|wanted| wanted == Adapter::Openspec);
    if openspec && let Some(path) = openspec::nearest(top, below_top, change) {
        hits.push(file(Adapter::Openspec, path, Grouping::Auto));
    }
    if hits.is_empty() && openspec {
        let archived = openspec::archived(top, change).into_iter();
        hits.extend(archived.map(|path| file(Adapter::Openspec, path, Grouping::Auto)));
    }
    let markdown = adapter.is_none_or(|wanted| wanted == Adapter::Markdown);
    if hits.is_empty() && markdown {
        hits.extend(dated::plan(top, change).map(|path| file(Adapter::Markdown, path, Grouping::Auto)));
    }
    match hits.len() {
        0 => {
            let looked_for = layouts.iter().map(|layout| (layout.path)(top, change));
            let prds = (adapter.is_none() || adapter == Some(Adapter::Prd)).then(|| prd::places(change));
            Err(SourceError::NoStories {
                change: change.to_owned(),
                looked_for: looked_for
                    .chain(prds)
                    .chain(markdown.then(|| dated::place_of_plan(change)))
                    .collect(),
                checklist: candidates::checklist(top),
                changes: known_changes(top, &layouts, &files),
                passed_over: files
                    .iter()
                    .filter_map(prd::Found::why_not)
                    .chain(openspec::several(top, change).filter(|_| openspec))
                    .collect(),
            })
        }
        1 => Ok(hits.remove(0)),
        _ => Err(SourceError::Ambiguous {
            change: change.to_owned(),
            paths: hits.into_iter().map(|source| source.path).collect(),
        }),
    }
}

fn file(adapter: Adapter, path: String, grouping: Grouping) -> Source {
    Source {
        adapter,
        path,
        grouping,
        commands: None,
    }
}

fn known_changes(top: &Path, layouts: &[&Layout], files: &[prd::Found]) -> Vec<String> {
    let mut changes: Vec<String> = layouts.iter().flat_map(|layout| (layout.changes)(top)).collect();
    changes.extend(files.iter().filter_map(prd::Found::change));
    changes.sort();
    changes.dedup();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::advice::Advise;
    use std::fs;

    fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        top
    }

    fn find(
        top: &Path,
        change: &str,
        stories: Option<&str>,
        adapter: Option<&str>,
    ) -> Result<Source, SourceError> {
        let wanted = Wanted {
            stories: stories.map(str::to_owned),
            below_top: PathBuf::new(),
            adapter: adapter.map(str::to_owned),
            commands: None,
        };
        resolve(top, change, &wanted)
    }

    #[test]
    fn a_given_path_is_read_by_its_layout_or_its_name() {
        let kind = |spec: &str, adapter: Option<&str>| {
            let source = find(Path::new("/nowhere"), "c", Some(spec), adapter).unwrap();
            (source.adapter, source.path, source.grouping)
        };
        let of = |adapter, path: &str, grouping| (adapter, path.to_owned(), grouping);
        assert_eq!(
            kind("TODO.md#item", None),
            of(Adapter::Markdown, "TODO.md", Grouping::Item)
        );
        assert_eq!(
            kind("a/b.json", None),
            of(Adapter::Prd, "a/b.json", Grouping::Auto)
        );
        let tasks = "openspec/changes/c/tasks.md";
        assert_eq!(kind(tasks, None), of(Adapter::Openspec, tasks, Grouping::Auto));
        assert_eq!(
            kind(tasks, Some("markdown")),
            of(Adapter::Markdown, tasks, Grouping::Auto)
        );
        let kiro = ".kiro/specs/c/tasks.md";
        assert_eq!(kind(kiro, None), of(Adapter::Markdown, kiro, Grouping::Item));
        assert_eq!(
            kind(".kiro/specs/c/tasks.md#group", None),
            of(Adapter::Markdown, kiro, Grouping::Group)
        );
    }

    #[test]
    fn each_layout_is_found_by_the_name_of_the_change() {
        let top = repository(&[
            ("openspec/changes/a/tasks.md", "- [ ] x\n"),
            ("specs/b/tasks.md", "- [ ] x\n"),
            (".kiro/specs/c/tasks.md", "- [ ] x\n"),
            (
                "scripts/ralph/prd.json",
                r#"{"branchName":"ralph/d","userStories":[]}"#,
            ),
        ]);
        for (change, adapter, path) in [
            ("a", Adapter::Openspec, "openspec/changes/a/tasks.md"),
            ("b", Adapter::Markdown, "specs/b/tasks.md"),
            ("c", Adapter::Markdown, ".kiro/specs/c/tasks.md"),
            ("d", Adapter::Prd, "scripts/ralph/prd.json"),
        ] {
            let source = find(top.path(), change, None, None).unwrap();
            assert_eq!((source.adapter, source.path.as_str()), (adapter, path));
        }
        assert_eq!(changes(top.path()), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_list_with_a_date_is_found_by_the_name_behind_it() {
        let top = repository(&[
            (".agent-os/specs/2026-01-02-a/tasks.md", ""),
            (".agent-os/specs/2026-03-02-a/tasks.md", ""),
            (".agent-os/specs/2026-04-02-a/spec.md", ""),
            ("agent-os/specs/2026-01-02-b/tasks.md", ""),
            ("docs/plans/2026-01-02-c.md", ""),
            ("docs/plans/2026-01-02-c-design.md", ""),
            ("docs/plans/2026-05-05-a.md", ""),
        ]);
        for (change, path, grouping) in [
            ("a", ".agent-os/specs/2026-03-02-a/tasks.md", Grouping::Item),
            ("b", "agent-os/specs/2026-01-02-b/tasks.md", Grouping::Item),
            ("c", "docs/plans/2026-01-02-c.md", Grouping::Auto),
            ("c-design", "docs/plans/2026-01-02-c-design.md", Grouping::Auto),
        ] {
            let source = find(top.path(), change, None, None).unwrap();
            assert_eq!((source.path.as_str(), source.grouping), (path, grouping));
        }
        assert_eq!(changes(top.path()), ["a", "b"]);
        let words = find(top.path(), "d", None, None).unwrap_err().to_string();
        for place in [".agent-os/specs/*d/tasks.md", "docs/plans/*d.md"] {
            assert!(words.contains(place), "{place} is missing from {words}");
        }
    }

    #[test]
    fn two_lists_for_one_name_are_told_and_one_can_be_named() {
        let top = repository(&[
            ("openspec/changes/a/tasks.md", ""),
            ("specs/a/tasks.md", ""),
            ("prd.json", r#"{"branchName":"a","stories":[]}"#),
        ]);
        let error = find(top.path(), "a", None, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "more than one story file found for change 'a': openspec/changes/a/tasks.md, specs/a/tasks.md, prd.json"
        );
        let source = find(top.path(), "a", None, Some("prd")).unwrap();
        assert_eq!(source.path, "prd.json");
    }

    #[test]
    fn what_was_looked_for_and_what_was_passed_over_is_told() {
        let top = repository(&[
            ("openspec/changes/b/tasks.md", ""),
            ("specs/a/tasks.md", ""),
            ("prd.json", "{\n  \"stories\": [}"),
            (".ralph/prd.json", r#"{"branchName":"test/x","stories":[]}"#),
            ("scripts/ralph/prd.json", "[]"),
        ]);
        let error = find(top.path(), "c", None, None).unwrap_err();
        let words = error.to_string();
        let hint = error.advice().hint.unwrap();
        assert!(hint.contains("changes found: a, b"), "{hint}");
        for part in [
            "no stories found for change 'c'\n  looked for, in this order:\n    openspec/changes/c/tasks.md\n    specs/c/tasks.md\n    .kiro/specs/c/tasks.md\n",
            "prd.json cannot be read (it is not valid JSON at line 2, column 15: expected value)",
            ".ralph/prd.json is for the branch test/x",
            "scripts/ralph/prd.json names no branch",
        ] {
            assert!(words.contains(part), "{part:?} is missing from {words}");
        }
        let error = find(top.path(), "b", None, Some("prose")).unwrap_err();
        assert!(matches!(error, SourceError::UnknownAdapter { .. }));
        let error = find(top.path(), "b", None, Some("command")).unwrap_err();
        assert!(matches!(error, SourceError::NoCommand));
    }

    #[test]
    fn a_path_below_an_openspec_directory_is_of_openspec() {
        let adapter = |path: &str| {
            find(Path::new("/nowhere"), "c", Some(path), None)
                .unwrap()
                .adapter
        };
        for path in [
            "docs/openspec/changes/x/tasks.md",
            "openspec/changes/other/plan.md",
            "openspec/changes/archive/2026-01-01-x/tasks.md",
            "/abs/openspec/changes/x/tasks.md",
        ] {
            assert_eq!(adapter(path), Adapter::Openspec, "{path}");
        }
        for path in [
            "docs/openspec/tasks.md",
            "myopenspec/changes/x/tasks.md",
            "openspec/changes/tasks.md",
        ] {
            assert_eq!(adapter(path), Adapter::Markdown, "{path}");
        }
        assert_eq!(adapter("openspec/changes/x/prd.json"), Adapter::Prd);
    }

    #[test]
    fn the_nearest_openspec_above_is_looked_at_too() {
        let top = repository(&[
            ("docs/openspec/changes/a/tasks.md", ""),
            ("docs/deep/openspec/changes/b/tasks.md", ""),
        ]);
        let found = |change: &str, below_top: &str| {
            let wanted = Wanted {
                below_top: below_top.into(),
                ..Wanted::default()
            };
            resolve(top.path(), change, &wanted).map(|source| source.path)
        };
        assert!(found("a", "").is_err());
        for below_top in ["docs", "docs/other/dir"] {
            assert_eq!(found("a", below_top).unwrap(), "docs/openspec/changes/a/tasks.md");
        }
        assert_eq!(
            found("b", "docs/deep").unwrap(),
            "docs/deep/openspec/changes/b/tasks.md"
        );
        assert!(found("a", "docs/deep").is_err(), "another one is nearer");
    }

    #[test]
    fn a_list_of_several_files_is_told() {
        let change = "openspec/changes/c";
        let top = repository(&[
            (
                "openspec/schemas/many/schema.yaml",
                "apply:\n  tracks: '**/tasks.md'\n",
            ),
            ("openspec/config.yaml", "schema: many\n"),
            (&format!("{change}/api/tasks.md"), ""),
            (&format!("{change}/ui/tasks.md"), ""),
            (&format!("{change}/ui/notes.md"), ""),
        ]);
        let words = find(top.path(), "c", None, None).unwrap_err().to_string();
        let told = "the schema of the change tracks '**/tasks.md', which are several lists: openspec/changes/c/api/tasks.md, openspec/changes/c/ui/tasks.md";
        assert!(words.contains(told), "{words}");
    }

    #[test]
    fn an_archived_change_is_found_when_nothing_else_has_its_name() {
        let archived = "openspec/changes/archive/2026-01-02-a/tasks.md";
        let top = repository(&[(archived, "- [x] x\n")]);
        for name in ["a", "2026-01-02-a"] {
            let source = find(top.path(), name, None, None).unwrap();
            assert_eq!(
                (source.adapter, source.path.as_str()),
                (Adapter::Openspec, archived)
            );
        }
        assert!(find(top.path(), "02-a", None, None).is_err());
    }
}
