//! `docs/architecture.md`, held to the source: which room uses which, and that the methods of an open loop are in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::source;

type Rooms = BTreeMap<String, BTreeSet<String>>;

#[test]
fn rooms_use_what_the_table_says_and_nothing_else() {
    let text = fs::read_to_string(source().join("docs/architecture.md")).unwrap();
    let words = words(&text);
    let mut found: Rooms = rooms_of_table(&text)
        .into_keys()
        .map(|room| (room, BTreeSet::new()))
        .collect();
    for (room, file) in files() {
        if words.contains(&room) || room == "lib" || room == "main" {
            continue;
        }
        let used = used_by(&fs::read_to_string(&file).unwrap());
        let used = used
            .into_iter()
            .filter(|name| *name != room && !words.contains(name));
        found.entry(room.clone()).or_default().extend(used);
    }
    assert_eq!(rooms_of_table(&text), found);
}

#[test]
fn rooms_form_no_circle() {
    let rooms = rooms_of_table(&fs::read_to_string(source().join("docs/architecture.md")).unwrap());
    let mut left = rooms.clone();
    // Whoever uses only rooms that are gone stands on firm ground.
    while let Some(room) = left
        .iter()
        .find(|(_, used)| used.iter().all(|name| !left.contains_key(name)))
        .map(|(room, _)| room.clone())
    {
        left.remove(&room);
    }
    assert_eq!(left, Rooms::new());
}

#[test]
fn files_form_no_circle_by_paths_or_by_calls() {
    let top = source().join("src");
    let path_of = |file: &Path| {
        let path = file.strip_prefix(&top).unwrap().with_extension("");
        path.iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // A `mod.rs` gathers what is below it, and may be named from there.
    let files: BTreeMap<Vec<String>, PathBuf> = files()
        .into_iter()
        .map(|(_, file)| (path_of(&file), file))
        .filter(|(path, _)| {
            path.last()
                .is_some_and(|name| !matches!(name.as_str(), "mod" | "lib" | "main"))
        })
        .collect();
    let texts: BTreeMap<&Vec<String>, String> = files
        .iter()
        .map(|(path, file)| (path, code_of(&fs::read_to_string(file).unwrap())))
        .collect();
    let homes = homes_of_methods(&texts);
    let used_by = |path: &Vec<String>| -> BTreeSet<Vec<String>> {
        let named = paths_in(&texts[path])
            .into_iter()
            .map(|named| absolute(&named, path));
        let called = called_in(&texts[path]).into_iter();
        let named = named.chain(called.filter_map(|name| homes.get(name).cloned().flatten()));
        let used = named.filter_map(|mut named| {
            while !named.is_empty() && !files.contains_key(&named) {
                named.pop();
            }
            (!named.is_empty() && named != *path).then_some(named)
        });
        used.collect()
    };
    let mut left: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> =
        files.keys().map(|path| (path.clone(), used_by(path))).collect();
    // Without a circle there is always a file that uses only what is gone already.
    while let Some(path) = left
        .iter()
        .find(|(_, used)| used.iter().all(|name| !left.contains_key(name)))
        .map(|(path, _)| path.clone())
    {
        left.remove(&path);
    }
    // What only leads to a circle says nothing about it.
    while let Some(path) = left
        .keys()
        .find(|path| !left.values().any(|used| used.contains(*path)))
        .cloned()
    {
        left.remove(&path);
    }
    assert_eq!(left, BTreeMap::new());
}

/// Names that methods of the standard library have too.
const COMMON: [&str; 3] = ["as_path", "as_str", "is_dir"];

/// Returns the file of each method; `None` if several files have one of this name. Names of one word are left out: the
/// standard library has them too.
fn homes_of_methods<'t>(texts: &'t BTreeMap<&Vec<String>, String>) -> BTreeMap<&'t str, Option<Vec<String>>> {
    let mut homes = BTreeMap::new();
    for (path, text) in texts {
        let heads = text.match_indices("\n    ").map(|(at, _)| &text[at + 5..]);
        for method in heads.filter_map(method_in) {
            if method.contains('_') && !COMMON.contains(&method) {
                let home = homes.entry(method).or_insert_with(|| Some((*path).clone()));
                *home = home.take().filter(|home| home == *path);
            }
        }
    }
    homes
}

/// Returns the name of the method whose head a text begins with.
fn method_in(text: &str) -> Option<&str> {
    let (words, rest) = text.split_once("fn ")?;
    let is_head = words
        .split(' ')
        .all(|word| word.is_empty() || ["async", "const"].contains(&word) || word.starts_with("pub"));
    let (name, arguments) = rest.split_once('(')?;
    let first = arguments.trim_start().split([',', ')']).next()?;
    let is_method = first.split([' ', '&']).any(|word| word == "self");
    (is_head && is_method).then(|| name.split('<').next().unwrap_or(name))
}

/// Returns the names of the methods that a text calls.
fn called_in(text: &str) -> BTreeSet<&str> {
    let name = |rest: &'_ str| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (rest[end..].starts_with('(') || rest[end..].starts_with("::<")).then_some(end)
    };
    let calls = text.match_indices('.').map(|(at, _)| &text[at + 1..]);
    calls.filter_map(|rest| Some(&rest[..name(rest)?])).collect()
}

/// Returns a file without its tests and comments.
fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.map(|line| format!("{line}\n")).collect()
}

/// Returns the paths that begin with `crate` or `super` in a file; groups in braces are spread out.
fn paths_in(text: &str) -> Vec<Vec<String>> {
    let code = text.lines().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            // The rest of `super::super::` is read with its beginning.
            if !code[..at].ends_with("::") {
                spread(&code[at..], Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one path from the beginning of a text; returns what follows it.
fn spread<'t>(text: &'t str, mut path: Vec<String>, found: &mut Vec<Vec<String>>) -> &'t str {
    let mut rest = text.trim_start();
    loop {
        if let Some(mut group) = rest.strip_prefix('{') {
            loop {
                group = spread(group, path.clone(), found).trim_start();
                match group.strip_prefix(',') {
                    Some(more) => group = more,
                    None => return group.strip_prefix('}').unwrap_or(group),
                }
            }
        }
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        path.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(more) => rest = more,
            None => {
                found.push(path);
                return rest;
            }
        }
    }
}

/// Returns a path from the top of the crate; `of` is the file that names it.
fn absolute(named: &[String], of: &[String]) -> Vec<String> {
    let ups = named.iter().take_while(|part| *part == "super").count();
    let base = if ups == 0 {
        &[]
    } else {
        &of[..of.len() - ups.min(of.len())]
    };
    let rest = named.iter().skip(ups.max(1));
    base.iter()
        .chain(rest)
        .filter(|part| *part != "self")
        .cloned()
        .collect()
}

#[test]
fn an_open_loop_has_its_methods_in_one_file() {
    for (_, file) in files() {
        let text = fs::read_to_string(&file).unwrap();
        let has_methods = text
            .lines()
            .any(|line| line.starts_with("impl") && line.contains(" Loop<"));
        assert_eq!(
            has_methods,
            file.ends_with("engine/open_loop.rs"),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_change_reaches_its_checkpoint_in_25_files() {
    let text = fs::read_to_string(source().join("docs/architecture.md")).unwrap();
    let (_, way) = text
        .split_once("**From a change's name to its checkpoint**")
        .unwrap();
    let (way, _) = way.split_once("These are all the files").unwrap();
    let files: BTreeSet<&str> = way
        .split('`')
        .filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "rs"))
        .collect();
    assert_eq!(files.len(), 25);
    for file in files {
        assert!(source().join("src").join(file).is_file(), "{file}");
    }
}

/// Returns the rows of the table: the rooms that each room may use.
fn rooms_of_table(text: &str) -> Rooms {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let rows = rows.filter(|cells| cells.len() == 5);
    rows.map(|cells| {
        let used = cells[3].split(',').map(str::trim).filter(|name| !name.is_empty());
        (
            cells[1].trim_matches('`').to_owned(),
            used.map(str::to_owned).collect(),
        )
    })
    .collect()
}

/// Returns the rooms that every room may use.
fn words(text: &str) -> BTreeSet<String> {
    let (_, after) = text.split_once("Words that every room uses:").unwrap();
    let (list, _) = after.split_once("\n\n").unwrap();
    let names = list.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// Returns the rooms that a file names in its imports and paths, tests aside.
fn used_by(text: &str) -> BTreeSet<String> {
    let code = code_of(text);
    let names = code.lines().flat_map(|line| line.split("crate::").skip(1));
    let names = names.map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
            .unwrap()
    });
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Lists the files of the source, each with its room; files of tests aside.
fn files() -> Vec<(String, PathBuf)> {
    let top = source().join("src");
    let mut files = Vec::new();
    collect(&top, &mut files);
    let room_of = |path: &Path| {
        let first = path.strip_prefix(&top).unwrap().components().next().unwrap();
        let name = first.as_os_str().to_str().unwrap();
        name.trim_end_matches(".rs").to_owned()
    };
    files.into_iter().map(|path| (room_of(&path), path)).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_of_tests(&path) {
            files.push(path);
        }
    }
}

/// Returns whether a file is only there in the unit tests.
fn is_of_tests(path: &Path) -> bool {
    ["tests.rs", "properties.rs", "hostile.rs"]
        .iter()
        .any(|name| path.ends_with(name))
}
