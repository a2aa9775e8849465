//! Runs the loop: decides and orders. The module `protect` handles what an attempt can touch.
//!
//! - [`Context`] is a repository with its configuration and observer; [`Loop`] is an open loop: state, lock, events,
//!   and the known facts of the repository (`position`).
//! - `progress` decides (pure), and `order` which stories may begin side by side. `stories` finds the next story,
//!   `marks` marks it as done, `unmarked_stories` requires the mark.
//! - `steps` has a file for each step, which makes a plan; `transition` writes the plan as the state's intent, then
//!   makes the step. `recover` opens a loop and completes a step that a crash interrupted, with the same function.
//! - `messages` reads the user's messages to the next attempts.
//! - `attempt` runs an agent, its gates and its reviewer, and only reads the loop; `steps/attempt` leads from the
//!   choice of a story to its checkpoint, or back.
//! - `question` asks the user, and frees the loop for other commands meanwhile.
//! - `lifecycle_hooks` runs the user's hooks. `guard_rail` and `watch` protect the repository from other processes,
//!   `shared_stash` the stash. `staged_content` keeps content that only the user's index has. `stash` and `users_head`
//!   serve a loop that leaves HEAD in place. `run_command` runs the user's commands; `numbers` numbers attempts.
//!
//! The engine neither parses the command line nor prints: it reports to an [`Observer`](crate::events::Observer).

pub(crate) mod attempt;
mod boxed;
mod checkpoint_message;
mod context;
mod damaged;
mod ended_loops;
mod guard_rail;
mod judged;
pub mod lifecycle_hooks;
pub(crate) mod list_growth;
mod lost_commits;
mod marks;
pub(crate) mod messages;
pub(crate) mod numbers;
mod open_loop;
pub(crate) mod open_refusal;
mod order;
pub(crate) mod output_tail;
pub(crate) mod own_output;
mod own_work_tree;
pub(crate) mod position;
pub mod progress;
pub mod question;
mod recover;
pub(crate) mod repository_refusal;
mod run_command;
mod shared_stash;
mod staged_content;
mod stash;
mod step_place;
pub(crate) mod step_refusal;
pub(crate) mod steps;
pub mod stories;
pub(crate) mod story_refusal;
pub mod story_source;
mod submodules;
mod transition;
pub mod travel;
pub mod unmarked_stories;
mod users_head;
mod watch;
mod work_tree_contents;
mod work_tree_copies;
mod work_tree_lock;
mod work_tree_place;
mod work_tree_removal;
mod work_tree_reuse;
mod work_tree_setup;

pub use attempt::backoff::Unanswered;
pub use attempt::review::review;
pub use attempt::{agent_of, first_prompt, missing_agents, prompt_text, usual_agent};
use context::describe;
pub use context::{
    Context, refuse_inside_attempt, refuse_lost_repository, refuse_side, refuse_tree_apart,
    refuse_word_of_attempt, repository_without_tree,
};
pub use messages::{note_prompted, take_between as take_messages};
pub use numbers::range_of;
pub use open_loop::{Loop, require_step};
pub(crate) use own_work_tree::refusal as go_to_own_refused;
pub(crate) use position::refuse_operation;
pub use position::require_place;
pub use progress::Step;
pub use recover::{look, open};
pub use step_place::{require_own_list, require_step_here};
pub use steps::abort::abort;
pub use steps::adopt::{Portable, adopt, adopt_apart, require_free_work_tree};
pub(crate) use steps::attempt::limits::{limit_of_cost, raised_by, raised_in};
pub use steps::attempt::{
    AttemptOptions, BY_REQUEST, StepEnd, at_limit, attempt, by_signal, judge_waiting, judged_first,
    require_judges, waits_for_review,
};
pub use steps::finish::{Finish, can_clean_up, finish, refuse_other_way, set_aside};
pub use steps::land::{Landed, land};
pub use steps::manual::{complete, fail, revert};
pub use work_tree_lock::half_made;

pub use steps::preflight::{BegunFor, Found, StartOptions, refuse_unmerged};
pub(crate) use steps::prune::outdated;
pub use steps::prune::{prune, verb};
pub use steps::redo::redo;
pub use steps::restore::restore;
pub use steps::resume::resume;
pub use steps::return_to_base::{place_before, return_to_base, return_to_loop};
pub use steps::run::{Driver, Stopped, note_end_of_run};
pub use steps::side::{
    Beginning, Made, Shared, Taken, begin_side, free_places, hold_list, is_accepted, made_by, may_begin,
    open_side, release_list, remove_left, remove_lost, remove_side, settings_of_side, take_in, was_taken_in,
    why_in_turn,
};
pub use steps::skip::{skip, story_to_skip, take_skips};
pub use steps::start::preview;
pub use steps::start_again::start;
pub use steps::take_list::take_list;
pub use steps::unneeded::{remove as remove_unneeded, unneeded};
pub use steps::work_away::work_stashed;
pub use work_tree_place::{Place, unusable_place};
