//! Drives the view: reads the files of the loops, runs the action of a key, and draws.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::chosen::{Chosen, Page};
use super::draw::Scene;
use super::files::Files;
use super::keys::{Action, action};
use super::layout::{is_list, is_wide, layout};
use super::lines::Lines;
use super::model::Model;
use super::setup::{Setup, Viewed};
use super::showing::{Showing, Sides, page_text, sides};
use super::terminal::Screen;
use super::window::{Scroll, Window};
use crate::inspect::changed_files::{DIFF, Of, diff_of_commits, not_shown};
use crate::inspect::follow::driver;
use crate::state::{Phase, Store};
use crate::ui::pager;

/// Time after the end of a loop within which a script may take the next step.
const REST: Duration = Duration::from_secs(2);
/// Time after the last key for which text being typed keeps the view open: it must not answer the next screen.
const TYPING: Duration = Duration::from_secs(3);
/// Number of stories by which a page key moves in the list.
const PAGE: isize = 10;

/// The reason why the view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The user left it.
    ByKey,
    /// The user asked to finish the loop at this position of the list, or the loop has ended.
    AtEnd(usize),
    /// The view was asked to close.
    Closed,
}

/// The attempt of a page: the page, the story, and the number of the attempt.
type PageOf = (Page, usize, Option<u32>);

/// The loops and the parts of them that are shown.
pub(super) struct View {
    setup: Setup,
    at: usize,
    chosen: Chosen,
    showing: Showing,
    files: Files,
    /// The page shown instead of the output, and its text.
    page: Option<(PageOf, Lines)>,
    size: Rect,
    /// The time at which the loop came to its end.
    rests_since: Option<Instant>,
    /// The time of the last key.
    typed: Option<Instant>,
    /// True if the text shown alone must be drawn.
    is_due: bool,
}

impl View {
    pub fn new(setup: Setup) -> Self {
        Self {
            at: 0,
            chosen: Chosen {
                coloured: anstream::stdout().current_choice() != ColorChoice::Never,
                ..Chosen::default()
            },
            showing: Showing::default(),
            files: Files::default(),
            page: None,
            size: Rect::ZERO,
            rests_since: None,
            typed: None,
            is_due: true,
            setup,
        }
    }

    /// Draws the screen; a text shown alone only after a key or a change of size, so that a selection stays.
    pub fn draw(&mut self, now: Timestamp, screen: &mut Screen) -> io::Result<()> {
        let before = self.size;
        self.size = screen.size()?;
        if self.chosen.alone.is_none() {
            return screen.draw(|frame| self.scene(now).draw(frame.area(), frame.buffer_mut()));
        }
        if std::mem::take(&mut self.is_due) || before != self.size {
            let below = self.chosen.below();
            screen.write(&self.window().unbroken(below))?;
        }
        Ok(())
    }

    fn model(&self) -> &Model {
        &self.setup.loops[self.at].model
    }

    /// Returns whether the loop can be finished here.
    fn can_finish(&self) -> bool {
        !self.setup.is_owner && self.model().is_at_its_end()
    }

    fn scene(&self, now: Timestamp) -> Scene<'_> {
        Scene {
            model: self.model(),
            which: (self.at, self.setup.loops.len()),
            chosen: &self.chosen,
            text: self.text(),
            used: &self.showing.used,
            files: self.files.found(),
            can_finish: self.can_finish(),
            can_stop: self.model().is_driven && !self.setup.is_replay,
            now,
        }
    }

    fn text(&self) -> &Lines {
        let page = self.page.as_ref().filter(|_| self.chosen.page.is_some());
        page.map_or(&self.showing.lines, |(_, lines)| lines)
    }

    fn window(&self) -> Window<'_> {
        self.window_of(self.text())
    }

    fn window_of<'l>(&self, lines: &'l Lines) -> Window<'l> {
        let text = layout(self.size, &self.chosen).and_then(|parts| parts.text);
        Window::new(lines, text.unwrap_or(Rect::new(0, 0, 1, 1)))
    }

    /// Reads the files; returns true if anything is new.
    pub fn look(&mut self) -> bool {
        let (mut changed, mut is_new) = (false, false);
        for Viewed { follower, model, .. } in &mut self.setup.loops {
            let news = follower.poll();
            is_new |= !news.events.is_empty() || news.state.is_some();
            if news.is_driven != model.is_driven {
                changed = true;
                // The answer to the last key belongs to the previous run.
                self.chosen.answer.clear();
            }
            model.take(&news);
        }
        changed |= is_new;
        let shown = self.shown_log();
        let (store, top) = self.place();
        let before = self.showing.lines.all();
        changed |= self.showing.look(shown, &top, self.chosen.raw);
        let more = self.showing.lines.all().saturating_sub(before);
        if self.chosen.below > 0 || self.chosen.alone.is_some() {
            // The lines on the screen keep their place.
            self.chosen.below += self.window_of(&self.showing.lines).rows_of_last(more);
        } else {
            self.chosen.seen = self.showing.lines.count();
        }
        let of = self.counted();
        let has_counted = self.files.look(&store, of);
        self.turn_page(is_new || has_counted);
        changed || has_counted
    }

    /// Returns the log that is shown, and the name of its format.
    fn shown_log(&self) -> Option<(std::path::PathBuf, Option<String>)> {
        if self.chosen.shows_first_gate(self.model()) {
            return Some((self.store().gates_log(), Some("text".to_owned())));
        }
        let story = self.chosen.story(self.model())?;
        let attempt = self.chosen.attempt(self.model())?;
        let log = self.place().0.attempt_log(&story.id, attempt.number);
        Some((log, attempt.format.clone()))
    }

    /// Returns the attempt whose files are counted: a running one, or one whose files are shown.
    fn counted(&self) -> Option<Of> {
        let model = self.model();
        let attempt = self.chosen.attempt(model)?;
        let runs = attempt.ended.is_none();
        let is_wanted = if runs {
            model.is_at_work(attempt) && !self.setup.is_replay
        } else {
            matches!(self.chosen.page, Some((Page::Files, _)))
        };
        is_wanted.then(|| Of {
            story: self
                .chosen
                .story(model)
                .map_or_else(String::new, |story| story.id.clone()),
            attempt: attempt.number,
            runs,
        })
    }

    /// Reads the chosen page, and rereads it if it may have changed.
    fn turn_page(&mut self, may_differ: bool) {
        let Some((page, _)) = self.chosen.page else {
            self.page = None;
            return;
        };
        let model = &self.setup.loops[self.at].model;
        let (story, attempt) = (self.chosen.story(model), self.chosen.attempt(model));
        let number = attempt.map(|attempt| attempt.number);
        let of = (page, self.chosen.story_at(model), number);
        let before = self.page.as_ref().filter(|(before, _)| *before == of);
        if before.is_some() && !(may_differ && matches!(page, Page::Story | Page::Files)) {
            return;
        }
        let lines = page_text(page, &self.place().0, story, attempt, self.files.found());
        let height = |lines| self.window_of(lines).rows_of_last(usize::MAX);
        // Its first row keeps its place.
        let grown = before.map(|(_, before)| (height(before), height(&lines)));
        if let (Some((before, after)), Some((_, below))) = (grown, &mut self.chosen.page)
            && *below != usize::MAX
        {
            *below = (*below + after).saturating_sub(before);
        }
        self.page = Some((of, lines));
    }

    fn store(&self) -> &Store {
        self.setup.loops[self.at].follower.store()
    }

    /// Returns the files and the work tree of the shown attempt: a parallel one has its own.
    fn place(&self) -> (Store, PathBuf) {
        let attempt = self.chosen.attempt(self.model());
        match attempt.and_then(|attempt| attempt.beside.as_deref()) {
            Some(beside) => (self.store().of_other(&beside.side), beside.top.clone()),
            None => (self.store().clone(), self.setup.loops[self.at].top.clone()),
        }
    }

    /// Returns whether text is being typed, which must not become keys of another screen.
    pub fn is_typed_in(&self) -> bool {
        self.chosen.typed.is_some() && self.typed.is_some_and(|typed| typed.elapsed() < TYPING)
    }

    /// Returns the only loop if it ended while it was watched, and no run has worked on it since, so that it can be
    /// finished. Returns `None` while the user copies or types.
    pub fn at_its_end(&mut self) -> Option<usize> {
        let model = self.model();
        let has_ended = model.was_driven && !model.is_driven && model.is_at_its_end();
        let is_alone = self.setup.loops.len() == 1 && !self.setup.is_owner;
        let is_busy = self.chosen.alone.is_some() || self.is_typed_in();
        if !is_alone || is_busy || !has_ended {
            self.rests_since = None;
            return None;
        }
        let since = *self.rests_since.get_or_insert_with(Instant::now);
        (since.elapsed() >= REST).then_some(0)
    }

    /// Executes the action of a key; returns the reason to leave, if it is one.
    pub fn key(&mut self, key: &KeyEvent, screen: &mut Screen) -> io::Result<Option<Left>> {
        self.chosen.answer.clear();
        self.typed = Some(Instant::now());
        self.is_due = true;
        if std::mem::take(&mut self.chosen.asks_to_stop) {
            if key.code == KeyCode::Char('y') {
                self.stop();
            }
            return Ok(None);
        }
        if let Some(typed) = self.chosen.typed.take() {
            self.types(typed, key);
            return Ok(None);
        }
        let Some(action) = action(key) else {
            return Ok(None);
        };
        let is_alone = self.chosen.alone.is_some();
        let left = self.act(action, screen)?;
        if is_alone && self.chosen.alone.is_none() {
            screen.repaint()?;
        }
        // A page is read before it is drawn, searched or scrolled.
        self.turn_page(false);
        Ok(left)
    }

    fn act(&mut self, action: Action, screen: &mut Screen) -> io::Result<Option<Left>> {
        if let Some(to) = scroll_of(action) {
            self.scroll(to, action);
            return Ok(None);
        }
        let is_help = matches!(self.chosen.page, Some((Page::Help, _)));
        let is_alone = self.chosen.alone.is_some();
        match action {
            Action::StoryBefore if is_help || is_alone => self.scroll(Scroll::Up, action),
            Action::StoryAfter if is_help || is_alone => self.scroll(Scroll::Down, action),
            Action::CtrlC if self.setup.is_owner => {
                kill(Pid::this(), Signal::SIGINT)?;
                "stopping it; press Ctrl-C again to kill it".clone_into(&mut self.chosen.answer);
            }
            Action::CtrlC => return Ok(Some(Left::ByKey)),
            Action::Leave => {
                if !self.chosen.back() {
                    return Ok(Some(Left::ByKey));
                }
            }
            Action::Suspend => {
                if !screen.suspend()? {
                    "there is no shell that could bring it back".clone_into(&mut self.chosen.answer);
                }
            }
            Action::Alone => self.chosen.turn_alone(),
            Action::Repaint => screen.repaint()?,
            // There is no line to show typed text.
            _ if is_alone => {}
            Action::Search => (self.chosen.typed, self.chosen.tells) = (Some(String::new()), false),
            // Any other key closes the help.
            _ if is_help => self.chosen.page = None,
            _ => return self.show(action, screen),
        }
        Ok(None)
    }

    /// Executes the action of a key that affects the shown parts, or the loop.
    fn show(&mut self, action: Action, screen: &mut Screen) -> io::Result<Option<Left>> {
        if action == Action::Finish && self.can_finish() {
            return Ok(Some(Left::AtEnd(self.at)));
        }
        let (chosen, model) = (&mut self.chosen, &self.setup.loops[self.at].model);
        match action {
            Action::StoryBefore => chosen.step_story(model, -1),
            Action::StoryAfter => chosen.step_story(model, 1),
            Action::AttemptBefore => chosen.step_attempt(model, -1),
            Action::AttemptAfter => chosen.step_attempt(model, 1),
            Action::FailureAfter => chosen.step_failed(model, true),
            Action::FailureBefore => chosen.step_failed(model, false),
            Action::Log => self.page_log(screen)?,
            Action::Diff => self.page_diff(screen)?,
            Action::Raw => chosen.raw = !chosen.raw,
            Action::Story => chosen.turn_to(Page::Story),
            Action::Prompt => chosen.turn_to(Page::Prompt),
            Action::Files => chosen.turn_to(Page::Files),
            Action::Help => chosen.turn_to(Page::Help),
            Action::Swap if is_wide(self.size) && self.setup.loops.len() == 1 => {
                chosen.no_list = !chosen.no_list;
            }
            Action::Swap if !is_wide(self.size) && !chosen.list => (chosen.list, chosen.page) = (true, None),
            Action::Swap => {
                chosen.list = false;
                self.choose_loop((self.at + 1) % self.setup.loops.len());
            }
            Action::Loop(at) => self.choose_loop(at),
            Action::Finish | Action::Tell if model.phase == Some(Phase::Finished) => {
                "the loop is finished".clone_into(&mut chosen.answer);
            }
            Action::Finish => "the loop is not at its end".clone_into(&mut chosen.answer),
            Action::Tell => (chosen.typed, chosen.tells) = (Some(String::new()), true),
            Action::Stop if model.is_driven => chosen.asks_to_stop = true,
            Action::Stop => "no git-ralph is working on it".clone_into(&mut chosen.answer),
            _ => {}
        }
        Ok(None)
    }

    fn scroll(&mut self, to: Scroll, action: Action) {
        let model = &self.setup.loops[self.at].model;
        if is_list(self.size, &self.chosen) && self.chosen.alone.is_none() {
            match to {
                Scroll::PageUp => self.chosen.step_story(model, -PAGE),
                Scroll::PageDown => self.chosen.step_story(model, PAGE),
                Scroll::Beginning => self.chosen.choose(0, None),
                _ => self.chosen.step_story(model, isize::MAX),
            }
            return;
        }
        let is_output = self.chosen.page.is_none() && self.chosen.alone.is_none();
        if action == Action::Follow && is_output {
            (self.chosen.story, self.chosen.attempt) = (None, None);
        }
        let page = self.page.as_ref().filter(|_| self.chosen.page.is_some());
        let lines = page.map_or(&self.showing.lines, |(_, lines)| lines);
        let window = self.window_of(lines);
        self.chosen.scroll(to, &window);
    }

    /// Takes a key as a letter of the text being typed.
    fn types(&mut self, mut typed: String, key: &KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Char('c' | 'C') if is_control => return,
            KeyCode::Char('u' | 'U') if is_control => typed.clear(),
            KeyCode::Char(letter) if !is_control => typed.push(letter),
            KeyCode::Backspace if typed.pop().is_none() => return,
            KeyCode::Enter if self.chosen.tells => {
                self.tell(&typed);
                return;
            }
            KeyCode::Enter => {
                if !typed.is_empty() && typed != self.chosen.words {
                    (self.chosen.words, self.chosen.found) = (typed, None);
                }
                let page = self.page.as_ref().filter(|_| self.chosen.page.is_some());
                let lines = page.map_or(&self.showing.lines, |(_, lines)| lines);
                let window = self.window_of(lines);
                let is_list = is_list(self.size, &self.chosen);
                self.chosen
                    .search(&self.setup.loops[self.at].model, &window, is_list);
                return;
            }
            _ => {}
        }
        self.chosen.typed = Some(typed);
    }

    fn choose_loop(&mut self, at: usize) {
        if at < self.setup.loops.len() && at != self.at {
            self.at = at;
            (self.chosen.story, self.chosen.attempt, self.page) = (None, None, None);
            self.chosen.reset_position();
        }
    }

    fn stop(&mut self) {
        let store = self.store();
        self.chosen.answer = match driver(store).map(|holder| store.ask_to_stop(holder)) {
            None => "no git-ralph is working on it".to_owned(),
            Some(Ok(())) => "the run stops after this attempt".to_owned(),
            Some(Err(error)) => error.to_string(),
        };
    }

    fn tell(&mut self, words: &str) {
        self.chosen.answer = match self.store().tell(words) {
            Ok(()) => "the next prompt has this".to_owned(),
            Err(error) => error.to_string(),
        };
    }

    fn page_log(&mut self, screen: &mut Screen) -> io::Result<()> {
        let pager = self.setup.pager.clone();
        let shown = self.showing.whole(&self.place().1, self.chosen.raw);
        self.chosen.answer = match shown {
            Ok(file) => problem(screen.lend(|| pager::show_file(&pager, file))?),
            Err(error) => error.to_string(),
        };
        Ok(())
    }

    fn page_diff(&mut self, screen: &mut Screen) -> io::Result<()> {
        let model = self.model();
        let Some((story, attempt)) = self.chosen.story(model).zip(self.chosen.attempt(model)) else {
            "no attempt has worked on this story yet".clone_into(&mut self.chosen.answer);
            return Ok(());
        };
        let boxed = self.setup.loops[self.at].boxed;
        let (store, top) = &self.place();
        let shown = match sides(store, story, attempt) {
            Ok(Sides::Kept(from, to)) => {
                let args = diff_of_commits(store, boxed).map_err(io::Error::other)?;
                let args = [&args[..], &[&from, &to, "--"]].concat();
                screen.lend(|| pager::show_git(top, &args, None))?
            }
            Ok(Sides::Now(from, files)) => {
                let args = [&DIFF[..], &[&from, "--"]].concat();
                let shown = screen.lend(|| pager::show_git(top, &args, Some(&files.index())))?;
                shown.and_then(|()| match files.nested.as_slice() {
                    [] => Ok(()),
                    nested => Err(io::Error::other(not_shown(nested))),
                })
            }
            Err(why) => Err(io::Error::other(why)),
        };
        self.chosen.answer = problem(shown);
        Ok(())
    }
}

/// Returns the direction of a key that scrolls.
fn scroll_of(action: Action) -> Option<Scroll> {
    Some(match action {
        Action::PageUp => Scroll::PageUp,
        Action::PageDown => Scroll::PageDown,
        Action::Beginning => Scroll::Beginning,
        Action::Follow => Scroll::End,
        _ => return None,
    })
}

/// Returns the error of a program that could not be run; empty if it ran.
fn problem(shown: io::Result<()>) -> String {
    shown.err().map_or_else(String::new, |error| error.to_string())
}
