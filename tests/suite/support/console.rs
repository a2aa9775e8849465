//! What a document shows of a terminal: `$ ` before what is typed, `> ` before how it goes on, and what is seen then.

use std::path::Path;

use super::Sandbox;

/// Types everything, in this directory, and holds what is seen against what is shown. Commits, times and how a
/// command ends differ from run to run, or are told elsewhere.
#[track_caller]
pub fn follow(sandbox: &Sandbox, dir: &Path, shown: &str) {
    compare(shown, |script| {
        sandbox.cmd("sh").args(["-c", script]).dir(dir).run().stdout
    });
}

/// Does the same on a terminal, and compares what is left to see there.
#[track_caller]
pub fn follow_on_terminal(sandbox: &Sandbox, dir: &Path, shown: &str, columns: u16) {
    compare(shown, |script| {
        let typed = sandbox.cmd("sh").args(["-c", script]).dir(dir);
        visible(&typed.on_terminal(columns).run().stdout).join("\n")
    });
}

#[track_caller]
fn compare(shown: &str, run: impl Fn(&str) -> String) {
    let mut lines = shown.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else {
            assert_eq!(line.trim(), "", "not a command");
            continue;
        };
        let mut typed = first.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with('>')) {
            typed.push('\n');
            typed.push_str(more.strip_prefix("> ").unwrap_or_default());
        }
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            expected.push_str(line);
            expected.push('\n');
        }
        let seen = run(&format!("exec 2>&1; {typed}\n"));
        assert_eq!(
            constant(seen.trim_end()),
            constant(expected.trim_end()),
            "{typed}"
        );
    }
}

/// Returns a text without what differs from run to run: abbreviated commits, and times.
pub fn constant(text: &str) -> String {
    let ends = [' ', '\n', '(', ')', ':', ',', ';'];
    let same = text.split_inclusive(ends).map(|word| {
        let bare = word.trim_end_matches(ends);
        let end = &word[bare.len()..];
        let hex = |c: char| c.is_ascii_hexdigit();
        if bare.len() == 10 && bare.chars().all(hex) {
            format!("<commit>{end}")
        } else if bare
            .strip_suffix('s')
            .is_some_and(|number| number.parse::<f64>().is_ok())
        {
            format!("<time>{end}")
        } else {
            word.to_owned()
        }
    });
    same.collect()
}

/// Returns the lines that a terminal shows of a text once it has acted upon its control sequences.
pub fn visible(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut shown = String::new();
        let mut rest = line;
        while let Some(at) = rest.find(['\x1b', '\r']) {
            shown.push_str(&rest[..at]);
            if rest[at..].starts_with('\r') {
                shown.clear();
                rest = &rest[at + 1..];
            } else {
                let end = rest[at + 2..].find(|c: char| c.is_ascii_alphabetic()).unwrap();
                rest = &rest[at + 2 + end + 1..];
            }
        }
        shown.push_str(rest);
        lines.push(shown);
    }
    lines
}
