//! The loop. It decides and orders; what an attempt can touch is in the module `protect`.
//!
//! - [`Context`] is a repository with its configuration and who watches; [`Loop`] an open loop: state, lock, events,
//!   and what is known of the repository (`position`).
//! - `progress` decides (pure). `stories` knows which story comes next, `marks` marks it as done, `unmarked_stories`
//!   insists on it.
//! - `steps` has a file for each step: a plan is written as the state's intent (`journal`), then applied; `recover`
//!   opens a loop, and applies what a crash cut off by the same functions.
//! - `attempt` runs an agent, from the look before it to its verdict: `agent_run`, `gates`, `accept`.
//! - `lifecycle_hooks` of the user's run around these steps. `guard_rail` and `watch` are around every process that is
//!   not git-ralph's own; `run_command` runs those of the user's. `numbers`: which attempt it is.
//!
//! Nothing here knows the command line or prints: what happens goes to an [`Observer`](crate::events::Observer).

pub(crate) mod attempt;
mod context;
mod damaged;
mod guard_rail;
mod journal;
pub mod lifecycle_hooks;
mod marks;
pub(crate) mod numbers;
mod open_loop;
pub(crate) mod open_refusal;
pub(crate) mod output_tail;
mod position;
pub mod progress;
mod recover;
pub(crate) mod repository_refusal;
mod run_command;
pub(crate) mod step_refusal;
pub(crate) mod steps;
pub mod stories;
pub(crate) mod story_refusal;
pub mod unmarked_stories;
mod watch;

pub use attempt::{AttemptOptions, StepEnd, agent_of, attempt, note_prompted, prompt_text};
pub use context::{Context, refuse_inside_attempt};
pub use numbers::kept_range;
pub use open_loop::Loop;
pub use progress::Step;
pub use recover::{look, open};
pub use steps::abort::abort;
pub use steps::finish::{Finish, can_clean_up, finish};
pub use steps::manual::{complete, fail, revert, skip};
pub use steps::preflight::{Found, StartOptions};
pub(crate) use steps::prune::outdated;
pub use steps::prune::prune;
pub use steps::restore::restore;
pub use steps::resume::resume;
pub use steps::run::{Stopped, run};
pub use steps::start::preview;
pub use steps::start_again::{Started, start};
