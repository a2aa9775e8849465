//! `git-ralph hook <event>`: called by permanently installed hooks. Not for users, and often called without a loop: so
//! it is not part of `cli`, and most calls end before any process is started.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use super::setup::here;
use crate::agent::process_tree;
use crate::agent_sessions::{self, Answer, Event, HookInput, LoopHere};
use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{Narrator, Screen};

/// Maximum size of an agent's input to its hook, in bytes.
const MOST: u64 = 64 << 20;

/// The call of an agent's session in a loop.
#[derive(Debug)]
pub struct Work {
    event: Event,
    call: HookInput,
    place: LoopHere,
}

/// Parses the arguments, the program's name first; returns the event, or `None` if they are for `cli`.
pub fn asked(mut args: impl Iterator<Item = OsString>) -> Option<OsString> {
    args.nth(1).filter(|verb| verb == "hook")?;
    Some(args.next().unwrap_or_default())
}

/// Handles a call that concerns git-ralph.
pub async fn run(work: Work) -> Exit {
    let Work { event, call, place } = work;
    let narrator = Narrator::new(Screen::SILENT);
    let answer = Box::pin(agent_sessions::answer(event, &call, &place, &narrator)).await;
    let answer = answer.unwrap_or_else(|error| error_answer(&error));
    give(&answer, call.event.as_deref());
    // Any other code would be an answer, with a different meaning for each agent.
    Exit::Done
}

/// Returns the call of a hook if it concerns git-ralph; starts no process.
pub fn look(event: &OsString) -> Option<Work> {
    let Some(event) = event.to_str().and_then(Event::named) else {
        say(&format!(
            "there is no event {:?}; hooks of agents call: git ralph hook stop|stop-failure|session-end",
            event.to_string_lossy()
        ));
        return None;
    };
    // The git-ralph that started the agent already drives the loop.
    if env::var_os(process_tree::VARIABLE).is_some() {
        return None;
    }
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        say("this is for the hooks of agents, which tell it what has happened in JSON on standard input");
        return None;
    }
    let mut bytes = Vec::new();
    if let Err(error) = input.by_ref().take(MOST).read_to_end(&mut bytes) {
        say(&format!("cannot read what the agent tells its hook: {error}"));
        return None;
    }
    let Some(call) = HookInput::read(&bytes) else {
        say("what the agent tells its hook is no JSON object");
        return None;
    };
    if !event.may_be(call.event.as_deref()) {
        let name = call.event.unwrap_or_default();
        say(&format!("the agent's event {name} is not what this hook is for"));
        return None;
    }
    let named = call.cwd.clone().filter(|dir| dir.is_absolute());
    let dir: PathBuf = named.or_else(|| here().ok())?;
    match agent_sessions::locate(&dir) {
        Ok(Some(place)) => Some(Work { event, call, place }),
        Ok(None) => None,
        Err(error) => {
            give(&error_answer(&error), call.event.as_deref());
            None
        }
    }
}

/// Returns the answer after an error, which is also printed on standard error.
fn error_answer(error: &Error) -> Answer {
    Screen::default().fail("", error);
    Answer::error(error)
}

fn give(answer: &Answer, event: Option<&str>) {
    if let Some(answer) = answer.json(event) {
        Screen::default().json(&format!("{answer}\n"));
    }
}

fn say(words: &str) {
    Screen::default().say(&format!("git-ralph: {words}\n"));
}
