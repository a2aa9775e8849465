//! The view of loops: on the whole screen of a terminal, from their files alone. It has no handle of the engine, so it
//! shows the loop of its own process like any other, and cannot affect it.
//!
//! `model` is built from events, `lines` from an agent's output, `chosen` is the user's selection, `window` the part
//! that fits, `layout` its position, and `draw` makes a screen of them: all pure. `keys` is the table of keys,
//! `steering` executes them, `showing` and `files` read the shown data, `terminal` takes and restores the screen,
//! `plain` shows the same news without a screen.

mod chosen;
pub mod completion;
mod draw;
mod files;
pub mod keys;
mod layout;
mod lines;
mod model;
pub mod plain;
mod setup;
mod showing;
mod steering;
pub mod terminal;
mod window;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

pub use self::model::Model;
pub use self::setup::{Setup, Viewed};
pub use self::steering::Left;
use self::steering::View;
use self::terminal::Screen;

/// Interval between two reads of the files, and the longer one after a while without news.
const POLL: Duration = Duration::from_millis(100);
const SLOW_POLL: Duration = Duration::from_millis(500);
const QUIET: Duration = Duration::from_secs(10);

/// Asks a view in another thread to close.
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<AtomicBool>);

impl Closing {
    /// Asks the view to close.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A view in a separate thread.
pub struct ViewThread {
    closing: Closing,
    thread: Option<thread::JoinHandle<io::Result<Left>>>,
}

impl ViewThread {
    /// Begins the view; `after` is called once the user has left it.
    pub fn begin(setup: Setup, after: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        Self::spawn(move |closing| {
            let left = run(setup, closing)?;
            if left == Left::ByKey {
                after();
            }
            Ok(left)
        })
    }

    fn spawn(view: impl FnOnce(&Closing) -> io::Result<Left> + Send + 'static) -> io::Result<Self> {
        let closing = Closing::default();
        let asked = closing.clone();
        let thread = thread::Builder::new().name("view".to_owned());
        let thread = thread.spawn(move || view(&asked))?;
        Ok(Self {
            closing,
            thread: Some(thread),
        })
    }

    /// Closes the view, and waits until the screen is restored. Returns true if it was still open: the user had not
    /// left it, and it had not failed.
    pub fn close(&mut self) -> bool {
        self.closing.ask();
        let left = self.thread.take().map(thread::JoinHandle::join);
        matches!(left, Some(Ok(Ok(Left::Closed | Left::AtEnd(_)))))
    }
}

impl Drop for ViewThread {
    fn drop(&mut self) {
        self.close();
    }
}

/// Shows the loops until the user leaves, or the view is asked to close.
pub fn run(setup: Setup, closing: &Closing) -> io::Result<Left> {
    let mut screen = Screen::take()?;
    let mut view = View::new(setup);
    let mut news = Instant::now();
    let mut drawn = None;
    loop {
        let changed = view.look();
        let now = Timestamp::now();
        if changed {
            news = Instant::now();
        }
        if changed || drawn != Some(now.as_second()) {
            drawn = Some(now.as_second());
            view.draw(now, &mut screen)?;
        }
        if closing.is_asked() && !view.is_typed_in() {
            return Ok(Left::Closed);
        }
        if let Some(at) = view.at_its_end() {
            return Ok(Left::AtEnd(at));
        }
        let wait = if news.elapsed() < QUIET { POLL } else { SLOW_POLL };
        if !terminal::is_typed_within(wait)? {
            continue;
        }
        // After any input, the screen is drawn again.
        drawn = None;
        while terminal::is_typed_within(Duration::ZERO)? {
            if let Some(key) = terminal::read_key()?
                && let Some(left) = view.key(&key, &mut screen)?
            {
                return Ok(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_view_leaves_its_loop_alone() {
        let left = |left| ViewThread::spawn(move |_| left).unwrap().close();
        assert!(!left(Ok(Left::ByKey)));
        assert!(!left(Err(io::Error::other("no terminal"))));
        assert!(!ViewThread::spawn(|_| panic!("drawn wrongly")).unwrap().close());
        let until_asked = |closing: &Closing| {
            while !closing.is_asked() {
                thread::yield_now();
            }
            Ok(Left::Closed)
        };
        assert!(ViewThread::spawn(until_asked).unwrap().close());
    }
}
