//! Examines loops and the machine, and changes nothing.

pub mod at_work;
pub mod attempt_output;
pub mod beside;
pub mod box_filters;
pub mod changed_files;
pub mod doctor;
mod ending;
pub mod follow;
mod gone;
pub mod next_steps;
mod pace;
mod place;
pub mod session;
pub mod status;
pub mod status_line;
pub mod stories;
pub mod story_text;
pub mod summary;
pub mod wrong_values;
