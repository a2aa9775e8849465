//! Which test covers which hazard: what git, users and agents do to a tree, each with the test that tries it, or the
//! words of docs/safety.md that say that it is not prevented. That document shows the table.

mod agents;
mod configuration;
mod end;
mod repository;
mod work_tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::matrix::{misdeeds, states};
use crate::support::document::{self, row};

/// The parts of the table, with how many rows each has.
const PARTS: &[(char, usize, &str)] = &[
    ('A', 24, "The work tree at the start"),
    ('B', 16, "The repository at the start"),
    ('C', 16, "Configuration and environment"),
    ('D', 30, "What agents do"),
    ('E', 13, "The end"),
];

/// Where a row is tried.
#[derive(Clone, Copy, Debug)]
enum By {
    /// `module::test` of the suite or of the sweeps.
    Test(&'static str),
    /// A state of the user's tree, with every misdeed.
    State(&'static str),
    /// Something that an agent does, in every state.
    Misdeed(&'static str),
    /// docs/safety.md says that it is not prevented.
    Limit(&'static str),
}

use By::{Limit, Misdeed, State, Test};

/// Number, a few words, and where it is tried.
type Row = (&'static str, &'static str, &'static [By]);

fn rows() -> impl Iterator<Item = &'static Row> {
    [
        work_tree::ROWS,
        repository::ROWS,
        configuration::ROWS,
        agents::ROWS,
        end::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// Every test, as `module::name`, and every step of the crash sweep.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let steps = crate::crash::SWEPT.iter().map(|step| format!("crash::{step}"));
    found.extend(steps);
    for dir in ["tests/suite/verbs", "tests/suite/properties", "tests/sweep"] {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let module = path.file_stem().unwrap().to_str().unwrap();
            let mut marked = false;
            for line in text.lines() {
                let name = line.strip_prefix("fn ").and_then(|rest| rest.split_once('('));
                if let (true, Some((name, _))) = (marked, name) {
                    found.insert(format!("{module}::{name}"));
                }
                marked = line == "#[test]" || (marked && line.starts_with("#["));
            }
        }
    }
    found
}

#[test]
fn every_hazard_is_covered() {
    let wanted: Vec<String> = PARTS
        .iter()
        .flat_map(|(part, rows, _)| (1..=*rows).map(move |row| format!("{part}{row}")))
        .collect();
    let numbers: Vec<&str> = rows().map(|(row, ..)| *row).collect();
    assert_eq!(numbers, wanted);
    let limits = document::all()["docs/safety.md"].replace("\n  ", " ");
    let tests = tests();
    let mut missing = Vec::new();
    for (row, words, covers) in rows() {
        assert!(!covers.is_empty(), "nothing covers {row}, {words}");
        for by in *covers {
            let is_there = match by {
                Test(name) => tests.contains(*name),
                State(name) => states::STATES.iter().any(|state| state.name == *name),
                Misdeed(name) => misdeeds::MISDEEDS.iter().any(|misdeed| misdeed.name == *name),
                Limit(text) => limits.contains(text),
            };
            if !is_there {
                missing.push(format!("{row}, {words}: {by:?} is not there"));
            }
        }
    }
    crate::nothing_of(&missing);
}

#[test]
fn table_in_safety_matches_the_rows() {
    let mut text = String::new();
    for (part, _, title) in PARTS {
        text.push_str(&format!("\n### {title}\n\n| | tested by |\n|---|---|\n"));
        let rows = rows().filter(|(number, ..)| number.starts_with(*part));
        for (_, words, covers) in rows {
            let covers: Vec<String> = covers.iter().map(|by| in_words(*by)).collect();
            text.push_str(&row(&[words, &covers.join(", ")]));
        }
    }
    document::has_part("docs/safety.md", "coverage", &format!("{text}\n"));
}

/// Says where a row is tried.
fn in_words(by: By) -> String {
    match by {
        Test(name) => format!("`{name}`"),
        State(name) => format!("state `{name}`"),
        Misdeed(name) => format!("misdeed `{name}`"),
        Limit(_) => "not protected, see above".to_owned(),
    }
}
