//! What `git ralph report` refuses, and where it writes.

use std::fs;

use crate::support::{CHANGE, Sandbox};

#[test]
fn error_names_a_place_that_cannot_be_written() {
    let sandbox = Sandbox::started();
    sandbox
        .ralph(&["report", "-o", "nowhere/report.html"])
        .exits(1)
        .says("nowhere/report.html")
        .answers_nothing();
    if fs::metadata("/dev/full").is_ok() {
        let out = sandbox.ralph(&["report", "-o", "/dev/full"]);
        out.exits(1).says("No space left on device").answers_nothing();
        let full = fs::metadata("/dev/full").unwrap();
        assert!(!full.is_file(), "it was replaced");
    }
    let answer = sandbox
        .ralph(&["report", "--markdown", "-o", "a\u{1b}b\n.md"])
        .exits(0)
        .stdout;
    assert_eq!(answer, format!("{}\n", sandbox.top.join("a^[b^J.md").display()));
    assert!(
        sandbox
            .read("a\u{1b}b\n.md")
            .starts_with("### git ralph: add-login")
    );
    for wrong in [
        &["report", "--redact", "("][..],
        &["report", "--since", "yesterdayish"],
        &["report", "--markdown", "--json"],
        &["report", "--diffs", "some"],
        &["report", CHANGE, "--all"],
    ] {
        sandbox.ralph(wrong).exits(2).answers_nothing();
    }
    sandbox.configure("ralph.linkCommit", "javascript:alert('{oid}')");
    sandbox.ralph(&["report"]).exits(1).says("ralph.linkCommit");
}

#[test]
fn report_of_all_loops_says_that_there_is_none() {
    let sandbox = Sandbox::new();
    let output = sandbox.ralph(&["report", "--all"]).exits(1).answers_nothing();
    output.says("error: no loop has been started in this repository\nhint: git ralph start add-login\n");
    // Scripts name a form or a file.
    for form in [&["--markdown"][..], &["--output", "report.html"]] {
        sandbox.ralph(&[&["report", "--all"], form].concat()).exits(0);
    }
    assert!(sandbox.top.join("report.html").exists());
    assert_eq!(
        sandbox.ralph(&["report", "--all", "--json"]).exits(0).stdout,
        "[]\n"
    );
}
