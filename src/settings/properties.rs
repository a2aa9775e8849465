//! Properties of any configuration: the files may come from anywhere.

use super::*;
use proptest::prelude::*;
use proptest::strategy::Strategy;

/// Generates a key as git prints it, or nearly so.
fn key() -> impl Strategy<Value = String> {
    let known: Vec<String> = TABLE
        .iter()
        .map(|(key, ..)| key.replace("<name>", "a.b").to_lowercase())
        .collect();
    let others = prop::sample::select(vec![
        "ralph",
        "ralph.",
        "ralph.agent.",
        "ralph.agent..command",
        "ralph.agent.x.",
        "color.ui",
        "color.ralph",
        "core.hookspath",
        "core.autocrlf",
        "core.eol",
        "hook..event",
        "hook.a.b.event",
        "hook.event",
        "user.name",
        "author.email",
        "",
    ]);
    prop_oneof![
        4 => prop::sample::select(known),
        2 => others.prop_map(ToOwned::to_owned),
        1 => ".{0,12}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "",
        "0",
        "1",
        "-1",
        "true",
        "no",
        "30m",
        "1h 30m",
        "90",
        "90d",
        "4294967295d",
        "99999999999",
        "P1Y",
        "1y",
        "9999999999h",
        "-5m",
        "none",
        "inf",
        "NaN",
        "1e308",
        "2.50",
        "ask",
        "keep",
        "auto",
        "same",
        "claude",
        "make test",
        "/dev/null",
        "a\nb",
        "\u{1b}[2J",
    ]);
    prop_oneof![3 => known.prop_map(ToOwned::to_owned), 1 => r"(?s)[^\x00]{0,20}"]
}

/// Generates an entry with its scope, as `git config -z --show-scope` prints it.
fn entry() -> impl Strategy<Value = String> {
    let scope = prop::sample::select(vec!["system", "global", "local", "worktree", "command"]);
    (scope, key(), prop::option::of(value())).prop_map(|(scope, key, value)| match value {
        Some(value) => format!("{scope}\0{key}\n{value}\0"),
        None => format!("{scope}\0{key}\0"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn parser_survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Configuration::parse(&bytes);
    }

    #[test]
    fn parser_takes_entries_or_names_the_wrong_one(entries in prop::collection::vec(entry(), 0..6)) {
        let listing = entries.concat();
        match Configuration::parse(listing.as_bytes()) {
            Err(SettingsError::Value { key, value, .. }) => {
                let named = entries.iter().any(|entry| {
                    entry.contains(&format!("\0{key}\n{value}\0")) || value == "true" && entry.contains(&format!("\0{key}\0"))
                });
                prop_assert!(named, "{key} {value} of {listing:?}");
            }
            Err(other) => prop_assert!(false, "{other}"),
            Ok(read) => {
                for limit in [read.settings.timeout, read.settings.max_wait, Some(read.settings.command_timeout)].into_iter().flatten() {
                    prop_assert!(!limit.is_negative());
                    let _ = to_std(limit);
                }
            }
        }
    }

    #[test]
    fn parser_survives_a_cut_listing(
        entries in prop::collection::vec(entry(), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let listing = entries.concat().into_bytes();
        let end = cut.index(listing.len() + 1);
        let _ = Configuration::parse(&listing[..end]);
    }

    #[test]
    fn parsed_duration_is_positive(text in r"[0-9a-zA-Z .:+\-]{0,24}") {
        if let Ok(Some(limit)) = parse_duration(&text) {
            prop_assert!(limit.is_positive());
        }
    }
}
