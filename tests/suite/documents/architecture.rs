//! `docs/architecture.md`, held to the source: which room uses which, and that the methods of an open loop are in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::source;

type Rooms = BTreeMap<String, BTreeSet<String>>;

#[test]
fn rooms_use_exactly_the_rooms_of_the_table() {
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
        let parts = path.iter().map(|part| part.to_str().unwrap().to_owned());
        // A `mod.rs` is the module of its directory.
        parts.filter(|part| part != "mod").collect::<Vec<_>>()
    };
    let texts: BTreeMap<Vec<String>, String> = files()
        .into_iter()
        .filter(|(room, _)| room != "lib" && room != "main")
        .map(|(_, file)| (path_of(&file), code_of(&fs::read_to_string(&file).unwrap())))
        .collect();
    let passed_on = passed_on(&texts);
    let homes = homes_of_methods(&texts);
    let used_by = |path: &Vec<String>| -> BTreeSet<Vec<String>> {
        let (_, text) = without_passed_on(&texts[path]);
        let named = paths_in(&text)
            .into_iter()
            .chain(children_in(&text, path, &texts));
        let named = named.filter_map(|named| home_of(absolute(&named, path), &texts, &passed_on));
        let called = called_in(&text).into_iter();
        let called = called.filter_map(|name| homes.get(name).cloned().flatten());
        named.chain(called).filter(|used| used != path).collect()
    };
    let uses: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> =
        texts.keys().map(|path| (path.clone(), used_by(path))).collect();
    let mut reached: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = BTreeMap::new();
    for from in uses.keys() {
        let (mut found, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(path) = open.pop() {
            open.extend(uses[path].iter().filter(|used| found.insert(*used)));
        }
        reached.insert(from, found);
    }
    // Those that lead to each other, with the arrows between them.
    let circles: BTreeMap<_, BTreeSet<_>> = uses
        .iter()
        .filter(|(path, _)| reached[path].contains(path))
        .map(|(path, used)| {
            (
                path,
                used.iter().filter(|used| reached[used].contains(path)).collect(),
            )
        })
        .collect();
    assert_eq!(circles, BTreeMap::new());
}

/// The names that a module passes on (`pub use`), with the paths that they stand for.
type PassedOn = BTreeMap<(Vec<String>, String), Vec<String>>;

fn passed_on(texts: &BTreeMap<Vec<String>, String>) -> PassedOn {
    let mut found = PassedOn::new();
    for (path, text) in texts {
        for named in without_passed_on(text).0 {
            let is_from_top = ["crate", "super", "self"].contains(&named[0].as_str());
            let whole = if is_from_top {
                absolute(&named, path)
            } else {
                [path.as_slice(), &named].concat()
            };
            let name = named.last().cloned().unwrap();
            found.insert((path.clone(), name), whole);
        }
    }
    found
}

/// Returns the paths that a text passes on, and the text without them.
fn without_passed_on(text: &str) -> (Vec<Vec<String>>, String) {
    let (mut named, mut rest) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((_, path)) = line.split_once(" use ").filter(|_| line.starts_with("pub")) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut path = path.to_owned();
        while !path.contains(';') {
            path.push_str(lines.next().unwrap());
        }
        spread(&path, Vec::new(), &mut named);
    }
    (named, rest)
}

/// Returns the files below a module that it names.
fn children_in(text: &str, path: &[String], texts: &BTreeMap<Vec<String>, String>) -> Vec<Vec<String>> {
    let is_child = |other: &&Vec<String>| other.len() == path.len() + 1 && other.starts_with(path);
    let names = texts.keys().filter(is_child).filter_map(|child| child.last());
    let is_named = |name: &&String| {
        let named = format!("{name}::");
        let is_part = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
        text.match_indices(&named).any(|(at, _)| !is_part(&text[..at]))
    };
    names
        .filter(is_named)
        .map(|name| vec!["self".to_owned(), name.clone()])
        .collect()
}

/// Returns the file in which a path is defined: names that a module passes on are followed.
fn home_of(
    mut path: Vec<String>,
    texts: &BTreeMap<Vec<String>, String>,
    passed_on: &PassedOn,
) -> Option<Vec<String>> {
    for _ in 0..8 {
        let known = (0..=path.len())
            .rev()
            .map(|len| &path[..len])
            .find(|home| texts.contains_key(*home))?
            .to_vec();
        let Some(name) = path.get(known.len()) else {
            return Some(known);
        };
        match passed_on.get(&(known.clone(), name.clone())) {
            Some(whole) => path = [whole.as_slice(), &path[known.len() + 1..]].concat(),
            None => return Some(known),
        }
    }
    None
}

/// Names that methods of the standard library have too.
const COMMON: [&str; 3] = ["as_path", "as_str", "is_dir"];

/// Returns the file of each method; `None` if several files have one of this name. Names of one word are left out: the
/// standard library has them too.
fn homes_of_methods(texts: &BTreeMap<Vec<String>, String>) -> BTreeMap<&str, Option<Vec<String>>> {
    let mut homes = BTreeMap::new();
    for (path, text) in texts {
        let heads = text.match_indices("\n    ").map(|(at, _)| &text[at + 5..]);
        for method in heads.filter_map(method_in) {
            if method.contains('_') && !COMMON.contains(&method) {
                let home = homes.entry(method).or_insert_with(|| Some(path.clone()));
                *home = home.take().filter(|home| home == path);
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
    let tests =
        ["mod tests {", "pub(super) mod tests {"].map(|head| text.find(&format!("#[cfg(test)]\n{head}")));
    let text = &text[..tests.into_iter().flatten().min().unwrap_or(text.len())];
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.map(|line| format!("{line}\n")).collect()
}

/// Returns the paths that begin with `crate`, `super` or `self` in a file; groups in braces are spread out.
fn paths_in(text: &str) -> Vec<Vec<String>> {
    let code = text.lines().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
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
                // `name as other` stands for the name.
                if group.starts_with("as ") {
                    group = &group[group.find([',', '}']).unwrap_or(0)..];
                }
                match group.strip_prefix(',').map(str::trim_start) {
                    Some(more) if !more.starts_with('}') => group = more,
                    Some(more) => return &more[1..],
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
    let base = if named[0] == "self" { of } else { base };
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
fn what_judges_an_attempt_changes_no_loop_and_takes_no_step() {
    let judges = source().join("src/engine/attempt");
    for (_, file) in files().into_iter().filter(|(_, file)| file.starts_with(&judges)) {
        let code = code_of(&fs::read_to_string(&file).unwrap());
        for word in ["&mut Loop", "engine::steps", "engine::transition"] {
            assert!(!code.contains(word), "{}: {word}", file.display());
        }
    }
}

#[test]
fn what_a_repository_has_once_knows_no_work_tree() {
    let once = source().join("src/protect/repository");
    for (_, file) in files().into_iter().filter(|(_, file)| file.starts_with(&once)) {
        let code = code_of(&fs::read_to_string(&file).unwrap());
        for word in ["protect::tree", "super::tree"] {
            assert!(!code.contains(word), "{}: {word}", file.display());
        }
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
    let (_, after) = text
        .split_once("Shared modules, which every room may import:")
        .unwrap();
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
    ["tests.rs", "properties.rs", "hostile.rs", "samples.rs"]
        .iter()
        .any(|name| path.ends_with(name))
        || path.parent().is_some_and(|dir| dir.ends_with("error/samples"))
}
