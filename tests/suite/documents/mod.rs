//! The documents, held to the code: what they list is what there is, and what they show is run.

mod ci;
mod help;
pub mod manual;
mod package;
mod picture;
mod readme;
mod recipes;
mod workflow;
