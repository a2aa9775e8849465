//! The process that works on one of several changes at once (`git ralph run --jobs`): the command line of the run, and the
//! change that is this process's.

use std::ffi::OsString;

use crate::git::Head;
use crate::names::Oid;
use crate::processes::ONE_OF_SEVERAL;
use crate::runs::stop_with;

/// The work of such a process.
pub(super) struct One {
    pub change: String,
    /// The HEAD at which its loop begins if it is new.
    pub head: Head,
    /// The command line of the run, with the program's name.
    pub typed: Vec<OsString>,
}

/// Returns the work of this process, if its arguments say that a run started it for one change.
pub(super) fn asked(mut args: impl Iterator<Item = OsString>) -> Option<One> {
    let program = args.next()?;
    let mut word = || args.next()?.into_string().ok();
    if word()? != ONE_OF_SEVERAL {
        return None;
    }
    let parent = word()?.parse().ok()?;
    let change = word()?;
    let head = Head {
        oid: Oid::parse(&word()?),
        branch: word().filter(|branch| !branch.is_empty()),
    };
    stop_with(parent).then(|| One {
        change,
        head,
        typed: std::iter::once(program).chain(args).collect(),
    })
}
