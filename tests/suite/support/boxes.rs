//! Tests in the box: with `GIT_RALPH_TEST_BOX`, the users of all tests want one for every attempt.

use std::env;
use std::fs;
use std::path::Path;

use super::Sandbox;

/// The user's own configuration, in the directory of a test.
pub const CONFIG: &str = "user-config";

/// Writes the configuration of the user of a test. Most agents change nothing on purpose, and are not asked about it. Where boxes
/// are wanted, all that attempts run has one. What the test has put around the repository can be written there, because agents
/// and gates make notes in many places; that the rest is hidden has tests of its own.
pub fn configure(dir: &Path) {
    let mut text = "[ralph]\n\temptyStory = warn\n".to_owned();
    if env::var_os("GIT_RALPH_TEST_BOX").is_some() {
        text += &format!("\tbox = all\n\tboxAllow = \"write:{}\"\n", dir.display());
    }
    fs::write(dir.join(CONFIG), text).unwrap();
}

impl Sandbox {
    /// Whether boxes work here; says so where not.
    #[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
    pub fn has_boxes(&self) -> bool {
        let args = ["--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "true"];
        let works = crate::installed("bwrap") && self.cmd("bwrap").args(args).run().code == 0;
        if !works {
            eprintln!("no box can be made here: what needs one is left out");
        }
        works
    }
}
