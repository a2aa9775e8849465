//! The settings of tests: which files they are, and what an attempt may do to them.

use serde::Serialize;

use super::error::SettingsError;
use super::values::wrong;

/// What becomes of changes to tests that were there at the last checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestChanges {
    /// The gates must also pass with these tests as they were.
    #[default]
    Held,
    /// The attempt fails.
    Refuse,
    /// They are let pass.
    Allow,
}

/// What becomes of tests that an attempt adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewTests {
    /// The gates must also pass without them.
    #[default]
    Apart,
    /// They are let pass.
    Allow,
    /// The attempt fails.
    Refuse,
}

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

    /// Sets one value; the key is in lower case.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), SettingsError> {
        match key {
            "ralph.testchanges" => self.changes = test_changes(key, value)?,
            "ralph.newtests" => self.new = new_tests(key, value)?,
            // As in git's own lists, an empty value forgets those before it.
            _ if value.is_empty() => self.pathspecs.clear(),
            _ => self.pathspecs.push(value.to_owned()),
        }
        Ok(())
    }
}

fn test_changes(key: &str, value: &str) -> Result<TestChanges, SettingsError> {
    match value {
        "held" => Ok(TestChanges::Held),
        "refuse" => Ok(TestChanges::Refuse),
        "allow" => Ok(TestChanges::Allow),
        _ => Err(wrong(key, value, "held, refuse or allow")),
    }
}

fn new_tests(key: &str, value: &str) -> Result<NewTests, SettingsError> {
    match value {
        "apart" => Ok(NewTests::Apart),
        "allow" => Ok(NewTests::Allow),
        "refuse" => Ok(NewTests::Refuse),
        _ => Err(wrong(key, value, "apart, allow or refuse")),
    }
}
