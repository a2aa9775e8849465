//! Tells what happens in a loop while it happens: words on standard error, events on standard output with `--json`.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::adapter::StripBytes;
use memchr::memchr;

use super::{Screen, github, live::Live, narration};
use crate::events::{Event, Observer, Stream, What};

/// Watches a loop for a [`Screen`].
#[derive(Debug)]
pub struct Narrator {
    screen: Screen,
    live: Live,
    /// Takes the colours out of what an agent prints, where nobody would see them; knows the sequence that
    /// the last bytes broke off in.
    plain: Option<StripBytes>,
    /// Whether what is said is folded, as the log of a GitHub workflow can.
    folds: bool,
}

impl Narrator {
    /// Tells what happens.
    #[must_use]
    pub fn new(screen: Screen) -> Self {
        Self {
            screen,
            live: Live::new(!screen.quiet && !screen.verbose),
            plain: (!io::stderr().is_terminal()).then(StripBytes::new),
            folds: github::is_there() && !screen.quiet,
        }
    }

    /// Where the words go.
    #[must_use]
    pub fn screen(&self) -> Screen {
        self.screen
    }

    fn say(&mut self, text: &str) {
        self.live.break_line();
        self.screen.say(text);
    }
}

impl Observer for Narrator {
    fn event(&mut self, event: &Event) {
        if self.screen.json {
            self.screen.answer(&event.line());
        }
        let heading = narration::attempt_heading(&event.what);
        if let What::AttemptEnded(_) = event.what {
            self.live.end();
            if self.folds {
                self.say(github::END_GROUP);
            }
        }
        if self.folds && matches!(event.what, What::MaxRetriesExceeded { .. }) {
            let words = narration::of(&event.change, &event.what).unwrap_or_default();
            self.say(&github::error(words.trim_end()));
            return;
        }
        if let Some(text) = narration::of(&event.change, &event.what) {
            match &heading {
                Some(heading) if self.folds => self.say(&github::group(heading)),
                _ => self.say(&text),
            }
        }
        if let Some(heading) = heading {
            self.live.begin(heading);
        }
    }

    fn output(&mut self, change: &str, stream: Stream, bytes: &[u8]) {
        if self.screen.json {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let event = Event::now(change, What::Output { stream, text });
            self.screen.answer(&event.line());
        }
        if self.screen.quiet {
            return;
        }
        self.live.clear();
        let mut err = io::stderr().lock();
        // As the agent printed it, colours included: it is its terminal as much as ours.
        match &mut self.plain {
            Some(plain) if !is_plain(plain, bytes) => {
                for piece in plain.strip_next(bytes) {
                    let _ = err.write_all(piece);
                }
            }
            _ => {
                let _ = err.write_all(bytes);
            }
        }
        self.live.printed(bytes);
    }

    fn activity(&mut self, line: &str) {
        self.say(&format!("  {line}\n"));
    }

    fn tick(&mut self) {
        self.live.tick();
    }

    fn countdown(&mut self, left: Duration) {
        // Elsewhere than on a terminal the event has said it all.
        self.live.draw(&narration::countdown(left));
    }
}

/// Whether bytes hold no sequence and end none: most output is such, and looking for one byte costs little.
fn is_plain(before: &StripBytes, bytes: &[u8]) -> bool {
    *before == StripBytes::new() && memchr(b'\x1b', bytes).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_take_the_longer_way() {
        let mut plain = StripBytes::new();
        let mut through = |bytes: &[u8]| {
            let short = is_plain(&plain, bytes);
            if short {
                return (short, bytes.to_vec());
            }
            (short, plain.strip_next(bytes).flatten().copied().collect())
        };
        assert_eq!(through("a\n\u{e9}".as_bytes()), (true, "a\n\u{e9}".into()));
        assert_eq!(through(b"b\x1b[3"), (false, b"b".to_vec()));
        // The sequence goes on.
        assert_eq!(through(b"1mc"), (false, b"c".to_vec()));
        assert_eq!(through(b"d"), (true, b"d".to_vec()));
    }
}
