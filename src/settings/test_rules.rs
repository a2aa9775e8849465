//! The settings of tests: which files they are, and which changes an attempt may make to them.

use serde::Serialize;

use super::choices::{HeldBy, NewTests, TestChanges, Wanted};
use super::values::Value;

/// The treatment of the scripts of gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateScripts {
    /// They are treated like tests.
    #[default]
    Held,
    /// They may change.
    Allow,
    /// Those that these pathspecs match are the product, which gates run to judge it; the others are held.
    Product(Vec<String>),
}

impl Value for GateScripts {
    fn set(&mut self, text: &str) -> Result<(), Wanted> {
        match (text, &mut *self) {
            ("" | "held", _) => *self = Self::Held,
            ("allow", _) => *self = Self::Allow,
            (_, Self::Product(all)) => all.push(text.to_owned()),
            _ => *self = Self::Product(vec![text.to_owned()]),
        }
        Ok(())
    }
}

/// Which files are tests, and the treatment of an attempt's changes to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TestRules {
    /// Pathspecs from the top directory.
    #[serde(rename = "tests", skip_serializing_if = "Vec::is_empty")]
    pub pathspecs: Vec<String>,
    /// The treatment of changes.
    #[serde(rename = "test_changes")]
    pub changes: TestChanges,
    /// The treatment of new tests, if the former setting `ralph.newTests` is given.
    #[serde(rename = "new_tests", skip_serializing_if = "Option::is_none")]
    pub new: Option<NewTests>,
    /// The rule for the scripts of gates.
    pub gate_scripts: GateScripts,
    /// Who approves changes to tests or gate scripts.
    pub held_by: HeldBy,
    /// True if gate scripts may change too; for one command.
    #[serde(skip)]
    pub release_scripts: bool,
}

impl TestRules {
    /// Returns the pathspecs of files that gates run as the product.
    pub fn product(&self) -> &[String] {
        match &self.gate_scripts {
            GateScripts::Product(pathspecs) => pathspecs,
            GateScripts::Held | GateScripts::Allow => &[],
        }
    }

    /// Returns the settings with pathspecs, and their pathspecs.
    pub fn all_pathspecs(&self) -> [(&'static str, &[String]); 2] {
        [
            ("ralph.tests", &self.pathspecs),
            ("ralph.gateScripts", self.product()),
        ]
    }

    /// Returns the treatment of new tests.
    pub fn new_tests(&self) -> NewTests {
        self.new.unwrap_or(match self.changes {
            TestChanges::Allow => NewTests::Allow,
            TestChanges::Held | TestChanges::Refuse => NewTests::Apart,
        })
    }

    /// Allows all changes to tests and scripts.
    pub fn allow(&mut self) {
        self.changes = TestChanges::Allow;
        self.new = None;
        self.release_scripts = true;
    }
}
