//! README.md says what the code says, and the driver in it is the one that is tested.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::CommandFactory;
use git_ralph::cli::Cli;
use git_ralph::{exit, settings};
use snapbox::assert_data_eq;

#[test]
fn every_setting_is_listed() {
    let readme = readme();
    for (key, default, meaning) in settings::TABLE {
        let row = format!("| `{key}` | {default} | {meaning} |");
        assert!(readme.contains(&row), "README.md has no line\n{row}");
    }
}

#[test]
fn every_exit_code_is_listed() {
    let readme = readme();
    for (code, meaning, then) in exit::TABLE {
        let row = format!("| {code} | {meaning} | {then} |");
        assert!(readme.contains(&row), "README.md has no line\n{row}");
    }
}

#[test]
fn every_command_is_listed() {
    let readme = readme();
    for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        let row = format!("| `git ralph {}", command.get_name());
        assert!(
            readme.contains(&row),
            "README.md has no line that begins with\n{row}"
        );
    }
}

#[test]
fn the_driver_is_the_tested_one() {
    let driver = fs::read_to_string(driver_file()).unwrap();
    let block = readme()
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned()))
        .find(|block| block.contains("git ralph $step"));
    assert_data_eq!(block.unwrap_or_default(), driver);
}

#[test]
fn the_driver_is_plain_sh() {
    for shell in ["sh", "dash"] {
        if crate::installed(shell) {
            let output = syntax_check(shell);
            assert!(output.is_empty(), "{shell} -n: {output}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test runs a shell as it likes")]
fn syntax_check(shell: &str) -> String {
    let output = Command::new(shell)
        .arg("-n")
        .arg(driver_file())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => words,
        code => format!("{code:?} {words}"),
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(top().join("README.md")).unwrap()
}

fn driver_file() -> PathBuf {
    top().join("tests/fixtures/driver.sh")
}
