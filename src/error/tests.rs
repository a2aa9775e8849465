//! The table of all errors: each with its message, its hint and its exit code, as people and scripts get them.

use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use snapbox::data::DataFormat;
use snapbox::{Data, assert_data_eq};

use super::Error;
use super::samples::{all, all_named};
use crate::names::typed;

#[test]
fn errors_match_the_agreed_table() {
    let rows = all().into_iter().map(|error| {
        let hint = error.hint().unwrap_or_else(|| "-".to_owned());
        let kind = kind(&error);
        format!(
            "{kind} (exit {})\nerror: {error}\nhint: {hint}\n",
            error.exit().code()
        )
    });
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/error/table.txt");
    let text = rows.collect::<Vec<_>>().join("\n");
    assert_data_eq!(text, Data::read_from(&file, Some(DataFormat::Text)).raw());
}

/// Returns the names of the variant of the union and of that within it.
fn kind(error: &Error) -> String {
    let text = format!("{error:?}");
    let outer = first_name(&text);
    let inner = text[outer.len()..].strip_prefix('(').unwrap_or_default();
    let inner = first_name(inner);
    if inner.starts_with(|c: char| c.is_ascii_uppercase()) {
        format!("{outer}::{inner}")
    } else {
        outer
    }
}

#[test]
fn messages_are_lower_case_and_end_without_a_stop() {
    for error in all() {
        let text = error.to_string();
        let first = text.chars().next().unwrap();
        assert!(
            !first.is_uppercase() || text.starts_with("GIT_DIR") || text.starts_with("HEAD"),
            "{text}"
        );
        assert!(!text.ends_with('.') && !text.trim_end().is_empty(), "{text}");
    }
}

/// Names that would do harm where they are pasted.
const HOSTILE: &[&str] = &[
    "a b",
    "a;b",
    "a&b",
    "a|b",
    "$(a)",
    "`a`",
    "$a",
    "a'b",
    "a\"b",
    "a\\b",
    "a*b",
    "~a",
    "a<b",
    "a>b",
    "(a)",
    "!a",
    "#a",
    "a\nb",
    "a\u{1b}[31mb",
    "a\u{202e}b",
    "{a,b}",
    "a\tb",
];

#[test]
fn a_name_in_a_hint_is_one_word_of_a_command() {
    let mut wrong = Vec::new();
    for name in HOSTILE {
        let plain = all_named("NAME");
        for (error, plain) in all_named(name).into_iter().zip(plain) {
            let (Some(hint), Some(plain)) = (error.hint(), plain.hint()) else {
                continue;
            };
            // With other text around it, a name may be quoted together with that.
            let meant = |name: &str| format!("did you mean '{name}'?");
            let mut restored = hint.replace(&meant(name), &meant("NAME"));
            let between = |c: char| c.is_whitespace() || ",;:()".contains(c);
            // What a list is taken for stands outside of its quotes.
            let words = plain
                .split(between)
                .chain(plain.split(|c| between(c) || c == '#'));
            let mut words: Vec<&str> = words.filter(|word| word.contains("NAME")).collect();
            words.sort_by_key(|word| std::cmp::Reverse(word.len()));
            for word in words {
                restored = restored.replace(&typed(word.replace("NAME", name)), word);
            }
            restored = restored.replace(&typed(name), "NAME");
            if restored != plain {
                wrong.push(format!("{name:?} in {hint}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that the samples have every variant of their type, which is read from its source.
#[track_caller]
pub fn complete<E: Debug>(samples: &[E]) {
    let shown = samples.iter().map(|error| first_name(&format!("{error:?}")));
    let (module, name) = type_name::<E>().rsplit_once("::").unwrap();
    let module = module.split("::").skip(1).collect::<PathBuf>();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module);
    let text = [file.with_extension("rs"), file.join("mod.rs")]
        .iter()
        .find_map(|file| fs::read_to_string(file).ok());
    assert_eq!(
        shown.collect::<BTreeSet<_>>(),
        variants(&text.unwrap(), name),
        "{name}"
    );
}

/// Returns the name that a shown value and a line of the source begin with.
fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Reads the names of an enumeration's variants from its source.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = rest.split_once("\n}\n").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    lines
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(first_name)
        .collect()
}
