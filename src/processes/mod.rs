//! The processes of the system: by `/proc` on Linux (`proc_files`), by the system's own calls on other
//! systems (`process_list`).

mod entry;
pub(crate) mod own;
#[cfg(all(target_os = "linux", not(feature = "without-proc")))]
mod proc_files;
#[cfg(any(not(target_os = "linux"), feature = "without-proc"))]
mod process_list;
mod runners;
mod table;

pub(crate) use entry::{Program, Stat};
pub use runners::{ONE_OF_SEVERAL, STORY, VERB as RUNNER, is_abandoned, kill_runners_of, own_program};
pub(crate) use table::{
    Table, began_by, booted, children, directory, has_variable, have_children, memory, ourselves, program,
    runs_our_program,
};
pub use table::{host, is_gone, is_same, started_at};
