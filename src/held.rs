//! Holds locks together with our short children. A git that we have started keeps running when we are killed; as long
//! as it does, its lock is taken.
//!
//! A `flock` belongs to the open file, which such a child inherits. No other child does: agents, hooks and
//! the commands of trackers may leave processes behind that run for days.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

static HELD: Mutex<Vec<Weak<File>>> = Mutex::new(Vec::new());
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A file whose lock we hold, until this is dropped.
#[derive(Debug)]
pub struct Held {
    file: Arc<File>,
}

impl Held {
    /// Has children that we start from now on hold the lock of `file` too.
    pub fn new(file: File) -> Self {
        let file = Arc::new(file);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|file| file.strong_count() > 0);
        held.push(Arc::downgrade(&file));
        Self { file }
    }
}

/// Something that is not to be cut off without need, although we hold no lock meanwhile.
#[derive(Debug)]
pub struct UnderWay(());

impl UnderWay {
    /// Notes that it has begun, until this is dropped.
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

/// Returns whether we hold a lock: a step is under way, and is not to be cut off without need.
pub fn any() -> bool {
    if UNDER_WAY.load(Ordering::SeqCst) > 0 {
        return true;
    }
    // Who is just starting a child holds one.
    HELD.try_lock()
        .map_or(true, |held| held.iter().any(|file| file.strong_count() > 0))
}

impl Drop for Held {
    fn drop(&mut self) {
        // All of our own children have ended; what they may have left behind must not keep it.
        if let Err(error) = self.file.unlock() {
            tracing::warn!("cannot let a lock go: {error}");
        }
    }
}

/// Starts a child that holds our locks with us, or one that does not.
pub fn start<T>(with_locks: bool, start: impl FnOnce() -> T) -> T {
    // One at a time: what is open for one child is so for every child.
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
