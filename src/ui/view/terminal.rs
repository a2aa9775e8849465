//! Takes and restores the whole screen of a terminal: also after an error, a panic, a signal and a stop.

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

/// Minimum columns and rows of the terminal for the view.
const LEAST: (u16, u16) = (20, 4);

/// Returns true if standard output and input are a terminal that can draw.
pub fn is_there() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let size = ratatui::crossterm::terminal::size();
    let has_room = size.is_ok_and(|(columns, rows)| columns >= LEAST.0 && rows >= LEAST.1);
    !dumb && io::stdin().is_terminal() && io::stdout().is_terminal() && has_room
}

/// Maximum time between the bytes of one key.
const WITHIN_SEQUENCE: Duration = Duration::from_millis(50);

/// Waits for input or a change of the terminal's size; returns false if neither happens within `time`.
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

/// Reads the input: a key, or none if it was another event.
///
/// The bytes of an arrow or of another key may arrive one by one, as over a slow line. Bytes that immediately follow an
/// Esc belong to it: they are never read as separate keys, nor is a letter with Alt.
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

/// Discards all pending input.
pub(super) fn discard_typed() -> io::Result<()> {
    while is_typed_within(Duration::ZERO)? {
        event::read()?;
    }
    Ok(())
}

/// The input after an Esc.
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

/// The terminal on which the view draws. Its drop prints nothing: ratatui prints what it cannot restore, which panics
/// if the terminal is gone.
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
    /// Takes the screen; suppresses the narration until the screen is restored.
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

    /// Writes only lines, which the terminal itself wraps, so that it can copy them unchanged.
    pub fn write(&mut self, lines: &[String]) -> io::Result<()> {
        self.repaint()?;
        let mut out = io::stdout().lock();
        queue!(out, MoveTo(0, 0))?;
        out.write_all(lines.join("\r\n").as_bytes())?;
        out.flush()
    }

    /// Makes the next drawing a complete one.
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

    /// Stops this process and its group until it is continued, as Ctrl-Z does in other programs. Returns false if no
    /// shell could continue it.
    pub fn suspend(&mut self) -> io::Result<bool> {
        let group = getpgrp();
        // The group of a session leader has no shell above it.
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

/// Stops a group, including this process, and returns after SIGCONT. Another thread may receive the signal first: this
/// one must wait until then.
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

/// Makes a panic restore the screen before its message is printed.
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

/// Leaves the whole screen, and shows the cursor; ignores errors of a closed terminal.
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
