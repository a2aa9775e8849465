//! The documents, held to the code: what they list is what there is, and what they show is run.

use std::path::Path;

mod architecture;
mod ci;
mod help;
pub mod manual;
mod package;
mod parallel;
mod picture;
mod places;
mod readme;
mod recipes;
mod workflow;

/// Returns the top of the source.
fn source() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
