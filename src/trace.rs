//! Traces the work of git-ralph, for `-v` and for `GIT_RALPH_LOG` (a tracing filter such as `debug`).

use std::env;
use std::io;

use tracing_subscriber::EnvFilter;

/// The filter for each command in short with its time, and nothing else.
const VERBOSE: &str = "warn,git_ralph::command=debug";
/// The filter for each command whole as well, with its environment.
const VERY_VERBOSE: &str = "warn,git_ralph::command=trace";

/// Begins to trace to standard error.
pub fn begin(verbose: u8) {
    let wanted = env::var("GIT_RALPH_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = match (wanted, verbose) {
        (Some(filter), _) => filter,
        (None, 0) => "warn".to_owned(),
        (None, 1) => VERBOSE.to_owned(),
        (None, _) => VERY_VERBOSE.to_owned(),
    };
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(io::stderr)
        .with_target(false)
        .with_level(false)
        .without_time()
        .init();
}

/// Reports that the program could not even begin.
pub fn no_runtime(error: &io::Error) {
    tracing::error!("cannot start: {error}");
}

/// Reports that the help or the version could not be printed.
pub fn cannot_print(error: &io::Error) {
    tracing::error!("cannot write to standard output: {error}");
}
