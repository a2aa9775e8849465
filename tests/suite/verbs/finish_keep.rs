//! `git ralph finish --keep`: what it says of files and branches.

use crate::support::Sandbox;

#[test]
fn keep_says_where_the_uncommitted_files_are_and_how_they_come_back() {
    let sandbox = Sandbox::dirty();
    let before = sandbox.files();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("true")).exits(0);
    let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
    let command = told.lines().find_map(|line| line.split("as they were: ").nth(1));
    let command = command.unwrap_or_else(|| panic!("{told}"));
    assert!(
        command.starts_with("git checkout main && git restore "),
        "{command}"
    );
    sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    let after = sandbox.files();
    for (path, content) in &before {
        assert_eq!(after.get(path), Some(content), "{}", path.display());
    }
    // Nobody's file was uncommitted.
    let sandbox = Sandbox::new();
    sandbox.start();
    let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
    assert!(!told.contains("not committed before"), "{told}");
}

#[test]
fn keep_on_another_branch_says_what_is_there() {
    for gone in [false, true] {
        let sandbox = Sandbox::started();
        sandbox.git(&["checkout", "-q", "main"]);
        if gone {
            sandbox.git(&["branch", "-q", "-D", "ralph/add-login"]);
        }
        let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
        assert!(told.contains("finished: HEAD stays on main\n"), "{told}");
        assert_eq!(
            told.contains("to bring it back: git branch ralph/add-login "),
            gone,
            "{told}"
        );
    }
}
