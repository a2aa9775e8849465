//! Tests templates by a hostile author: each soon ends in a prompt or in an error.

use std::fmt::Write;
use std::path::Path;

use super::tests::with;
use super::{Template, TemplateError};
use proptest::prelude::*;

fn rendered(template: &str) -> Result<String, TemplateError> {
    with(template, "- [ ] 1.1 one\n", Some("red"), "a\nb")
}

#[test]
fn template_that_takes_too_long_or_too_much_is_a_mistake() {
    let deep = |open: &str, inner: &str, close: &str| {
        format!("{{{{ {}{inner}{} }}}}", open.repeat(50_000), close.repeat(50_000))
    };
    let mut branches = "{% if attempt == 0 %}".to_owned();
    for number in 1..5000 {
        let _ = write!(branches, "{{% elif attempt == -{number} %}}");
    }
    let nested = "{% if true %}".repeat(20_000) + &"{% endif %}".repeat(20_000);
    for template in [
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ i }}{% for j in range(1000) %}x{% endfor %}{% endfor %}",
        &deep("-", "1", ""),
        &deep("'}}'~", "1", ""),
        &deep("\"\\\"}}\"~-", "1", ""),
        &deep("not ", "true", ""),
        &deep("(", "1", ")"),
        &deep("[", "1", "]"),
        &deep("1+", "1", ""),
        &deep("1~", "1", ""),
        &deep("", "story", ".a"),
        &deep("", "story", "[0]"),
        &deep("", "story", "|list"),
        &deep("1 if 1 else ", "1", ""),
        &(branches + "{% endif %}"),
        &nested,
        "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% for i in range(3000) %}{{ 'x' * 99999 }}{% endfor %}",
    ] {
        let error = rendered(template).expect_err(template.get(..60).unwrap_or(template));
        assert!(error.to_string().starts_with("t.md line "), "{error}");
    }
}

#[test]
fn deep_template_within_the_limits_is_rendered_or_refused() {
    for operator in ["-", "not ", "1+", "1~", "1 if 1 else ", "1 and ", "1 ** "] {
        let _ = rendered(&format!("{{{{ {}1 }}}}", operator.repeat(2000 / operator.len())));
    }
    for suffix in [".a", "[0]", "|list", "()"] {
        let _ = rendered(&format!("{{{{ story{} }}}}", suffix.repeat(2000 / suffix.len())));
    }
    let mut branches = "{% if attempt == 0 %}".to_owned();
    for number in 0..200 {
        let _ = write!(branches, "{{% elif attempt == -{number} %}}");
    }
    rendered(&(branches + "{% endif %}")).unwrap();
    // Values may be nested as deep as the number of steps.
    for count in [1000, 20_000, 30_000] {
        let _ = rendered(&format!(
            "{{% set ns = namespace(x=[]) %}}{{% for i in range({count}) %}}{{% set ns.x = [ns.x] %}}{{% endfor %}}{{{{ ns.x }}}}"
        ));
    }
    let tasks =
        "{% for i in range(5000) %}- [ ] {{ i }} {{ story.id }}{% if i is odd %}!{% endif %}\n{% endfor %}";
    rendered(tasks).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rendering_ends_for_any_template(parts in prop::collection::vec(prop::sample::select(vec![
        "{{", "}}", "{%", "%}", "{#", "#}", " ", "-", "not ", "(", ")", "[", "]", "'", "\"", "|", ".", ",", ":", "~", "*", "**",
        "if ", "else ", "elif ", "endif ", "for ", "in ", "endfor ", "set ", "endset ", "raw ", "endraw ", "filter ", "endfilter ",
        "with ", "endwith ", "do ", "break ", "macro ", "include ", "recursive ", "loop", "loop(x) ", "x", "x = ", "story", "story.tasks",
        "attempt", "reason", "learnings", "range(9)", "range(99999)", "namespace()", "dict()", "debug()", "1", "1.5", "true", "none",
        "{{ story.id }}", "{% for x in range(999) %}", "{% endfor %}", "{% if x %}", "{% endif %}", "\n", "\u{e9}", "|list", "|join(',')",
        "|length", "|sort", "|tojson", "<promise>COMPLETE</promise>",
    ]), 0..40)) {
        let _ = rendered(&parts.concat());
    }

    #[test]
    fn rendering_ends_for_any_text(text in r"(?s)(\PC|.|\{\{|\}\}|\{%|%\}){0,80}") {
        let _ = rendered(&text);
    }
}

#[test]
fn template_must_be_a_file_of_limited_length() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("t.md");
    std::fs::write(&file, "x".repeat(256 * 1024 + 1)).unwrap();
    Template::load(temp.path(), Some("t.md")).unwrap_err();
    std::fs::write(&file, "x".repeat(256 * 1024)).unwrap();
    Template::load(temp.path(), Some("t.md")).unwrap();
    std::fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    Template::load(temp.path(), Some("t.md")).unwrap_err();
    Template::load(Path::new("/dev"), Some("zero")).unwrap_err();
}
