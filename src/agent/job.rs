//! Describes the process that a runner starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::Walls;

/// A program to run, and its limits.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The directory it runs in.
    pub dir: PathBuf,
    /// Variables set for it.
    pub env: Vec<(OsString, OsString)>,
    /// Variables removed for it.
    pub env_remove: Vec<&'static str>,
    /// Its whole standard input.
    pub stdin: Vec<u8>,
    /// The value of `GIT_RALPH_RUN`.
    pub run: String,
    /// Maximum run time.
    pub timeout: Option<Duration>,
    /// Maximum time without output that shows progress.
    pub idle_timeout: Option<Duration>,
    /// The sandbox that it runs in.
    pub walls: Option<Arc<Walls>>,
}
