//! Draws the list of stories with their attempts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::{Scene, put};
use crate::names::id_and_title;
use crate::state::Verdict;
use crate::ui::amounts::time;
use crate::ui::shown::plain;
use crate::ui::view::model::{Attempt, Mark, Story};
use crate::ui::width::cut;

impl Scene<'_> {
    /// Draws the list so that the chosen story is visible.
    pub(super) fn list(&self, area: Rect, buffer: &mut Buffer) {
        let at = self.chosen.story_at(self.model);
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
                title => id_and_title(&id, "  ", title),
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
                let shown = self
                    .chosen
                    .attempt(self.model)
                    .map(|attempt| attempt.number)
                    .filter(|_| is_chosen);
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
        for (line, (words, right, style)) in area.rows().zip(rows.iter().skip(first)) {
            let width = usize::from(area.width).saturating_sub(right.len() + 2);
            put(buffer, line, &cut(words, width), *style);
            let room = u16::try_from(right.len() + 1).unwrap_or(0).min(area.right());
            let x = area.right() - room;
            put(
                buffer,
                Rect {
                    x,
                    width: room,
                    ..line
                },
                right,
                *style,
            );
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
            Some((verdict, seconds)) => {
                let rounds = match attempt.rounds {
                    0 => String::new(),
                    rounds => format!(", {rounds} rounds"),
                };
                (format!("{}{rounds}", verdict.words()), time(seconds))
            }
            None if self.model.is_driven => {
                let what = match self.model.gate_at_work() {
                    Some(gate) if !gate.is_first && attempt.beside.is_none() => gate.kind().to_owned(),
                    _ if attempt.rounds > 0 => format!("round {}", attempt.rounds),
                    _ => "running".to_owned(),
                };
                (
                    format!("{what}, {} left", attempt.left),
                    self.since(attempt.since),
                )
            }
            None => (Verdict::Interrupted.words().to_owned(), String::new()),
        }
    }
}
