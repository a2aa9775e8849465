//! The events of a loop as lines of JSON.

use crate::events::Event;

/// Reads events. Omits events unknown to this version.
pub(super) fn read(events: &[u8]) -> impl Iterator<Item = Event> {
    let lines = events.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok())
}
