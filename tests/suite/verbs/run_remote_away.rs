//! `git ralph run --remote` while the remote does not answer.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::remote::Remote;
use crate::support::{CHANGE, wait_until};

#[test]
fn run_whose_remote_is_gone_says_so_and_can_be_stopped() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let one = remote.clone("one", &[]);
    let away = remote.bare.with_extension("away");
    let agent = sandbox.completing(&format!(
        "echo x >>f; mv '{}' '{}'",
        remote.bare.display(),
        away.display()
    ));
    let running = one
        .cmd(&["ralph", "run", CHANGE, "--keep", "--", &agent])
        .on_terminal(100)
        .start();
    wait_until("it says so", || {
        running
            .seen()
            .contains("origin does not answer, and git-ralph tries again")
    });
    running.signal_group(Signal::SIGINT);
    running.signal_group(Signal::SIGINT);
    let output = running.end();
    assert!(matches!(output.code, 75 | 130), "{output:?}");
    fs::rename(&away, &remote.bare).unwrap();
    let agent = sandbox.completing("echo x >>f");
    one.cmd(&["ralph", "run", CHANGE, "--keep", "--", &agent])
        .run()
        .exits(0);
    let subjects = remote.git(&["log", "--format=%s", "ralph/add-login"]);
    assert!(
        subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\n"),
        "{subjects}"
    );
}
