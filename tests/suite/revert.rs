//! `git ralph revert`: back to the checkpoint, with nothing counted and nothing lost.

use crate::support::Sandbox;

#[test]
fn it_keeps_and_undoes_without_counting() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let files = sandbox.files();
    sandbox
        .ralph(&["revert"])
        .exits(0)
        .says("at the checkpoint already");
    sandbox.write("mess.txt", "x\n");
    sandbox.write("README.md", "mess\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "mess"]);
    sandbox.write("more.txt", "x\n");
    sandbox
        .ralph(&["revert"])
        .exits(0)
        .says("what was undone is kept")
        .answers_nothing();
    assert_eq!(sandbox.files(), files);
    sandbox.is_at_checkpoint();
    let kept = "refs/ralph/add-login/attempts/1/1";
    assert_eq!(sandbox.git(&["show", &format!("{kept}:more.txt")]), "x");
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", &format!("{kept}^")]),
        "mess"
    );
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["current"]["retries"]),
        (&"ready".into(), &0.into())
    );
    assert!(sandbox.attempts().is_empty());
}

#[test]
fn it_brings_back_a_branch_that_was_left() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("x.txt", "x\n");
    sandbox.ralph(&["revert", "add-login"]).exits(0);
    sandbox.is_at_checkpoint();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["revert"]).exits(1).says("is finished");
}
