//! The settings of tests: which files they are, and what an attempt may do to them.

use serde::Serialize;

use super::choices::{NewTests, TestChanges};

/// Which files are tests, and what becomes of what an attempt does to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TestRules {
    /// Pathspecs from the top directory.
    #[serde(rename = "tests", skip_serializing_if = "Vec::is_empty")]
    pub pathspecs: Vec<String>,
    /// What becomes of changes.
    #[serde(rename = "test_changes")]
    pub changes: TestChanges,
    /// What becomes of new ones.
    #[serde(rename = "new_tests")]
    pub new: NewTests,
    /// True if the scripts of gates may change too; for one command.
    #[serde(skip)]
    pub release_scripts: bool,
}

impl TestRules {
    /// Lets all changes of tests and scripts pass.
    pub fn allow(&mut self) {
        self.changes = TestChanges::Allow;
        self.new = NewTests::Allow;
        self.release_scripts = true;
    }
}
