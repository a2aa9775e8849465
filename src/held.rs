//! Shares locks with short child processes. A git that git-ralph started keeps running when git-ralph is killed, and its
//! lock stays taken until it ends.
//!
//! A `flock` belongs to the open file, which such a child inherits. Agents, hooks and the commands of trackers do not
//! inherit it: they may leave processes that run for days.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

static HELD: Mutex<Vec<Weak<File>>> = Mutex::new(Vec::new());
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A file whose lock this process holds, until this is dropped.
#[derive(Debug)]
pub struct Held {
    file: Arc<File>,
}

impl Held {
    /// Lets children that start from now on inherit the lock of `file`.
    pub fn new(file: File) -> Self {
        let file = Arc::new(file);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|file| file.strong_count() > 0);
        held.push(Arc::downgrade(&file));
        Self { file }
    }
}

/// Work that should not be interrupted, although this process holds no lock.
#[derive(Debug)]
pub struct UnderWay(());

impl UnderWay {
    /// Marks such work as in progress, until this is dropped.
    pub fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns whether this process holds a lock or does such work: it should not be interrupted.
pub fn any() -> bool {
    if UNDER_WAY.load(Ordering::SeqCst) > 0 {
        return true;
    }
    // The lock is taken while a child starts.
    HELD.try_lock()
        .map_or(true, |held| held.iter().any(|file| file.strong_count() > 0))
}

impl Drop for Held {
    fn drop(&mut self) {
        // All children have ended; processes that they left must not keep the lock.
        if let Err(error) = self.file.unlock() {
            tracing::warn!("cannot let a lock go: {error}");
        }
    }
}

/// Starts a child that inherits the locks, or one that does not.
pub fn start<T>(with_locks: bool, start: impl FnOnce() -> T) -> T {
    // One at a time: a file that is open for one child is open for every child.
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let files: Vec<Arc<File>> = if with_locks {
        held.iter().filter_map(Weak::upgrade).collect()
    } else {
        Vec::new()
    };
    set_all(&files, FdFlag::empty());
    let started = start();
    set_all(&files, FdFlag::FD_CLOEXEC);
    started
}

fn set_all(files: &[Arc<File>], flag: FdFlag) {
    for file in files {
        if let Err(error) = fcntl(file.as_fd(), FcntlArg::F_SETFD(flag)) {
            tracing::warn!("cannot hand a lock on: {error}");
        }
    }
}
