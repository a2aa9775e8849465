//! The part of a loop that may be sent to another machine, and read from one: nothing that runs a command, no command
//! line (it can contain keys), no path of a machine, and nothing that belongs to one work tree or one process.
//!
//! The state keeps its fields that travel apart from the others. Events are destructured field by field, without `..`,
//! except those that stay as a whole: a new field does not compile until this file decides whether it travels.

mod attempt;
mod event_lines;
mod public_text;
mod withheld;

use std::path::Path;

use self::attempt::keep_public;
use self::event_lines::read;
pub use self::public_text::{PublicText, gates_in};
pub use self::withheld::without_ignored;
use crate::agent::program_of;
use crate::events::{AttemptStarted, Event, GateEnded, ListPutBack, RefMoved, ReviewEnded, What};
use crate::state::{Common, State};

/// Returns the part of a state that travels, with texts made public.
pub fn common(state: &State, text: &PublicText) -> Common {
    let mut common = state.common.clone();
    common.original_branch = state.begun_on().cloned();
    let progress = &mut common.progress;
    let put_off = progress.put_off.iter_mut().map(|other| &mut other.story);
    for story in progress
        .story
        .iter_mut()
        .chain(&mut progress.beside)
        .chain(put_off)
    {
        story.reason = text.of_some(story.reason.as_ref());
        story.shown = text.of_some(story.shown.as_ref());
    }
    for one in &mut progress.redone {
        one.words = text.of_some(one.words.as_ref());
    }
    let gates = &mut common.settings.gates;
    gates.extend(state.here.commands.verify.iter().cloned());
    keep_programs(gates);
    let source = &mut common.source;
    source.path = list_of(&source.path, source.is_by_command());
    common
}

/// Reduces each command line to its program.
fn keep_programs(gates: &mut [String]) {
    for gate in gates {
        *gate = program_of(gate).to_owned();
    }
}

/// Returns the public name of a story list: its path in the repository, the program of a command, or the name of a file
/// on another machine, marked as such.
fn list_of(path: &str, is_command: bool) -> String {
    if is_command {
        return program_of(path).to_owned();
    }
    match Path::new(path).file_name() {
        Some(name) if Path::new(path).is_absolute() => format!("/{}", name.to_string_lossy()),
        _ => path.to_owned(),
    }
}

/// Returns the part of a loop's events that travels. Omits events unknown to this version.
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
pub fn learnings(notes: &[u8], text: &PublicText) -> Vec<u8> {
    text.of(&String::from_utf8_lossy(notes)).into_bytes()
}

/// Returns the part of an event that travels; `None` if the event stays here.
fn what(mut what: What, text: &PublicText) -> Option<What> {
    match &mut what {
        What::Started {
            branch: _,
            original_branch: _,
            original_head: _,
            checkpoint: _,
            source,
        } => *source = list_of(&text.of(source), false),
        What::AttemptStarted(AttemptStarted {
            story: _,
            title: _,
            slot: _,
            attempt: _,
            retries: _,
            max_retries: _,
            done: _,
            total: _,
            agent,
            format: _,
            log: _,
            settings,
        }) => {
            if let Some(agent) = agent {
                *agent = program_of(agent).to_owned();
            }
            if let Some(settings) = settings {
                keep_programs(&mut settings.gates);
            }
        }
        What::RoundStarted {
            story: _,
            attempt: _,
            round: _,
            why: _,
            left,
        } => *left = text.of_some(left.as_ref()),
        What::AttemptEnded(attempt) => keep_public(attempt, text),
        What::Gate(GateEnded {
            story: _,
            attempt: _,
            command,
            passed: _,
            reason,
            duration: _,
            output,
            held: _,
            slot: _,
        }) => {
            *command = program_of(command).to_owned();
            *reason = text.of_some(reason.as_ref());
            // Logs stay here.
            *output = None;
        }
        What::Review(ReviewEnded {
            story: _,
            attempt: _,
            reviewer: _,
            accepted: _,
            words,
            duration: _,
            cost_usd: _,
            output,
        }) => {
            *words = text.of_some(words.as_ref());
            *output = None;
        }
        What::ListPutBack(ListPutBack {
            story: _,
            attempt: _,
            list,
            what,
            kept: _,
            shown,
        }) => {
            *list = list_of(&text.of(list), false);
            *what = text.of(what);
            shown.clear();
        }
        What::Redone {
            stories: _,
            oid: _,
            words,
        } => *words = text.of_some(words.as_ref()),
        What::Retry {
            story: _,
            retries: _,
            max_retries: _,
            reason,
        } => *reason = text.of_some(reason.as_ref()),
        What::Waiting {
            reason,
            seconds: _,
            until: _,
        } => *reason = text.of(reason),
        What::HandedOver { from: _, remote } => *remote = remote_of(remote),
        What::Finished {
            how: _,
            branch: _,
            kept: _,
            worktree,
        } => *worktree = None,
        What::RoundEnded {
            story: _,
            attempt: _,
            round: _,
            exit_code: _,
            duration: _,
            cost_usd: _,
        }
        | What::Reverted {
            story: _,
            attempt: _,
            oid: _,
            kept: _,
            changed: _,
            slot: _,
        }
        | What::RefMoved(RefMoved {
            story: _,
            attempt: _,
            name: _,
            old: _,
            new: _,
            refused: _,
        })
        | What::Checkpoint {
            story: _,
            attempt: _,
            oid: _,
            slot: _,
        }
        | What::StoryProgress {
            done: _,
            total: _,
            skipped: _,
        }
        | What::MaxRetriesExceeded {
            story: _,
            max_retries: _,
            deferred: _,
        }
        | What::Committed { oid: _, commits: _ }
        | What::Left { to: _ }
        | What::Returned { branch: _ }
        | What::RunEnded { exit: _ }
        | What::AwaitingChoice { options: _ }
        | What::Complete {
            done: _,
            total: _,
            options: _,
        } => {}
        // For the user of this machine.
        What::Output { .. }
        | What::Message { .. }
        | What::Notice { .. }
        | What::Error { .. }
        | What::StartUndone { .. } => return None,
    }
    Some(what)
}

/// Returns a remote's name; an address can have a password in it.
fn remote_of(remote: &str) -> String {
    if remote.contains(['/', ':', '@', '\\']) {
        "a remote".to_owned()
    } else {
        remote.to_owned()
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
    fn remote_of_keeps_a_name_and_hides_an_address() {
        for (remote, expected) in [
            ("origin", "origin"),
            ("https://u:p@h/x", "a remote"),
            ("h:x", "a remote"),
        ] {
            assert_eq!(remote_of(remote), expected);
        }
    }
}
