//! The values of settings that have names.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The words for what a value must be.
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

/// Makes choices: each with its names in words, and its values.
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

    /// The judgement of an agent's promise when no file changed but the story list.
    EmptyStory, "confirm, warn, fail or accept" {
        /// A new process of the agent is asked about it once.
        #[default]
        Confirm,
        /// The story is complete, with a warning; three of them in a row stop the loop.
        Warn,
        /// The attempt failed.
        Fail,
        /// The story is complete.
        Accept,
    }

    /// The judgement of an attempt that ended without a promise.
    NoSignal, "retry, ask or gates" {
        /// It failed.
        #[default]
        Retry,
        /// A new process of the agent is asked about the work that it left.
        Ask,
        /// A new process is asked; after it, gates and the reviewer judge what was changed.
        Gates,
    }

    /// The part of the prompt of a retry that describes the attempt before.
    RetryContext, "reason or always" {
        /// The reason, if there is one: after an attempt without a promise the prompt stays the same.
        #[default]
        Reason,
        /// Always what it left and printed, with the end of its output.
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

    /// The stories for which a story waits before it begins beside others.
    Order, "list, dependencies or free" {
        /// All before it.
        #[default]
        List,
        /// Those that it names, if it says so at all; else all before it.
        Dependencies,
        /// Those that it names.
        Free,
    }

    /// Who marks a complete story as done in its list.
    #[derive(Deserialize)]
    Mark, "auto, agent or never" {
        /// git-ralph, once the agent has promised and all gates have passed.
        #[default]
        Auto,
        /// The agent; a promise with open tasks is a failed attempt.
        Agent,
        /// No one: the loop itself remembers which stories are done.
        Never,
    }

    /// The place of a loop's checkpoints, and of HEAD meanwhile.
    #[derive(Deserialize)]
    Strategy, "branch or stash" {
        /// Checkpoints are commits of the branch `ralph/<change>`, which is checked out during the loop.
        #[default]
        Branch,
        /// HEAD, its branch and the index stay as they are; checkpoints hang on a hidden ref, and the state before the
        /// story is shown as a stash entry.
        Stash,
    }

    /// The box in which the processes of an attempt run; git's words for true and false are valid too.
    #[derive(PartialOrd, Ord, Deserialize)]
    BoxMode, "off, on, require or all" {
        /// They do not.
        #[default]
        #[strum(to_string = "off", serialize = "false", serialize = "no")]
        Off,
        /// They do where that works; else git-ralph warns.
        #[strum(to_string = "on", serialize = "true", serialize = "yes")]
        On,
        /// They do, or there is no attempt.
        Require,
        /// So do lifecycle hooks and the commands of trackers.
        All,
    }

    /// The treatment of changes to tests that were there at the last checkpoint.
    TestChanges, "held, refuse or allow" {
        /// The gates must also pass with these tests as they were.
        #[default]
        Held,
        /// The attempt fails.
        Refuse,
        /// They are let pass.
        Allow,
    }

    /// Who stands for a change of what judges attempts.
    HeldBy, "person or review" {
        /// The user.
        #[default]
        Person,
        /// The reviewers, too.
        Review,
    }

    /// The stories of a run that may change what judges them.
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
        /// They are let pass.
        Allow,
        /// The attempt fails.
        Refuse,
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
