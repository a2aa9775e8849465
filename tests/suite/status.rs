//! `git ralph status`: where a loop stands and what comes next, in words and as JSON.

use crate::support::{CHANGE, Sandbox};

#[test]
fn it_follows_a_loop() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("there is no loop here")
        .answers_nothing();
    assert_eq!(
        sandbox.ralph(&["status", "--json"]).exits(0).json(),
        serde_json::json!([])
    );
    sandbox.start();
    let is = |phase: &str, next: &str, says: &str| {
        let status = sandbox.status();
        assert_eq!((&status["phase"], &status["next"]), (&phase.into(), &next.into()));
        let words = sandbox.ralph(&["status"]).exits(0).stdout;
        assert!(words.contains(says), "{words}");
    };
    is(
        "ready",
        "next",
        "(use \"git ralph next add-login\" to have the agent attempt it)",
    );
    let failing = sandbox.failing("true");
    sandbox.step("next", &failing).exits(3);
    is("failed", "retry", "failed, 0 of 3 retries used");
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    is("ready", "next", "1 of 3 stories are complete");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(0);
    is("complete", "finish", "nothing is left to do");
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    is(
        "finished",
        "start",
        "finished\n  (use \"git ralph start add-login\" to begin anew)",
    );
}

#[test]
fn it_works_from_every_work_tree_and_changes_nothing() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let (print, mtimes) = (sandbox.print(), sandbox.mtimes());
    for dir in [&linked, &sandbox.top.join("src")] {
        let output = sandbox
            .ralph_cmd(&["status", CHANGE, "--json"])
            .dir(dir)
            .run()
            .exits(0);
        assert_eq!(output.json()["change"], CHANGE);
    }
    assert_eq!((sandbox.print(), sandbox.mtimes()), (print, mtimes));
}

#[test]
fn a_damaged_state_file_does_not_hide_the_other_loops() {
    let sandbox = Sandbox::new();
    sandbox.start();
    std::fs::write(
        sandbox.top.join(".git/ralph/broken.toml"),
        "version = 1\nchange =",
    )
    .unwrap();
    let output = sandbox.ralph(&["status"]).exits(1).says("broken.toml");
    assert!(
        output.stdout.contains("add-login on ralph/add-login"),
        "{}",
        output.stdout
    );
    let all = sandbox.ralph(&["status", "--json"]).exits(1).json();
    assert_eq!(all[0]["change"], CHANGE);
    assert_eq!(all.as_array().unwrap().len(), 1);
}

#[test]
fn it_works_where_the_current_directory_was_deleted() {
    let sandbox = Sandbox::started();
    let gone = sandbox.top.join("gone");
    let program = env!("CARGO_BIN_EXE_git-ralph");
    let script = format!("mkdir gone && cd gone && rmdir ../gone && '{program}' status add-login");
    let output = sandbox.cmd("sh").args(["-c", &script]).run().exits(0);
    assert!(output.stdout.contains("0 of 3"), "{}", output.stdout);
    assert!(!gone.exists());
}
