//! Distinguishes a request of `git ralph stop` from another signal.

use nix::sys::signal::Signal;

use crate::engine::Loop;

/// The description of a run that `git ralph stop` ended.
pub const BY_REQUEST: &str = "stopped by git ralph stop";

/// The description of an attempt that `git ralph stop --now` ended.
pub(super) const BY_REQUEST_NOW: &str = "stopped by git ralph stop --now";

/// Returns whether this signal came from `git ralph stop --now`.
pub(super) fn is_request(open: &Loop<'_>, signal: i32) -> bool {
    signal == Signal::SIGTERM as i32 && open.store.is_asked_to_stop()
}
