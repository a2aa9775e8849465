//! Draws the view. Pure: a scene and a size become a screen. Whatever it says is said in words and signs too, never by
//! colour alone.

use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use textwrap::core::display_width;

use super::keys::TABLE;
use super::lines::Lines;
use super::model::{Attempt, Mark, Model, Story};
use crate::names::dollars;
use crate::state::{Phase, Verdict};
use crate::ui::narration::time;
use crate::ui::shown::plain;
use crate::ui::width::cut;

/// The least columns and rows of a screen with the list and the output beside each other.
const WIDE: (u16, u16) = (90, 16);
/// The least columns and rows of a screen that shows more than one line.
const LEAST: (u16, u16) = (20, 4);

/// The parts that a person has chosen to see.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a person switches each by a key of its own"
)]
pub(super) struct Chosen {
    /// The story; that of the latest attempt if it is none.
    pub story: Option<usize>,
    /// The attempt's place in its story; the latest if it is none.
    pub attempt: Option<usize>,
    /// The number of lines at the end of the output that are below the screen.
    pub below: usize,
    /// The number of all lines when the output was last at its end.
    pub seen: usize,
    pub raw: bool,
    pub help: bool,
    pub list: bool,
    pub asks_to_stop: bool,
    /// An answer to the last key.
    pub answer: String,
    pub coloured: bool,
}

/// All that is on the screen.
pub(super) struct Scene<'a> {
    pub model: &'a Model,
    /// The number of this loop and of all of them.
    pub which: (usize, usize),
    pub chosen: &'a Chosen,
    pub output: &'a Lines,
    pub now: Timestamp,
}

/// Returns whether the list and the output are both shown.
pub(super) fn is_wide(area: Rect) -> bool {
    area.width >= WIDE.0 && area.height >= WIDE.1
}

impl Scene<'_> {
    /// Returns the story that is shown.
    pub fn story(&self) -> Option<&Story> {
        let at = self.chosen.story.unwrap_or_else(|| self.model.current());
        self.model.stories.get(at)
    }

    /// Returns the attempt that is shown.
    pub fn attempt(&self) -> Option<&Attempt> {
        let attempts = &self.story()?.attempts;
        match self.chosen.attempt {
            Some(at) => attempts.get(at),
            None => attempts.last(),
        }
    }

    /// Draws the whole screen.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let line = |buffer: &mut Buffer, y: u16, text: &str, style: Style| {
            put(buffer, area, (area.x, y, area.width), text, style);
        };
        if area.width < LEAST.0 || area.height < LEAST.1 {
            line(buffer, area.y, &self.in_one_line(), Style::new());
            return;
        }
        line(buffer, area.y, &self.header(), self.style(Modifier::BOLD, None));
        let has_reason = area.height >= 8;
        let rows = area.height - 2 - u16::from(has_reason);
        let body = Rect::new(area.x, area.y + 1, area.width, rows);
        if self.chosen.help {
            help(body, buffer);
        } else if is_wide(area) {
            let list = (area.width / 3).clamp(30, 44);
            self.list(Rect { width: list, ..body }, buffer);
            for y in body.top()..body.bottom() {
                put(
                    buffer,
                    area,
                    (area.x + list, y, 1),
                    "|",
                    self.style(Modifier::DIM, None),
                );
            }
            let left = list + 2;
            let right = Rect::new(area.x + left, body.y, area.width - left, rows);
            self.output(right, buffer);
        } else if self.chosen.list {
            self.list(body, buffer);
        } else {
            self.output(body, buffer);
        }
        if has_reason {
            line(buffer, area.bottom() - 2, &self.told(), Style::new());
        }
        self.footer(Rect::new(area.x, area.bottom() - 1, area.width, 1), buffer);
    }

    fn style(&self, modifier: Modifier, colour: Option<Color>) -> Style {
        let style = Style::new().add_modifier(modifier);
        match colour.filter(|_| self.chosen.coloured) {
            Some(colour) => style.fg(colour),
            None => style,
        }
    }

    fn since(&self, then: Timestamp) -> String {
        time(self.now.duration_since(then).as_secs_f64().max(0.0))
    }

    /// Returns the loop in a few words, for a screen with no room for more.
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

    fn header(&self) -> String {
        let model = self.model;
        let mut parts = vec![model.change.clone()];
        if let (at, all @ 2..) = self.which {
            parts[0] = format!("[{}/{all}] {}", at + 1, model.change);
        }
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
        parts.push(self.state());
        parts.join("  ")
    }

    /// Returns what goes on now.
    fn state(&self) -> String {
        let model = self.model;
        if let Some(until) = model.waits_until.filter(|until| *until > self.now) {
            return format!(
                "waiting, {} left",
                time(until.duration_since(self.now).as_secs_f64())
            );
        }
        if let Some(gate) = model.gate.as_ref().filter(|_| model.is_driven) {
            return format!("gate, {}", self.since(gate.since));
        }
        match (model.is_gone, model.is_driven, model.phase) {
            (true, ..) => "its files are gone",
            (_, _, Some(Phase::Finished)) => "finished",
            (_, true, _) if model.asks.is_some() => "asks what to do (f: answer)",
            (_, true, _) => "running",
            (_, false, Some(Phase::Complete)) => "complete (f: finish)",
            (_, false, Some(Phase::Exhausted)) => "no retries left (f: finish)",
            (_, false, _) if model.is_at_its_end() => "complete (f: finish)",
            _ if model.has_session() => "an agent's session works on it",
            _ => "nobody is at work",
        }
        .to_owned()
    }

    fn told(&self) -> String {
        let model = self.model;
        if let Some(asked) = &model.asks {
            let line = format!("git-ralph ({}) asks: {}", asked.process(), asked.question);
            return plain(&line).into_owned();
        }
        if let Some(gate) = model.gate.as_ref().filter(|_| model.is_driven) {
            return plain(&gate.heading()).into_owned();
        }
        match &model.reason {
            Some(reason) if model.running().is_some() => format!("the attempt before: {reason}"),
            _ => model.told.clone(),
        }
    }

    fn list(&self, area: Rect, buffer: &mut Buffer) {
        let at = self.chosen.story.unwrap_or_else(|| self.model.current());
        let mut rows: Vec<(String, String, Style)> = Vec::new();
        let mut selected = 0;
        for (index, story) in self.model.stories.iter().enumerate() {
            let is_chosen = index == at;
            if is_chosen {
                selected = rows.len();
            }
            let sign = if is_chosen { '>' } else { ' ' };
            let id = plain(&story.id);
            let name = match story.title.as_str() {
                "" => id.into_owned(),
                title if title.starts_with(&*id) => title.to_owned(),
                title => format!("{id}  {title}"),
            };
            let style = match story.mark {
                Mark::Running => self.style(Modifier::BOLD, None),
                Mark::Failed => self.style(Modifier::empty(), Some(Color::Red)),
                Mark::Complete => self.style(Modifier::empty(), Some(Color::Green)),
                Mark::Skipped => self.style(Modifier::DIM, None),
                Mark::Open => Style::new(),
            };
            let words = format!("{sign}{} {name}", story.mark.sign());
            rows.push((words, self.duration(story), style));
            if is_chosen || story.mark == Mark::Running {
                let shown = self.attempt().map(|attempt| attempt.number).filter(|_| is_chosen);
                for attempt in &story.attempts {
                    let is_shown = shown == Some(attempt.number);
                    if is_shown {
                        selected = rows.len();
                    }
                    let sign = if is_shown && story.attempts.len() > 1 {
                        '>'
                    } else {
                        ' '
                    };
                    let (words, took) = self.attempt_words(attempt);
                    let words = format!("   {sign}@{} {words}", attempt.number);
                    rows.push((words, took, self.style(Modifier::empty(), None)));
                }
            }
        }
        let height = usize::from(area.height);
        let first = selected
            .saturating_sub(height.saturating_sub(3))
            .min(rows.len().saturating_sub(height));
        for (y, (words, right, style)) in (area.top()..area.bottom()).zip(rows.iter().skip(first)) {
            let width = usize::from(area.width).saturating_sub(right.len() + 2);
            put(buffer, area, (area.x, y, area.width), &cut(words, width), *style);
            let column = area
                .right()
                .saturating_sub(u16::try_from(right.len() + 1).unwrap_or(0));
            put(buffer, area, (column, y, area.right() - column), right, *style);
        }
    }

    /// Returns the time of all attempts at a story.
    fn duration(&self, story: &Story) -> String {
        let seconds = story.attempts.iter().map(|attempt| match attempt.ended {
            Some((_, seconds)) => seconds,
            None if self.model.is_driven => self.now.duration_since(attempt.since).as_secs_f64().max(0.0),
            None => 0.0,
        });
        match story.attempts.as_slice() {
            [] => String::new(),
            _ => time(seconds.sum()),
        }
    }

    fn attempt_words(&self, attempt: &Attempt) -> (String, String) {
        match attempt.ended {
            Some((verdict, seconds)) => (verdict.words().to_owned(), time(seconds)),
            None if self.model.is_driven => {
                let left = format!("running, {} left", attempt.left);
                (left, self.since(attempt.since))
            }
            None => (Verdict::Interrupted.words().to_owned(), String::new()),
        }
    }

    fn output(&self, area: Rect, buffer: &mut Buffer) {
        let height = usize::from(area.height);
        let mut rows: Vec<String> = Vec::with_capacity(height);
        for line in self.output.newest_first().skip(self.chosen.below) {
            if rows.len() >= height {
                break;
            }
            rows.extend(broken(&line, usize::from(area.width)).into_iter().rev());
        }
        rows.truncate(height);
        if rows.is_empty() {
            rows.push(match self.attempt() {
                None => "nobody has worked on this story yet".to_owned(),
                Some(attempt) if attempt.ended.is_none() => "nothing is printed yet".to_owned(),
                Some(_) => "nothing was printed".to_owned(),
            });
        }
        for (y, row) in (area.top()..area.bottom()).zip(rows.iter().rev()) {
            put(buffer, area, (area.x, y, area.width), row, Style::new());
        }
    }

    fn footer(&self, area: Rect, buffer: &mut Buffer) {
        let chosen = self.chosen;
        let place = (area.x, area.y, area.width);
        if chosen.asks_to_stop {
            let question = "stop the run after this attempt? y: yes, any other key: no";
            put(buffer, area, place, question, self.style(Modifier::BOLD, None));
            return;
        }
        let right = if chosen.below == 0 {
            if chosen.raw { "[raw]" } else { "[follow]" }.to_owned()
        } else {
            let new = self.output.count().saturating_sub(chosen.seen);
            format!("[paused, {new} new lines]")
        };
        let keys = TABLE.iter().filter(|row| !row.short.is_empty());
        let mut shown: Vec<String> = keys.map(|row| format!("{} {}", row.keys[0], row.short)).collect();
        let room = usize::from(area.width).saturating_sub(right.len() + 2);
        // The last ones say how to leave and where the rest is told.
        while shown.len() > 1 && shown.join("  ").len() > room {
            shown.remove(0);
        }
        let left = if chosen.answer.is_empty() {
            shown.join("  ")
        } else {
            chosen.answer.clone()
        };
        put(
            buffer,
            area,
            place,
            &cut(&left, room),
            self.style(Modifier::DIM, None),
        );
        let column = area
            .right()
            .saturating_sub(u16::try_from(right.len()).unwrap_or(0));
        put(
            buffer,
            area,
            (column.max(area.x), area.y, area.width),
            &right,
            self.style(Modifier::DIM, None),
        );
    }
}

fn help(area: Rect, buffer: &mut Buffer) {
    for (y, row) in (area.top()..area.bottom()).zip(TABLE) {
        let words = format!(" {:<12} {}", row.keys.join(", "), row.words);
        put(
            buffer,
            area,
            (area.x, y, area.width),
            &cut(&words, usize::from(area.width)),
            Style::new(),
        );
    }
}

/// Writes words at a column and row, cut off at this width and at the area's end.
pub(super) fn put(buffer: &mut Buffer, area: Rect, at: (u16, u16, u16), words: &str, style: Style) {
    let (x, y, width) = at;
    if y < area.bottom() && x < area.right() {
        let width = width.min(area.right() - x);
        buffer.set_stringn(x, y, words, usize::from(width), style);
    }
}

/// Breaks a line into rows of so many columns.
fn broken(line: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut width = 0;
    for character in line.chars() {
        let wide = display_width(character.encode_utf8(&mut [0; 4]));
        if width + wide > columns && width > 0 {
            rows.push(String::new());
            width = 0;
        }
        width += wide;
        if let Some(row) = rows.last_mut() {
            row.push(character);
        }
    }
    rows
}

#[cfg(test)]
mod tests;
