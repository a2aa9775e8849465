//! The values of settings that have names.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A description of the allowed values.
pub type Wanted = &'static str;

/// A setting whose values are a few names.
pub trait Choice: FromStr + Into<&'static str> {
    /// The names, in words.
    const WANTED: Wanted;

    /// Returns the value with a name.
    fn parse(text: &str) -> Result<Self, Wanted> {
        text.parse().map_err(|_| Self::WANTED)
    }

    /// Returns the name of this value.
    fn name(self) -> &'static str {
        self.into()
    }
}

/// Makes choices: each with the description of its names, and its values.
macro_rules! choices {
    ($($(#[$about:meta])* $type:ident, $wanted:literal {
        $($(#[$of_value:meta])* $value:ident,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum $type {
            $($(#[$of_value])* $value,)*
        }

        impl Choice for $type {
            const WANTED: Wanted = $wanted;
        }
    )*};
}

choices! {
    /// The choice that `run` makes at the end of the loop.
    FinishChoice, "ask, cleanup or keep" {
        /// Ask on a terminal; otherwise leave it to a later `finish`.
        #[default]
        Ask,
        /// Bring the work to the original branch, uncommitted.
        Cleanup,
        /// Stay on the loop's branch.
        Keep,
    }

    /// The judgement of an agent's promise if no file changed except the story list.
    EmptyStory, "confirm, warn, fail or accept" {
        /// A new process of the agent is asked about it once.
        #[default]
        Confirm,
        /// The story is complete, with a warning; three in a row stop the loop.
        Warn,
        /// The attempt failed.
        Fail,
        /// The story is complete.
        Accept,
    }

    /// The judgement of an attempt that ended without a promise.
    NoSignal, "retry, ask or gates" {
        /// The attempt failed.
        #[default]
        Retry,
        /// A new process of the agent is asked about the changes.
        Ask,
        /// A new process is asked; then gates and the reviewer judge the changes.
        Gates,
    }

    /// The part of a retry's prompt that describes the previous attempt.
    RetryContext, "reason or always" {
        /// The reason, if any: after an attempt without a promise the prompt stays the same.
        #[default]
        Reason,
        /// Always the changes and the end of the output.
        Always,
    }

    /// The action of `run` when a story has no retries left.
    OnFailure, "stop, skip, later or finish" {
        /// Stop; the loop stays open.
        #[default]
        Stop,
        /// Skip the story, and continue.
        Skip,
        /// Try it again after the other stories, once, if one of them was completed meanwhile.
        Later,
        /// Finish the loop as if it were complete.
        Finish,
    }

    /// The changes that an attempt may make to other stories of the list.
    ListEdits, "additions, allow or none" {
        /// It may add stories, and boxes to its own.
        #[default]
        Additions,
        /// Anything.
        Allow,
        /// Nothing.
        None,
    }

    /// The stories that must be complete before a story begins beside others.
    Order, "list, dependencies or free" {
        /// All stories before it.
        #[default]
        List,
        /// The named dependencies, if the list names any; else all stories before it.
        Dependencies,
        /// Only the named dependencies.
        Free,
    }

    /// Who marks a complete story as done in its list.
    #[derive(Deserialize)]
    Mark, "auto, agent or never" {
        /// git-ralph, after the agent's promise and all gates.
        #[default]
        Auto,
        /// The agent; a promise with open tasks is a failed attempt.
        Agent,
        /// Nothing: the loop itself remembers which stories are done.
        Never,
    }

    /// The place of a loop's checkpoints, and of HEAD meanwhile.
    #[derive(Deserialize)]
    Strategy, "branch or stash" {
        /// Checkpoints are commits of the branch `ralph/<change>`, which is checked out during the loop.
        #[default]
        Branch,
        /// HEAD, its branch and the index stay unchanged; a hidden ref has the checkpoints, and the state before the
        /// story is shown as a stash entry.
        Stash,
    }

    /// The use of a sandbox for the processes of an attempt; git's words for true and false are valid too.
    #[derive(PartialOrd, Ord, Deserialize)]
    BoxMode, "off, on, require or all" {
        /// No sandbox.
        #[default]
        #[strum(to_string = "off", serialize = "false", serialize = "no")]
        Off,
        /// A sandbox if it works; else a warning.
        #[strum(to_string = "on", serialize = "true", serialize = "yes")]
        On,
        /// A sandbox, or no attempt.
        Require,
        /// A sandbox, also for lifecycle hooks and the commands of trackers.
        All,
    }

    /// The treatment of changes to tests of the last checkpoint.
    TestChanges, "held, refuse or allow" {
        /// The gates must also pass with the original tests.
        #[default]
        Held,
        /// The attempt fails.
        Refuse,
        /// The changes are allowed.
        Allow,
    }

    /// Who approves changes to tests and gate scripts.
    HeldBy, "person or review" {
        /// The user.
        #[default]
        Person,
        /// The reviewers, as well as the user.
        Review,
    }

    /// The stories of a run that may change tests and gate scripts.
    Leave, "story or all" {
        /// The first one that is attempted.
        #[default]
        Story,
        /// Every one.
        All,
    }

    /// The treatment of tests that an attempt adds.
    NewTests, "apart, allow or refuse" {
        /// The gates must also pass without them.
        #[default]
        Apart,
        /// The new tests are allowed.
        Allow,
        /// The attempt fails.
        Refuse,
    }
}

/// The way to notify the user that a long run has ended, or asks a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// By the bell of the terminal.
    #[default]
    Bell,
    /// Not at all.
    Off,
    /// By a shell command.
    Command(String),
}

impl Notify {
    /// Returns the shell command, if it is one.
    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        let line = match self {
            Self::Command(line) => Some(line),
            Self::Bell | Self::Off => None,
        };
        line.into_iter()
    }
}

/// The use of colours, as in git's `color.ui`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal.
    Auto,
    /// In pipes and files too.
    Always,
    /// Never.
    Never,
}
