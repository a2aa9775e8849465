//! `git ralph restore`: a kept attempt's work back in the work tree.

use crate::support::Sandbox;

#[test]
fn failed_work_comes_back_and_can_be_completed() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step(
            "next",
            &sandbox.failing("echo good > good.txt; rm README.md; mkdir d; echo x > d/x"),
        )
        .exits(3);
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(0)
        .says("git ralph complete add-login")
        .answers_nothing();
    let status = sandbox.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(status, " D README.md\n?? d/x\n?? good.txt");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:good.txt"]), "good");
    sandbox.is_at_checkpoint();
}

#[test]
fn restore_overwrites_nothing() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("echo theirs > new.txt"))
        .exits(3);
    sandbox.write("new.txt", "mine\n");
    let print = sandbox.print();
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(1)
        .says("has changed since the last checkpoint")
        .says("git ralph revert");
    assert_eq!(sandbox.print(), print);
    sandbox.write(".git/info/exclude", "new.txt\n");
    let print = sandbox.print();
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(7)
        .says("attempt 1@1 would overwrite these files")
        .says("new.txt");
    assert_eq!(sandbox.print(), print);
    sandbox
        .ralph(&["restore", "1@7"])
        .exits(1)
        .says("there is no saved attempt 1@7");
}

#[test]
fn files_come_back_where_directories_and_links_were() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.failing("rm -r src/deep; echo file > src/deep; rm link; mkdir link; echo x > link/x");
    sandbox.step("next", &agent).exits(3);
    sandbox.ralph(&["restore", "1@1"]).exits(0);
    assert_eq!(sandbox.read("src/deep"), "file\n");
    assert_eq!(sandbox.read("link/x"), "x\n");
    sandbox.ralph(&["revert"]).exits(0);
    sandbox.is_at_checkpoint();
    sandbox.write("src/deep/mine.log", "ignored\n");
    let print = sandbox.print();
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(7)
        .says("attempt 1@1 would overwrite these files")
        .says("src/deep");
    assert_eq!(sandbox.print(), print);
}
