//! Tests reading a configuration, and the settings that a command takes from it.

use jiff::SignedDuration;

use super::*;

/// Returns what `git config -z --show-scope` prints for these entries.
fn listing(entries: &[(&str, &str)]) -> Vec<u8> {
    entries
        .iter()
        .map(|(scope, entry)| format!("{scope}\0{entry}\0"))
        .collect::<String>()
        .into_bytes()
}

fn local(entries: &[&str]) -> Vec<u8> {
    listing(&entries.iter().map(|entry| ("local", *entry)).collect::<Vec<_>>())
}

#[test]
fn empty_configuration_gives_the_defaults() {
    let configuration = Configuration::parse(b"").unwrap();
    assert_eq!(configuration.settings, Settings::default());
    assert_eq!(configuration.identities, Identities::default());
}

#[test]
fn values_are_read_and_lists_add_up() {
    let configuration = Configuration::parse(&local(&[
        "ralph.maxretries\n5",
        "ralph.timeout\n1h 30m",
        "ralph.idletimeout\n0",
        "ralph.verify\nold",
        "ralph.verify\n ",
        "ralph.verify\nmake",
        "ralph.verify\nmake lint",
        "ralph.finish\nkeep",
        "ralph.jobs\n3",
        "ralph.order\nfree",
        "user.name\nA",
        "user.email\na@b",
    ]))
    .unwrap();
    assert_eq!(configuration.settings.max_retries, 5);
    assert_eq!(
        configuration.settings.timeout,
        Some(SignedDuration::from_mins(90))
    );
    assert_eq!(configuration.settings.idle_timeout, None);
    assert_eq!(configuration.settings.verify, ["make", "make lint"]);
    assert_eq!(configuration.settings.finish, FinishChoice::Keep);
    assert_eq!(
        (configuration.settings.jobs, configuration.settings.order),
        (3, Some(Order::Free))
    );
    assert_ne!(configuration.identities, Identities::default());
}

#[test]
fn error_names_the_key_and_the_valid_values() {
    let error = Configuration::parse(&local(&["ralph.maxretries\nmany"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the setting ralph.maxRetries is 'many', but must be a whole number, 0 or more"
    );
    for (entry, wanted) in [
        ("ralph.jobs\n0", "a whole number from 1 to 65535"),
        ("ralph.order\n", "list, dependencies or free"),
    ] {
        let error = Configuration::parse(&local(&[entry])).unwrap_err().to_string();
        assert!(error.ends_with(&format!("must be {wanted}")), "{error}");
    }
    assert!(Configuration::parse(&local(&["ralph.timeout\nsoon"])).is_err());
    assert!(Configuration::parse(&local(&["ralph.maxcost\nNaN"])).is_err());
}

#[test]
fn configuration_reports_settings_without_effect() {
    let ignored = |entry: &str| Configuration::parse(&local(&[entry])).unwrap().ignored;
    let why = "the setting ralph.checkpointHooks has no effect in this version";
    assert_eq!(ignored("ralph.checkpointhooks\ntrue"), [why]);
    assert!(ignored("ralph.checkpointhooks\nfalse").is_empty());
    let why = "unknown setting ralph.verfy; did you mean ralph.verify?";
    assert_eq!(ignored("ralph.verfy\nmake"), [why]);
    let why = "unknown setting ralph.maxretry; did you mean ralph.maxRetries?";
    assert_eq!(ignored("ralph.maxretry\n2"), [why]);
    assert!(ignored("ralph.sandbox\nyes")[0].contains("unknown setting ralph.sandbox; git ralph help lists"));
    let why = "unknown setting ralph.agent.claude.comand; did you mean ralph.agent.claude.command?";
    assert_eq!(ignored("ralph.agent.claude.comand\nx"), [why]);
    let why = "ralph.timeout=5 means 5 seconds; for minutes: git config ralph.timeout 5m";
    assert_eq!(ignored("ralph.timeout\n5"), [why]);
    for fine in [
        "ralph.timeout\n5m",
        "ralph.timeout\n90",
        "ralph.timeout\n0",
        "ralph.maxretries\n5",
    ] {
        assert!(ignored(fine).is_empty(), "{fine}");
    }
}

#[test]
fn command_rereads_the_settings_except_those_that_the_loop_keeps() {
    let kept = LoopSettings {
        mark: Mark::Never,
        plain: PlainOptions {
            max_retries: Some(1),
            ..PlainOptions::default()
        },
        ..LoopSettings::default()
    };
    let commands = LoopCommands {
        verify: vec!["make".to_owned()],
        ..LoopCommands::default()
    };
    let configuration = Configuration::parse(&listing(&[
        ("local", "ralph.maxretries\n7"),
        ("local", "ralph.agent\nlater"),
        ("local", "ralph.mark\nagent"),
        ("command", "ralph.verify\nmake check"),
    ]))
    .unwrap();
    let settings = configuration.of_loop(&kept, &commands);
    assert_eq!(
        (settings.max_retries, settings.agent.as_deref()),
        (1, Some("later"))
    );
    assert_eq!(
        (settings.verify, settings.mark),
        (vec!["make check".to_owned()], Mark::Never)
    );
}

#[test]
fn a_file_of_the_work_tree_can_only_make_the_box_stronger() {
    let read = |entries: &[(&str, &str)]| Configuration::parse(&listing(entries)).unwrap();
    let configuration = read(&[
        ("global", "ralph.box\non"),
        ("global", "ralph.boxallow\nread:/mine"),
        ("file:team.cfg", "ralph.box\noff"),
        ("file:team.cfg", "ralph.boxallow\nread:/secrets"),
        ("file:team.cfg", "ralph.boxallow\nwrite:~"),
        ("file:team.cfg", "ralph.boxenv\nTOKEN"),
        ("file:team.cfg", "ralph.boxcommands\nfalse"),
    ]);
    let boxing = &configuration.settings.boxing;
    assert_eq!((boxing.mode, boxing.has_hooks), (BoxMode::On, false));
    assert_eq!(boxing.allowed.read, ["/mine"]);
    assert!(boxing.allowed.written.is_empty() && boxing.allowed.variables.is_empty());
    assert_eq!(configuration.weaker.len(), 4, "{:?}", configuration.weaker);
    assert!(configuration.weaker[0].starts_with("ralph.box=off in team.cfg is ignored"));

    let mut kept = LoopSettings::default();
    let stronger = read(&[
        ("file:team.cfg", "ralph.box\nrequire"),
        ("file:team.cfg", "ralph.boxcommands\ntrue"),
    ]);
    kept.least = stronger.settings.boxing.of_tree;
    let none = read(&[]);
    let boxing = none.of_loop(&kept, &LoopCommands::default()).boxing;
    assert_eq!((boxing.mode, boxing.has_hooks), (BoxMode::Require, true));
    assert_eq!(none.weaker(&kept).len(), 1);
    assert!(boxing.is_for_commands());
    let typed = read(&[("command", "ralph.box\noff")]);
    assert_eq!(
        typed.of_loop(&kept, &LoopCommands::default()).boxing.mode,
        BoxMode::Off
    );
    let after = read(&[
        ("file:team.cfg", "ralph.box\nrequire"),
        ("local", "ralph.box\non"),
    ]);
    assert_eq!(after.settings.boxing.mode, BoxMode::On);
    assert_eq!(after.settings.boxing.of_tree, MinimumBox::default());
}

#[test]
fn former_keys_have_their_effect_and_are_named_once() {
    let read = |entries: &[&str]| Configuration::parse(&local(entries)).unwrap();
    let settings = read(&[
        "ralph.boxread\n/a",
        "ralph.boxallow\nread:/b",
        "ralph.boxwrite\n/c",
        "ralph.boxenv\nTOKEN",
        "ralph.reviewtimeout\n1s",
        "ralph.testchanges\nallow",
        "ralph.newtests\nrefuse",
        "ralph.retryoutput\ntrue",
        "ralph.verifyretries\n2",
        "ralph.view",
    ])
    .settings;
    let allowed = &settings.boxing.allowed;
    assert_eq!(allowed.read, ["/a", "/b"]);
    assert_eq!(
        (&*allowed.written, &*allowed.variables),
        (&["/c".to_owned()][..], &["TOKEN".to_owned()][..])
    );
    assert_eq!(settings.review_timeout(), Some(SignedDuration::from_secs(1)));
    assert_eq!(settings.tests.new_tests(), NewTests::Refuse);
    assert_eq!(settings.retry_context, RetryContext::Always);
    assert_eq!((settings.former.verify_retries, settings.former.view), (2, true));
    for (key, ..) in table::FORMER {
        let value = if *key == "ralph.newTests" { "allow" } else { "0" };
        let entry = format!("{}\n{value}", key.to_lowercase());
        let listing = local(&[&*entry, &*entry]);
        let ignored = Configuration::parse(&listing).unwrap().ignored;
        assert_eq!(ignored, renamed(key).as_slice(), "{key}");
        assert!(ignored[0].starts_with(&format!("{key} ")), "{ignored:?}");
        assert!(TABLE.iter().all(|(known, ..)| known != key), "{key}");
    }
}

#[test]
fn settings_of_several_kinds_say_what_they_decide() {
    let settings = |entries: &[&str]| Configuration::parse(&local(entries)).unwrap().settings;
    for (changes, new) in [
        ("held", NewTests::Apart),
        ("refuse", NewTests::Apart),
        ("allow", NewTests::Allow),
    ] {
        let read = settings(&[&format!("ralph.testchanges\n{changes}")]);
        assert_eq!(read.tests.new_tests(), new, "{changes}");
    }
    let of_gates = settings(&["ralph.verifytimeout\nnone"]);
    assert_eq!((of_gates.verify_timeout, of_gates.review_timeout()), (None, None));
    let forgotten = settings(&["ralph.boxallow\nread:/a", "ralph.boxallow\n"]);
    assert_eq!(forgotten.boxing, Settings::default().boxing);
    for refused in [
        "ralph.boxallow\nread:",
        "ralph.boxallow\nenv:a b",
        "ralph.guard\n",
        "ralph.remoterefs\nrefs/heads/",
    ] {
        assert!(Configuration::parse(&local(&[refused])).is_err(), "{refused:?}");
    }
    let error = Configuration::parse(&local(&["ralph.boxallow\n/a"])).unwrap_err();
    let wanted = "the setting ralph.boxAllow is '/a', but must be read:<path>, write:<path> or env:<NAME>";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn error_names_every_wrong_value() {
    let listing = local(&["ralph.jobs\n0", "ralph.order\nup", "ralph.mark\nx"]);
    let error = Configuration::parse(&listing).unwrap_err().to_string();
    assert!(
        error.starts_with("the setting ralph.jobs is '0', but must be "),
        "{error}"
    );
    assert!(
        error.ends_with("; also wrong: ralph.order=up, ralph.mark=x"),
        "{error}"
    );
}

#[test]
fn a_box_for_commands_too_is_the_strongest_and_an_option_keeps_it() {
    let mode_of = |configured: &str, typed: Option<BoxMode>| {
        let configuration = Configuration::parse(&local(&[&format!("ralph.box\n{configured}")])).unwrap();
        let mut kept = LoopSettings::default();
        kept.plain.boxed = typed;
        let boxing = configuration.of_loop(&kept, &LoopCommands::default()).boxing;
        (boxing.mode, boxing.is_for_commands())
    };
    assert_eq!(mode_of("all", None), (BoxMode::All, true));
    assert_eq!(mode_of("all", Some(BoxMode::Require)), (BoxMode::All, true));
    assert_eq!(mode_of("all", Some(BoxMode::Off)), (BoxMode::Off, false));
    assert_eq!(
        mode_of("require", Some(BoxMode::Require)),
        (BoxMode::Require, false)
    );
    assert!(BoxMode::All.is_required() && !BoxMode::On.is_required());
}
