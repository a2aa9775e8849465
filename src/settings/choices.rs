//! The values of settings that have names.

use serde::{Deserialize, Serialize};

/// The words for what a value must be.
pub type Wanted = &'static str;

/// A setting whose values are a few names.
pub trait Choice: Copy + PartialEq + 'static {
    /// The values with their names.
    const ALL: &'static [(Self, &'static str)];
    /// The names, in words.
    const WANTED: Wanted;

    /// Returns the value with a name.
    fn parse(text: &str) -> Result<Self, Wanted> {
        let mut all = Self::ALL.iter();
        let found = all.find(|(_, name)| *name == text);
        found.map(|(value, _)| *value).ok_or(Self::WANTED)
    }

    /// Returns the name of this value.
    fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }
}

/// Makes choices: each with its names in words, and the values with their names.
macro_rules! choices {
    ($($(#[$about:meta])* $type:ident, $wanted:literal {
        $($(#[$of_value:meta])* $value:ident = $name:literal,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $type {
            $($(#[$of_value])* $value,)*
        }

        impl Choice for $type {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$value, $name)),*];
            const WANTED: Wanted = $wanted;
        }
    )*};
}

choices! {
    /// The choice that `run` makes at the end of the loop.
    FinishChoice, "ask, cleanup or keep" {
        /// Ask on a terminal; otherwise leave it to a later `finish`.
        #[default]
        Ask = "ask",
        /// Bring the work to the original branch, uncommitted.
        Cleanup = "cleanup",
        /// Stay on the loop's branch.
        Keep = "keep",
    }

    /// The judgement of an agent's promise when no file changed but the story list.
    EmptyStory, "confirm, warn, fail or accept" {
        /// A new process of the agent is asked about it once.
        #[default]
        Confirm = "confirm",
        /// The story is complete, with a warning; three of them in a row stop the loop.
        Warn = "warn",
        /// The attempt failed.
        Fail = "fail",
        /// The story is complete.
        Accept = "accept",
    }

    /// The judgement of an attempt that ended without a promise.
    NoSignal, "retry, ask or gates" {
        /// It failed.
        #[default]
        Retry = "retry",
        /// A new process of the agent is asked about the work that it left.
        Ask = "ask",
        /// A new process is asked; after it, gates and the reviewer judge what was changed.
        Gates = "gates",
    }

    /// The part of the prompt of a retry that describes the attempt before.
    RetryContext, "reason or always" {
        /// The reason, if there is one: after an attempt without a promise the prompt stays the same.
        #[default]
        Reason = "reason",
        /// Always what it left and printed, with the end of its output.
        Always = "always",
    }

    /// The action of `run` when a story has no retries left.
    OnFailure, "stop, skip, later or finish" {
        /// Stop; the loop stays open.
        #[default]
        Stop = "stop",
        /// Skip the story, and continue.
        Skip = "skip",
        /// Try it again after the other stories, once, if one of them was completed meanwhile.
        Later = "later",
        /// Finish the loop as if it were complete.
        Finish = "finish",
    }

    /// The changes that an attempt may make to other stories of the list.
    ListEdits, "additions, allow or none" {
        /// It may add stories, and boxes to its own.
        #[default]
        Additions = "additions",
        /// Anything.
        Allow = "allow",
        /// Nothing.
        None = "none",
    }

    /// Who marks a complete story as done in its list.
    #[derive(Deserialize)]
    Mark, "auto, agent or never" {
        /// git-ralph, once the agent has promised and all gates have passed.
        #[default]
        Auto = "auto",
        /// The agent; a promise with open tasks is a failed attempt.
        Agent = "agent",
        /// No one: the loop itself remembers which stories are done.
        Never = "never",
    }

    /// The place of a loop's checkpoints, and of HEAD meanwhile.
    #[derive(Deserialize)]
    Strategy, "branch or stash" {
        /// Checkpoints are commits of the branch `ralph/<change>`, which is checked out during the loop.
        #[default]
        Branch = "branch",
        /// HEAD, its branch and the index stay as they are; checkpoints hang on a hidden ref, and the state before the
        /// story is shown as a stash entry.
        Stash = "stash",
    }

    /// The treatment of changes to tests that were there at the last checkpoint.
    TestChanges, "held, refuse or allow" {
        /// The gates must also pass with these tests as they were.
        #[default]
        Held = "held",
        /// The attempt fails.
        Refuse = "refuse",
        /// They are let pass.
        Allow = "allow",
    }

    /// The treatment of tests that an attempt adds.
    NewTests, "apart, allow or refuse" {
        /// The gates must also pass without them.
        #[default]
        Apart = "apart",
        /// They are let pass.
        Allow = "allow",
        /// The attempt fails.
        Refuse = "refuse",
    }
}

impl RetryContext {
    /// Returns the value that the setting `ralph.retryOutput` means.
    pub fn of_output(is_shown: bool) -> Self {
        if is_shown { Self::Always } else { Self::Reason }
    }
}

impl Strategy {
    /// Returns whether this is the default.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub fn is_branch(&self) -> bool {
        *self == Self::Branch
    }
}

/// The way to notify the user that a long run has ended, or asks something.
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
