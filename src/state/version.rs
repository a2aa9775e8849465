//! The versions of the text of a state.

/// The version of the files that this program writes, and the highest that it reads: a program that knows an earlier one
/// refuses them, and says that a newer git-ralph wrote them. A change that an earlier program would misread needs another.
pub const VERSION: u32 = 4;

/// The last version without parts.
pub(super) const LAST_FLAT: u32 = 3;
