//! A pull where the loop's ignore rules no longer ignore a file of the user.

use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

/// A loop on a remote whose first story removes the rules, and a clone that has an ignored file and directory.
fn without_rules(remote: &Remote) -> Clone<'_> {
    let one = remote.clone("one", &[]);
    fs::write(one.dir.join(".gitignore"), ".env\nbuild/\n").unwrap();
    one.git(&["add", ".gitignore"]);
    one.git(&["commit", "-qm", "rules"]);
    one.git(&["push", "-q", "origin", "HEAD:main"]);
    let other = remote.clone("other", &[]);
    fs::write(other.dir.join(".env"), "secret\n").unwrap();
    fs::create_dir(other.dir.join("build")).unwrap();
    fs::write(other.dir.join("build/out"), "out\n").unwrap();
    let agent = remote.sandbox.completing(": >.gitignore");
    one.ralph(&["run", CHANGE, "--max-attempts", "1", "--", &agent])
        .exits(6);
    other
}

#[test]
fn a_file_in_the_way_is_named_and_abort_gives_it_back() {
    let remote = Remote::new();
    let other = without_rules(&remote);
    let pulled = other.ralph(&["pull", CHANGE]).exits(0);
    for path in [".env", "build"] {
        let words =
            format!("{path} was in the way, as the rules of the loop do not ignore it; to get it back, ");
        assert!(pulled.stderr.contains(&words), "{}", pulled.stderr);
        assert!(!other.dir.join(path).exists(), "{path}");
    }
    // The command gets it back, and no checkpoint has it then.
    let line = pulled
        .stderr
        .lines()
        .find(|line| line.contains(".env was"))
        .unwrap();
    let command = line.split_once("then: ").unwrap().1;
    fs::write(other.dir.join(".git/info/exclude"), "/.env\n").unwrap();
    let sh = remote.sandbox.cmd("sh").args(["-ec", command]).dir(&other.dir);
    sh.run().exits(0);
    let agent = remote.sandbox.completing("echo x >>f");
    other.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    assert_eq!(other.git(&["ls-files", ".env"]), "");
    other
        .ralph(&["abort", CHANGE])
        .exits(0)
        .says("back from before the pull: build");
    assert_eq!(fs::read_to_string(other.dir.join(".env")).unwrap(), "secret\n");
    assert_eq!(fs::read_to_string(other.dir.join("build/out")).unwrap(), "out\n");
    assert_eq!(other.git(&["status", "--porcelain"]), "");
}

#[test]
fn run_names_it_too() {
    let remote = Remote::new();
    let other = without_rules(&remote);
    let agent = remote.sandbox.completing("echo x >>f");
    other
        .ralph(&["run", CHANGE, "--max-attempts", "1", "--", &agent])
        .exits(6)
        .says(".env was in the way");
    other.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(fs::read_to_string(other.dir.join(".env")).unwrap(), "secret\n");
}
