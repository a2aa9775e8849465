//! The process that works on one of several parallel changes, or stories (`git ralph run --jobs`): the command line of
//! the run, and the part of this process.

use std::ffi::OsString;

use crate::git::Head;
use crate::names::Oid;
use crate::processes::{ONE_OF_SEVERAL, STORY};
use crate::runs::stop_with;

/// The part of a run that such a process works on.
#[derive(Clone, Debug)]
pub enum Part {
    /// A change, whose loop begins at this HEAD if it is new.
    Change(Head),
    /// This story, in the side named by the change.
    Story(String),
}

/// The work of such a process.
pub(super) struct One {
    pub change: String,
    pub part: Part,
    /// The command line of the run, including the program.
    pub typed: Vec<OsString>,
}

/// Returns the work of this process, if its arguments show that a run started it for one part.
pub(super) fn asked(mut args: impl Iterator<Item = OsString>) -> Option<One> {
    let program = args.next()?;
    let mut word = || args.next()?.into_string().ok();
    if word()? != ONE_OF_SEVERAL {
        return None;
    }
    let parent = word()?.parse().ok()?;
    let change = word()?;
    let (what, which) = (word()?, word()?);
    let part = if what == STORY {
        Part::Story(which)
    } else {
        Part::Change(Head {
            oid: Oid::parse(&what),
            branch: Some(which).filter(|branch| !branch.is_empty()),
        })
    };
    stop_with(parent).then(|| One {
        change,
        part,
        typed: std::iter::once(program).chain(args).collect(),
    })
}
