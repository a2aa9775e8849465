use super::*;
use proptest::prelude::*;
use std::os::unix::ffi::OsStrExt;

#[test]
fn names_that_git_refuses_are_refused() {
    for bad in [
        "", "a/b", "-x", "a..b", "a.lock", ".a", "a.", "a b", "x~1", "@{u}", "a\\b", "a:b", "a\nb",
        "../../x", "@", "x.toml", "a%b",
    ] {
        assert!(Change::new(bad).is_err(), "{bad:?}");
    }
    assert!(Change::new(&"x".repeat(201)).is_err());
    for good in ["add-login", "HEAD", "größe", "v1.2", "a@b", "x{y"] {
        assert!(Change::new(good).is_ok(), "{good:?}");
    }
}

#[test]
fn components_are_escaped() {
    assert_eq!(ref_component("1.2"), "1.2");
    assert_eq!(ref_component("a b/c"), "a%20b%2Fc");
    assert_eq!(ref_component(".."), "%2E%2E");
    assert_eq!(ref_component("x.lock"), "x%2Elock");
    assert_eq!(ref_component("100%"), "100%25");
}

#[test]
fn heading_shows_the_id_once() {
    assert_eq!(heading("2", "2. Test"), "2. Test");
    assert_eq!(heading("2", "20 tests"), "2: 20 tests");
    assert_eq!(heading("test", "Write a test"), "test: Write a test");
    assert_eq!(heading("write-a-test", "Write *a* test"), "Write *a* test");
    assert_eq!(
        heading("write-a-test-2", "Write a test"),
        "write-a-test-2: Write a test"
    );
    for (id, title) in [
        ("§", "Write a test"),
        ("write", "Write a test"),
        ("US-1", "US 1 log in"),
    ] {
        assert_eq!(heading(id, title), format!("{id}: {title}"));
    }
    let long = "Write a test of each word that a title of more than sixty letters has";
    assert_eq!(
        heading(
            "write-a-test-of-each-word-that-a-title-of-more-than-sixty-le",
            long
        ),
        long
    );
}

#[test]
fn a_number_agrees_with_its_noun() {
    let counts = [0_u32, 1, 2].map(|number| counted(number, "retry", "retries"));
    assert_eq!(counts, ["0 retries", "1 retry", "2 retries"]);
}

#[test]
fn quoting_keeps_a_word_on_one_line_and_visible() {
    for (word, quoted) in [
        ("a-b_1.2@3", "a-b_1.2@3"),
        ("", "''"),
        ("a b", "'a b'"),
        ("$(a);`b`", "'$(a);`b`'"),
        ("it's", r"'it'\''s'"),
        ("{a,b}", "'{a,b}'"),
        ("{prompt_file}", "{prompt_file}"),
        ("=a", "'=a'"),
        ("a\nb", r"$'a\012b'"),
        ("\u{1b}[31m'\\", r"$'\033[31m\'\\'"),
        ("a\u{202e}b", r"$'a\342\200\256b'"),
    ] {
        assert_eq!(typed(word), quoted, "{word:?}");
    }
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff1"));
    assert_eq!(typed_path(path), r"$'/a\3771'");
}

#[test]
fn dollars_shows_amounts_below_a_cent() {
    let amounts = [0.0, -0.0, -0.003, 0.003, 0.01, 1.5].map(dollars);
    assert_eq!(amounts, ["$0.00", "$0.00", "$0.00", "$0.0030", "$0.01", "$1.50"]);
}

#[test]
fn closest_finds_a_name_only_after_a_typing_slip() {
    let meant = |name: &str, known: &str| closest(name, &[known.to_owned()]).is_some();
    assert!(meant("add-logn", "add-login") && meant("lgin", "login") && meant("cluade", "claude"));
    for (name, known) in [
        ("7", "1"),
        ("10", "1"),
        ("1.2", "1.1"),
        ("a", "b"),
        ("tidy-up", "add-login"),
    ] {
        assert!(!meant(name, known), "{name} {known}");
    }
}

proptest! {
    #[test]
    fn different_texts_stay_different(a in ".{0,20}", b in ".{0,20}") {
        prop_assert_eq!(ref_component(&a) == ref_component(&b), a == b);
    }
}

#[test]
fn a_list_gives_its_change_a_name_that_a_change_can_have() {
    for (list, name) in [
        ("docs/TODO.md", "todo"),
        ("v1.2.md", "v1.2"),
        ("my list (new).md", "my-list-new"),
        ("todo+2.md", "todo-2"),
        ("-plan.md", "plan"),
        ("Größe?.md", "größe"),
        ("a.toml.md", "a-toml"),
        ("???.md", "stories"),
    ] {
        assert_eq!(Change::of_list(list).as_str(), name, "{list}");
    }
    let long = format!("{}.md", "word ".repeat(60));
    assert!(Change::of_list(&long).as_str().len() <= SLUG_LENGTH);
}
