//! Traces the work of git-ralph, for `-v` and for `GIT_RALPH_LOG` (a tracing filter such as `debug`).

use std::env;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The filter without `-v`.
const USUAL: &str = "warn";
/// The filter for the short form of each command, with its time.
const VERBOSE: &str = "warn,git_ralph::command=debug";
/// The filter for each whole command too, with its environment.
const VERY_VERBOSE: &str = "warn,git_ralph::command=trace";

/// Begins to trace to standard error.
pub fn begin(verbose: u8) {
    let usual = match verbose {
        0 => USUAL,
        1 => VERBOSE,
        _ => VERY_VERBOSE,
    };
    let wanted = env::var("GIT_RALPH_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = wanted.as_deref().unwrap_or(usual).parse::<Targets>();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Lines)
        .with_target(false)
        .with_level(false)
        .without_time();
    let wrong = filter.as_ref().err().map(ToString::to_string);
    let filter = filter.or_else(|_| usual.parse()).unwrap_or_default();
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    if let Some(why) = wrong {
        tracing::warn!("GIT_RALPH_LOG is not used: {why}");
    }
}

/// True while the view has the screen.
static HOLDS: AtomicBool = AtomicBool::new(false);
/// The lines that are held back; more than this many bytes are dropped.
static HELD: Mutex<Vec<u8>> = Mutex::new(Vec::new());
const ROOM: usize = 1 << 20;

/// Begins to hold lines back, or prints the held ones.
pub fn hold(holds: bool) {
    HOLDS.store(holds, Ordering::SeqCst);
    if !holds {
        let held = std::mem::take(&mut *HELD.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = io::stderr().lock().write_all(&held);
    }
}

/// Writes lines to standard error, or keeps them for later.
struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !HOLDS.load(Ordering::SeqCst) {
            return io::stderr().write(bytes);
        }
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() + bytes.len() <= ROOM {
            held.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
