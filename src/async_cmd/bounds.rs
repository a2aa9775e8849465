//! The bounds of a child that prints data of other people: the bytes that it may print, and the memory that it
//! may take meanwhile.

use std::fs::File;
use std::time::Duration;

use crate::processes::memory;

/// The time between two checks of a child that has bounds.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The bounds of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most bytes that it may print, on standard output and on standard error.
    pub output: u64,
    /// The most bytes of memory that it and its children may have, where the system tells that.
    pub memory: u64,
}

/// The bound that a child has passed, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    did: &'static str,
    most: u64,
    of: &'static str,
}

impl std::fmt::Display for Passed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { did, most, of } = self;
        write!(f, "{did} more than {} MiB{of}", most >> 20)
    }
}

#[cfg(test)]
impl Passed {
    /// Returns one for the table of errors.
    pub fn sample() -> Self {
        Self {
            did: "took",
            most: 512 << 20,
            of: " of memory",
        }
    }
}

impl Bounds {
    /// Returns the bound that a child has passed by what it has printed.
    pub(super) fn passed_by(self, printed: [&File; 2]) -> Option<Passed> {
        let lengths = printed.map(|file| file.metadata().map_or(0, |metadata| metadata.len()));
        (lengths.iter().sum::<u64>() > self.output).then_some(Passed {
            did: "printed",
            most: self.output,
            of: "",
        })
    }

    /// Returns the bound that processes have passed by the memory that they have.
    pub(super) fn passed_in(self, pids: &[i32]) -> Option<Passed> {
        let taken: u64 = pids.iter().filter_map(|pid| memory(*pid)).sum();
        (taken > self.memory).then_some(Passed {
            did: "took",
            most: self.memory,
            of: " of memory",
        })
    }
}
