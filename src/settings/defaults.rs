//! The values of settings that are not set.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::Settings;
use super::boxing::Boxing;
use super::choices::{
    EmptyStory, FinishChoice, ListEdits, Mark, NoSignal, Notify, OnFailure, RetryContext, Strategy,
};
use super::test_rules::TestRules;

impl Default for Settings {
    fn default() -> Self {
        Self {
            agent: None,
            agents: BTreeMap::new(),
            retry_agent: None,
            fallback_agent: None,
            max_retries: 3,
            timeout: None,
            idle_timeout: Some(SignedDuration::from_mins(30)),
            verify: Vec::new(),
            verify_retries: 0,
            tests: TestRules::default(),
            empty_story: EmptyStory::Warn,
            no_signal: NoSignal::Retry,
            verify_timeout: Some(SignedDuration::from_mins(30)),
            review: None,
            review_timeout: Some(SignedDuration::from_mins(30)),
            review_prompt: None,
            max_duration: None,
            max_wait: Some(SignedDuration::from_hours(6)),
            max_attempts: None,
            max_cost: None,
            on_failure: OnFailure::Stop,
            notify: Notify::Bell,
            finish: FinishChoice::Ask,
            command_timeout: SignedDuration::from_mins(10),
            keep_attempts: Some(SignedDuration::from_hours(90 * 24)),
            adapter: None,
            stories: None,
            stories_command: None,
            done_command: None,
            closed_command: None,
            mark: Mark::Auto,
            list_edits: ListEdits::Additions,
            prompt: None,
            retry_context: RetryContext::Reason,
            link_commit: None,
            redact: Vec::new(),
            view: false,
            guard: true,
            boxing: Boxing::default(),
            strategy: Strategy::Branch,
            remote: None,
            lease: SignedDuration::from_mins(15),
            remote_refs: "refs/ralph/".to_owned(),
            worktree_dir: None,
            worktree_setup: None,
        }
    }
}
