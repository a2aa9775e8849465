//! The manual pages in `man/` are rendered from the Markdown in `man/src`, with parts that are generated from the code.
//! `SNAPSHOTS=overwrite cargo test --test suite manual` writes them anew.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod generated;
mod roff;
mod synopsis;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git_ralph::tables::TOPICS;
use snapbox::{Data, assert_data_eq};

use crate::support::{Sandbox, console};

pub use roff::links;

/// Day of the last change to the pages that readers should know of; not the day of a build.
const DATE: &str = "2026-11-22";

#[test]
fn pages_match_their_sources() {
    for (name, page) in pages() {
        assert_data_eq!(page, Data::read_from(&dir().join(name), None).raw());
    }
}

#[test]
fn manual_has_one_page_for_each_command_and_topic() {
    let commands = generated::commands();
    let verbs = commands.iter().map(|(verb, _)| file_name(verb, 1));
    let topics = TOPICS.iter().map(|(topic, _)| file_name(topic, 7));
    let mut wanted: Vec<String> = verbs.chain(topics).collect();
    wanted.sort();
    let rendered: Vec<String> = pages().into_iter().map(|(name, _)| name).collect();
    assert_eq!(rendered, wanted);
    let committed: Vec<String> = files(&dir()).into_iter().filter(|name| name != "src").collect();
    assert_eq!(committed, wanted);
}

#[test]
fn links_lead_to_pages() {
    for (name, source) in sources() {
        for link in links(&source) {
            assert!(dir().join("src").join(&link).is_file(), "{name}: {link}");
        }
    }
}

#[test]
fn pages_are_clean_for_mandoc() {
    if !crate::installed("mandoc") {
        return;
    }
    for (name, _) in pages() {
        let lint = lint(&dir().join(&name));
        assert_eq!(lint, "", "{name}");
    }
}

#[test]
fn pages_are_clean_for_man() {
    // There are others that have no such option.
    let is_man_db = crate::installed("man")
        && output("man", &["--version"], dir().as_path())
            .0
            .starts_with("man ");
    if !is_man_db || !crate::installed("groff") {
        return;
    }
    for (name, _) in pages() {
        let (text, warnings) = output("man", &["--warnings", "-E", "UTF-8", "-l"], &dir().join(&name));
        assert_eq!(warnings, "", "{name}");
        assert!(text.contains("SYNOPSIS"), "{name}");
    }
}

#[test]
fn sections_of_a_command_are_in_the_order_of_gits_pages() {
    let order = [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "OUTPUT",
        "KEYS",
        "CONFIGURATION",
        "VARIABLES",
        "EXAMPLES",
        "FILES",
        "ENVIRONMENT",
        "EXIT STATUS",
        "LIMITS",
        "SEE ALSO",
    ];
    for (name, page) in pages() {
        if name == "git-ralph.1" || name.ends_with(".7") {
            continue;
        }
        let sections: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .map(|title| title.trim_matches('"'))
            .collect();
        let wanted: Vec<&str> = order
            .into_iter()
            .filter(|title| sections.contains(title))
            .collect();
        assert_eq!(sections, wanted, "{name}");
        for title in ["EXAMPLES", "EXIT STATUS", "SEE ALSO"] {
            assert!(sections.contains(&title), "{name} has no {title}");
        }
    }
}

#[test]
fn the_tutorial_shows_what_happens() {
    let sandbox = Sandbox::empty();
    let source = &sources()["git-ralph-tutorial.md"];
    let typed: String = code(source, "console").collect();
    let (first, rest) = typed.split_once("$ cd greeter\n").unwrap();
    let above = sandbox.top.parent().unwrap();
    console::follow(&sandbox, above, first);
    console::follow(&sandbox, &above.join("greeter"), rest);
}

/// Returns the hooks that the page about lifecycle hooks shows: the name of each, and its text.
pub fn hooks_shown() -> Vec<(String, String)> {
    let source = &sources()["git-ralph-lifecycle.md"];
    let blocks = roff::code_blocks(source).into_iter();
    let hooks = blocks.filter_map(|(info, code)| {
        let name = info.strip_prefix("sh .git/hooks/")?;
        Some((name.to_owned(), code))
    });
    hooks.collect()
}

/// Returns the blocks of code that begin with this info string.
fn code<'a>(source: &str, wanted: &'a str) -> impl Iterator<Item = String> + 'a {
    let blocks = roff::code_blocks(source).into_iter();
    blocks.filter_map(move |(info, code)| (info == wanted).then_some(code))
}

fn lint(page: &Path) -> String {
    output("mandoc", &["-Tlint", "-W", "warning"], page).0
}

/// Runs a program on a page, and returns its output and its errors.
#[expect(clippy::disallowed_methods, reason = "a test runs such programs as it likes")]
fn output(program: &str, args: &[&str], page: &Path) -> (String, String) {
    let output = Command::new(program)
        .args(args)
        .arg(page)
        .env("MANWIDTH", "80")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man")
}

/// Returns the name of a page's file.
fn file_name(verb: &str, section: u8) -> String {
    match verb {
        "" => format!("git-ralph.{section}"),
        verb => format!("git-ralph-{verb}.{section}"),
    }
}

/// Returns the names of the files in a directory, sorted.
fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Returns the sources of the pages, by file name.
fn sources() -> BTreeMap<String, String> {
    let dir = dir().join("src");
    let read = |name: String| {
        let source = fs::read_to_string(dir.join(&name)).unwrap();
        (name, source)
    };
    files(&dir).into_iter().map(read).collect()
}

/// Renders every page, sorted by file name.
fn pages() -> Vec<(String, String)> {
    let commands: BTreeMap<String, clap::Command> = generated::commands().into_iter().collect();
    let render = |(file, source): (String, String)| {
        let title = source.lines().next().unwrap();
        let name = title
            .trim_start_matches("# ")
            .trim_end_matches(')')
            .replace('(', ".");
        let stem = file.strip_suffix(".md").unwrap();
        assert_eq!(name.rsplit_once('.').unwrap().0, stem, "{title} is in {file}");
        let verb = stem.trim_start_matches("git-ralph").trim_start_matches('-');
        let page = roff::render(&source, |page, part| {
            generated::write(page, part, commands.get(verb));
        });
        (name, page)
    };
    let mut pages: Vec<_> = sources().into_iter().map(render).collect();
    pages.sort();
    pages
}
