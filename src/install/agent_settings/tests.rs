use super::edit::{self, Empties};
use super::{Wanted, named};

fn wanted(agent: &str) -> &'static [Wanted] {
    named(agent).unwrap().hooks
}

fn round_trip(text: &str) {
    for agent in ["claude", "codex", "gemini"] {
        let mut empties = Empties::new();
        let (with, added) = edit::add(text, wanted(agent), &mut empties).unwrap();
        assert_eq!(added.len(), wanted(agent).len(), "{text}");
        assert_eq!(edit::present(&with, wanted(agent)).unwrap(), added, "{with}");
        for word in text.split(|c: char| c.is_whitespace() || "{}[],".contains(c)) {
            assert!(with.contains(word), "{word} in {with}");
        }
        let again = edit::add(&with, wanted(agent), &mut empties).unwrap();
        assert_eq!((again.0, again.1.len()), (with.clone(), 0));
        let (without, removed) = edit::remove(&with, wanted(agent), &empties).unwrap();
        assert_eq!(without, text, "{agent}: {with}");
        assert_eq!(removed, added);
    }
}

const TEXTS: &[&str] = &[
    "",
    "\n",
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\n  // nothing yet\n}\n",
    "{ /* nothing */ }",
    "{\"a\":1}",
    "{\"a\":{\"b\":[1,2]},\"hooks\":{\"Stop\":[]}}",
    "{ \"a\": 1 }",
    "{\"a\": 1, \"b\": [1, 2]}\n",
    "{\n  \"a\": 1\n}",
    "{\n    \"a\": {\n        \"b\": [1, 2]\n    },\n    \"c\": null\n}\n",
    "{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{ \"matcher\": \"*\", \"hooks\": [] }\n\t\t]\n\t}\n}\n",
    "{\r\n  \"a\": 1,\r\n  \"hooks\": {}\r\n}\r\n",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"say done\" }\n        ]\n      }\n    ]\n  },\n  \"z\": 1\n}\n",
    "{\n  \"hooks\": { \"Stop\": [{ \"hooks\": [{ \"command\": \"say\" }] }], \"AfterAgent\": [ ] },\n  \"z\": 1 // last\n}\n",
    "// head\n{\n  \"a\": 1, // one, or two\n  /* block, */\n  \"b\": 2, // trailing\n  // footer, with a comma\n}\n// end\n",
    "{\n  \"a\": 1 // one\n  // footer\n}\n",
    "{\"a\": 1 /* c */}",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      // mine\n    ],\n  },\n}\n",
    "{ \"url\": \"http://x/*y\", \"t\": \"a\\\"b,c\" }",
    "{\"é\":\"ü ñ\"}",
];

#[test]
fn removal_restores_settings_byte_for_byte() {
    for text in TEXTS {
        round_trip(text);
    }
}

#[test]
fn added_hooks_follow_the_layout_of_the_text() {
    let add = |text: &str| edit::add(text, wanted("codex"), &mut Empties::new()).unwrap().0;
    assert_eq!(
        add("{\"a\":1}"),
        r#"{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"git ralph hook stop","timeout":3600}]}]}}"#
    );
    assert_eq!(
        add("{\n\t\"a\": 1 // one\n}\n"),
        "{\n\t\"a\": 1, // one\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\
         \t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": \"git ralph hook stop\",\n\
         \t\t\t\t\t\t\"timeout\": 3600\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n"
    );
    let crlf = add("{\r\n  \"a\": 1\r\n}\r\n");
    assert_eq!(crlf.matches('\n').count(), crlf.matches("\r\n").count());
    let alone = edit::add("{ // a\r }", wanted("codex"), &mut Empties::new());
    assert!(alone.unwrap_err().contains("carriage return"));
}

#[test]
fn removal_finds_hooks_in_edited_settings() {
    let remove = |text: &str| edit::remove(text, wanted("claude"), &Empties::new()).unwrap().0;
    let ours = r#"{"timeout": 9, "command": "git ralph hook stop", "type": "command"}"#;
    // Another one of the user's in the same group, and members in another order.
    assert_eq!(
        remove(&format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{{"command": "a"}}, {ours}]}}]}}, "b": 1}}"#
        )),
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}, "b": 1}"#
    );
    assert_eq!(
        remove(&format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{ours}, {{"command": "a"}}]}}]}}, "b": 1}}"#
        )),
        r#"{"hooks": {"Stop": [{"hooks": [ {"command": "a"}]}]}, "b": 1}"#
    );
    assert_eq!(
        remove(&format!(
            "{{\n  \"hooks\": {{\n    \"Stop\": [\n      {{ \"hooks\": [{ours}] }}, // mine\n      {{ \"hooks\": [] }}\n    ]\n  }}\n}}"
        )),
        "{\n  \"hooks\": {\n    \"Stop\": [ // mine\n      { \"hooks\": [] }\n    ]\n  }\n}"
    );
    // Twice, and nothing else.
    assert_eq!(
        remove(&format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{ours}]}}, {{"hooks": [{ours}]}}]}}, "b": 1}}"#
        )),
        r#"{ "b": 1}"#
    );
    let mut empties = Empties::new();
    let (with, _) = edit::add("{\n  \"a\": 1\n}\n", wanted("claude"), &mut empties).unwrap();
    let edited = with
        .replace("\"a\": 1,", "\"a\": 2,")
        .replace("\n}\n", ",\n  \"b\": 3\n}\n");
    let (without, _) = edit::remove(&edited, wanted("claude"), &empties).unwrap();
    assert_eq!(without, "{\n  \"a\": 2,\n  \"b\": 3\n}\n");
}

#[test]
fn edit_refuses_invalid_settings() {
    for (text, why) in [
        ("no", "not JSON"),
        ("{\"a\": 1", "not JSON"),
        ("{\"a\": 1} x", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("[]", "not a JSON object"),
        ("// only a comment\n", "not a JSON object"),
        ("{\"hooks\": []}", "hooks is not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop is not a list"),
        ("{\"hooks\": {\"Stop\": [1]}}", "hooks.Stop[0] is not an object"),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": 1}]}}",
            "hooks.Stop[0].hooks is not a list",
        ),
        ("{\"hooks\": {}, \"hooks\": {}}", "\"hooks\" twice"),
    ] {
        let refused = edit::add(text, wanted("claude"), &mut Empties::new()).unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

#[test]
fn printed_settings_are_those_that_are_installed() {
    for agent in super::ALL {
        let printed = agent.settings();
        assert_eq!(
            edit::present(&printed, agent.hooks).unwrap().len(),
            agent.hooks.len()
        );
        let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert!(value["hooks"].is_object());
    }
}
