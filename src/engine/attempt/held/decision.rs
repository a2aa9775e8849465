//! Decides how the second run of gates treats tests and gate scripts that an attempt changed: pure.

use crate::settings::{GateScripts, NewTests, TestChanges, TestRules};

/// The change that an attempt made to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// It differs from the last checkpoint.
    Changed,
    /// It was deleted.
    Deleted,
    /// It is new.
    New,
    /// It is new, and hidden by ignore rules of the attempt.
    Hidden,
}

impl Deed {
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
pub(super) enum Fate {
    /// It is restored from the checkpoint.
    PutBack,
    /// It is removed.
    Away,
    /// It stays as the attempt left it; a message names it.
    LetPass,
    /// The attempt fails.
    Refused,
    /// Not a test; ignored.
    Unconcerned,
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
    pub fn fate(self, deed: Deed, is_test: bool, is_script: bool) -> Fate {
        let of_test = match (is_test, deed) {
            (false, _) => Fate::Unconcerned,
            (true, Deed::New | Deed::Hidden) => match self.new_tests {
                NewTests::Apart => Fate::Away,
                NewTests::Allow => Fate::LetPass,
                NewTests::Refuse => Fate::Refused,
            },
            (true, Deed::Changed | Deed::Deleted) => match self.test_changes {
                TestChanges::Held => Fate::PutBack,
                TestChanges::Allow => Fate::LetPass,
                TestChanges::Refuse => Fate::Refused,
            },
        };
        match of_test {
            Fate::Unconcerned | Fate::LetPass if is_script && !deed.is_new() => {
                if self.release_scripts {
                    Fate::LetPass
                } else {
                    Fate::PutBack
                }
            }
            fate => fate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_decide_the_treatment_of_each_test_change() {
        use Deed::{Changed, Deleted, New};
        use Fate::{Away, LetPass, PutBack, Refused, Unconcerned};
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
        for (rules, what, fates) in [
            (held, test, [PutBack, PutBack, Away]),
            (held, script, [PutBack, PutBack, Unconcerned]),
            (held, both, [PutBack, PutBack, Away]),
            (refuse, test, [Refused, Refused, Refused]),
            (refuse, script, [PutBack, PutBack, Unconcerned]),
            (refuse, both, [Refused, Refused, Refused]),
            (allow, test, [LetPass, LetPass, LetPass]),
            (allow, script, [PutBack, PutBack, Unconcerned]),
            (allow, both, [PutBack, PutBack, LetPass]),
            (released, test, [LetPass, LetPass, LetPass]),
            (released, script, [LetPass, LetPass, Unconcerned]),
            (released, both, [LetPass, LetPass, LetPass]),
            (held, neither, [Unconcerned; 3]),
        ] {
            let found = [Changed, Deleted, New].map(|deed| rules.fate(deed, what.0, what.1));
            assert_eq!(found, fates, "{rules:?} {what:?}");
            let hidden = rules.fate(Deed::Hidden, what.0, what.1);
            assert_eq!(hidden, fates[2], "{rules:?} {what:?}");
        }
    }
}
