//! All that each verb says, on both streams, as in the files of `tests/fixtures/narration`. `SNAPSHOTS=overwrite` writes
//! them anew.

use std::path::Path;

use snapbox::{Data, assert_data_eq};

use crate::support::console::constant;
use crate::support::{CHANGE, Sandbox};

/// What was typed, what was said to it (`! `) and what was answered.
struct Transcript<'a> {
    sandbox: &'a Sandbox,
    text: String,
}

impl<'a> Transcript<'a> {
    fn of(sandbox: &'a Sandbox) -> Self {
        Self {
            sandbox,
            text: String::new(),
        }
    }

    fn types(&mut self, code: i32, line: &str) {
        self.runs(code, line, &line.split(' ').collect::<Vec<_>>());
    }

    fn steps(&mut self, code: i32, step: &str, says: &str, agent: &str) {
        self.runs(code, &format!("{step} -- {says}"), &[step, "--", agent]);
    }

    fn runs(&mut self, code: i32, shown: &str, args: &[&str]) {
        let output = self.sandbox.ralph(args).exits(code);
        self.text.push_str(&format!("$ git ralph {shown}\n"));
        for line in output.stderr.lines() {
            self.text.push_str(format!("! {line}").trim_end());
            self.text.push('\n');
        }
        self.text.push_str(&output.stdout);
        self.text.push('\n');
    }

    fn is(self, name: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/narration")
            .join(name);
        assert_data_eq!(constant(&self.text), Data::read_from(&file, None).raw());
    }
}

#[test]
fn transcript_of_a_loop_with_cleanup_matches() {
    let sandbox = Sandbox::dirty();
    let green = sandbox.completing("echo x >>work");
    let red = sandbox.failing("echo y >>work");
    let mut transcript = Transcript::of(&sandbox);
    transcript.types(0, "start add-login");
    transcript.steps(0, "next", "completes", &green);
    transcript.steps(3, "next", "fails", &red);
    transcript.types(0, "status");
    transcript.steps(3, "retry", "fails", &red);
    transcript.types(0, "restore 2@1");
    transcript.types(0, "revert");
    transcript.types(0, "skip 2");
    transcript.steps(0, "next", "completes", &green);
    transcript.types(0, "status");
    transcript.types(0, "finish --cleanup");
    transcript.is("cleanup.txt");
}

#[test]
fn transcript_of_kept_and_aborted_loops_matches() {
    let sandbox = Sandbox::new();
    let green = sandbox.completing("echo x >>work");
    let mut transcript = Transcript::of(&sandbox);
    transcript.types(0, "start add-login");
    transcript.steps(0, "next", "completes", &green);
    transcript.types(0, "finish --keep");
    sandbox.git(&["switch", "-q", "main"]);
    transcript.types(0, "start add-login");
    transcript.steps(0, "next", "completes", &green);
    transcript.types(0, "abort");
    transcript.types(0, &format!("status {CHANGE}"));
    transcript.is("kept.txt");
}
