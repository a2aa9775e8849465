//! Files with names that git or a file system could take for others.

use std::path::Path;

use crate::support::Sandbox;

#[test]
fn files_whose_names_differ_in_case_alone_are_told_apart_where_the_file_system_does() {
    let sandbox = Sandbox::new();
    sandbox.configure("core.ignorecase", "true");
    sandbox.write("README.MD", "mine\n");
    sandbox.write("SRC/LIB.TXT", "mine too\n");
    if sandbox.read("README.md") != "# Standard\n" {
        return;
    }
    let before = sandbox.files();
    sandbox.start();
    let harm = "rm -rf README.MD README.md SRC src; echo x >TOOL";
    sandbox.step("next", &sandbox.failing(harm)).exits(3);
    assert_eq!(sandbox.files(), before);
    sandbox.step("retry", &sandbox.completing(harm)).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:TOOL"]), "x");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn names_that_git_would_take_for_patterns_are_names() {
    let sandbox = Sandbox::started();
    let files = sandbox.files();
    let make =
        "mkdir -p ':(exclude)d' '*'; for f in ':(exclude)d/f' ':!x' ':^x' '*/[a]' '!y' ':(glob,nonsense)z'
        do echo w >\"$f\"; done; git add -A";
    sandbox.step("next", &sandbox.failing(make)).exits(3);
    assert_eq!(sandbox.files(), files);
    sandbox.step("retry", &sandbox.completing(make)).exits(0);
    sandbox.is_at_checkpoint();
    let work = sandbox.files();
    assert_eq!(work[Path::new(":(exclude)d/f")], "100644 w\n");
    sandbox
        .step(
            "next",
            &sandbox.failing("rm -rf ':(exclude)d' ':!x'; git init -q ':!n'; echo x >':!n/x'; echo 1 >'*/b'"),
        )
        .exits(3);
    assert_eq!(sandbox.files(), work);
    sandbox.ralph(&["status"]).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}
