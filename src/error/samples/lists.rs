//! Samples of the errors of story lists.

use std::io;

use super::{change, full, gone, list, path, words};
use crate::stories::{Reader, SourceError};

pub(super) fn source() -> Vec<SourceError> {
    vec![
        SourceError::UnknownAdapter {
            name: "markdwon".to_owned(),
            change: Some("add-login".to_owned()),
            verb: Reader::Run,
        },
        SourceError::NoCommand,
        SourceError::CommandFailed {
            key: "ralph.storiesCommand",
            command: "bd list --json".to_owned(),
            how: "exit code 1\n  no database".to_owned(),
        },
        SourceError::Malformed {
            path: "prd.json".to_owned(),
            cause: "line 3 column 5: expected a comma".to_owned(),
        },
        SourceError::Utf16 {
            path: "openspec/changes/add-login/tasks.md".to_owned(),
        },
        SourceError::Unmarkable {
            path: "prd.json".to_owned(),
            line: 3,
        },
        SourceError::NoStories {
            change: "add-logn".to_owned(),
            looked_for: words(&["openspec/changes/add-logn/tasks.md", "prd.json"]),
            changes: words(&["add-login"]),
            passed_over: Vec::new(),
            checklist: None,
            verb: Reader::Start,
        },
        SourceError::NoStories {
            change: "todo".to_owned(),
            looked_for: words(&["openspec/changes/todo/tasks.md"]),
            changes: Vec::new(),
            passed_over: words(&["prd.json cannot be read (expected value at line 3 column 1)"]),
            checklist: Some("to do.md".into()),
            verb: Reader::Start,
        },
        SourceError::NoLists {
            looked_for: words(&["openspec/changes/<change>/tasks.md"]),
            passed_over: Vec::new(),
            checklist: Some("TODO.md".into()),
            verb: Reader::Run,
        },
        SourceError::Ambiguous {
            change: change(),
            paths: words(&["specs/add-login/tasks.md", "prd.json"]),
        },
        SourceError::Missing { path: list() },
        gone(Some("0123456789".to_owned())),
        gone(None),
        SourceError::FromTop {
            path: "docs/TODO.md".to_owned(),
            from_here: "../TODO.md#item".to_owned(),
        },
        SourceError::NoChecklist {
            path: "issues.jsonl".to_owned(),
        },
        SourceError::Directory { path: list() },
        SourceError::NotRegular { path: list() },
        SourceError::TooLarge {
            path: list(),
            limit: 16_777_216,
        },
        SourceError::Unreadable {
            path: list(),
            cause: io::ErrorKind::PermissionDenied.into(),
        },
        SourceError::Outside {
            path: list(),
            target: path("/other/tasks.md"),
        },
        SourceError::Untickable {
            path: list(),
            line: 3,
        },
        SourceError::Unwritable {
            path: list(),
            cause: full(),
        },
        SourceError::Overwritten { path: list() },
    ]
}
