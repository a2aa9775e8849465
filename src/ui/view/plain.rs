//! A loop in plain lines, one below the other: without control characters, for screen readers, logs and pipes.

use std::time::{Duration, Instant};

use jiff::SignedDuration;

use super::lines::Lines;
use crate::events::{Event, What};
use crate::exit::Exit;
use crate::inspect::attempt_output::AttemptOutput;
use crate::inspect::follow::{LoopFollower, News};
use crate::names::typed;
use crate::state::{AwaitingChoice, Phase, State};
use crate::ui::margin;
use crate::ui::narration;
use crate::ui::shown::plain;
use crate::ui::width::wrap;

/// Time without a process after which the loop counts as stopped: a script may take one step after another.
const REST: Duration = Duration::from_secs(3);
/// Maximum number of bytes of an attempt's earlier output that are shown.
const EARLIER: u64 = 1 << 20;
/// Number of bytes that are cut into lines in one step.
const PIECE: usize = 4096;

/// Reports the events of a loop.
pub struct PlainLoop {
    follower: LoopFollower,
    /// Maximum silence of an agent's own session that counts as working.
    idle: Option<SignedDuration>,
    state: Option<Box<State>>,
    output: Option<AttemptOutput>,
    lines: Lines,
    /// The exit code of the `git ralph run` that ended last.
    ended: Option<u8>,
    rests_since: Option<Instant>,
    is_first: bool,
    /// The columns of the terminal, if there is one.
    columns: Option<usize>,
}

/// The output since the last call.
#[derive(Debug, Default)]
pub struct Told {
    /// The events as in the file, one per line; none at the first call.
    pub json: String,
    /// The messages, in complete lines.
    pub words: String,
    /// The exit code of the loop, once it has stopped.
    pub exit: Option<Exit>,
}

impl PlainLoop {
    /// Begins to follow a loop.
    pub fn new(follower: LoopFollower, idle: Option<SignedDuration>) -> Self {
        Self {
            follower,
            idle,
            state: None,
            output: None,
            lines: Lines::default(),
            ended: None,
            rests_since: None,
            is_first: true,
            columns: None,
        }
    }

    /// Reads the loop's files. The first call returns the running attempt; if none runs, everything so far. The lines
    /// fit into `columns`.
    pub fn poll(&mut self, columns: Option<usize>) -> Told {
        self.columns = columns;
        let mut news = self.follower.poll();
        let mut new = Told::default();
        let (mut asks, mut gate) = (None, None);
        if let Some(state) = news.state.take() {
            let known = self.state.as_deref();
            let known_gate = known.and_then(State::gate_before_work);
            gate = state
                .gate_before_work()
                .filter(|gate| known_gate.as_ref() != Some(gate));
            let known = known.and_then(|state| state.here.awaiting_choice.as_ref());
            let new = state.asked().filter(|asked| known != Some(*asked));
            asks = new.map(asked_by);
            self.state = Some(state);
        }
        let is_at_work = news.is_driven || self.has_session();
        let is_first = std::mem::take(&mut self.is_first);
        let mut events = news.events.as_slice();
        if is_first && is_at_work {
            let begun = |event: &Event| matches!(event.what, What::AttemptStarted(_) | What::Started { .. });
            let from = events.iter().rposition(begun).unwrap_or(events.len());
            events = &events[from..];
        }
        for one in news.beside.iter().filter(|_| is_first) {
            let name = format!("{}@{}", one.story, one.attempt);
            let line = format!(
                "{name} is running (git ralph log --follow {} {})",
                typed(&one.side),
                typed(&name)
            );
            new.words.push_str(&format!("{}\n", plain(&line)));
        }
        for event in events {
            self.output_into(&mut new.words);
            self.event(event, is_at_work, &mut new.words);
        }
        self.output_into(&mut new.words);
        if let Some(gate) = gate.filter(|_| news.is_driven) {
            new.words.push_str(&format!("  {}\n", plain(&gate.heading())));
        }
        new.words.push_str(&asks.unwrap_or_default());
        if !is_first {
            for line in &news.lines {
                new.json.push_str(&String::from_utf8_lossy(line));
                new.json.push('\n');
            }
        }
        new.exit = self.exit(&news, is_at_work, is_first);
        if new.exit.is_some() {
            self.end_output(&mut new.words);
        }
        new.words = wrap(&new.words, columns);
        new
    }

    fn event(&mut self, event: &Event, is_at_work: bool, words: &mut String) {
        if let What::AttemptEnded(_) = &event.what {
            self.end_output(words);
        }
        if let Some(text) = narration::of(&event.change, &event.what) {
            words.push_str(&plain(&text));
        }
        match &event.what {
            What::AttemptStarted(begun) => {
                self.ended = None;
                let log = self.follower.store().attempt_log(&begun.story, begun.attempt);
                self.lines = Lines::default();
                let output = AttemptOutput::open_named(&log, begun.format.as_deref(), false).ok();
                let output = output.filter(|_| is_at_work);
                self.output = output.map(|output| match &self.state {
                    Some(state) => output.below(state.work_tree()),
                    None => output,
                });
                if let Some(output) = &mut self.output {
                    let _ = output.pass_over_all_but(EARLIER);
                }
            }
            What::RunEnded { exit } => self.ended = Some(*exit),
            _ => {}
        }
    }

    /// Appends the new output of the attempt, in complete lines.
    fn output_into(&mut self, words: &mut String) {
        let Some(output) = &mut self.output else { return };
        while let Ok(Some(piece)) = output.read() {
            put(&mut self.lines, &piece, self.columns, words);
        }
    }

    fn end_output(&mut self, words: &mut String) {
        self.output_into(words);
        if let Some(mut output) = self.output.take() {
            put(&mut self.lines, &output.rest(), self.columns, words);
            put(&mut self.lines, b"\n", self.columns, words);
        }
    }

    /// Returns whether an agent's own session drives the loop.
    fn has_session(&self) -> bool {
        let state = self.state.as_ref().filter(|state| state.is_live());
        let session = state.and_then(|state| state.here.session.as_ref());
        session.is_some_and(|session| session.is_heard_at_work(self.idle))
    }

    /// Returns the exit code of the loop if it has stopped.
    fn exit(&mut self, news: &News, is_at_work: bool, is_first: bool) -> Option<Exit> {
        if news.is_gone {
            return Some(self.ended.map_or(Exit::Error, Exit::from));
        }
        let asked = self.state.as_ref().and_then(|state| state.asked());
        if let Some(exit) = asked.and_then(|asked| asked.exit) {
            return Some(Exit::from(exit));
        }
        let is_asked = asked.is_some();
        if is_at_work && !is_asked {
            self.rests_since = None;
            return None;
        }
        let since = *self.rests_since.get_or_insert_with(Instant::now);
        if let Some(exit) = self.ended {
            return Some(Exit::from(exit));
        }
        if !is_first && !is_asked && since.elapsed() < REST {
            return None;
        }
        let phase = self.state.as_ref().map(|state| state.shown_phase());
        Some(match phase {
            Some(Phase::Ready | Phase::Complete | Phase::Finished) => Exit::Done,
            Some(Phase::Failed) => Exit::RetriesLeft,
            Some(Phase::Exhausted) => Exit::RetriesSpent,
            // Its process has ended during an attempt.
            Some(Phase::Running) | None => Exit::Error,
        })
    }
}

/// Returns the line about a question that waits for the user's answer.
fn asked_by(asked: &AwaitingChoice) -> String {
    let options = asked.options.join(", ");
    let line = format!(
        "git-ralph ({}) asks: {} {options}",
        asked.process(),
        asked.question
    );
    format!("{}\n", plain(&line))
}

/// Appends the lines that end in a piece, with a mark before each row.
fn put(lines: &mut Lines, piece: &[u8], columns: Option<usize>, words: &mut String) {
    for piece in piece.chunks(PIECE) {
        let before = lines.count();
        lines.push(piece);
        let ended = lines.ended(lines.count() - before);
        for line in ended {
            if !line.is_empty() {
                words.push_str(&margin::rows(line, "| ", columns));
            }
        }
    }
}
