//! Looks at loops and at the machine, and changes nothing.

pub mod doctor;
pub mod status;
pub mod status_line;
pub mod stories;
