//! Decides how the second run of gates treats tests and gate scripts that an attempt changed: pure.

use crate::settings::{GateScripts, NewTests, TestChanges, TestRules};

/// The change that an attempt made to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// It differs from the last checkpoint.
    Changed,
    /// It was deleted.
    Deleted,
    /// It is new.
    New,
    /// It is new, and hidden by ignore rules of the attempt.
    Hidden,
}

impl FileChange {
    fn is_new(self) -> bool {
        matches!(self, Self::New | Self::Hidden)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::New => "new",
            Self::Hidden => "new, and ignored by rules that were not there",
        }
    }
}

/// The treatment of the file in the second run of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It is restored from the checkpoint.
    Restored,
    /// It is removed.
    Removed,
    /// It stays as the attempt left it; a message names it.
    Allowed,
    /// The attempt fails.
    Refused,
    /// Not a test; ignored.
    NotATest,
}

/// The changes that the settings allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub test_changes: TestChanges,
    pub new_tests: NewTests,
    /// True if the scripts of gates may change too.
    pub release_scripts: bool,
}

impl Rules {
    pub fn of(rules: &TestRules) -> Self {
        Self {
            test_changes: rules.changes,
            new_tests: rules.new_tests(),
            release_scripts: rules.release_scripts || rules.gate_scripts == GateScripts::Allow,
        }
    }

    /// Returns the rules for files compared with the user's version: an earlier attempt changed them; none is refused.
    pub fn lenient(self) -> Self {
        Self {
            test_changes: match self.test_changes {
                TestChanges::Refuse => TestChanges::Held,
                other => other,
            },
            new_tests: match self.new_tests {
                NewTests::Refuse => NewTests::Apart,
                other => other,
            },
            ..self
        }
    }

    /// Returns the treatment of a file that is a test, the script of a gate, or both.
    pub fn treatment(self, change: FileChange, is_test: bool, is_script: bool) -> Treatment {
        let of_test = match (is_test, change) {
            (false, _) => Treatment::NotATest,
            (true, FileChange::New | FileChange::Hidden) => match self.new_tests {
                NewTests::Apart => Treatment::Removed,
                NewTests::Allow => Treatment::Allowed,
                NewTests::Refuse => Treatment::Refused,
            },
            (true, FileChange::Changed | FileChange::Deleted) => match self.test_changes {
                TestChanges::Held => Treatment::Restored,
                TestChanges::Allow => Treatment::Allowed,
                TestChanges::Refuse => Treatment::Refused,
            },
        };
        match of_test {
            Treatment::NotATest | Treatment::Allowed if is_script && !change.is_new() => {
                if self.release_scripts {
                    Treatment::Allowed
                } else {
                    Treatment::Restored
                }
            }
            treatment => treatment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_decide_the_treatment_of_each_test_change() {
        use FileChange::{Changed, Deleted, New};
        use Treatment::{Allowed, NotATest, Refused, Removed, Restored};
        let rules = |test_changes, new_tests, release_scripts| Rules {
            test_changes,
            new_tests,
            release_scripts,
        };
        let held = rules(TestChanges::Held, NewTests::Apart, false);
        let refuse = rules(TestChanges::Refuse, NewTests::Refuse, false);
        let allow = rules(TestChanges::Allow, NewTests::Allow, false);
        let released = rules(TestChanges::Allow, NewTests::Allow, true);
        // For a test, a script of a gate, and a file that is both: changed, deleted, new.
        let (test, script, both, neither) = ((true, false), (false, true), (true, true), (false, false));
        for (rules, what, treatments) in [
            (held, test, [Restored, Restored, Removed]),
            (held, script, [Restored, Restored, NotATest]),
            (held, both, [Restored, Restored, Removed]),
            (refuse, test, [Refused, Refused, Refused]),
            (refuse, script, [Restored, Restored, NotATest]),
            (refuse, both, [Refused, Refused, Refused]),
            (allow, test, [Allowed, Allowed, Allowed]),
            (allow, script, [Restored, Restored, NotATest]),
            (allow, both, [Restored, Restored, Allowed]),
            (released, test, [Allowed, Allowed, Allowed]),
            (released, script, [Allowed, Allowed, NotATest]),
            (released, both, [Allowed, Allowed, Allowed]),
            (held, neither, [NotATest; 3]),
        ] {
            let found = [Changed, Deleted, New].map(|change| rules.treatment(change, what.0, what.1));
            assert_eq!(found, treatments, "{rules:?} {what:?}");
            let hidden = rules.treatment(FileChange::Hidden, what.0, what.1);
            assert_eq!(hidden, treatments[2], "{rules:?} {what:?}");
        }
    }
}
