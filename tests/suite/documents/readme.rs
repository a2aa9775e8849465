//! What README.md and docs/ list is what the code has, and what they show to be typed works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git_ralph::tables::GROUPS;
use git_ralph::tables::PRESETS;
use git_ralph::tables::{EXIT_CODES, SETTING_GROUPS, SETTINGS};
use snapbox::{Data, assert_data_eq};

use super::picture;
use crate::support::document::{self, row};
use crate::support::{Sandbox, console, write_program};

#[test]
fn every_setting_is_listed() {
    let mut tables = Vec::new();
    for (group, keys) in SETTING_GROUPS {
        let mut table = format!("## {group}\n\n| key | default | meaning |\n|---|---|---|\n");
        for (key, default, meaning) in SETTINGS.iter().filter(|(key, ..)| keys.contains(key)) {
            table.push_str(&row(&[&format!("`{key}`"), default, meaning]));
        }
        tables.push(table);
    }
    document::has_part("docs/settings.md", "settings", &tables.join("\n"));
}

#[test]
fn every_exit_code_is_listed() {
    let mut table = "| code | meaning | what a script does |\n|---|---|---|\n".to_owned();
    for (code, meaning, then) in EXIT_CODES {
        table.push_str(&row(&[code, meaning, then]));
    }
    document::has_part("docs/scripting.md", "exit codes", &table);
}

#[test]
fn every_agent_is_listed() {
    let mut table = "| name | command line | |\n|---|---|---|\n".to_owned();
    for preset in PRESETS {
        let env = preset.env.iter().map(|(name, value)| format!("{name}={value} "));
        let line = format!("`{}{}`", env.collect::<String>(), preset.line());
        let note = match (preset.unasked, preset.tried) {
            (_, false) => "not tried with the real program".to_owned(),
            (Some(argument), true) => format!("`{argument}` lets it act without asking"),
            (None, true) => String::new(),
        };
        table.push_str(&row(&[&format!("`{}`", preset.name), &line, &note]));
    }
    document::has_part("docs/agents.md", "agents", &table);
}

#[test]
fn commands_are_listed_in_the_groups_of_the_help() {
    let page = &document::all()["docs/commands.md"];
    let mut rest = page.as_str();
    for (group, verbs) in GROUPS {
        let heads = [format!("| **{group}** | |")];
        let rows = verbs.iter().map(|verb| format!("| `git ralph {verb}` |"));
        for row in heads.into_iter().chain(rows) {
            let found = rest.split_once(&row);
            rest = found
                .unwrap_or_else(|| panic!("docs/commands.md lacks, or has elsewhere:\n{row}"))
                .1;
        }
    }
}

#[test]
fn links_lead_somewhere() {
    for (path, text) in document::all() {
        let dir = top().join(&path);
        for link in super::manual::links(&text) {
            let is_there = link.contains("://") || dir.parent().unwrap().join(&link).exists();
            assert!(is_there, "{path}: {link}");
        }
    }
}

#[test]
fn the_driver_is_the_tested_one() {
    let driver = fs::read_to_string(driver_file()).unwrap();
    assert_data_eq!(document::block("run: the driver"), driver);
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

#[test]
fn the_quick_start_works_as_it_is_typed() {
    let mut sandbox = Sandbox::new();
    let project = sandbox.outside("project");
    fs::rename(&sandbox.top, &project).unwrap();
    sandbox.top = project;
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>"}"#;
    sandbox.install(
        "claude",
        &format!("echo \"$RALPH_STORY\" >>done.txt; echo '{result}'"),
    );
    sandbox.install("cargo", "test \"$*\" = test && echo gate >>$notes/gates");
    sandbox.install("pipx", "test \"$1\" = install");
    let typed = sandbox.cmd("sh").args(["-ec", &quick_start()]);
    typed.dir(&sandbox.outside("")).run().exits(0);
    assert_eq!(sandbox.read("done.txt"), "add-a-login-form\ncheck-the-password\n");
    // One of them before the loop, and one a story.
    assert_eq!(sandbox.noted("gates").lines().count(), 3);
}

fn quick_start() -> String {
    document::block("run: the quick start")
}

#[test]
fn shown_run_matches_a_real_run() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.top.join("openspec")).unwrap();
    let typed = quick_start();
    let list: Vec<&str> = typed.lines().filter(|line| line.starts_with("- [ ]")).collect();
    sandbox.write("TODO.md", &list.join("\n"));
    let test = "test ! -e check.sh || grep -q password login.html || {
        echo 'login.html: no field for the password'; exit 1; }";
    write_program(&sandbox.top.join("test.sh"), &format!("#!/bin/sh\n{test}\n"));
    let agent = sandbox.agent(
        "count; case $n in
        1) echo '<input name=user><input name=password>' >login.html ;;
        2) echo '<input name=user>' >login.html; echo check >check.sh ;;
        *) echo check >check.sh ;; esac; complete",
    );
    sandbox.configure("ralph.agent", &agent);
    sandbox.configure("ralph.verify", "./test.sh");
    sandbox.ralph(&["start", "--stories", "TODO.md"]).exits(0);
    sandbox.ralph(&["next"]).exits(0);
    console::follow_on_terminal(&sandbox, &sandbox.top, &shown(), 80);
}

#[test]
fn the_first_page_is_short() {
    let words = document::all()["README.md"].split_whitespace().count();
    assert!(words < 900, "{words} words");
    assert!(shown().lines().count() <= 20);
}

#[test]
fn the_picture_shows_the_run() {
    let picture = Data::read_from(&top().join("docs/run.svg"), None).raw();
    assert_data_eq!(picture::svg(&shown()), picture);
}

/// Reads the run that README.md shows.
fn shown() -> String {
    fs::read_to_string(top().join("docs/run.txt")).unwrap()
}

#[test]
fn every_shell_block_can_be_typed() {
    let documents = document::all();
    let blocks = documents
        .values()
        .flat_map(|text| text.split("\n```sh\n").skip(1));
    let blocks: Vec<_> = blocks.filter_map(|rest| rest.split_once("\n```")).collect();
    assert!(blocks.len() > 15);
    let sandbox = Sandbox::empty();
    for (block, _) in blocks {
        let check = sandbox.cmd("sh").args(["-nc", block]);
        assert_eq!(check.dir(top()).run().exits(0).stderr, "", "{block}");
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn driver_file() -> PathBuf {
    top().join("tests/fixtures/driver.sh")
}
