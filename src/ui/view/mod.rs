//! The view of loops: on the whole screen of a terminal, from their files alone. It has no handle of the engine, so it
//! shows the loop of its own process like any other, and nothing that happens to it happens to the loop.
//!
//! `model` is made of events, `lines` of an agent's output, `draw` makes a screen of both: all pure. `keys` is the table
//! of keys, `terminal` the way to the screen and back, `plain` the same news without a screen.

pub mod completion;
mod draw;
pub mod keys;
mod lines;
mod model;
pub mod plain;
mod showing;
pub mod terminal;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;

use self::draw::{Chosen, Scene, is_wide};
use self::keys::{Action, action};
use self::model::Model;
use self::showing::Showing;
use self::terminal::Screen;
use crate::inspect::follow::{LoopFollower, driver};

/// Time between two looks at the files, and that once nothing was new for a while.
const POLL: Duration = Duration::from_millis(100);
const SLOW_POLL: Duration = Duration::from_millis(500);
const QUIET: Duration = Duration::from_secs(10);
/// Time after the end of a loop in which a script may take the next step.
const REST: Duration = Duration::from_secs(2);

/// A loop to view.
pub struct Viewed {
    /// Follows its files.
    pub follower: LoopFollower,
    /// Its change.
    pub change: String,
    /// Its stories: ids, titles, and whether each is complete.
    pub stories: Vec<(String, String, bool)>,
    /// The limit of its cost, in US dollars.
    pub max_cost: Option<f64>,
    /// The longest silence of an agent's own session that is at work.
    pub idle: Option<SignedDuration>,
    /// The time at which it reaches its limit.
    pub ends: Option<Timestamp>,
    /// Its work tree.
    pub top: PathBuf,
}

/// The loops, and the process that views them.
pub struct Setup {
    /// The loops; at least one.
    pub loops: Vec<Viewed>,
    /// True if this process drives the loop.
    pub is_owner: bool,
    /// The pager, a shell command.
    pub pager: String,
    /// True if colours are wanted.
    pub coloured: bool,
}

impl Setup {
    /// Shows what has happened again, this many times as fast.
    pub fn replay(&mut self, speed: f64) {
        for viewed in std::mem::take(&mut self.loops) {
            let follower = viewed.follower.replayed(speed);
            self.loops.push(Viewed { follower, ..viewed });
        }
    }
}

/// The reason why the view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A person left it.
    ByKey,
    /// A person wants to finish the loop with this place in the list, or it has come to its end.
    AtEnd(usize),
    /// It was asked to close.
    Closed,
}

/// Asks a view in another thread to close.
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<AtomicBool>);

impl Closing {
    /// Asks it.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A view in a thread of its own.
pub struct ViewThread {
    closing: Closing,
    thread: Option<thread::JoinHandle<io::Result<Left>>>,
}

impl ViewThread {
    /// Begins the view; `after` is called once a person has left it.
    ///
    /// # Errors
    /// If there can be no thread.
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

    /// Closes the view, and waits until the screen is given back. Returns true if it was still there: nobody had left
    /// it, and it had not failed.
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

/// Shows the loops until a person leaves, or it is asked to close.
///
/// # Errors
/// If the terminal cannot be used.
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
            screen.draw(|frame| {
                view.size = frame.area();
                view.scene(now).draw(frame.area(), frame.buffer_mut());
            })?;
        }
        if closing.is_asked() {
            return Ok(Left::Closed);
        }
        if let Some(at) = view.at_its_end() {
            return Ok(Left::AtEnd(at));
        }
        let wait = if news.elapsed() < QUIET { POLL } else { SLOW_POLL };
        if !terminal::is_typed_within(wait)? {
            continue;
        }
        // Whatever has come, the screen is drawn again.
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

/// Returns whether standard output has colours.
#[must_use]
pub fn has_colours() -> bool {
    anstream::stdout().current_choice() != anstream::ColorChoice::Never
}

/// The loops and what of them is shown.
struct View {
    setup: Setup,
    models: Vec<Model>,
    at: usize,
    chosen: Chosen,
    showing: Showing,
    size: Rect,
    /// The time since which the loop is at its end.
    rests_since: Option<Instant>,
}

impl View {
    fn new(setup: Setup) -> Self {
        let models = setup.loops.iter().map(|viewed| Model {
            max_cost: viewed.max_cost,
            idle: viewed.idle,
            ends: viewed.ends,
            ..Model::new(&viewed.change, &viewed.stories)
        });
        Self {
            models: models.collect(),
            at: 0,
            chosen: Chosen {
                coloured: setup.coloured,
                ..Chosen::default()
            },
            showing: Showing::default(),
            size: Rect::ZERO,
            rests_since: None,
            setup,
        }
    }

    fn scene(&self, now: Timestamp) -> Scene<'_> {
        Scene {
            model: &self.models[self.at],
            which: (self.at, self.models.len()),
            chosen: &self.chosen,
            output: &self.showing.lines,
            now,
        }
    }

    /// Looks at the files; returns true if there is something new.
    fn look(&mut self) -> bool {
        let mut changed = false;
        for (viewed, model) in self.setup.loops.iter_mut().zip(&mut self.models) {
            let news = viewed.follower.poll();
            changed |= !news.events.is_empty() || news.state.is_some() || news.is_driven != model.is_driven;
            model.take(&news);
        }
        let shown = {
            let scene = self.scene(Timestamp::UNIX_EPOCH);
            scene.story().zip(scene.attempt()).map(|(story, attempt)| {
                let log = self.store().attempt_log(&story.id, attempt.number);
                (log, attempt.format.clone())
            })
        };
        let before = self.showing.lines.count();
        changed |= self.showing.look(shown, self.chosen.raw);
        if self.chosen.below > 0 {
            // The lines on the screen stay where they are.
            self.chosen.below += self.showing.lines.count().saturating_sub(before);
        } else {
            self.chosen.seen = self.showing.lines.count();
        }
        changed
    }

    fn store(&self) -> &crate::state::Store {
        self.setup.loops[self.at].follower.store()
    }

    /// Returns the only loop if it has come to its end while it was watched, and nobody has worked on it since, so that
    /// it can be finished.
    fn at_its_end(&mut self) -> Option<usize> {
        let ends = |model: &Model| model.was_driven && !model.is_driven && model.is_at_its_end();
        let is_alone = self.models.len() == 1 && !self.setup.is_owner;
        if !is_alone || !self.models.first().is_some_and(ends) {
            self.rests_since = None;
            return None;
        }
        let since = *self.rests_since.get_or_insert_with(Instant::now);
        (since.elapsed() >= REST).then_some(0)
    }

    fn key(&mut self, key: &KeyEvent, screen: &mut Screen) -> io::Result<Option<Left>> {
        self.chosen.answer.clear();
        if std::mem::take(&mut self.chosen.asks_to_stop) {
            if key.code == KeyCode::Char('y') {
                self.stop();
            }
            return Ok(None);
        }
        let Some(action) = action(key) else {
            return Ok(None);
        };
        if std::mem::take(&mut self.chosen.help) && !matches!(action, Action::CtrlC | Action::Suspend) {
            return Ok(None);
        }
        let page = usize::from(self.size.height.saturating_sub(4)).max(1);
        match action {
            Action::StoryBefore => self.choose_story(-1),
            Action::StoryAfter => self.choose_story(1),
            Action::AttemptBefore => self.choose_attempt(-1),
            Action::AttemptAfter => self.choose_attempt(1),
            Action::PageUp => self.scroll(self.chosen.below.saturating_add(page)),
            Action::PageDown => self.scroll(self.chosen.below.saturating_sub(page)),
            Action::Beginning => self.scroll(usize::MAX),
            Action::Follow => {
                (self.chosen.story, self.chosen.attempt) = (None, None);
                self.scroll(0);
            }
            Action::Log => self.page_log(screen)?,
            Action::Diff => self.page_diff(screen)?,
            Action::Raw => self.chosen.raw = !self.chosen.raw,
            Action::Swap if is_wide(self.size) => self.choose_loop((self.at + 1) % self.models.len()),
            Action::Swap if self.chosen.list => {
                self.chosen.list = false;
                self.choose_loop((self.at + 1) % self.models.len());
            }
            Action::Swap => self.chosen.list = true,
            Action::Loop(at) => self.choose_loop(at),
            Action::Finish if !self.setup.is_owner && self.models[self.at].is_at_its_end() => {
                return Ok(Some(Left::AtEnd(self.at)));
            }
            Action::Finish => "the loop is not at its end".clone_into(&mut self.chosen.answer),
            Action::Stop if self.models[self.at].is_driven => self.chosen.asks_to_stop = true,
            Action::Stop => "no git-ralph is working on it".clone_into(&mut self.chosen.answer),
            Action::Help => self.chosen.help = true,
            Action::CtrlC if self.setup.is_owner => {
                kill(Pid::this(), Signal::SIGINT)?;
                "stopping it; press Ctrl-C again to kill it".clone_into(&mut self.chosen.answer);
            }
            Action::Leave | Action::CtrlC => return Ok(Some(Left::ByKey)),
            Action::Suspend => {
                if !screen.suspend()? {
                    "there is no shell that could bring it back".clone_into(&mut self.chosen.answer);
                }
            }
            Action::Repaint => screen.repaint()?,
        }
        Ok(None)
    }

    fn choose_loop(&mut self, at: usize) {
        if at < self.models.len() && at != self.at {
            self.at = at;
            (self.chosen.story, self.chosen.attempt) = (None, None);
            self.scroll(0);
        }
    }

    fn choose_story(&mut self, by: isize) {
        let model = &self.models[self.at];
        let at = self.chosen.story.unwrap_or_else(|| model.current());
        let last = model.stories.len().saturating_sub(1);
        self.chosen.story = Some(at.saturating_add_signed(by).min(last));
        self.chosen.attempt = None;
        self.scroll(0);
    }

    fn choose_attempt(&mut self, by: isize) {
        let model = &self.models[self.at];
        let story = self.chosen.story.unwrap_or_else(|| model.current());
        let last = model
            .stories
            .get(story)
            .map_or(0, |story| story.attempts.len())
            .saturating_sub(1);
        let at = self.chosen.attempt.unwrap_or(last);
        self.chosen.story = Some(story);
        self.chosen.attempt = Some(at.saturating_add_signed(by).min(last));
        self.scroll(0);
    }

    fn scroll(&mut self, below: usize) {
        let page = usize::from(self.size.height.saturating_sub(4)).max(1);
        let most = self.showing.lines.kept().saturating_sub(page);
        self.chosen.below = below.min(most);
        if self.chosen.below == 0 {
            self.chosen.seen = self.showing.lines.count();
        }
    }

    fn stop(&mut self) {
        let store = self.store();
        let asked = match driver(store) {
            Some(holder) => store.ask_to_stop(holder).map_err(|error| error.to_string()),
            None => Err("no git-ralph is working on it".to_owned()),
        };
        self.chosen.answer = match asked {
            Ok(()) => "the run stops after this attempt".to_owned(),
            Err(error) => error,
        };
    }

    fn page_log(&mut self, screen: &mut Screen) -> io::Result<()> {
        let pager = self.setup.pager.clone();
        let shown = self.showing.whole(self.chosen.raw);
        self.chosen.answer = match shown {
            Ok(file) => told(screen.lend(|| crate::ui::pager::show_file(&pager, file))?),
            Err(error) => error.to_string(),
        };
        Ok(())
    }

    fn page_diff(&mut self, screen: &mut Screen) -> io::Result<()> {
        let scene = self.scene(Timestamp::UNIX_EPOCH);
        let Some((story, attempt)) = scene.story().zip(scene.attempt()) else {
            "nobody has worked on this story yet".clone_into(&mut self.chosen.answer);
            return Ok(());
        };
        let top = &self.setup.loops[self.at].top;
        let range = showing::range(self.store(), story, attempt);
        let args: Vec<&str> = match &range {
            Some((from, to)) => vec!["diff", from, to, "--"],
            None => vec!["diff", "HEAD", "--"],
        };
        let shown = screen.lend(|| crate::ui::pager::show_git(top, &args))?;
        self.chosen.answer = told(shown);
        Ok(())
    }
}

/// Returns the words about a program that could not be run; none if it could.
fn told(shown: io::Result<()>) -> String {
    shown.err().map_or_else(String::new, |error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_happens_to_a_view_happens_to_its_loop() {
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
