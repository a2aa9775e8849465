//! What an agent prints has no limit.

use crate::support::Sandbox;

#[test]
fn step_handles_one_line_of_100_megabytes() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let bytes = 100_000_000 / crate::stride(10, 1);
    let agent = sandbox.completing(&format!("head -c {bytes} /dev/zero | tr '\\0' x; echo"));
    let quiet = sandbox.ralph(&["-q", "next", "--", &agent]).exits(0);
    assert_eq!(quiet.stderr, "");
}
