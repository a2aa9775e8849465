//! Narrates a running loop: messages on standard error, events on standard output with `--json`.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};

use super::agent_output::AgentOutput;
use super::margin::{self, Margin};
use super::shown::{plain, shown};
use super::{Screen, amounts, github, hold, live::Live, named, narration, set_names, styles, width};
use crate::events::{Event, News, Observer, Stream, Watching, What};

/// Watches a loop for a [`Screen`].
#[derive(Debug)]
pub struct Narrator {
    tale: RefCell<Tale>,
}

impl Narrator {
    /// Makes a narrator for a screen.
    pub fn new(screen: Screen) -> Self {
        let tale = RefCell::new(Tale::new(screen));
        Self { tale }
    }

    /// Ends the agent's output before an answer.
    pub fn end_words(&self) {
        self.tale.borrow_mut().begin_words();
    }
}

impl Observer for Narrator {
    fn hear(&self, news: News<'_>) {
        let mut tale = self.tale.borrow_mut();
        match news {
            News::Event(event) => tale.event(event),
            News::Output {
                change,
                stream,
                bytes,
            } => tale.output(change, stream, bytes),
            News::Activity(line) => tale.activity(line),
            News::Limits(limits) => tale.watch(limits),
            News::Doing(what) => tale.doing(what),
            News::Begins(heading) => tale.begins(heading),
            News::Stopping => tale.say("  stopping it; press Ctrl-C again to kill it\n"),
            News::Names(names) => set_names(names),
            News::Tick => tale.tick(),
            News::Relayed(line) => tale.relayed(line),
            News::Beside(stories) => tale.live.beside(stories),
            // Without a terminal, the event's line is enough.
            News::Countdown(left) => tale.live.draw(&amounts::countdown(left)),
        }
    }
}

/// The state of the narration.
#[derive(Debug)]
struct Tale {
    screen: Screen,
    live: Live,
    /// The filter for the agent's output.
    agent: AgentOutput,
    /// The part of a GitHub workflow's log for the agent's output, in which no line is a command.
    pause: Option<github::Pause>,
    /// Distinguishes the agent's lines from git-ralph's.
    margin: Margin,
    /// The top directory of the work tree, with a slash at its end; empty when it is unknown.
    top: String,
    /// The reason why the last attempt failed.
    reason: Option<String>,
    /// True if the last event was a failed gate with shown output.
    gate_failed: bool,
    /// True if the attempt is the user's own: the command's error reports its end.
    by_hand: bool,
    /// True if the log can be folded, as in a GitHub workflow.
    folds: bool,
}

impl Tale {
    fn new(screen: Screen) -> Self {
        Self {
            screen,
            live: Live::new(screen),
            agent: AgentOutput::new(io::stderr().is_terminal()),
            pause: None,
            margin: Margin::default(),
            top: String::new(),
            reason: None,
            gate_failed: false,
            by_hand: false,
            folds: github::is_there() && !screen.quiet,
        }
    }

    fn say(&mut self, text: &str) {
        self.begin_words();
        self.screen.say(text);
        self.live.again();
    }

    /// Prints a line of another git-ralph process, which has already filtered it.
    fn relayed(&mut self, line: &str) {
        self.begin_words();
        self.screen.loud().say(line);
        self.live.again();
    }

    /// Sends a command to the log of a workflow.
    fn command(&mut self, command: &str) {
        self.begin_words();
        self.screen.say_safely(command);
    }

    /// Ends the agent's output before a message of git-ralph's.
    fn begin_words(&mut self) {
        self.settle_colours();
        self.live.break_line();
        self.margin = Margin::default();
        if let Some(pause) = self.pause.take() {
            let _ = io::stderr().lock().write_all(pause.end().as_bytes());
        }
    }

    /// Returns a line with paths of the work tree made relative to its top.
    fn below_top(&self, line: &str) -> String {
        match self.top.as_str() {
            "" | "/" => line.to_owned(),
            top => line.replace(top, ""),
        }
    }

    /// Returns the annotation of a workflow's log for a failed attempt.
    fn annotation(&mut self, event: &Event) -> Option<String> {
        let (words, mark): (_, fn(&str) -> String) = match &event.what {
            What::Retry { story, .. } => {
                let left = narration::of(&event.change, &event.what)?;
                (
                    format!("story {story} failed,{}", left.replace("  ", " ")),
                    github::warning,
                )
            }
            What::MaxRetriesExceeded { .. } => (narration::of(&event.change, &event.what)?, github::error),
            _ => return None,
        };
        let why = std::mem::take(&mut self.reason);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        Some(mark(&named(&format!("{}{why}", words.trim_end()))))
    }

    fn settle_colours(&mut self) {
        let settled = self.agent.settle();
        if !hold::holds() {
            let _ = io::stderr().lock().write_all(settled);
        }
    }

    fn event(&mut self, event: &Event) {
        if self.screen.json {
            self.screen.json(&event.line());
        }
        let heading = narration::attempt_heading(&event.what);
        if let What::AttemptEnded(attempt) = &event.what {
            self.live.end(attempt.cost_usd);
            self.reason.clone_from(&attempt.reason);
            if self.folds {
                self.command(github::END_GROUP);
            }
        }
        if matches!(&event.what, What::Gate(gate) if gate.story.is_none()) {
            self.live.end(None);
        }
        if self.folds
            && let Some(annotation) = self.annotation(event)
        {
            self.command(&annotation);
            return;
        }
        if let What::AttemptStarted(attempt) = &event.what {
            self.by_hand = attempt.agent.is_none();
        }
        let text = match &event.what {
            What::AttemptEnded(_) if self.gate_failed && self.by_hand => Some(String::new()),
            What::AttemptEnded(attempt) if self.gate_failed => narration::failed_by_gate(attempt),
            _ => None,
        };
        self.gate_failed = matches!(&event.what, What::Gate(gate) if !gate.passed && gate.story.is_some());
        if let Some(text) = text.or_else(|| narration::of(&event.change, &event.what)) {
            match &heading {
                Some(heading) if self.folds => self.command(&github::group(heading)),
                _ => self.say(&text),
            }
        }
        if let Some(heading) = heading {
            self.live.begin(heading);
            self.live.again();
        }
    }

    fn output(&mut self, change: &str, stream: Stream, bytes: &[u8]) {
        if self.screen.json {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let event = Event::now(change, What::Output { stream, text });
            self.screen.json(&event.line());
        }
        if self.screen.quiet {
            return;
        }
        if self.folds && self.pause.is_none() {
            let pause = self.pause.insert(github::Pause::default());
            let _ = io::stderr().lock().write_all(pause.begin().as_bytes());
        }
        // With its colours, as if on its own terminal.
        let safe = self.agent.take(bytes);
        if self.live.is_wanted() {
            let mark = margin::mark();
            let mark = shown(&mark, styles(anstream::stderr().current_choice()));
            // After a full row, the terminal would choose where the next one begins.
            let columns = width::real_columns(io::stderr()).map(|columns| columns - 1);
            let mut marked = self.margin.put(&safe, &mark, columns).into_owned();
            if marked.ends_with(b"\n") {
                // The mark of the next line ends the colours anyway.
                marked.extend_from_slice(self.agent.settle());
            }
            self.live.print(&marked, self.agent.colours());
        } else {
            self.live.print(&safe, b"");
        }
    }

    fn activity(&mut self, line: &str) {
        let line = self.below_top(line);
        self.live.doing(&line, false);
        if self.live.is_wanted() {
            let columns = width::columns(io::stderr()).min(width::real_columns(io::stderr()));
            self.say(&margin::rows(&plain(&line), &margin::mark(), columns));
        } else {
            self.say(&format!("  {line}\n"));
        }
    }

    fn watch(&mut self, watching: Watching) {
        self.top = format!("{}/", watching.top.display());
        self.live.watch(watching);
    }

    fn doing(&mut self, what: &str) {
        self.live.doing(what, true);
        // A terminal shows it on the status line.
        if !self.live.is_wanted() {
            self.say(&format!("  {what}\n"));
        }
    }

    fn begins(&mut self, heading: &str) {
        // A terminal shows it on the status line, with a clock.
        if !self.live.is_wanted() {
            self.say(&format!("  {heading}\n"));
        }
        self.live.begin(format!("  {heading}"));
        self.live.again();
    }

    fn tick(&mut self) {
        if !self.live.is_wanted() {
            self.settle_colours();
        }
        if let Some(words) = self.live.tick() {
            self.say(&format!("{words}\n"));
        }
    }
}

impl Drop for Tale {
    fn drop(&mut self) {
        // The next message is not the agent's.
        self.begin_words();
    }
}
