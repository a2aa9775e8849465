//! Draws the view. Pure: converts a scene and a size to a screen. Uses words and signs for everything, never colour
//! alone.

mod list;
mod prompts;
mod title;

use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use textwrap::core::display_width;

use super::chosen::{Chosen, Page};
use super::files::Found;
use super::keys::{Action, TABLE};
use super::layout::{Layout, is_list, is_wide, layout};
use super::lines::Lines;
use super::model::{Attempt, Mark, Model, Story};
use super::window::{Window, places};
use crate::agent::decode::Usage;
use crate::names::dollars;
use crate::state::Phase;
use crate::ui::amounts::time;
use crate::ui::shown::plain;
use crate::ui::width::{cut, cut_at_word};

/// The sign that the end of the text is shown and followed.
const FOLLOWS: &str = "[follow]";
/// Number of columns below which the sign is omitted.
const NARROW: u16 = 60;

/// Everything on the screen.
pub(super) struct Scene<'a> {
    pub model: &'a Model,
    /// The number of this loop, and of all loops.
    pub which: (usize, usize),
    pub chosen: &'a Chosen,
    /// The output of the attempt, or the page that replaces it.
    pub text: &'a Lines,
    /// The use of the model by the attempt so far, according to its output.
    pub used: &'a Usage,
    /// The files changed by the attempt, once counted.
    pub files: Option<&'a Found>,
    /// True if the key for finishing the loop works.
    pub can_finish: bool,
    /// True if a process can be asked to stop.
    pub can_stop: bool,
    pub now: Timestamp,
}

impl Scene<'_> {
    /// Draws the whole screen.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let Some(parts) = layout(area, self.chosen) else {
            put(buffer, area, &self.in_one_line(), Style::new());
            return;
        };
        let bold = self.style(Modifier::BOLD, None);
        put(buffer, parts.header, &self.header(parts.header.width), bold);
        if let Some(list) = parts.list {
            self.list(list, buffer);
        }
        let dim = self.style(Modifier::DIM, None);
        if let Some(rule) = parts.rule {
            for place in rule.rows() {
                put(buffer, place, "|", dim);
            }
        }
        self.whose(&parts, buffer);
        if let Some(text) = parts.text {
            self.text(text, buffer);
        }
        if let Some(place) = parts.notice {
            let words = cut_at_word(&self.message(), usize::from(place.width));
            put(buffer, place, &words, Style::new());
        }
        self.footer(&parts, area, buffer);
    }

    /// Draws the lines that name the owner of the text.
    fn whose(&self, parts: &Layout, buffer: &mut Buffer) {
        let Some(place) = parts.title else { return };
        let width = usize::from(place.width);
        let (mut first, mut second) = self.title();
        if place.height < 2 {
            first = format!("{first}  {second}");
            second.clear();
        } else if display_width(&first) > width {
            // A long gate continues on the second line.
            let rows = super::window::broken(&first, width);
            second = format!("{}  {second}", rows.get(1).map_or("", String::as_str));
            first = rows.into_iter().next().unwrap_or_default();
        }
        let style = self.style(Modifier::UNDERLINED, None);
        put(buffer, place, &cut_at_word(first.trim_end(), width), style);
        let (below, dim) = (place.y + 1, self.style(Modifier::DIM, None));
        let below = Rect { y: below, ..place };
        put(buffer, below, &cut_at_word(second.trim_end(), width), dim);
    }

    /// Draws the output, or the page that replaces it, with the search matches.
    fn text(&self, area: Rect, buffer: &mut Buffer) {
        let window = Window::new(self.text, area);
        let mut rows = window.shown(self.chosen.below());
        if rows.is_empty() && self.chosen.page.is_none() {
            rows.push(match self.chosen.attempt(self.model) {
                _ if self.chosen.shows_first_gate(self.model) => "nothing is printed yet".to_owned(),
                None => "no attempt has worked on this story yet".to_owned(),
                Some(attempt) if attempt.ended.is_none() => "nothing is printed yet".to_owned(),
                Some(_) => "nothing was printed".to_owned(),
            });
        }
        let found = self.style(Modifier::REVERSED, None);
        for (line, row) in area.rows().zip(rows) {
            put(buffer, line, &row, Style::new());
            for place in places(&row, &self.chosen.words) {
                let before = display_width(row.get(..place.start).unwrap_or_default());
                let x = area.x.saturating_add(u16::try_from(before).unwrap_or(u16::MAX));
                let words = row.get(place).unwrap_or_default();
                put(buffer, Rect { x, ..line }, words, found);
            }
        }
    }

    fn style(&self, modifier: Modifier, colour: Option<Color>) -> Style {
        let style = Style::new().add_modifier(modifier);
        match colour.filter(|_| self.chosen.coloured) {
            Some(colour) => style.fg(colour),
            None => style,
        }
    }

    /// Returns the loop in a few words, for a screen with one line.
    fn in_one_line(&self) -> String {
        let model = self.model;
        let mut words = model.change.clone();
        if let Some((done, total)) = model.progress {
            words.push_str(&format!(" {done}/{total}"));
        }
        if let Some((story, attempt)) = model.running() {
            words.push_str(&format!(
                " {}@{} {}",
                plain(&story.id),
                attempt.number,
                self.since(attempt.since)
            ));
        }
        words
    }

    /// Returns the first line: the parts that fit, by importance.
    fn header(&self, width: u16) -> String {
        let model = self.model;
        let mut name = model.change.clone();
        if let (at, all @ 2..) = self.which {
            name = format!("{name}, loop {} of {all}", at + 1);
        }
        let mut parts = vec![self.state()];
        if let Some((done, total)) = model.progress {
            let words = if total == 1 { "story" } else { "stories" };
            parts.push(format!("{done} of {total} {words}"));
        }
        if let Some(begun) = model.begun {
            let until = match model.latest {
                Some(latest) if !model.is_driven => latest,
                _ => self.now,
            };
            let mut words = time(until.duration_since(begun).as_secs_f64().max(0.0));
            if let Some(ends) = model.ends {
                words = format!("{words} of {}", time(ends.duration_since(begun).as_secs_f64()));
            }
            parts.push(words);
        }
        match (model.cost, model.max_cost) {
            (cost, Some(most)) => {
                parts.push(format!("{} of {}", dollars(cost.unwrap_or(0.0)), dollars(most)));
            }
            (Some(cost), None) => parts.push(dollars(cost)),
            (None, None) => {}
        }
        parts.extend(model.agent.clone());
        let room = |parts: &[String]| usize::from(width).checked_sub(display_width(&parts.join("  ")) + 2);
        while parts.len() > 1 && room(&parts).is_none_or(|room| room < display_width(&name)) {
            parts.pop();
        }
        match room(&parts) {
            Some(room) if room > 3 => format!("{}  {}", cut(&name, room), parts.join("  ")),
            _ => cut_at_word(&parts.join("  "), usize::from(width)),
        }
    }

    /// Returns the running activity, or why there is none.
    fn state(&self) -> String {
        let model = self.model;
        if let Some(until) = model.waits_until.filter(|until| *until > self.now) {
            return format!(
                "waiting, {} left",
                time(until.duration_since(self.now).as_secs_f64())
            );
        }
        if let Some(gate) = model.gate_at_work() {
            return format!("{}, {}", gate.kind(), self.since(gate.since));
        }
        match (model.is_gone, model.is_driven, model.phase) {
            (true, ..) => "its files are gone",
            (_, _, Some(Phase::Finished)) => "finished",
            (_, true, _) if model.asks.is_some() => "asks what to do (f: answer)",
            (_, true, _) => {
                let stories = model.stories.iter();
                let running = stories.filter(|story| story.mark == Mark::Running).count();
                return match running {
                    several @ 2.. => format!("{several} running"),
                    _ => "running".to_owned(),
                };
            }
            (_, false, Some(Phase::Complete)) if model.skipped > 0 => "no other story left (f: finish)",
            (_, false, Some(Phase::Complete)) => "complete (f: finish)",
            (_, false, Some(Phase::Exhausted)) => "no retries left (f: finish)",
            (_, false, _) if model.is_at_its_end() => "complete (f: finish)",
            _ if model.has_session() => "an agent's session works on it",
            _ => "not running",
        }
        .to_owned()
    }

    fn message(&self) -> String {
        let model = self.model;
        if let Some(asked) = &model.asks {
            let line = format!("git-ralph ({}) asks: {}", asked.process(), asked.question);
            return plain(&line).into_owned();
        }
        let name = |(story, attempt): (&Story, &Attempt)| (story.id.clone(), attempt.number);
        let chosen = self.chosen.story(model).zip(self.chosen.attempt(model));
        let (of, words) = if self.chosen.story.is_some()
            && let Some((story, attempt)) = chosen
            && let Some(reason) = &attempt.reason
        {
            (Some(name((story, attempt))), reason.clone())
        } else if let Some(gate) = model.gate_at_work() {
            let before = if gate.is_first { " before any work" } else { "" };
            let words = format!("{}{before}: {}", gate.kind(), gate.command);
            (model.running().map(name), words)
        } else {
            match &model.reason {
                Some((name, reason)) if model.running().is_some() => (Some(name.clone()), reason.clone()),
                _ => model.notice.clone(),
            }
        };
        match of {
            // The title already names the attempt.
            Some(of) if chosen.map(name).as_ref() == Some(&of) => words,
            Some((story, attempt)) => {
                let names = model.short_names();
                format!("{}@{attempt}: {words}", cut(&plain(names.of(&story)), 20))
            }
            None => words,
        }
    }

    fn footer(&self, parts: &Layout, area: Rect, buffer: &mut Buffer) {
        let chosen = self.chosen;
        let footer = parts.footer;
        let (bold, dim) = (self.style(Modifier::BOLD, None), self.style(Modifier::DIM, None));
        if let Some(prompt) = prompts::of(chosen, usize::from(footer.width)) {
            put(buffer, footer, &prompt, bold);
            return;
        }
        // On a narrow screen, the keys are more important.
        let mut right = self.place_in_text(parts);
        if right == FOLLOWS && footer.width < NARROW {
            right.clear();
        }
        let room = usize::from(footer.width).saturating_sub(right.len() + 2);
        let left = if chosen.answer.is_empty() {
            self.hints(area, room)
        } else {
            plain(&chosen.answer).into_owned()
        };
        put(buffer, footer, &cut_at_word(&left, room), dim);
        let column = footer
            .right()
            .saturating_sub(u16::try_from(right.len()).unwrap_or(0));
        let x = column.max(footer.x);
        put(buffer, Rect { x, ..footer }, &right, dim);
    }

    /// Returns the keys that have an effect now and fit.
    fn hints(&self, area: Rect, room: usize) -> String {
        let is_list = is_list(area, self.chosen);
        let is_help = matches!(self.chosen.page, Some((Page::Help, _)));
        let has_attempt = self.chosen.attempt(self.model).is_some();
        let has_output = has_attempt || self.chosen.shows_first_gate(self.model);
        let hint = |row: &super::keys::Row| {
            let short = match row.action {
                Action::Leave if self.chosen.page.is_some() => "back",
                Action::Leave | Action::Search => row.short,
                _ if is_help => return None,
                Action::Swap if is_wide(area) => return None,
                Action::Swap if is_list => "output",
                Action::Finish if !self.can_finish => return None,
                Action::Stop if !self.can_stop => return None,
                Action::Loop(_) if self.which.1 < 2 => return None,
                Action::Log if !has_output => return None,
                Action::Diff | Action::Raw | Action::Prompt | Action::Files if !has_attempt => return None,
                _ => row.short,
            };
            if let (Action::Loop(_), all @ 2..) = (row.action, self.which.1) {
                return Some((row.action, format!("1-{} {short}", all.min(9))));
            }
            (!short.is_empty()).then(|| (row.action, format!("{} {short}", row.keys[0])))
        };
        let mut shown: Vec<_> = TABLE.iter().filter_map(hint).collect();
        let line = |shown: &[(Action, String)]| {
            let words: Vec<&str> = shown.iter().map(|(_, words)| words.as_str()).collect();
            words.join("  ")
        };
        let is_needed = |action| {
            matches!(
                action,
                Action::Swap | Action::Loop(_) | Action::Help | Action::Leave
            )
        };
        while line(&shown).len() > room
            && let Some(last) = shown.iter().rposition(|(action, _)| !is_needed(*action))
        {
            shown.remove(last);
        }
        line(&shown)
    }

    /// Returns the position of the screen in its text.
    fn place_in_text(&self, parts: &Layout) -> String {
        let chosen = self.chosen;
        let Some(text) = parts.text else {
            return String::new();
        };
        match chosen.page {
            Some((_, below)) => match Window::new(self.text, text).most() {
                0 => "[all]".to_owned(),
                most => format!("[{}%]", (most - below.min(most)) * 100 / most),
            },
            None if chosen.below > 0 => {
                let new = self.text.count().saturating_sub(chosen.seen);
                format!("[paused, {new} new lines]")
            }
            None if chosen.raw => "[raw]".to_owned(),
            None => FOLLOWS.to_owned(),
        }
    }
}

/// Writes words into the first line of an area, cut off at its end and at the screen's.
pub(super) fn put(buffer: &mut Buffer, place: Rect, words: &str, style: Style) {
    let place = place.intersection(buffer.area);
    if !place.is_empty() {
        buffer.set_stringn(place.x, place.y, words, usize::from(place.width), style);
    }
}

#[cfg(test)]
mod tests;
