//! Tests which list is found for a change, and what is said where none is.

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
fn error_names_two_lists_for_one_change_and_a_path_selects_one() {
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
fn error_lists_the_searched_and_the_skipped_places() {
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
        ".ralph/prd.json has the branchName test/x, not ralph/<change>",
        "scripts/ralph/prd.json has no branchName ralph/<change>",
    ] {
        assert!(words.contains(part), "{part:?} is missing from {words}");
    }
    let error = find(top.path(), "b", None, Some("prose")).unwrap_err();
    assert!(matches!(error, SourceError::UnknownAdapter { .. }));
    let error = find(top.path(), "b", None, Some("command")).unwrap_err();
    assert!(matches!(error, SourceError::NoCommand));
}

#[test]
fn path_below_an_openspec_directory_has_the_openspec_layout() {
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
fn search_includes_the_nearest_openspec_directory_above() {
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
fn error_reports_a_list_of_several_files() {
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
    let several = "the schema of the change tracks '**/tasks.md', which are several lists: openspec/changes/c/api/tasks.md, openspec/changes/c/ui/tasks.md";
    assert!(words.contains(several), "{words}");
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
