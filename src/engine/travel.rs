//! The part of a loop that may leave this machine, and that is taken from another one: nothing that runs a command, no
//! command line (it can contain keys), no path of a machine, and nothing that belongs to one work tree or one process.
//!
//! State and events are made anew field by field, without a rest: a field that is added to them does not compile until it
//! is decided here whether it travels.

mod attempt;
mod event_lines;
mod public_text;

use std::path::Path;

use self::attempt::ended;
use self::event_lines::read;
pub use self::public_text::PublicText;
use crate::agent::program_of;
use crate::events::{Event, What};
use crate::paths::WorkTreePath;
use crate::settings::{BoxMode, LoopSettings, Options};
use crate::state::{Before, Current, Progress, State};
use crate::stories::{Commands, Source};

/// Returns the part of a state that travels.
#[must_use]
pub fn state(state: &State, text: &PublicText) -> State {
    let State {
        version,
        change,
        branch,
        strategy,
        original_branch: _,
        original_head,
        moved_head: _,
        checkpoint,
        checkpoint_tree,
        worktree: _,
        linked: _,
        started,
        progress,
        settings,
        source,
        unmarked,
        before,
        running: _,
        session: _,
        prompted: _,
        unchanged,
        listed,
        waits_until: _,
        waits_for: _,
        awaiting_choice: _,
        stopped: _,
        closed: _,
        noted: _,
        save_points: _,
        restored: _,
        intent: _,
    } = state;
    State {
        version: *version,
        change: change.clone(),
        branch: branch.clone(),
        strategy: *strategy,
        original_branch: state.begun_on().cloned(),
        original_head: original_head.clone(),
        moved_head: None,
        checkpoint: checkpoint.clone(),
        checkpoint_tree: checkpoint_tree.clone(),
        worktree: WorkTreePath::new(Path::new("")),
        linked: None,
        started: *started,
        progress: Progress {
            phase: progress.phase,
            max_retries: progress.max_retries,
            skipped: progress.skipped.clone(),
            story: progress.story.as_ref().map(|story| current(story, text)),
            completed: progress.completed.clone(),
        },
        settings: LoopSettings {
            mark: settings.mark,
            options: Options {
                agent: None,
                max_retries: settings.options.max_retries,
                timeout: settings.options.timeout,
                idle_timeout: settings.options.idle_timeout,
                // Only to tell a person that there were some.
                verify: settings
                    .options
                    .verify
                    .iter()
                    .map(|gate| program_of(gate).to_owned())
                    .collect(),
                // Never less than what is configured where the loop goes on.
                boxed: settings.options.boxed.filter(|mode| *mode == BoxMode::Require),
            },
            unproven: Vec::new(),
        },
        source: Source {
            adapter: source.adapter,
            path: list_of(&source.path, source.commands.is_some()),
            grouping: source.grouping,
            commands: source.commands.as_ref().map(|commands| Commands {
                change: commands.change.clone(),
                stories: String::new(),
                done: None,
                closed: None,
                limit: 0,
                env: Vec::new(),
                boxing: None,
            }),
        },
        unmarked: unmarked.clone(),
        before: Before {
            snapshot: before.initial.clone(),
            initial: before.initial.clone(),
            anchor: None,
            index: before.index,
            nested: Vec::new(),
        },
        running: None,
        session: None,
        prompted: None,
        unchanged: *unchanged,
        listed: listed.clone(),
        waits_until: None,
        waits_for: None,
        awaiting_choice: None,
        stopped: None,
        closed: None,
        noted: None,
        save_points: Vec::new(),
        restored: None,
        intent: None,
    }
}

fn current(story: &Current, text: &PublicText) -> Current {
    Current {
        id: story.id.clone(),
        title: story.title.clone(),
        retries: story.retries,
        failures: story.failures,
        attempt: story.attempt,
        reason: text.of_some(story.reason.as_ref()),
        shown: text.of_some(story.shown.as_ref()),
        verdict: story.verdict,
    }
}

/// Returns what may be said of a story list: its path in the repository, the program of a command, or the name of a file
/// elsewhere, which stays recognizable as one.
fn list_of(path: &str, is_command: bool) -> String {
    if is_command {
        return program_of(path).to_owned();
    }
    match Path::new(path).file_name() {
        Some(name) if Path::new(path).is_absolute() => format!("/{}", name.to_string_lossy()),
        _ => path.to_owned(),
    }
}

/// Returns the part of a loop's events that travels. What is no event of this version is left out.
#[must_use]
pub fn events(events: &[u8], text: &PublicText) -> Vec<u8> {
    let travelling = read(events).filter_map(|event| {
        Some(Event {
            v: event.v,
            t: event.t,
            what: what(event.what, text)?,
            change: event.change,
        })
    });
    travelling.flat_map(|event| event.line().into_bytes()).collect()
}

/// Returns the part of the agents' notes that travels.
#[must_use]
pub fn learnings(notes: &[u8], text: &PublicText) -> Vec<u8> {
    text.of(&String::from_utf8_lossy(notes)).into_bytes()
}

/// Returns the part of an event that travels; `None` if the event stays here.
fn what(what: What, text: &PublicText) -> Option<What> {
    Some(match what {
        What::Started {
            branch,
            original_branch,
            original_head,
            checkpoint,
            source,
        } => What::Started {
            branch,
            original_branch,
            original_head,
            checkpoint,
            source: list_of(&text.of(&source), false),
        },
        What::AttemptStarted {
            story,
            title,
            attempt,
            retries,
            max_retries,
            done,
            total,
            agent,
            format,
            log,
            settings,
        } => What::AttemptStarted {
            story,
            title,
            attempt,
            retries,
            max_retries,
            done,
            total,
            agent: agent.map(|agent| program_of(&agent).to_owned()),
            format,
            log,
            settings: settings.map(|mut settings| {
                for gate in &mut settings.gates {
                    *gate = program_of(gate).to_owned();
                }
                settings
            }),
        },
        What::AttemptEnded(attempt) => What::AttemptEnded(Box::new(ended(*attempt, text))),
        What::Gate {
            story,
            attempt,
            command,
            passed,
            reason,
            duration,
            // Logs stay here.
            output: _,
            held,
        } => What::Gate {
            story,
            attempt,
            command: program_of(&command).to_owned(),
            passed,
            reason: text.of_some(reason.as_ref()),
            duration,
            output: None,
            held,
        },
        What::Review {
            story,
            attempt,
            reviewer,
            accepted,
            words,
            duration,
            cost_usd,
            output: _,
        } => What::Review {
            story,
            attempt,
            reviewer,
            accepted,
            words: text.of_some(words.as_ref()),
            duration,
            cost_usd,
            output: None,
        },
        What::Checkpoint { story, attempt, oid } => What::Checkpoint { story, attempt, oid },
        What::Reverted {
            story,
            attempt,
            oid,
            kept,
            changed,
        } => What::Reverted {
            story,
            attempt,
            oid,
            kept,
            changed,
        },
        What::Retry {
            story,
            retries,
            max_retries,
            reason,
        } => What::Retry {
            story,
            retries,
            max_retries,
            reason: text.of_some(reason.as_ref()),
        },
        What::Waiting {
            reason,
            seconds,
            until,
        } => What::Waiting {
            reason: text.of(&reason),
            seconds,
            until,
        },
        What::StoryProgress { done, total, skipped } => What::StoryProgress { done, total, skipped },
        What::MaxRetriesExceeded { story, max_retries } => What::MaxRetriesExceeded { story, max_retries },
        What::RefMoved {
            story,
            attempt,
            name,
            old,
            new,
            refused,
        } => What::RefMoved {
            story,
            attempt,
            name,
            old,
            new,
            refused,
        },
        What::Committed { oid, commits } => What::Committed { oid, commits },
        What::Left { to } => What::Left { to },
        What::Returned { branch } => What::Returned { branch },
        What::HandedOver { from, remote } => What::HandedOver {
            from,
            remote: remote_of(remote),
        },
        What::RunEnded { exit } => What::RunEnded { exit },
        What::AwaitingChoice { options } => What::AwaitingChoice { options },
        What::Complete { done, total } => What::Complete { done, total },
        What::Finished {
            how,
            branch,
            kept,
            worktree: _,
        } => What::Finished {
            how,
            branch,
            kept,
            worktree: None,
        },
        // Words for a person on this machine.
        What::Output { stream: _, text: _ }
        | What::Notice { message: _ }
        | What::Error {
            message: _,
            hint: _,
            exit: _,
        } => return None,
    })
}

/// Returns a remote's name; an address can have a password in it.
fn remote_of(remote: String) -> String {
    if remote.contains(['/', ':', '@', '\\']) {
        "a remote".to_owned()
    } else {
        remote
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_and_paths_are_taken_out_of_a_text() {
        let lines = ["make", "KEY=s3cret make test", "/opt/x/check --key s3cret"].map(ToOwned::to_owned);
        let dirs = [
            (Path::new("/home/u/code"), "."),
            (Path::new("/home/u"), "~"),
            (Path::new("/"), "?"),
        ];
        let text = PublicText::new(lines, &dirs);
        let said = "the gate `KEY=s3cret make test` failed: /home/u/code/src/x, /home/u/.keys, `/opt/x/check --key s3cret`";
        assert_eq!(text.of(said), "the gate `make` failed: ./src/x, ~/.keys, `check`");
    }

    #[test]
    fn of_a_remote_only_a_name_travels() {
        for (remote, told) in [
            ("origin", "origin"),
            ("https://u:p@h/x", "a remote"),
            ("h:x", "a remote"),
        ] {
            assert_eq!(remote_of(remote.to_owned()), told);
        }
    }
}
