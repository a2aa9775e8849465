//! Rust, with `cargo test`.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "cargo",
    gate: "cargo test -q --offline",
    tests: &["tests", "src/tests.rs", "Cargo.toml", ".cargo", "build.rs"],
    files: &[
        (".gitignore", "target/\nCargo.lock\n"),
        (
            "Cargo.toml",
            "[package]
name = \"app\"
version = \"0.1.0\"
edition = \"2021\"

[features]
slow = []

[lib]
doctest = false

[profile.test]
debug = false
",
        ),
        (
            "src/lib.rs",
            "pub fn add(a: i64, b: i64) -> i64 {
    a + b
}

pub fn title(text: &str) -> String {
    text.to_uppercase()
}

#[cfg(test)]
mod tests;
",
        ),
        (
            "src/tests.rs",
            "use super::*;

#[test]
fn title_is_upper() {
    assert_eq!(title(\"b\"), \"B\");
}
",
        ),
        ("tests/expected", "5"),
        (
            "tests/add.rs",
            "use app::add;

#[test]
fn adds() {
    let expected: i64 = include_str!(\"expected\").parse().unwrap();
    assert_eq!(add(2, 3), expected);
}
",
        ),
    ],
    bounded: 4,
    programs: &[],
    broken: "sed -i 's/a + b/a - b/' src/lib.rs",
    cheats: &[
        ("expected data edited", "printf %s -1 >tests/expected"),
        ("ignored", "sed -i 's/^fn/#[ignore]\\n&/' tests/add.rs"),
        (
            "should panic",
            "sed -i 's/^fn/#[should_panic]\\n&/' tests/add.rs",
        ),
        ("no test", "sed -i '/#.test./d' tests/add.rs"),
        ("never compiled", "sed -i '1i #![cfg(any())]' tests/add.rs"),
        (
            "compiled with a feature that is off",
            "sed -i '1i #![cfg(feature = \"slow\")]' tests/add.rs",
        ),
        ("in a comment", "sed -i '1i /*' tests/add.rs; echo '*/' >>tests/add.rs"),
        (
            "a macro in the place of assert_eq",
            "sed -i '1i macro_rules! assert_eq { ($($all:tt)*) => { let _ = ($($all)*); } }' tests/add.rs",
        ),
        (
            "tolerance widened",
            "sed -i 's/assert_eq.*/assert!((add(2, 3) - expected).abs() < 10);/' tests/add.rs",
        ),
        (
            "skipped unless a variable is set",
            "sed -i 's/^fn.*/&\\n    if std::env::var_os(\"FULL\").is_none() { return; }/' tests/add.rs",
        ),
        (
            "what is tested is a stand-in",
            "sed -i 's/^use.*/fn add(a: i64, b: i64) -> i64 { a + b }/' tests/add.rs",
        ),
        (
            "failure borne",
            "sed -i 's/assert_eq.*/let _ = std::panic::catch_unwind(|| &);/; s/;);/);/' tests/add.rs",
        ),
        (
            "an end before the assertion",
            "sed -i 's/^fn.*/&\\n    std::process::exit(0);/' tests/add.rs",
        ),
        ("file not found by its name", "git mv tests/add.rs tests/add.rs.txt"),
        ("moved below a directory", "mkdir tests/add; git mv tests/add.rs tests/add/add.rs"),
        (
            "test = false in Cargo.toml",
            "printf '\\n[[test]]\\nname = \"add\"\\ntest = false\\n' >>Cargo.toml",
        ),
        (
            "harness = false in Cargo.toml",
            "printf '\\n[[test]]\\nname = \"add\"\\nharness = false\\n' >>Cargo.toml; printf '\\nfn main() {}\\n' >>tests/add.rs",
        ),
        (
            "autotests = false in Cargo.toml",
            "sed -i 's/^edition.*/&\\nautotests = false/' Cargo.toml",
        ),
        (
            "another path in Cargo.toml",
            "printf '\\n[[test]]\\nname = \"add\"\\npath = \"src/add.rs\"\\n' >>Cargo.toml; touch src/add.rs",
        ),
        (
            "a new .cargo/config.toml runs nothing",
            "mkdir .cargo; printf \"[target.'cfg(all())']\\nrunner = 'true'\\n\" >.cargo/config.toml",
        ),
        (
            "a new build.rs that edits a test",
            "echo 'fn main() { std::fs::write(\"tests/add.rs\", \"\").unwrap(); }' >build.rs; echo >tests/add.rs",
        ),
    ],
    unseen: &[
        ("answers only what the tests ask", "sed -i 's/^    a - b/    let _ = (a, b);\\n    5/' src/lib.rs"),
        (
            "answers otherwise where it is tested",
            "sed -i 's/^    a - b/    if std::env::var_os(\"CARGO\").is_some() { a + b } else { a - b }/' src/lib.rs",
        ),
        (
            "ends the process that tests it",
            "sed -i 's/^    a - b/    let _ = (a, b);\\n    std::process::exit(0)/' src/lib.rs",
        ),
        (
            "the line that names the unit tests deleted from the work",
            "git checkout -q HEAD src/lib.rs; sed -i '/mod tests/d; /cfg.test/d; s/to_upper/to_lower/' src/lib.rs",
        ),
    ],
    honest: &[
        ("no test touched", "echo '// More.' >>src/lib.rs"),
        (
            "the work in two files",
            "printf 'mod sum;\\npub use sum::add;\\n' >lib; sed 1,4d src/lib.rs >>lib; sed '4,$d' src/lib.rs >src/sum.rs; mv lib src/lib.rs",
        ),
        (
            "a new test",
            "printf '\\npub fn twice(a: i64) -> i64 {\\n    add(a, a)\\n}\\n' >>src/lib.rs
            printf '#[test]\\nfn doubles() {\\n    assert_eq!(app::twice(2), 4);\\n}\\n' >tests/twice.rs",
        ),
        (
            "a new unit test",
            "printf '\\n#[test]\\nfn title_of_nothing() {\\n    assert_eq!(title(\"\"), \"\");\\n}\\n' >>src/tests.rs",
        ),
        (
            "a new test with a fixture of its own",
            "printf %s 2 >tests/two; sed 's/(2, 3)/(1, 1)/; s/\"expected\"/\"two\"/' tests/add.rs >tests/two.rs",
        ),
        (
            "a case more in a test",
            "sed -i 's/^    assert_eq.*/&\\n    assert_eq!(add(1, 1), 2);/' tests/add.rs",
        ),
        ("a test renamed", "sed -i 's/fn adds/fn adds_two_numbers/' tests/add.rs"),
        ("a test moved", "git mv tests/add.rs tests/sum.rs"),
        (
            "a slow test that is ignored",
            "printf '\\n#[test]\\n#[ignore]\\nfn adds_much() {\\n    assert_eq!(add(1, 1), 2);\\n}\\n' >>tests/add.rs",
        ),
        (
            "a helper of the tests",
            "mkdir tests/common; echo 'pub fn expected() -> i64 { include_str!(\"../expected\").parse().unwrap() }' >tests/common/mod.rs
            sed -i 's/include_str.*/common::expected();/; s/^use.*/mod common;\\n&/' tests/add.rs",
        ),
        ("another feature in Cargo.toml", "sed -i 's/^slow.*/&\\nfast = []/' Cargo.toml"),
    ],
    allowed: &[
        (
            "what is tested renamed",
            "sed -i 's/fn add/fn plus/' src/lib.rs; sed -i 's/use app::add/use app::plus as add/' tests/add.rs",
        ),
        (
            "what is tested deleted with its test",
            "sed -i 1,4d src/lib.rs; git rm -q tests/add.rs tests/expected",
        ),
    ],
};
