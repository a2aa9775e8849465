//! Runs an attempt and judges it. This module only reads the loop: `steps/attempt` changes it.
//!
//! - `agent_choice` chooses the agent, `prompting` and `learnings` build its prompt.
//! - `begun` is the attempt as a value, with the `facts` about it in memory, and `outcome` the outcome of its agent's
//!   run.
//! - `agent_run` makes the agent's job, and `agent_process` runs it and listens to it, without the loop.
//! - `verdict` judges its report, and `rounds` decides whether another round of it follows (both pure).
//! - `preparation` prepares the work tree again for work that was made in another one.
//! - `proof` runs the `gates`, and `held` runs them again with the original tests.
//! - `unpromised` lets gates judge an attempt without a promise.
//! - `review` asks another agent for its verdict about work whose gates passed.
//! - `backoff` waits for a service that does not answer.

pub(crate) mod agent_choice;
mod agent_process;
pub(crate) mod agent_run;
pub(crate) mod backoff;
pub(crate) mod begun;
pub(crate) mod facts;
pub(crate) mod gates;
pub(crate) mod held;
pub(crate) mod learnings;
pub(crate) mod outcome;
mod preparation;
pub(crate) mod prompting;
pub(crate) mod proof;
pub(crate) mod refusal;
pub(crate) mod review;
pub(crate) mod rounds;
pub(crate) mod unpromised;
pub(crate) mod verdict;

pub use agent_choice::{agent_of, missing_agents, usual_agent};
pub(crate) use prompting::with_messages;
pub use prompting::{first_prompt, prompt_text};
