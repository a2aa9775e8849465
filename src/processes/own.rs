//! The children that git-ralph starts and waits for. Such a child can run during an attempt (to renew a lease, or to read
//! for the view), and is not one of the attempt's processes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static OWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A child of git-ralph. Must be dropped after the child was waited for.
#[derive(Debug)]
pub(crate) struct OwnChild(Vec<i32>);

impl OwnChild {
    /// Starts a child. `numbers` returns its processes.
    pub fn start<T, E>(
        start: impl FnOnce() -> Result<T, E>,
        numbers: impl FnOnce(&T) -> Vec<u32>,
    ) -> Result<(T, Self), E> {
        // A search waits until the child is noted.
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let started = start()?;
        let numbers = numbers(&started)
            .into_iter()
            .filter_map(|number| i32::try_from(number).ok());
        let numbers: Vec<i32> = numbers.collect();
        own.extend(&numbers);
        Ok((started, Self(numbers)))
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        for number in &self.0 {
            own.remove(number);
        }
    }
}

/// Reads processes while git-ralph starts no child. `look` gets the present children of git-ralph.
pub(crate) fn look<T>(look: impl FnOnce(&BTreeSet<i32>) -> T) -> T {
    look(&OWN.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_our_own_until_it_was_waited_for() {
        let start = || duct::cmd!("sleep", "1000").start();
        let (child, own) = OwnChild::start(start, duct::Handle::pids).unwrap();
        let pid = i32::try_from(child.pids()[0]).unwrap();
        assert!(look(|own| own.contains(&pid)));
        child.kill().unwrap();
        drop(own);
        assert!(!look(|own| own.contains(&pid)));
    }
}
