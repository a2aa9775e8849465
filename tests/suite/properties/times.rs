//! Times of files that a revert writes: a build must see that they changed.

use std::os::unix::fs::MetadataExt;

use crate::support::Sandbox;

#[test]
fn a_file_that_is_put_back_in_the_second_in_which_it_was_changed_has_another_one() {
    // Bytecode of Python knows whole seconds and the size.
    for setting in ["core.autocrlf=false", "core.autocrlf=true"] {
        let sandbox = Sandbox::new();
        let (name, value) = setting.split_once('=').unwrap();
        sandbox.configure(name, value);
        sandbox.write("edited.txt", "mine\n");
        sandbox.start();
        let files = "README.md edited.txt old.txt";
        let script = format!(
            "echo '# Standart' >README.md; echo miny >edited.txt; stat -c %Y {files} >\"$notes/seconds\""
        );
        sandbox.step("next", &sandbox.failing(&script)).exits(3);
        let noted = sandbox.noted("seconds");
        let seconds: Vec<i64> = noted.lines().map(|line| line.parse().unwrap()).collect();
        let now = |path: &str| sandbox.top.join(path).metadata().unwrap().mtime();
        assert!(now("README.md") > seconds[0], "{setting}");
        assert!(now("edited.txt") > seconds[1], "{setting}");
        assert_eq!(now("old.txt"), seconds[2], "{setting}");
        assert!(now("README.md") <= seconds[0] + 60);
        sandbox.is_at_checkpoint();
    }
}
