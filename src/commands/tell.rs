//! `git ralph tell`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};

use super::setup::{Console, resolve};
use crate::cli::complete::{loops, offer};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::{refuse_side, refuse_word_of_attempt};
use crate::error::Error;
use crate::exit::Exit;
use crate::state::{LONGEST_MESSAGE, Phase, State, Store};
use serde_json::json;

/// The arguments of `git ralph tell`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph tell [--json] [<change>] [<words>...]")]
pub struct Args {
    /// The change, then the words; a first word that names no loop is one of them. Without words, reads standard input
    #[arg(num_args = 0.., value_names = ["CHANGE", "WORDS"], add = offer(loops))]
    pub words: Vec<OsString>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let words: Vec<_> = args.words.iter().map(|word| word.to_string_lossy()).collect();
    let named = words
        .first()
        .filter(|first| context.resolve_change(Some(first)).is_ok());
    let change = resolve(&context, named.map(|name| &**name))?;
    refuse_word_of_attempt(&context)?;
    refuse_side(&context, &change)?;
    let store = Store::new(&context.repo.common_dir, &change);
    let state = context.state_of(&change)?;
    if !state.is_live() {
        return Err(StepRefusal::of_end(&state).into());
    }
    let said = words
        .get(usize::from(named.is_some())..)
        .unwrap_or_default()
        .join(" ");
    store.tell(&if said.is_empty() { from_input()? } else { said })?;
    let waiting = state.unshown() + store.untaken();
    let document = json!({ "v": 1, "change": change, "messages": waiting });
    console.conclude(args.json, &document, &when_read(&store, &state));
    Ok(Exit::Done)
}

/// Reads a message from standard input, unless that is a terminal.
fn from_input() -> Result<String, Error> {
    let (mut input, mut text) = (io::stdin().lock(), Vec::new());
    if !input.is_terminal() {
        let most = LONGEST_MESSAGE as u64 + 1;
        let read = input.by_ref().take(most).read_to_end(&mut text);
        read.map_err(Error::system("read standard input"))?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns a line that says when the message will be read.
fn when_read(store: &Store, state: &State) -> String {
    let change = &state.change;
    let given = state.session_at_work().and_then(|session| session.given.as_ref());
    let current = state.attempted().filter(|_| store.is_held());
    let running = current.map(|current| (&current.id, current.attempt));
    let running = running.or(given.map(|given| (&given.story, given.attempt)));
    match running {
        Some((story, number)) => {
            format!("attempt {number} of story {story} is running; the next prompt after it has this\n")
        }
        None if state.phase() == Phase::Complete => {
            format!("no story of {change} is left: a prompt has this only if one is added\n")
        }
        None => format!("the next attempt of {change} reads this\n"),
    }
}
