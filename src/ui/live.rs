//! The status line at the bottom of a terminal, below all output of a running attempt: the story, the time and the
//! current work.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use textwrap::core::display_width;

use super::amounts::time;
use super::hold;
use super::shown::{plain, shown, styled};
use super::sticky::Sticky;
use super::width::{cut, real_columns};
use super::{Screen, styles};
use crate::events::{StoryBeside, Watching};
use crate::names::dollars;

/// The interval between messages without such a line and without other output.
const HEARTBEAT: Duration = Duration::from_secs(300);
/// Seconds without output after which the line reports the silence.
const QUIET: u64 = 5;

/// The status line; it is erased when dropped.
#[derive(Debug)]
pub struct Live {
    /// True if the terminal can show it, and the user wants it.
    wanted: bool,
    /// The start of this command.
    begun: Instant,
    work: Option<Work>,
    watching: Watching,
    /// The cost of this command's attempts so far, in US dollars.
    cost: f64,
    sticky: Sticky,
    /// The agent's colours, which continue while the line is hidden.
    colours: Vec<u8>,
    /// The stories of parallel attempts.
    beside: Vec<StoryBeside>,
}

/// The attempt that is running.
#[derive(Debug)]
struct Work {
    heading: String,
    since: Instant,
    /// The current work; empty if it is unknown.
    doing: String,
    /// True if git-ralph itself began that work, such as a gate: it also counts as running without output.
    is_own: bool,
    printed: Instant,
    /// The time of the last message about the running work, without a line.
    said: Instant,
}

impl Live {
    /// Makes a line that is never drawn if standard error is no terminal, a dumb one, or the output is suppressed.
    pub fn new(screen: Screen) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            wanted: !screen.quiet && !screen.verbose && !dumb && io::stderr().is_terminal(),
            begun: Instant::now(),
            work: None,
            watching: Watching::default(),
            cost: 0.0,
            sticky: Sticky::default(),
            colours: Vec::new(),
            beside: Vec::new(),
        }
    }

    /// Returns true if the line can be drawn.
    pub fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Sets the limits of the attempts.
    pub fn watch(&mut self, watching: Watching) {
        self.watching = watching;
    }

    /// Shows the stories of parallel attempts; an empty list after all have ended.
    pub fn beside(&mut self, stories: &[StoryBeside]) {
        if self.work.is_none() && stories.is_empty() && !self.beside.is_empty() {
            self.draw("");
        }
        self.beside = stories.to_vec();
        self.again();
    }

    /// Begins an attempt with this heading.
    pub fn begin(&mut self, heading: String) {
        let now = Instant::now();
        self.work = Some(Work {
            heading,
            since: now,
            doing: String::new(),
            is_own: false,
            printed: now,
            said: now,
        });
    }

    /// Notes the current work; `is_own` if git-ralph has begun it.
    pub fn doing(&mut self, what: &str, is_own: bool) {
        if let Some(work) = &mut self.work {
            what.clone_into(&mut work.doing);
            work.is_own = is_own;
            work.printed = Instant::now();
        }
    }

    /// Ends the attempt, and adds its cost.
    pub fn end(&mut self, cost: Option<f64>) {
        self.work = None;
        self.cost += cost.unwrap_or_default();
    }

    /// Notes that a second has passed. Returns a message if no line can be drawn and there was no output for long.
    pub fn tick(&mut self) -> Option<String> {
        if self.wanted {
            self.again();
            return None;
        }
        let now = Instant::now();
        let work = self.work.as_mut()?;
        if now.duration_since(work.said.max(work.printed)) < HEARTBEAT {
            return None;
        }
        work.said = now;
        let ago = |since| time(now.duration_since(since).as_secs_f64());
        Some(format!(
            "still at {}, {}, last output {} ago",
            work.heading.trim_start(),
            ago(work.since),
            ago(work.printed)
        ))
    }

    /// Shows the number of differences that a report has read, of `total`.
    pub fn differences(&mut self, done: usize, total: usize) {
        self.draw(&format!("reading what was changed, {done} of {total}"));
    }

    /// Replaces the line; an empty one removes it.
    pub fn draw(&mut self, line: &str) {
        if !self.wanted {
            return;
        }
        let mut bytes = Vec::new();
        self.draw_into(line, &mut bytes);
        write(&bytes);
    }

    fn draw_into(&mut self, line: &str, bytes: &mut Vec<u8>) {
        let columns = width();
        let line = cut(&plain(line), columns - 1);
        let shows = styles(anstream::stderr().current_choice());
        let styled = match line.as_str() {
            "" => String::new(),
            line => shown(&styled(&["2"], line), shows).into_owned(),
        };
        self.erase(bytes);
        if !self.colours.is_empty() && !styled.is_empty() {
            bytes.extend_from_slice(b"\x1b[0m");
        }
        self.sticky.draw(&styled, columns, bytes);
    }

    fn erase(&mut self, bytes: &mut Vec<u8>) {
        let was_drawn = self.sticky.is_drawn();
        self.sticky.erase(bytes);
        if was_drawn {
            bytes.extend_from_slice(&self.colours);
        }
    }

    /// Prints the agent's bytes, which leave these colours active, above the line. Writes everything at once, so that
    /// the line does not flicker.
    pub fn print(&mut self, output: &[u8], colours: &[u8]) {
        let now = Instant::now();
        if let Some(work) = &mut self.work {
            work.printed = now;
        }
        let line = self.line(now);
        if !self.wanted {
            self.sticky.pass(output, 80);
            write(output);
            return;
        }
        let mut bytes = Vec::with_capacity(output.len() + 200);
        self.erase(&mut bytes);
        bytes.extend_from_slice(output);
        self.sticky.pass(output, width());
        self.colours = colours.to_vec();
        if let Some(line) = line {
            self.draw_into(&line, &mut bytes);
        }
        write(&bytes);
    }

    /// Prepares for text on a new line, without the agent's colours.
    pub fn break_line(&mut self) {
        let mut bytes = Vec::new();
        self.colours.clear();
        self.erase(&mut bytes);
        if self.sticky.is_inside_line(width()) {
            self.sticky.break_line();
            bytes.push(b'\n');
        }
        write(&bytes);
    }

    /// Draws the present line of the work, also after other text.
    pub fn again(&mut self) {
        if let Some(line) = self.line(Instant::now()) {
            self.draw(&line);
        }
    }

    /// Returns the present line; `None` if nothing runs.
    fn line(&self, now: Instant) -> Option<String> {
        let beside = beside(&self.beside, now);
        match &self.work {
            Some(work) => Some(work.line(now, (self.begun, self.cost), beside, &self.watching, width() - 1)),
            None => beside,
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.draw("");
    }
}

fn write(bytes: &[u8]) {
    if hold::holds() {
        return;
    }
    let mut err = io::stderr().lock();
    let _ = err.write_all(bytes);
    let _ = err.flush();
}

/// Returns a text about the stories of parallel attempts, if there are any.
fn beside(stories: &[StoryBeside], now: Instant) -> Option<String> {
    let words = |one: &StoryBeside| {
        let since = |then| now.saturating_duration_since(then);
        let quiet = since(one.printed);
        let (quiet, shown) = match quiet.as_secs() {
            0..QUIET => ("", since(one.since)),
            _ => ("quiet ", quiet),
        };
        format!("{} {quiet}{}", plain(&one.story), time(shown.as_secs_f64()))
    };
    let all: Vec<String> = stories.iter().map(words).collect();
    (!all.is_empty()).then(|| format!("{} running: {}", all.len(), all.join(", ")))
}

impl Work {
    /// Returns the line. The most important part comes first: the last parts are omitted if they do not fit, and the
    /// heading is cut to half of the columns. Only the description of the work can be cut.
    fn line(
        &self,
        now: Instant,
        (begun, cost): (Instant, f64),
        beside: Option<String>,
        watching: &Watching,
        columns: usize,
    ) -> String {
        let since = |then: Instant| now.saturating_duration_since(then);
        let words = |time_since: Duration| time(time_since.as_secs_f64());
        let mut parts = vec![words(since(self.since))];
        let quiet = since(self.printed);
        let is_quiet = quiet.as_secs() >= QUIET;
        // The end of the agent's sentence is not the end of the line.
        let doing = plain(self.doing.trim_end_matches(['.', ':', ' ']));
        let has_doing = !doing.is_empty() && (self.is_own || !is_quiet);
        if has_doing {
            parts.push(doing.into_owned());
        }
        if is_quiet {
            let limit = watching
                .idle
                .map_or_else(String::new, |limit| format!(" of {}", words(limit)));
            parts.push(format!("quiet {}{limit}", words(quiet)));
        }
        parts.extend(beside);
        let before = since(begun).saturating_sub(since(self.since));
        if before.as_secs() > 0 {
            parts.push(format!("run {}", words(since(begun))));
        }
        // An agent may not report its cost.
        if cost > 0.0 {
            let most = watching.max_cost.map(|most| format!(" of {}", dollars(most)));
            parts.push(dollars(cost) + &most.unwrap_or_default());
        }
        let heading = plain(&self.heading);
        let least = display_width(&heading).min(columns / 2);
        let room = columns.saturating_sub(least + 2);
        while parts.len() > 1 + usize::from(has_doing) && display_width(&parts.join(", ")) > room {
            parts.pop();
        }
        let rest = cut(&parts.join(", "), room);
        let room = columns.saturating_sub(display_width(&rest) + 2);
        format!("{}, {rest}", cut(&heading, room.max(columns / 2)))
    }
}

/// Returns the columns of the terminal.
fn width() -> usize {
    real_columns(io::stderr()).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(begun: Instant) -> Work {
        Work {
            heading: "[2/7] 2. Check".to_owned(),
            since: begun + Duration::from_secs(60),
            doing: "Bash: cargo test".to_owned(),
            is_own: false,
            printed: begun + Duration::from_secs(100),
            said: begun,
        }
    }

    #[test]
    fn line_shows_activity_and_silence() {
        let begun = Instant::now();
        let at = |seconds: u64, cost, watching: &Watching| {
            let now = begun + Duration::from_secs(seconds);
            work(begun).line(now, (begun, cost), None, watching, 79)
        };
        let free = Watching::default();
        assert_eq!(
            at(102, 0.0, &free),
            "[2/7] 2. Check, 42s, Bash: cargo test, run 1m 42s"
        );
        let held = Watching {
            idle: Some(Duration::from_secs(1800)),
            max_cost: Some(5.0),
            ..Watching::default()
        };
        assert_eq!(
            at(160, 0.42, &held),
            "[2/7] 2. Check, 1m 40s, quiet 1m 00s of 30m 00s, run 2m 40s, $0.42 of $5.00"
        );
        assert!(at(160, 0.0, &held).ends_with(", run 2m 40s"));
        let gate = Work {
            doing: "gate: cargo test".to_owned(),
            is_own: true,
            ..work(begun)
        };
        let line = gate.line(begun + Duration::from_secs(160), (begun, 0.0), None, &free, 79);
        assert_eq!(
            line,
            "[2/7] 2. Check, 1m 40s, gate: cargo test, quiet 1m 00s, run 2m 40s"
        );
    }

    #[test]
    fn line_shows_all_stories_that_are_attempted_at_once() {
        let begun = Instant::now();
        let story = |story: &str, since: u64, printed: u64| StoryBeside {
            story: story.to_owned(),
            since: begun + Duration::from_secs(since),
            printed: begun + Duration::from_secs(printed),
        };
        let stories = [story("2", 19, 59), story("5", 48, 57), story("6", 10, 40)];
        let now = begun + Duration::from_secs(60);
        let words = beside(&stories, now).unwrap();
        assert_eq!(words, "3 running: 2 41s, 5 12s, 6 quiet 20s");
        assert_eq!(beside(&[], now), None);
        let gate = Work {
            doing: "gate: cargo test".to_owned(),
            is_own: true,
            printed: now,
            since: now,
            ..work(begun)
        };
        assert_eq!(
            gate.line(now, (now, 0.0), Some(words), &Watching::default(), 90),
            "[2/7] 2. Check, 0s, gate: cargo test, 3 running: 2 41s, 5 12s, 6 quiet 20s"
        );
    }

    #[test]
    fn long_title_leaves_room_for_the_time() {
        let begun = Instant::now();
        let long = Work {
            heading: "[1/1] 1. A title that is rather long, longer than eighty columns for sure".to_owned(),
            ..work(begun)
        };
        let now = begun + Duration::from_secs(102);
        let at = |columns| long.line(now, (begun, 0.0), None, &Watching::default(), columns);
        assert_eq!(
            at(79),
            "[1/1] 1. A title that is rather long, lon..., 42s, Bash: cargo test, run 1m 42s"
        );
        assert_eq!(at(39), "[1/1] 1. A title..., 42s, Bash: carg...");
        // A part that does not fit is omitted as a whole.
        assert!(
            at(69).ends_with("..., 42s, Bash: cargo test, run 1m 42s"),
            "{}",
            at(69)
        );
        assert!(at(59).ends_with("..., 42s, Bash: cargo test"), "{}", at(59));
    }

    #[test]
    fn end_of_a_sentence_is_no_mark_within_the_line() {
        let begun = Instant::now();
        let said = Work {
            doing: "All done.".to_owned(),
            ..work(begun)
        };
        let at = |columns| {
            let now = begun + Duration::from_secs(102);
            said.line(now, (begun, 0.04), None, &Watching::default(), columns)
        };
        assert_eq!(at(79), "[2/7] 2. Check, 42s, All done, run 1m 42s, $0.04");
        assert_eq!(at(45), "[2/7] 2. Check, 42s, All done, run 1m 42s");
        assert_eq!(at(30), "[2/7] 2. Check, 42s, All done");
    }

    #[test]
    fn tick_breaks_a_long_silence_if_there_is_no_line() {
        let Some(before) = Instant::now().checked_sub(Duration::from_secs(600)) else {
            return;
        };
        let mut live = Live::new(Screen {
            quiet: true,
            ..Screen::default()
        });
        live.begin("2. Check".to_owned());
        assert_eq!(live.tick(), None);
        let work = live.work.as_mut().unwrap();
        (work.since, work.printed, work.said) = (before, before, before);
        assert_eq!(
            live.tick().as_deref(),
            Some("still at 2. Check, 10m 00s, last output 10m 00s ago")
        );
        assert_eq!(live.tick(), None);
    }
}
