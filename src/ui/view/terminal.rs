//! The whole screen of a terminal, and the way back: after an error, a panic, a signal and a stop as well.

use std::io::{self, IsTerminal, Write};
use std::mem;
use std::os::fd::AsFd;
use std::panic;
use std::sync::Once;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgrp, getsid};
use ratatui::crossterm::cursor::{MoveTo, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, Frame, Terminal, backend::CrosstermBackend};
use tokio::signal::unix::{self, SignalKind};

use crate::signal;
use crate::ui::hold;

/// The narrowest and lowest terminal that the view begins on.
const LEAST: (u16, u16) = (20, 4);

/// Returns true if standard output and input are a terminal that can draw.
pub fn is_there() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let size = ratatui::crossterm::terminal::size();
    let has_room = size.is_ok_and(|(columns, rows)| columns >= LEAST.0 && rows >= LEAST.1);
    !dumb && io::stdin().is_terminal() && io::stdout().is_terminal() && has_room
}

/// The longest time between the bytes of one key.
const WITHIN_SEQUENCE: Duration = Duration::from_millis(50);

/// Waits until something was typed, or the terminal has another size; returns false if nothing has happened in this time.
pub(super) fn is_typed_within(time: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut found = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(
        &mut found,
        PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
    ) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    if found[0].revents().is_some_and(|found| found.intersects(gone)) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    event::poll(Duration::ZERO)
}

/// Reads what was typed: a key, or none if it was something else.
///
/// The bytes of an arrow or of another key may come one by one, as over a slow line. What follows an Esc at once belongs
/// to it: its letters are never taken as keys of their own, nor is a letter with Alt.
pub(super) fn read_key() -> io::Result<Option<KeyEvent>> {
    let Event::Key(key) = event::read()? else {
        return Ok(None);
    };
    if key.kind == KeyEventKind::Release || key.modifiers.contains(KeyModifiers::ALT) {
        return Ok(None);
    }
    if key.code != KeyCode::Esc {
        return Ok(Some(key));
    }
    let mut sequence = Sequence::default();
    while is_typed_within(WITHIN_SEQUENCE)? {
        let ended = match event::read()? {
            Event::Key(key) => sequence.ends_with(key.code),
            _ => true,
        };
        if ended {
            return Ok(None);
        }
    }
    Ok((sequence == Sequence::default()).then_some(key))
}

/// Discards all that has been typed so far.
pub(super) fn discard_typed() -> io::Result<()> {
    while is_typed_within(Duration::ZERO)? {
        event::read()?;
    }
    Ok(())
}

/// The input that has come after an Esc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sequence {
    #[default]
    Begun,
    /// After `[`, in the parameters.
    Control,
    /// After `O`, before the letter of the key.
    Single,
}

impl Sequence {
    /// Takes the next key; returns true if the sequence ends with it.
    fn ends_with(&mut self, code: KeyCode) -> bool {
        match (&self, code) {
            (Self::Begun, KeyCode::Char('[')) => *self = Self::Control,
            (Self::Begun, KeyCode::Char('O')) => *self = Self::Single,
            (Self::Control, KeyCode::Char(' '..='?')) => {}
            _ => return true,
        }
        false
    }
}

/// The screen while the view has it.
pub(super) struct Screen(Drawing);

/// The terminal that is drawn upon, let go of without a word: ratatui prints what it cannot restore, which is a panic where the
/// terminal is gone.
struct Drawing(Option<DefaultTerminal>);

impl Drawing {
    fn new() -> io::Result<Self> {
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self(Some(terminal)))
    }

    fn terminal(&mut self) -> io::Result<&mut DefaultTerminal> {
        self.0.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        if let Some(mut terminal) = self.0.take()
            && terminal.show_cursor().is_err()
        {
            mem::forget(terminal);
        }
    }
}

impl Screen {
    /// Takes the screen; what others want to print is held back until it is given back.
    pub fn take() -> io::Result<Self> {
        hold::set(true);
        signal::before_exit(give_back);
        before_panic();
        let taken = Drawing::new();
        if taken.is_err() {
            give_back();
        }
        taken.map(Self)
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.0.terminal()?.draw(draw).map(|_| ())
    }

    /// Returns its size.
    pub fn size(&mut self) -> io::Result<Rect> {
        let terminal = self.0.terminal()?;
        terminal.autoresize()?;
        Ok(terminal.get_frame().area())
    }

    /// Writes lines and nothing else, which the terminal itself breaks into rows: so it can copy them as they are.
    pub fn write(&mut self, lines: &[String]) -> io::Result<()> {
        self.repaint()?;
        let mut out = io::stdout().lock();
        queue!(out, MoveTo(0, 0))?;
        out.write_all(lines.join("\r\n").as_bytes())?;
        out.flush()
    }

    /// Draws everything at the next time.
    pub fn repaint(&mut self) -> io::Result<()> {
        self.0.terminal()?.clear()
    }

    /// Gives the screen to another program, and takes it back.
    pub fn lend<T>(&mut self, other: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = other();
        self.0 = Drawing::new()?;
        self.repaint()?;
        Ok(result)
    }

    /// Stops this process and those of its group until it is brought back, as Ctrl-Z does in other programs. Returns false if
    /// there is no shell that could bring it back.
    pub fn suspend(&mut self) -> io::Result<bool> {
        let group = getpgrp();
        // The group of a session's leader has no shell above it.
        if getsid(None).is_ok_and(|session| session == group) {
            return Ok(false);
        }
        self.lend(|| {
            let _ = writeln!(io::stdout(), "fg brings the view back");
            stop_until_continued(group)
        })??;
        Ok(true)
    }
}

/// Stops a group, with this process, and returns after SIGCONT. Another thread may take the signal first: until
/// then this one must not go on, however long that is.
fn stop_until_continued(group: Pid) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let mut continued = unix::signal(SignalKind::from_raw(Signal::SIGCONT as i32))?;
        killpg(group, Signal::SIGSTOP)?;
        continued.recv().await;
        Ok(())
    })
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Has a panic give the screen back before its message is printed.
fn before_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |of| {
            give_back();
            hook(of);
        }));
    });
}

fn give_back() {
    if hold::holds() {
        restore();
        hold::set(false);
    }
}

/// Leaves the whole screen, with a cursor; what a terminal that is gone answers does not matter.
fn restore() {
    let _ = ratatui::try_restore();
    let _ = execute!(io::stdout(), Show);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_an_escape_sequence_is_a_key() {
        for rest in ["[A", "[C", "OC", "[1;5C", "[200~", "c", "k", "[c"] {
            let mut sequence = Sequence::default();
            let ends: Vec<bool> = rest
                .chars()
                .map(|letter| sequence.ends_with(KeyCode::Char(letter)))
                .collect();
            let (last, before) = ends.split_last().unwrap();
            assert!(*last && before.iter().all(|ended| !ended), "{rest}: {ends:?}");
        }
    }
}
