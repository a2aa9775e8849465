//! What a document shows of a terminal: `$ ` before what is typed, `> ` before how it goes on, and what is seen then.

use std::path::Path;

use super::Sandbox;

/// Types everything, in this directory, and holds what is seen against what is shown. Commits, times and how a
/// command ends differ from run to run, or are told elsewhere.
#[track_caller]
pub fn follow(sandbox: &Sandbox, dir: &Path, shown: &str) {
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
        let script = format!("exec 2>&1; {typed}\n");
        let seen = sandbox.cmd("sh").args(["-c", &script]).dir(dir).run().stdout;
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
            .is_some_and(|number| number.parse::<u32>().is_ok())
        {
            format!("<time>{end}")
        } else {
            word.to_owned()
        }
    });
    same.collect()
}
