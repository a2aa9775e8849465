//! Works on several changes side by side: each in a process of its own, which works on that change alone, in a work tree
//! of its own. A change that cannot go on stops none of the others.
//!
//! Such a process is a run like any other: its loop is held by it, and every command finds it.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::children::Child;
use super::command::Command;
use super::schedule::worst;
use crate::engine::Context;
use crate::exit::Exit;
use crate::held::UnderWay;
use crate::names::{Change, Oid};

/// The most lines that wait to be printed.
pub(super) const MOST_LINES: usize = 64;

/// Works on these changes in their order, on so many at once; returns the worst exit code. `typed` is the command line after
/// the program's name; each begins at the HEAD of now.
pub async fn beside(
    command: &impl Command,
    typed: &[OsString],
    changes: Vec<Change>,
    jobs: u16,
    context: &Context<'_>,
) -> Exit {
    let _under_way = UnderWay::begin();
    let (head, stop) = (&context.head, &context.stop);
    let (sender, mut printed) = mpsc::channel(MOST_LINES);
    let mut running = JoinSet::new();
    let number = changes.len();
    let mut left = VecDeque::from(changes);
    let most = u16::try_from(number).unwrap_or(u16::MAX);
    let mut slots: BTreeSet<u16> = (1..=jobs.min(most)).collect();
    let mut exit = Exit::Done;
    loop {
        while stop.signal().is_none()
            && let Some(&slot) = slots.first()
            && let Some(change) = left.pop_front()
        {
            slots.remove(&slot);
            command.say(&format!("change {} of {number}: {change}", number - left.len()));
            let name = change.clone();
            let words = [
                name.as_str(),
                head.oid.as_ref().map_or("", Oid::as_str),
                head.branch.as_deref().unwrap_or_default(),
            ];
            match Child::start((change, name.as_str()), words, typed, slot, &sender) {
                Ok(run) => {
                    running.spawn(run.attend(stop.clone()));
                }
                Err(error) => {
                    slots.insert(slot);
                    command.warn(&format!(
                        "{name} cannot begin: git-ralph cannot be started: {error}"
                    ));
                    exit = Exit::Error;
                }
            }
        }
        // What a process has printed is shown before its end.
        tokio::select! {
            biased;
            Some(line) = printed.recv() => command.relay(&line),
            ended = running.join_next() => match ended {
                Some(Ok((change, slot, ended))) => {
                    slots.insert(slot);
                    if let Some(why) = ended.why {
                        command.warn(&format!("{change} {why}"));
                    }
                    exit = worst([exit, ended.exit].into_iter()).unwrap_or(exit);
                }
                Some(Err(_)) => {
                    command.warn("the end of a change is not known: git ralph status");
                    exit = Exit::Error;
                }
                None => break,
            },
        }
    }
    if !left.is_empty() {
        let left: Vec<&str> = left.iter().map(Change::as_str).collect();
        command.say(&format!("not begun: {}", left.join(", ")));
    }
    stop.signal().map_or(exit, Exit::Signal)
}
