//! The version of the file format that a state needs. An older program skips keys that it does not know; where it would miss
//! something, it has to refuse the file, and says that a newer git-ralph wrote it.
//!
//! The state is taken apart field by field: a field that is added does not compile until it is decided here whether 0.2.0,
//! which reads the versions 1 and 2, may miss it.

use std::path::Path;

use super::{Current, Intent, Progress, RevertPlan, Running, State, Verdict};
use crate::settings::{LoopSettings, Options};

/// The highest version that this program reads; files with a higher one are refused.
pub const VERSION: u32 = 3;

impl State {
    /// Returns the state as it is written to a file, with the version that it needs.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        let state = Self {
            version: self.needed_version(),
            ..self.clone()
        };
        toml::to_string(&state)
    }

    fn needed_version(&self) -> u32 {
        let Self {
            version: _,
            change: _,
            branch: _,
            strategy,
            original_branch: _,
            original_head: _,
            moved_head: _,
            checkpoint: _,
            checkpoint_tree: _,
            worktree,
            linked: _,
            started: _,
            progress,
            settings,
            source,
            unmarked: _,
            before: _,
            running,
            session: _,
            prompted: _,
            unchanged: _,
            listed: _,
            list,
            stood,
            waits_until: _,
            waits_for: _,
            awaiting_choice: _,
            stopped: _,
            closed: _,
            noted: _,
            save_points: _,
            restored: _,
            gate_files,
            intent,
        } = self;
        // 0.2.0 looks for the records of a work tree in the loop's own directory. What travels has none.
        let has_slot = self.is_live() && worktree.as_path() != Path::new("");
        let is_new = has_slot
            || is_new_progress(progress)
            || are_new_settings(settings)
            // 0.2.0 looks for the commands in the state.
            || source.is_by_command()
            || !gate_files.is_empty()
            || !stood.is_empty()
            || !list.by_list.is_empty()
            || running.as_ref().is_some_and(is_new_running)
            || intent.as_ref().is_some_and(is_new_intent);
        if is_new { VERSION } else { strategy.version() }
    }
}

fn is_new_progress(progress: &Progress) -> bool {
    let Progress {
        phase: _,
        max_retries: _,
        skipped: _,
        story,
        completed: _,
    } = progress;
    story.as_ref().is_some_and(|story| {
        let Current {
            id: _,
            title: _,
            retries: _,
            failures: _,
            attempt: _,
            reason: _,
            shown: _,
            verdict,
        } = story;
        verdict.is_some_and(is_new_verdict)
    })
}

fn is_new_verdict(verdict: Verdict) -> bool {
    match verdict {
        Verdict::ReviewRejected => true,
        Verdict::Complete
        | Verdict::Failed
        | Verdict::NoSignal
        | Verdict::GateFailed
        | Verdict::TimedOut
        | Verdict::RateLimited
        | Verdict::Overloaded
        | Verdict::Auth
        | Verdict::NotStarted
        | Verdict::AgentError
        | Verdict::Interrupted => false,
    }
}

fn are_new_settings(settings: &LoopSettings) -> bool {
    let LoopSettings {
        mark: _,
        options,
        unproven,
        least,
    } = settings;
    let Options {
        agent: _,
        max_retries: _,
        timeout: _,
        idle_timeout: _,
        verify: _,
        boxed,
    } = options;
    boxed.is_some() || !unproven.is_empty() || !least.is_nothing()
}

fn is_new_running(running: &Running) -> bool {
    let Running {
        run: _,
        since: _,
        by_hand: _,
        pid: _,
        started: _,
        gate: _,
        judging: _,
        held,
    } = running;
    held.is_some()
}

fn is_new_intent(intent: &Intent) -> bool {
    match intent {
        Intent::PutBack(_) => true,
        Intent::Keep(plan) => plan.aside,
        Intent::Revert(RevertPlan { verdict, .. }) => verdict.is_some_and(is_new_verdict),
        Intent::Start(_)
        | Intent::Checkpoint(_)
        | Intent::Save(_)
        | Intent::Abort(_)
        | Intent::Restore(_)
        | Intent::Cleanup(_)
        | Intent::Close(_)
        | Intent::Adopt(_)
        | Intent::Leave(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{BoxMode, Least};

    /// A state that 0.2.0 understands, as it travels.
    const PLAIN: &str = r#"
version = 1
change = "c"
branch = "ralph/c"
checkpoint = "1111111111111111111111111111111111111111"
checkpoint_tree = "1111111111111111111111111111111111111111"
worktree = ""
started = "2026-01-01T00:00:00Z"
phase = "running"
max_retries = 3
[story]
id = "1"
title = "one"
retries = 0
failures = 1
attempt = 1
verdict = "gate_failed"
[settings]
[source]
adapter = "markdown"
path = "plan.md"
grouping = "auto"
[before]
snapshot = "1111111111111111111111111111111111111111"
initial = "1111111111111111111111111111111111111111"
index = true
[running]
run = "1-1"
since = "2026-01-01T00:00:00Z"
"#;

    type Change = fn(&mut State);

    fn held() -> crate::state::HeldTests {
        let text = "tree = \"1111111111111111111111111111111111111111\"\ncommit = \"1111111111111111111111111111111111111111\"\n\
                    since = \"2026-01-01T00:00:00Z\"\n";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_state_that_an_older_program_would_misread_has_a_version_that_it_refuses() {
        let cases: &[(&str, u32, Change)] = &[
            ("nothing new", 1, |_| ()),
            ("a loop with a slot", 3, |state| {
                state.worktree = crate::paths::WorkTreePath::new(Path::new("/w"));
            }),
            ("saved by a newer program", 1, |state| state.version = 9),
            ("stash", 2, |state| {
                state.strategy = crate::settings::Strategy::Stash;
            }),
            ("a box", 3, |state| {
                state.settings.options.boxed = Some(BoxMode::Require);
            }),
            ("a box from the work tree", 3, |state| {
                state.settings.least = Least {
                    mode: BoxMode::On,
                    commands: false,
                };
            }),
            ("gates that are not run", 3, |state| {
                state.settings.unproven = vec!["make".to_owned()];
            }),
            ("a review", 3, |state| {
                state.progress.story.as_mut().unwrap().verdict = Some(Verdict::ReviewRejected);
            }),
            ("held tests", 3, |state| {
                state.running.as_mut().unwrap().held = Some(held());
            }),
            ("files that only gates made", 3, |state| {
                let oid = state.checkpoint.clone();
                state.gate_files = vec![crate::state::GateFile::of(&crate::git::StagedEntry {
                    mode: "100644".to_owned(),
                    oid,
                    path: b"x".to_vec(),
                })];
            }),
            ("stories that are done by the list alone", 3, |state| {
                state.list.by_list.push("1".to_owned());
            }),
            ("held tests on their way back", 3, |state| {
                state.intent = Some(Intent::PutBack(held()));
            }),
        ];
        for (what, wanted, change) in cases {
            let mut state: State = toml::from_str(PLAIN).unwrap();
            change(&mut state);
            let text = state.text().unwrap();
            assert!(
                text.starts_with(&format!("version = {wanted}\n")),
                "{what}: {text}"
            );
            let mut read: State = toml::from_str(&text).unwrap();
            read.version = state.version;
            assert_eq!(read, state, "{what}");
        }
    }
}
