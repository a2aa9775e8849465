//! `git ralph version`: for people and for scripts, with or without a repository and a git.

use crate::support::Sandbox;

#[test]
fn version_prints_the_same_as_the_option() {
    let sandbox = Sandbox::empty();
    let dir = sandbox.outside("home");
    let print = |word| sandbox.ralph_cmd(&[word]).dir(&dir).run().exits(0).stdout;
    assert_eq!(print("version"), print("--version"));
    assert_eq!(
        print("version"),
        concat!("git-ralph ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn json_has_the_program_and_git() {
    let sandbox = Sandbox::empty();
    let dir = sandbox.outside("home");
    let command = sandbox.ralph_cmd(&["version", "--json"]).dir(&dir);
    let found = command.run().exits(0).json();
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(found["os"], std::env::consts::OS);
    assert_eq!(found["arch"], std::env::consts::ARCH);
    assert_eq!(found["oldest_git"], "2.38");
    let git = sandbox.git_cmd(&["--version"]).dir(&dir).run().exits(0).stdout;
    assert_eq!(found["git"], git.trim());
}

#[test]
fn json_reports_a_missing_git() {
    let sandbox = Sandbox::empty();
    let empty = sandbox.outside("empty");
    std::fs::create_dir(&empty).unwrap();
    let program = env!("CARGO_BIN_EXE_git-ralph");
    let command = sandbox.cmd(program).args(["version", "--json"]);
    let found = command
        .env("PATH", empty.to_str().unwrap())
        .dir(&empty)
        .run()
        .exits(0)
        .json();
    assert!(found["git"].is_null(), "{found:#}");
}
