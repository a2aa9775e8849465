mod lists;

use std::path::Path;

use self::lists::{ITEMS, OBJECTS, SECTIONS};
use super::*;
use crate::stories::{Adapter, Grouping, Source, Story};

/// The formats: name, list, adapter, grouping.
fn formats() -> Vec<(&'static str, String, Source)> {
    let source = |adapter, grouping| Source {
        adapter,
        path: "plan".to_owned(),
        grouping,
        commands: None,
    };
    let kiro = ITEMS.replace("# Plan", "# Plan\n\n## Tasks\n\n## More");
    vec![
        (
            "sections",
            SECTIONS.to_owned(),
            source(Adapter::Markdown, Grouping::Auto),
        ),
        (
            "openspec",
            SECTIONS.to_owned(),
            source(Adapter::Openspec, Grouping::Auto),
        ),
        (
            "items",
            ITEMS.to_owned(),
            source(Adapter::Markdown, Grouping::Auto),
        ),
        ("kiro", kiro, source(Adapter::Markdown, Grouping::Item)),
        ("passes", OBJECTS.to_owned(), source(Adapter::Prd, Grouping::Auto)),
        (
            "status",
            with_words(OBJECTS),
            source(Adapter::Prd, Grouping::Auto),
        ),
    ]
}

fn with_words(text: &str) -> String {
    let text = text.replace("\"passes\": false", "\"status\": \"todo\"");
    text.replace("\"passes\": true", "\"status\": \"done\"")
}

/// An edit of a list: in sections, in items, and in JSON; each replaces texts one after the other.
type Edit = (&'static str, [&'static [(&'static str, &'static str)]; 3]);

fn edited(format: &str, list: &str, edit: &Edit) -> String {
    let replace = |steps: &[(&str, &str)], text: &str| {
        let replace = |text: String, (from, to): &(&str, &str)| {
            assert!(text.contains(from), "{}: {from:?} in {text}", edit.0);
            text.replace(from, to)
        };
        steps.iter().fold(text.to_owned(), replace)
    };
    match format {
        "passes" => replace(edit.1[2], list),
        "status" => with_words(&replace(edit.1[2], OBJECTS)),
        "items" | "kiro" => replace(edit.1[1], list),
        _ => replace(edit.1[0], list),
    }
}

const ATTACKS: &[Edit] = &[
    (
        "ticks all",
        [&[("[ ]", "[x]")], &[("[ ]", "[x]")], &[("false", "true")]],
    ),
    (
        "unticks",
        [&[("[x]", "[ ]")], &[("[x]", "[ ]")], &[("true", "false")]],
    ),
    (
        "strikes",
        [
            &[("[ ] 2", "[-] 2")],
            &[("[ ] 2", "[~] 2")],
            &[("\"done\": false", "\"done\": \"skipped\"")],
        ],
    ),
    (
        "deletes a story",
        [
            &[(
                "## 2. b (after 1)\n- [ ] 2.1 b.txt has all ten lines\n- [ ]* 2.2 tests for it\n\n",
                "",
            )],
            &[(
                "- [ ] 2. b (after 1)\n  - [ ] 2.1 b.txt has all ten lines\n  - [ ]* 2.2 tests for it\n",
                "",
            )],
            &[
                (
                    "    { \"id\": \"3\", \"title\": \"c\", \"body\": \"Read this.\", \"passes\": true, \"acceptanceCriteria\": [] }\n",
                    "",
                ),
                ("] },\n  ]", "] }\n  ]"),
            ],
        ],
    ),
    (
        "rewords a title",
        [
            &[("2. b", "2. other")],
            &[("2. b", "2. other")],
            &[("\"b\"", "\"other\"")],
        ],
    ),
    (
        "drops a dependency",
        [
            &[(" (after 1)", "")],
            &[(" (after 1)", "")],
            &[(" \"dependsOn\": [\"1\"],", "")],
        ],
    ),
    ("rewords a box", [&[("has all ten lines", "exists")]; 3]),
    (
        "rewords the text of another",
        [&[("Read this.", "Skip this.")]; 3],
    ),
    (
        "rewords what stands above",
        [
            &[("Use make.", "Use nothing.")],
            &[("Use make.", "Use nothing.")],
            &[("\"p\"", "\"q\"")],
        ],
    ),
    (
        "drops a box",
        [
            &[("- [ ]* 2.2 tests for it\n", "")],
            &[("  - [ ]* 2.2 tests for it\n", "")],
            &[(", { \"text\": \"2.2 tests for it\", \"done\": false }", "")],
        ],
    ),
    (
        "drops a box of its own",
        [
            &[("- [ ] 1.1 a.txt\n", "")],
            &[("  - [ ] 1.1 a.txt\n", "")],
            &[("\"1.1 a.txt\", ", "")],
        ],
    ),
    ("rewords a box of its own", [&[("1.1 a.txt", "1.1 nothing")]; 3]),
    (
        "makes a box optional",
        [
            &[("[ ] 2.1", "[ ]* 2.1")],
            &[("[ ] 2.1", "[ ]* 2.1")],
            &[("\"dependsOn\": [\"1\"]", "\"dependsOn\": [\"9\"]")],
        ],
    ),
    (
        "hides the rest in a comment",
        [
            &[("## 2. b", "<!--\n## 2. b"), ("c.txt\n", "c.txt\n-->\n")],
            &[
                ("- [ ] 2. b", "<!--\n- [ ] 2. b"),
                ("Read this.\n", "Read this.\n-->\n"),
            ],
            &[("\"userStories\"", "\"stories\": [], \"userStories_\"")],
        ],
    ),
    (
        "hides the rest in a fence",
        [
            &[("## 2. b", "```\n## 2. b"), ("c.txt\n", "c.txt\n```\n")],
            &[
                ("- [ ] 2. b", "```\n- [ ] 2. b"),
                ("Read this.\n", "Read this.\n```\n"),
            ],
            &[
                ("\"project\": \"p\"", "\"userStories\": [], \"project\": \"p\""),
                ("  \"userStories\": [\n", "  \"old\": [\n"),
            ],
        ],
    ),
    (
        "hides the rest in an unended fence",
        [
            &[("## 2. b", "~~~\n## 2. b")],
            &[("- [ ] 2. b", "~~~\n- [ ] 2. b")],
            &[("{ \"id\": \"2\"", "{ \"id\": \"2")],
        ],
    ),
    (
        "hides the rest in HTML",
        [
            &[
                ("## 2. b", "<details>\n## 2. b"),
                ("c.txt\n", "c.txt\n</details>\n"),
            ],
            &[("- [ ] 2. b", "\n<details>\n- [ ] 2. b")],
            &[("{ \"id\": \"2\"", "{ \"id\": \"1\", \"id\": \"2\"")],
        ],
    ),
    (
        "regroups by a heading",
        [
            &[("## 2. b", "# Old\n\n## 2. b")],
            &[
                ("- [ ] 1. a", "## New\n- [ ] 1. a"),
                ("- [ ] 2. b", "## Old\n- [ ] 2. b\n  - [ ] more\n## Older\n"),
            ],
            &[("\"id\": \"2\"", "\"id\": \"1\"")],
        ],
    ),
    (
        "makes a story text",
        [
            &[("- [ ] 2.1", "- 2.1"), ("- [ ]* 2.2", "- 2.2")],
            &[("- [ ] 2. b", "- 2. b")],
            &[(
                "\"title\": \"b\"",
                "\"title\": \"b\", \"status\": \"done\", \"done\": true",
            )],
        ],
    ),
    (
        "swaps stories",
        [
            &[("## 2. b", "## X"), ("## 3. c", "## 2. b"), ("## X", "## 3. c")],
            &[("2. b", "X"), ("3. c", "2. b"), ("X", "3. c")],
            &[("\"id\": \"3\"", "\"priority\": 1, \"id\": \"3\"")],
        ],
    ),
    (
        "takes the id of another",
        [
            &[("## 1. a", "## 2. a")],
            &[("- [ ] 1. a", "- [ ] 2. a")],
            &[("\"id\": \"1\"", "\"id\": \"2\"")],
        ],
    ),
    (
        "adds done stories",
        [
            &[("## 2. b", "## 9. new\n- [x] 9.1 done\n\n## 2. b")],
            &[("- [ ] 2. b", "- [x] 9. new\n  - [x] 9.1 done\n- [ ] 2. b")],
            &[(
                "{ \"id\": \"2\"",
                "{ \"id\": \"9\", \"passes\": true },\n    { \"id\": \"2\"",
            )],
        ],
    ),
    (
        "breaks a box",
        [
            &[("- [ ] 2.1", "- [ ]: 2.1")],
            &[("- [ ] 2.1", "- [ ]: 2.1")],
            &[("\"id\": \"2\",", "\"id\": \"2\"")],
        ],
    ),
    (
        "empties it",
        [
            &[(SECTIONS, "")],
            &[("- [ ] ", ""), ("- [x] ", "")],
            &[(OBJECTS, "[]")],
        ],
    ),
];

const HONEST: &[Edit] = &[
    (
        "ticks its own",
        [
            &[("[ ] 1", "[x] 1")],
            &[("[ ] 1", "[x] 1")],
            &[("\"passes\": false, \"notes\"", "\"passes\": true, \"notes\"")],
        ],
    ),
    ("CRLF", [&[("\n", "\r\n")]; 3]),
    (
        "other bullets",
        [&[("- [", "* [")], &[("- [", "* [")], &[(", ", ",")]],
    ),
    (
        "indentation",
        [
            &[("\n- [", "\n  - [")],
            &[("\n  - [", "\n    - [")],
            &[("  ", "\t")],
        ],
    ),
    (
        "blank lines",
        [
            &[("\n## ", "\n\n\n## ")],
            &[("\n- [", "\n\n- [")],
            &[("\n", "\n\n")],
        ],
    ),
    (
        "words of its own",
        [
            &[("First.", "First, with `make`.")],
            &[("First.", "First, with `make`.")],
            &[("\"notes\": \"\"", "\"notes\": \"done with make\", \"by\": \"me\"")],
        ],
    ),
    (
        "a box of its own",
        [
            &[("- [ ] 1.2", "- [ ] 1.1a more\n- [ ] 1.2")],
            &[("  - [ ] 1.2", "  - [ ] 1.1a more\n  - [ ] 1.2")],
            &[("\"1.2 tests\"", "\"1.1a more\", \"1.2 tests\"")],
        ],
    ),
    (
        "a new story",
        [
            &[("3.1 c.txt\n", "3.1 c.txt\n\n## 4. d\n- [ ] 4.1 d\n")],
            &[("Read this.\n", "Read this.\n- [ ] 4. d\n")],
            &[("[] }\n", "[] },\n    { \"id\": \"4\", \"passes\": false }\n")],
        ],
    ),
];

/// Returns what is listed of all stories but the first: what must stay.
fn others(source: &Source, bytes: &[u8]) -> Vec<(Story, String)> {
    let stories = source.list_in(bytes).unwrap().stories.into_iter();
    let known = stories.filter(|story| story.id == "2" || story.id == "3");
    let bare = known.map(|story| {
        let words = story
            .body
            .split_whitespace()
            .filter(|word| *word != "*" && *word != "-");
        let words = words.collect::<Vec<_>>().join(" ");
        let tasks = story
            .tasks
            .iter()
            .cloned()
            .map(|task| crate::stories::Task { line: 0, ..task });
        let tasks = tasks.collect();
        (
            Story {
                body: String::new(),
                line: 0,
                tasks,
                ..story
            },
            words,
        )
    });
    // The block of JSON that stands for a missing body has the marks and the blanks of its author.
    bare.map(|(story, words)| {
        (
            story,
            if words.starts_with("```json") {
                String::new()
            } else {
                words
            },
        )
    })
    .collect()
}

#[test]
fn settle_restores_other_stories() {
    for (format, list, source) in formats() {
        for attack in ATTACKS {
            let name = attack.0;
            let attacked = edited(format, &list, attack);
            let kept = source.settle(list.as_bytes(), Ok(attacked.as_bytes()), "1", Additions::Stay);
            let text = String::from_utf8(kept.bytes.clone()).unwrap();
            assert!(kept.put_back.is_some(), "{format}: {name}: {text}");
            assert_eq!(
                others(&source, text.as_bytes()),
                others(&source, list.as_bytes()),
                "{format}: {name}: {text}"
            );
            let stories = source.list_in(text.as_bytes()).unwrap().stories;
            let mut added = stories
                .iter()
                .filter(|story| !["1", "2", "3"].contains(&story.id.as_str()));
            assert!(added.all(|story| !story.done), "{format}: {name}: {text}");
            let own = stories.iter().find(|story| story.id == "1").unwrap();
            let texts: Vec<&str> = own.tasks.iter().map(|task| task.text.as_str()).collect();
            assert_eq!(texts, ["1.1 a.txt", "1.2 tests"], "{format}: {name}");
            // What is kept is kept again.
            let again = source.settle(list.as_bytes(), Ok(text.as_bytes()), "1", Additions::Stay);
            assert_eq!(
                (again.bytes, again.put_back),
                (kept.bytes, None),
                "{format}: {name}"
            );
        }
    }
}

#[test]
fn settle_keeps_additions_and_changes_of_layout() {
    for (format, list, source) in formats() {
        for edit in HONEST {
            let name = edit.0;
            let honest = edited(format, &list, edit);
            let settle = |additions| source.settle(list.as_bytes(), Ok(honest.as_bytes()), "1", additions);
            let kept = settle(Additions::Stay);
            assert_eq!(kept.put_back, None, "{format}: {name}: {honest}");
            assert_eq!(kept.bytes, honest.as_bytes(), "{format}: {name}");
            let is_addition = name.starts_with("a ");
            let kept = settle(Additions::ArePutBack);
            assert_eq!(kept.put_back.is_some(), is_addition, "{format}: {name}: {kept:?}");
            let bytes = if is_addition {
                list.as_bytes()
            } else {
                honest.as_bytes()
            };
            assert_eq!(kept.bytes, bytes, "{format}: {name}");
        }
    }
}

#[test]
fn settle_keeps_own_marks_beside_restored_stories() {
    for (format, list, source) in formats() {
        let ticks = &HONEST[0];
        let rewords = ATTACKS
            .iter()
            .find(|attack| attack.0 == "rewords a title")
            .unwrap();
        let expected = edited(format, &list, ticks);
        let steps = [0, 1, 2].map(|at| [ticks.1[at], rewords.1[at]].concat());
        let both = match format {
            "passes" | "status" => &steps[2],
            "items" | "kiro" => &steps[1],
            _ => &steps[0],
        };
        let text = if format == "status" { OBJECTS } else { &list };
        let attacked = both
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let attacked = if format == "status" {
            with_words(&attacked)
        } else {
            attacked
        };
        let kept = source.settle(list.as_bytes(), Ok(attacked.as_bytes()), "1", Additions::Stay);
        assert_eq!(String::from_utf8(kept.bytes).unwrap(), expected, "{format}");
        let why = kept.put_back.unwrap();
        assert!(why.ends_with("(what story 2 says)"), "{format}: {why}");
    }
}

#[test]
fn settle_restores_a_missing_list_and_keeps_sorted_json() {
    for (format, list, source) in formats() {
        let kept = source.settle(list.as_bytes(), Err("it is gone"), "1", Additions::Stay);
        assert_eq!(kept.bytes, list.as_bytes(), "{format}");
        assert!(kept.put_back.unwrap().contains("(it is gone)"), "{format}");
    }
    let (_, list, source) = formats().remove(4);
    let value: serde_json::Value = serde_json::from_str(&list).unwrap();
    for sorted in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
        let kept = source.settle(list.as_bytes(), Ok(sorted.as_bytes()), "1", Additions::Stay);
        assert_eq!((kept.bytes.as_slice(), kept.put_back), (sorted.as_bytes(), None));
    }
}

#[test]
fn each_mark_is_put_back_byte_for_byte() {
    let list = "- [ ] 1. a\n- [~] 2. b\n- [] 3. c\n- [ x] 4. d\n";
    let source = Source {
        path: Path::new("p").display().to_string(),
        ..formats().remove(2).2
    };
    let attacked = "- [x] 1. a\n- [x] 2. b\n- [x] 3. c\n- [ ] 4. d\n";
    let kept = source.settle(list.as_bytes(), Ok(attacked.as_bytes()), "1", Additions::Stay);
    assert_eq!(
        String::from_utf8(kept.bytes).unwrap(),
        "- [x] 1. a\n- [~] 2. b\n- [] 3. c\n- [x] 4. d\n"
    );
    assert_eq!(kept.put_back.unwrap(), "marks of 2, 3, 4");
}
